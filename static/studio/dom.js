// h("button.primary", {onclick}, "Keep", icon) makes an element; text is always text, never markup.
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") element.style.cssText = value;
    else if (key in element && key !== "list" && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Replaces what an element holds; leaves out what is null or false.
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
}

export function chip(object) {
  return h("span.chip", { style: `--colour:${object.colour}` }, String(object.id));
}

export const centimetres = (metres, digits = 1) => `${(metres * 100).toFixed(digits)} cm`;
export const sizeText = (size) => `${size.map((x) => (x * 100).toFixed(1)).join(" × ")} cm`;
export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

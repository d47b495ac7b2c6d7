// Looking through a recording's frames to open one of them. A single frame is opened without asking.
import { fill, h } from "/static/studio/dom.js";
import { Asking } from "/static/mask_canvas/asking.js";

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".frame-picker");
  let value = null, index = 0;
  const image = h("img", { alt: "The frame that is looked at" }), facts = h("span.faint", { role: "status" }), title = h("strong"), which = h("span");
  const slider = h("input", { type: "range", min: "0", step: "1", "aria-label": "Which frame", oninput: () => look(Number(slider.value)) });
  const asking = new Asking((question) => server.ask(question), (answer) => {
    if (answer.error) { image.hidden = true; facts.textContent = answer.error; return; }
    image.hidden = false; image.src = answer.image; facts.textContent = answer.facts;
  });
  const look = (wanted) => {
    index = Math.min(value.names.length - 1, Math.max(0, wanted));
    slider.value = String(index);
    const time = value.times[index];
    which.textContent = `Frame ${index} (0 to ${value.names.length - 1}): ${value.names[index]}${time === undefined ? "" : `, ${time.toFixed(2)} s`}`;
    facts.textContent = "Reading …";
    asking.ask({ token: value.token, index });
  };
  const step = (by, text, says) => h("button.studio-button", { "aria-label": says, title: says, onclick: () => look(index + by) }, text);
  const open = () => { trigger("open", { token: value.token, index }); shut(); };
  const shut = () => { value = null; asking.forget(); root.hidden = true; };
  fill(root, h("div.head", {}, title, h("button.studio-button", { onclick: shut, "data-act": "close" }, "Close")), h("div.look", {}, image),
    h("div.row", {}, step(-1, "‹", "The frame before"), slider, step(1, "›", "The next frame")),
    h("div.row", {}, which, facts, h("button.studio-button.primary", { onclick: open, "data-act": "open" }, "Open this frame")));
  root.hidden = true;

  return (next) => {
    if (!next?.token) return shut();
    if (next.token === value?.token) return;
    value = next;
    if (value.names.length === 1) { index = 0; return open(); }
    root.hidden = false; image.hidden = true;
    title.textContent = `${value.name.replaceAll("_", " ")}: ${value.kind}, ${value.names.length} frames. Which one?`;
    slider.max = String(value.names.length - 1);
    look(0);
    slider.focus();
  };
}

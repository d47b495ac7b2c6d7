// Says what is being opened, from the first moment of a page until the studio has shown it.
const name = new URL(location.href).searchParams.get("project")?.replaceAll("_", " ");
const veil = Object.assign(document.createElement("div"), { className: "arriving", textContent: `Opening ${name || "the studio"} …` });
veil.setAttribute("role", "status");
veil.prepend(document.createElement("i"));
document.body.append(veil);

export const arrived = () => veil.remove();

// What a notice said stays to be read after it has vanished, for as long as this tab is open.
import { fill, h } from "/static/studio/dom.js";

const KEPT = "studioNotices", MOST = 40;
const OWN = /^Connection to the server was lost/; // Gradio's word for what the bar over the page tells
const all = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
const heard = new WeakMap(), list = h("div.notices", { popover: "auto", role: "log", "aria-label": "Notices" });
const button = h("button.studio-button.plain", { title: "What the studio told you, to be read again", onclick: () => { draw(); list.togglePopover(); } });
document.body.append(list);

function draw() {
  button.hidden = !all.length;
  button.textContent = all.length === 1 ? "1 notice" : `${all.length} notices`;
  fill(list, [...all].reverse().map(({ at, text }) => h("p", {}, h("time", {}, at), text)));
}

// Gradio shows notices as it likes: each is known by its element and its words.
function hear(shown) {
  const text = shown.textContent.trim();
  if (!text || OWN.test(text) || heard.get(shown) === text) return;
  heard.set(shown, text);
  all.push({ at: new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false }), text });
  all.splice(0, all.length - MOST);
  sessionStorage.setItem(KEPT, JSON.stringify(all));
  draw();
}

new MutationObserver(() => document.querySelectorAll("[data-testid=toast-text]").forEach(hear)).observe(document.body, { childList: true, subtree: true });
draw();

export const noticesButton = button;

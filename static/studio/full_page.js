// What pages over the whole window share (static/patterns/full_page.css): one at a time is open, Esc closes it, and keys
// do not reach what lies below.
import { closeLibrary, onLibrary } from "/static/library/library_state.js";
import { cover } from "./covering.js";
import { closeDrawer, onDrawer } from "./drawer.js";
import { COVER, shortcuts } from "./keyboard.js";
import { t } from "./texts.js";
import { html } from "./view.js";

const pages = new Set(); // {isOpen, close} of each

export const fullPageOpen = () => [...pages].some((page) => page.isOpen());

/** Shows `root` while `page`, {isOpen, close, on}, is open. `onOpen` is called then, and `onClose` when it closes. */
export function coverPage(element, root, page, onOpen, onClose = () => {}) {
  pages.add(page);
  const keys = { Escape: { name: t("Esc"), help: t("close"), act: page.close } };
  shortcuts(root, { title: "", keys: () => keys, isOn: page.isOpen, rank: COVER, holdsKeys: true });
  page.on(element, (request) => {
    root.hidden = !request;
    if (!request) {
      onClose();
      return cover(null);
    }
    for (const other of pages) if (other !== page) other.close();
    closeDrawer();
    closeLibrary();
    cover(root);
    onOpen();
  });
  onLibrary(element, (request) => request && page.close());
  onDrawer(element, (shown) => shown && page.close());
}

/** The button that closes such a page, in a template; `name` says what it closes. */
export const closeButton = (name, close) =>
  html`<button class="studio-button plain" title=${t("Close (Esc)")} aria-label=${name} onclick=${close}>✕</button>`;

// Whether the library is open, for every component of the page. Its request is {like: {object: id}} to search by an
// object's image, {asset: id} to show one, {page: "packs"}, or {}.
import { overlayPage } from "/static/studio/overlay_page.js";

const page = overlayPage();
export const libraryOpen = page.isOpen,
  openLibrary = page.open,
  closeLibrary = page.close,
  onLibrary = page.on;

// Whether the Learn page is open, for every component of the page.
import { overlayPage } from "/static/studio/overlay_page.js";

const page = overlayPage();
export const learnOpen = page.isOpen,
  openLearn = page.open,
  closeLearn = page.close,
  onLearn = page.on;

// Whether the Evaluate page is open, for every component of the page.
import { overlayPage } from "/static/studio/overlay_page.js";

const page = overlayPage();
export const evaluateOpen = page.isOpen,
  openEvaluate = page.open,
  closeEvaluate = page.close,
  onEvaluate = page.on;

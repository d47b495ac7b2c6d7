// Whether the Compare page is open, for every component of the page.
import { overlayPage } from "/static/studio/overlay_page.js";

const page = overlayPage();
export const compareOpen = page.isOpen,
  openCompare = page.open,
  closeCompare = page.close,
  onCompare = page.on;

// The point cloud's page in a frame, which is loaded, and gets a new cloud, only while it is on the screen.
// While the page leads from step to step it waits: it would take time from the work that is being waited for.
import { isFollowing } from "/static/studio/place.js";
import { translateMarkup } from "/static/studio/texts.js";

const LONGEST_WAIT_MS = 8000,
  LOOK_MS = 500;

export default function ({ element }) {
  translateMarkup(element);
  const box = element.querySelector(".cloud-box"),
    frame = box.querySelector("iframe");
  let address = "",
    shown = "",
    isVisible = false,
    appeared = 0,
    waiting = 0;

  function update() {
    clearTimeout(waiting);
    if (!isVisible || address === shown) return;
    if (isFollowing() && Date.now() - appeared < LONGEST_WAIT_MS) {
      waiting = setTimeout(update, LOOK_MS);
      return;
    }
    shown = address;
    frame.hidden = !address;
    if (address) frame.src = `/static/point_cloud/page.html#${address}`; // a new hash does not load the page again
  }

  new IntersectionObserver((entries) => {
    isVisible = entries.at(-1).isIntersecting;
    appeared = Date.now();
    update();
  }).observe(box);
  return (value) => {
    address = value ?? "";
    update();
  };
}

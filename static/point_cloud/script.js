// The point cloud's page in a frame, which is loaded, and gets a new cloud, only while it is on the screen.
import { translateMarkup } from "/static/studio/texts.js";

export default function ({ element }) {
  translateMarkup(element);
  const box = element.querySelector(".cloud-box"),
    frame = box.querySelector("iframe");
  let address = "",
    shown = "",
    isVisible = false;

  function update() {
    if (!isVisible || address === shown) return;
    shown = address;
    frame.hidden = !address;
    if (address) frame.src = `/static/point_cloud/page.html#${address}`; // a new hash does not load the page again
  }

  new IntersectionObserver((entries) => {
    isVisible = entries.at(-1).isIntersecting;
    update();
  }).observe(box);
  return (value) => {
    address = value ?? "";
    update();
  };
}

// The cameras that a person placed in the twin, each with its picture; a new one is where the viewer looks from.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

export default function mount({ element, props, trigger }) {
  const panel = element.querySelector(".placed-cameras");
  const viewer = () => document.querySelector(`#${props.viewer} iframe`)?.contentWindow;
  let shown = "",
    wanted = ""; // name of the camera whose place the viewer was asked for

  function onMessage({ source, origin, data }) {
    if (!element.isConnected) return removeEventListener("message", onMessage);
    if (!wanted || source !== viewer() || origin !== location.origin || data.type !== "here") return;
    const { pos, quat_wxyz, field_of_view } = data;
    trigger("place", { name: wanted, pos, quat_wxyz, field_of_view });
    wanted = "";
  }

  function place() {
    wanted = panel.querySelector("input").value;
    viewer()?.postMessage({ type: "where" }, location.origin);
  }

  function inset({ name, picture }) {
    const remove = () => trigger("remove", { name });
    const label = t("Remove the camera {name}", { name });
    return h(
      "figure",
      {},
      h("img", { src: picture, alt: t("The twin from the camera {name}", { name }) }),
      h(
        "figcaption",
        {},
        name,
        h(
          "button.studio-button",
          { "data-sends": "placed-cameras.remove", title: label, "aria-label": label, onclick: remove },
          "✕",
        ),
      ),
    );
  }

  addEventListener("message", onMessage);
  return (value) => {
    if (JSON.stringify(value) === shown) return;
    shown = JSON.stringify(value);
    if (!value) return fill(panel);
    fill(
      panel,
      h("input", { value: value.next, maxLength: 40, "aria-label": t("Name of the camera") }),
      h("button.studio-button", { "data-sends": "placed-cameras.place", onclick: place }, t("Camera from this view")),
      value.cameras.map(inset),
    );
  };
}

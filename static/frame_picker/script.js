// Browses a recording's frames to open one of them. A recording with one frame opens at once.
import { fill, h } from "/static/studio/dom.js";
import { LatestRequest } from "/static/studio/latest_request.js";
import { t } from "/static/studio/texts.js";

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".frame-picker");
  let value = null,
    index = 0;
  const image = h("img", { alt: t("Frame preview") }),
    facts = h("span.faint", { role: "status" }),
    title = h("strong"),
    position = h("span");
  const slider = h("input", {
    type: "range",
    min: "0",
    step: "1",
    "aria-label": t("Frame"),
    oninput: () => showFrame(Number(slider.value)),
  });
  const frameRequest = new LatestRequest(
    (question) => server.ask(question),
    (answer) => {
      if (answer.error) {
        image.hidden = true;
        facts.textContent = answer.error;
        return;
      }
      image.hidden = false;
      image.src = answer.image;
      facts.textContent = answer.facts;
    },
  );
  const showFrame = (wantedIndex) => {
    index = Math.min(value.names.length - 1, Math.max(0, wantedIndex));
    slider.value = String(index);
    const time = value.times[index];
    const seconds = time === undefined ? "" : `, ${time.toFixed(2)} s`;
    position.textContent = t("Frame {index} of 0–{last}: {file}{seconds}", {
      index,
      last: value.names.length - 1,
      file: value.names[index],
      seconds,
    });
    facts.textContent = t("Reading …");
    frameRequest.send({ token: value.token, index });
  };
  const stepButton = (offset, text, label) =>
    h("button.studio-button", { "aria-label": label, title: label, onclick: () => showFrame(index + offset) }, text);
  const openFrame = () => {
    trigger("open", { token: value.token, index });
    close();
  };
  const close = () => {
    value = null;
    frameRequest.cancel();
    root.hidden = true;
  };
  fill(
    root,
    h("div.head", {}, title, h("button.studio-button", { onclick: close, "data-act": "close" }, t("Close"))),
    h("div.preview", {}, image),
    h("div.row", {}, stepButton(-1, "‹", t("Previous frame")), slider, stepButton(1, "›", t("Next frame"))),
    h(
      "div.row",
      {},
      position,
      facts,
      h("button.studio-button.primary", { onclick: openFrame, "data-act": "open" }, t("Open this frame")),
    ),
  );
  root.hidden = true;

  return (next) => {
    if (!next?.token) return close();
    if (next.token === value?.token) return;
    value = next;
    if (value.names.length === 1) {
      index = 0;
      return openFrame();
    }
    root.hidden = false;
    image.hidden = true;
    const name = value.name.replaceAll("_", " ");
    title.textContent = t("{name}: {kind}, {count} frames. Choose one to open.", {
      name,
      kind: value.kind,
      count: value.names.length,
    });
    slider.max = String(value.names.length - 1);
    showFrame(0);
    slider.focus();
  };
}

// Aligns the camera by pairs of clicks: a point in the photograph, the same point in the twin. The result is looked at
// before it is taken. See components/camera_aligner.py.
import { ClickPicture } from "/static/camera_aligner/click_picture.js";
import { fill, h } from "/static/studio/dom.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";

const MIN_PAIRS = 4,
  GOOD_PAIRS = 6,
  OVERLAY_TITLES = [t("Before: the twin's outlines by its own camera"), t("After: by the aligned camera")];
const largest = (values) => Math.max(...values);

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".camera-aligner");
  let value = {},
    pairs = [],
    pixel = null,
    point = null,
    found = null,
    asked = 0;
  const ask = asker(server, () => ({ token: value.token }));

  const photo = new ClickPicture(t("Photograph"), (at) => {
    pixel = at;
    pairUp();
  });
  const twin = new ClickPicture(t("Twin"), async (at) => {
    const answer = await ask({ kind: "point", pixel: at });
    if (showError(answer.error)) return;
    point = answer;
    pairUp();
  });
  const errorElement = h("p.fault", { role: "alert", hidden: true }),
    hint = h("p.hint", { role: "status" }),
    list = h("ol.pairs"),
    resultElement = h("div.result"),
    overlayElement = h("div.overlays");
  const alignButton = h("button.studio-button.primary", { "data-act": "align", onclick: align }, t("Align"));
  const page = h(
    "section.full-page",
    { hidden: true, role: "dialog", "aria-label": t("Align the camera") },
    h(
      "div.full-page-head",
      {},
      h("h2", {}, t("Align the camera")),
      hint,
      alignButton,
      h(
        "button.studio-button.plain",
        { title: t("Close (Esc)"), "aria-label": t("Close the alignment"), onclick: close },
        "✕",
      ),
    ),
    h(
      "div.full-page-body",
      {},
      h("div.pictures", {}, photo.element, twin.element, overlayElement),
      h("aside.full-page-side", {}, errorElement, list, resultElement),
    ),
  );
  const openButton = h(
    "button.studio-button",
    { "data-act": "open-alignment", "data-sends": "camera-aligner.open", onclick: open },
    t("Align the camera by clicks …"),
  );

  function showError(text) {
    errorElement.hidden = !text;
    errorElement.textContent = text ?? "";
    return Boolean(text);
  }

  /** Makes a pair of the two clicks once both are there. */
  function pairUp() {
    if (pixel && point) {
      pairs.push({ pixel, world: point.world, seen: point.seen, object: point.object });
      pixel = point = null;
      forget();
    }
    draw();
  }

  /** The result belongs to the pairs that it was computed from. */
  function forget() {
    found = null;
    asked += 1;
  }

  async function align() {
    const request = ++asked;
    showError("");
    fill(
      resultElement,
      h("p", { role: "status" }, h("i.spin"), ` ${t("Computing the camera")} `),
      h("button.studio-button", { "data-act": "stop", onclick: () => ask({ kind: "stop" }) }, t("■ Stop")),
    );
    alignButton.disabled = true;
    const answer = await ask({ kind: "align", pairs: pairs.map((pair) => ({ pixel: pair.pixel, world: pair.world })) });
    if (request !== asked) return draw();
    found = showError(answer.error) || answer.stopped ? null : answer;
    draw();
    if (answer.stopped) fill(resultElement, h("p", { role: "status" }, t("Stopped.")));
  }

  function take() {
    trigger("take", { id: found.id });
    pairs = [];
    forget();
    close();
  }

  function draw() {
    photo.mark(
      pairs.map((pair) => pair.pixel),
      pixel,
    );
    twin.mark(
      pairs.map((pair) => pair.seen),
      point?.seen,
    );
    const lacking = MIN_PAIRS - pairs.length;
    hint.textContent = pixel
      ? t("Now click the same point in the twin.")
      : point
        ? t("Now click the same point in the photograph.")
        : lacking > 0
          ? t("Click a point in the photograph, then the same point in the twin: {n} more.", { n: lacking })
          : pairs.length < GOOD_PAIRS
            ? t("{n} pairs. Six, spread over the picture and not on one line, are better.", { n: pairs.length })
            : t("{n} pairs. Align, or click more.", { n: pairs.length });
    alignButton.disabled = lacking > 0;
    fill(list, pairs.map(pairRow));
    fill(resultElement, found && result(found));
    fill(
      overlayElement,
      found?.overlays.map((picture, i) =>
        h(
          "figure",
          {},
          h("figcaption", {}, OVERLAY_TITLES[i]),
          h(
            "a",
            { href: picture, target: "_blank", title: t("Open the picture") },
            h("img.overlay", { src: picture, alt: OVERLAY_TITLES[i] }),
          ),
        ),
      ),
    );
  }

  const pairRow = (pair, i) =>
    h(
      "li",
      {},
      h("span", {}, pair.object || t("table")),
      found && h("span.number", {}, t("{px} px off", { px: found.residuals_px[i].toFixed(1) })),
      h(
        "button.studio-button.plain",
        {
          "aria-label": t("Remove pair {n}", { n: i + 1 }),
          onclick: () => {
            pairs.splice(i, 1);
            forget();
            draw();
          },
        },
        "✕",
      ),
    );

  const result = (one) => [
    h(
      "p",
      {},
      t("The camera turns by {deg}° and moves by {mm} mm.", {
        deg: one.turned_deg.toFixed(2),
        mm: (1000 * one.moved_m).toFixed(1),
      }),
    ),
    h(
      "p",
      { "data-result": "uncertainty" },
      t("Standard deviation up to {deg}° and {mm} mm, from {evidence}.", {
        deg: largest(one.rotation_std_deg).toFixed(2),
        mm: (1000 * largest(one.position_std_m)).toFixed(1),
        evidence: one.evidence.join(", "),
      }),
    ),
    h("button.studio-button.primary", { "data-act": "take", onclick: take }, t("Use this camera")),
    h("p.muted", {}, t("The twin is built again. Undo takes it back.")),
  ];

  async function open() {
    page.hidden = false;
    photo.show(value.photo);
    draw();
    const answer = await ask({ kind: "open" });
    if (showError(answer.error)) return;
    twin.show(answer.twin);
  }

  function close() {
    page.hidden = true;
    openButton.focus();
  }

  document.addEventListener(
    "keydown",
    (event) => {
      if (page.hidden || !element.isConnected) return;
      event.stopPropagation();
      if (event.key === "Escape") close();
    },
    true,
  );
  fill(root, openButton, page);

  return (next) => {
    if (next?.token !== value.token) {
      pairs = [];
      pixel = point = null;
      page.hidden = true;
      forget();
    }
    value = next ?? {};
    openButton.hidden = !value.token;
  };
}

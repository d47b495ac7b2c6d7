import { h, sizeText } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

export const COLLAPSED_COUNT = 4;
export const SCORE_NAMES = { appearance: "pattern" };

// The options for an object: the matcher's candidates, an asset chosen by a person, and the reconstruction from the
// view. `methodOption`, if given, replaces the latter: a reconstruction method that is being viewed.
export function optionsOf(object, methodOption) {
  const { match } = object,
    candidates = match?.candidates ?? [];
  if (!match) return [];
  const personChoice =
    match.asset && !candidates.some((option) => option.asset_id === match.asset_id)
      ? [{ ...match.asset, reason: t("chosen by you, not among the matcher's candidates") }]
      : [];
  const reconstruction = match.asset_id === null && object.placed?.reconstruction;
  return [
    ...personChoice,
    ...candidates,
    methodOption ?? {
      asset_id: "",
      name: t("From the view"),
      method: reconstruction ? reconstruction.shape : "",
      reason: reconstruction
        ? reconstruction.note
        : t("reconstructed from the visible side; the hidden side is estimated"),
    },
  ];
}

// Such as "From the view: turned profile".
export const fullName = ({ name, method }) => (method ? `${name}: ${method}` : name);

export const METHOD_PREFIX = "method:";

// The option of one reconstruction method, to preview before choosing it.
export const methodOption = ({ method, title }, render) => ({
  asset_id: `${METHOD_PREFIX}${method}`,
  name: t("From the view"),
  method: title.split(/ \(|,/)[0].toLowerCase(),
  reason: render?.note ?? t("reconstructed from the visible side; the hidden side is estimated"),
});

// Whether this option represents the object.
export const isChosen = (object, option) =>
  option.asset_id.startsWith(METHOD_PREFIX)
    ? object.match?.asset_id === null && object.method === option.asset_id.slice(METHOD_PREFIX.length)
    : (object.match?.asset_id ?? "") === option.asset_id;

export const isMatcherChoice = (object, option) => (object.match?.machine?.asset_id ?? "") === option.asset_id;

// Whether the twin shows this option in the photograph's colour instead of its own.
export const isRecoloured = ({ placed }, { asset_id }) =>
  Boolean(asset_id && placed?.recolour && placed.asset_id === asset_id);

export const recolouredTag = ({ placed }) =>
  h(
    "span.tag.recoloured",
    {
      title: t("Its shape fits; its texture is tinted to the colour in the photograph. The inspector switches it off."),
    },
    h("i.swatch", { style: `background:rgb(${placed.recolour})` }),
    t("Recoloured"),
  );

// `scene` and `render` as the server sent them; `look` and `choose` are called with the option.
export function tile(object, option, { scene, render }, isViewed, { look: onView, choose: onChoose }) {
  const chosen = isChosen(object, option),
    isReady = render?.state === "ready" && scene;
  const picture = isReady
    ? [
        h("img.background", { src: scene.background, alt: "" }),
        h("img.candidate", { src: render.image, alt: option.name }),
      ]
    : option.image
      ? h("img.card", { src: option.image, alt: option.name, loading: "lazy" })
      : h("div.placeholder", { style: object.crop && `background-image:url("${object.crop}")` });
  return h(
    `button.tile.asset${chosen ? ".on" : ""}${isViewed ? ".viewed" : ""}`,
    {
      "data-asset": option.asset_id,
      "aria-pressed": String(chosen),
      title: `${fullName(option)}: ${option.reason}`,
      onclick: (event) => {
        event.stopPropagation();
        isViewed && event.detail === 0 ? onChoose(option) : onView(option);
      },
      ondblclick: () => onChoose(option),
    },
    h("span.picture", {}, picture, render?.state === "drawing" && h("span.drawing", {}, t("Rendering …"))),
    h("span.asset-name", {}, option.name),
    h(
      "span.line",
      {},
      option.score !== undefined && h("b", {}, `${Math.round(option.score * 100)} %`),
      option.method && h("span.faint", {}, option.method),
      option.size && h("span.faint", {}, sizeText(option.size).replace(" cm", "")),
      chosen && h("span.tag.good", {}, t("✓ Chosen")),
      !chosen && isMatcherChoice(object, option) && h("span.tag", {}, t("Matcher's choice")),
      isRecoloured(object, option) && recolouredTag(object),
    ),
  );
}

const scoreName = (name) => t(SCORE_NAMES[name] ?? name);

export const scoreBars = (scores = {}) =>
  h(
    "div.bars",
    {},
    Object.entries(scores).map(([name, score]) =>
      h(
        "div.bar",
        { title: t("{name}: {score} of 100", { name: scoreName(name), score: Math.round(score * 100) }) },
        h("span.what", {}, scoreName(name)),
        h("span.track", {}, h("span.fill", { style: `width:${Math.round(score * 100)}%` })),
        h("span.number", {}, String(Math.round(score * 100))),
      ),
    ),
  );

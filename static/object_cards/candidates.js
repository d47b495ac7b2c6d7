// The options for an object: the matcher's candidates, an asset that a person chose, the reconstruction from the view.
import { t } from "/static/studio/texts.js";

export const COLLAPSED_COUNT = 4; // candidates shown at first
export const METHOD_PREFIX = "method:";
export const FROM_VIEW = t("From the view");
const ESTIMATED = t("reconstructed from the visible side; the hidden side is estimated");

/** The options for an object. `methodOption`, a method that is being viewed, takes the place of the reconstruction. */
export function optionsOf(object, methodOption) {
  const { match, placed } = object;
  if (!match) return [];
  const { candidates = [] } = match,
    isListed = candidates.some((option) => option.asset_id === match.asset_id),
    reconstruction = match.asset_id === null && placed?.reconstruction;
  return [
    ...(match.asset && !isListed
      ? [{ ...match.asset, reason: t("chosen by you, not among the matcher's candidates") }]
      : []),
    ...candidates,
    methodOption ?? {
      asset_id: "",
      name: FROM_VIEW,
      method: reconstruction ? reconstruction.shape : "",
      reason: reconstruction ? reconstruction.note : ESTIMATED,
    },
  ];
}

/** The option of one reconstruction method, to preview before choosing it. */
export const methodOption = ({ method, title }, render) => ({
  asset_id: `${METHOD_PREFIX}${method}`,
  name: FROM_VIEW,
  method: title.split(/ \(|,/)[0].toLowerCase(),
  reason: render?.note ?? ESTIMATED,
});

/** Such as "From the view: turned profile". */
export const fullName = ({ name, method }) => (method ? `${name}: ${method}` : name);

export const isMethod = ({ asset_id }) => asset_id.startsWith(METHOD_PREFIX);

/** Whether this option represents the object. */
export const isChosen = (object, option) =>
  isMethod(option)
    ? object.match?.asset_id === null && object.method === option.asset_id.slice(METHOD_PREFIX.length)
    : (object.match?.asset_id ?? "") === option.asset_id;

export const isMatcherChoice = (object, option) => (object.match?.machine?.asset_id ?? "") === option.asset_id;

/** Whether the twin shows this option in the photograph's colour instead of its own. */
export const isRecoloured = ({ placed }, { asset_id }) =>
  Boolean(asset_id && placed?.recolour && placed.asset_id === asset_id);

/** Whether the twin shows this option with the photograph's print instead of its own. */
export const isPrinted = ({ placed }, { asset_id }) =>
  Boolean(asset_id && placed?.printed && placed.asset_id === asset_id);

/** The decision that lets an option represent an object. */
export const decision = (id, { asset_id }) =>
  asset_id && !isMethod({ asset_id })
    ? { kind: "choose_asset", id, asset_id }
    : { kind: "make", id, way: asset_id.slice(METHOD_PREFIX.length) || "best" };

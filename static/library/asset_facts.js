// What is known of an asset, with its sources, and fields to edit it.
import { collectionName, describerName, inertia, mass, sourceName, travel } from "/static/library/formatting.js";
import { Fact, sizeText } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { classes, html } from "/static/studio/view.js";

/** `panel` is the AssetPanel, which has the fields and saves the changes. */
export const AssetFacts = ({ panel, asset }) =>
  html`${panel.textField("caption", asset.caption, {
    class: "caption",
    "aria-label": t("Caption"),
    title: t("One sentence; read by language models"),
  })}
    ${description(panel, asset)}
    <${Fact} name="category">
      ${panel.textField("category", asset.category, { "aria-label": t("Category") })}
    </${Fact}>
    ${shape(panel, asset)}
    ${physics(panel, asset)}
    <${Fact} name="licence">
      ${panel.textField("licence", asset.licence, { "aria-label": t("Licence"), placeholder: t("unknown") })}
    </${Fact}>
    <${Fact} name="source">${asset.provenance || t("unknown")}</${Fact}>
    <${Fact} name="collection">
      ${collectionName(asset.collection)}
      ${!asset.own && html`<span class="source">${t("edits are saved as your own version")}</span>`}
      ${asset.version && html`<span class="source">${t("your version of this asset")}</span>`}
    </${Fact}>
    ${
      asset.warnings.length > 0 &&
      html`<h4>${t("Import warnings")}</h4>
        <ul class="warnings">${asset.warnings.map((fault) => html`<li>${fault}</li>`)}</ul>`
    }`;

// What models read about the asset, who wrote it, and a person's own words in its place.
function description(panel, { description: { text, source } }) {
  const save = (words) => panel.change({ kind: "describe", text: words });
  return html`<${Fact} name="description">
    <span class="description">
      <textarea rows="3" maxlength="600" aria-label=${t("Description")}
        placeholder=${t("Not described yet. Models read the caption instead.")} data-sends="library.describe"
        ...${panel.field("description", text, save)} />
      ${source && html`<span class="source">${describerName(source)}</span>`}
      ${
        source === "human" &&
        html`<button class="studio-button plain" onclick=${() => text && save("")}
          title=${t("Remove your description; the model's or the measured one is back")}>${t("Remove")}</button>`
      }
    </span>
  </${Fact}>`;
}

function shape(panel, { size, joints, tipped_over: tipped }) {
  const scale = (value) => panel.change({ kind: "scale", longest: value / 100 });
  return html`<${Fact} name="size">
      ${sizeText(size)}
      ${
        !joints.length &&
        html`<span>
          <span class="source">${t("longest side")} </span>
          ${panel.numberField("longest", 100 * Math.max(...size), "cm", t("Longest side in cm"), 0.1, scale)}
        </span>`
      }
    </${Fact}>
    <${Fact} name="rotate">
      ${["x", "y", "z"].map(
        (axis) => html`<button class="studio-button" title=${t("Rotate 90° about {axis}", { axis })}
          data-sends="library.turn" onclick=${() => panel.change({ kind: "turn", axis })}>↻ ${axis}</button>`,
      )}
    </${Fact}>
    ${tipped && standUp(panel, tipped)}`;
}

const standUp = (panel, { faces, axis, quarters }) =>
  html`<p class="warning">
    ${t("Its opening faces {faces}. Tipped over?", { faces })}${" "}
    <button class="studio-button" data-act="stand-up"
      onclick=${() => panel.change({ kind: "turn", axis, quarters })}>${t("Set upright")}</button>
  </p>`;

function physics(panel, asset) {
  const save = (key, unit) => (value) => panel.change({ kind: "change", values: { [key]: value / unit } });
  return html`<${Fact} name="mass">
      ${panel.numberField("mass", 1000 * asset.mass, "g", t("Mass in g"), 1, save("mass", 1000))}
      ${range(asset.mass, asset.mass_range, mass)}
      <span class="source">${sourceName(asset.mass_source)}</span>
    </${Fact}>
    <${Fact} name="friction">
      ${panel.numberField("friction", asset.friction, "", t("Sliding friction"), 0.05, save("friction", 1))}
      ${range(asset.friction, asset.friction_range, (value) => value.toFixed(2))}
      <span class="source">${sourceName(asset.friction_source)}</span>
    </${Fact}>
    <${Fact} name="inertia">${aboutCentre(panel.preview.value)}</${Fact}>
    <${Fact} name="collision">
      ${t("{n} convex part|{n} convex parts", { n: asset.convex_parts })}${asset.container && t(", open at the top")}
    </${Fact}>
    ${
      asset.joints.length > 0 &&
      html`<${Fact} name="joints">
        <ul class="joints">${asset.joints.map((joint) => html`<li>${jointText(joint)}</li>`)}</ul>
      </${Fact}>`
    }`;
}

// Known when the model of the preview has compiled.
const aboutCentre = (preview) =>
  html`<span>
    ${preview ? inertia(preview.inertia) : "…"}
    ${preview && html`<span class="source">${` ${t("about its centre of mass, from MuJoCo")}`}</span>`}
    ${preview?.doubt && html`<p class="warning">${preview.doubt}</p>`}
  </span>`;

const jointText = (joint) =>
  `${joint.part.replaceAll("_", " ")}: ${joint.kind === "hinge" ? t("rotates") : t("slides")} ${travel(joint)}`;

// Shows where a value lies in its plausible range.
function range(value, [low, high], format) {
  const isPlausible = value >= low * 0.999 && value <= high * 1.001,
    position = Math.min(100, Math.max(0, (100 * Math.log(value / low)) / Math.log(high / low)));
  return html`<span class=${classes("range", !isPlausible && "out")}
    title=${t("Plausible: {low} to {high}", { low: format(low), high: format(high) })}>
    <i style=${`left:${Number.isFinite(position) ? position : 50}%`} />
    <span class="ends"><span>${format(low)}</span><span>${format(high)}</span></span>
    ${!isPlausible && html`<span class="sr">${t("Outside the plausible range")}</span>`}
  </span>`;
}

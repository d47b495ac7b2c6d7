// The selected object: its properties, its pose in the twin, and what a person decides about it.
import { showStep } from "/static/studio/gradio_tabs.js";
import { centimetres, Chip, ConfidenceBadge, Fact, sizeText, TypedInput } from "/static/studio/parts.js";
import { selected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { html, mounts, View } from "/static/studio/view.js";
import { collapsing } from "./collapse.js";

const SOURCES = { measured: t("measured in the frame"), human: t("set by you"), rules: "rules" };

class Inspector extends View {
  collapseButton = collapsing(this.root);

  decide(kind, data) {
    this.send("decide", { kind, ...data });
  }

  template() {
    const { objects = [] } = this.value,
      object = objects.find(({ id }) => id === selected()),
      hint = objects.length ? t("Select an object in the list, the image or the viewer.") : t("No objects yet.");
    if (!object) return html`${this.collapseButton()}<div class="empty">${hint}</div>`;
    return html`${this.collapseButton()}
      <h2 class="hidden-text">${t("Inspector")}</h2>
      <div class="title flow"><${Chip} object=${object} />${this.nameField(object)}</div>
      ${picture(object)}
      ${caption(object)}
      ${
        object.confidence &&
        html`<p class="sure"><${ConfidenceBadge} confidence=${object.confidence} /> ${object.confidence.reason}</p>`
      }
      ${object.size && measured(object)}
      ${object.warnings?.map((text) => html`<p class="warning">${text}</p>`)}
      ${object.match && matched(object)}
      ${object.match && object.placed?.can_recolour && this.colourChoice(object)}
      ${object.placed && placed(object)}
      ${object.fit && compared(object)}
      ${!object.is_brought && this.actions(object)}`;
  }

  nameField({ id, words, is_brought }) {
    const leave = (event) => {
        event.stopPropagation();
        if (event.key === "Escape") event.target.value = words;
        if (event.key === "Enter" || event.key === "Escape") event.target.blur();
      },
      rename = ({ target }) => {
        const name = target.value.trim();
        if (name !== words) this.decide("display_name", { id, name });
      };
    return html`<${TypedInput} key=${id} class="name" disabled=${Boolean(is_brought)} data-sends="inspector.decide"
      value=${words} since=${this.value} aria-label=${t("Name")}
      title=${t("Rename (Enter to save; empty for the automatic name)")}
      spellcheck=${false} onkeydown=${leave} onchange=${rename} />`;
  }

  colourChoice({ id, placed: { recolour, printed } }) {
    const isPhoto = Boolean(recolour || printed),
      swatch = html`<i class="swatch" style=${`background:rgb(${recolour})`} />`,
      tinted = html`${swatch}${t("recoloured to the photograph")}`;
    return html`<${Fact} name="colour">
        ${printed ? t("the photograph's print where it is seen") : recolour ? tinted : t("the asset's own")}<//>
      <button class="studio-button recolour" data-sends="inspector.decide"
        onclick=${() => this.decide("recolour", { id, value: !isPhoto })}>
        ${isPhoto ? t("Use the asset's own look") : t("Show it as in the photograph")}</button>`;
  }

  actions({ id, is_object }) {
    return html`<div class="actions" data-sends="inspector.decide">
      <button class="studio-button" onclick=${() => this.decide("not_object", { id, value: is_object })}>
        ${is_object ? t("Mark as not an object") : t("Mark as object")}</button>
      <button class="studio-button" onclick=${() => this.decide("delete_segment", { id })}>${t("Delete")}</button>
    </div>`;
  }
}

function picture({ crop, is_brought, words: name }) {
  const alt = is_brought ? t("Picture of {name}", { name }) : t("The photograph of {name}", { name });
  return crop && html`<img class="crop" src=${crop} alt=${alt} />`;
}

// The measured caption of an object that an asset represents may name something else than the asset does.
function caption({ caption: text, size, source, asset_label, placed }) {
  const caption = size ? text.replace(/,? *[\d.]+ x [\d.]+ x [\d.]+ cm/, "") : text,
    isMeasured = source === "measured" && placed?.asset_id && size;
  return html`<p class="caption">${asset_label && html`<strong>${asset_label}</strong> · `}
    ${isMeasured ? t("measured as: {caption}", { caption }) : caption}</p>`;
}

const measured = ({ size, shape, rgb, colour_name, source, name }) => html`<h3>${t("Measured")}</h3>
  <${Fact} name="size">${sizeText(size)}<//>
  <${Fact} name="shape">${t(shape)}<//>
  <${Fact} name="colour"><i class="swatch" style=${`background:rgb(${rgb})`} />${t(colour_name)}<//>
  <${Fact} name="source">${SOURCES[source] ?? source}<//>
  <${Fact} name="id"><span class="id" title=${t("The name in programs, checks and exports")}>${name}</span><//>`;

function matched({ match: { asset_id, asset_name: asset, reason }, placed }) {
  const named = placed?.recolour ? t("{asset}, recoloured", { asset }) : asset,
    isScaled = asset_id && placed && Math.abs(placed.scale - 1) > 0.005;
  return html`<h3>${t("In the twin")}</h3>
    <${Fact} name="asset">${asset_id ? named : t("reconstructed from the view")}<//>
    <${Fact} name="reason">${reason}<//>
    ${
      isScaled &&
      html`<${Fact} name="size">${t("{scale} % of the asset", { scale: (placed.scale * 100).toFixed(0) })}<//>`
    }`;
}

/** "handle 2" for "handle_2". */
function partName(name) {
  const [kind, number] = name.split("_");
  return number ? `${t(kind)} ${number}` : t(kind);
}

const placed = ({ placed: { mass, pos, yaw, parts }, moved }) => html`
  <${Fact} name="mass">${(mass * 1000).toFixed(0)} g<//>
  ${parts?.length > 0 && html`<${Fact} name="parts">${parts.map(partName).join(", ")}<//>`}
  <h3>${t("Pose")}</h3>
  <${Fact} name="x · y">${(pos[0] * 100).toFixed(1)} · ${centimetres(pos[1])}<//>
  <${Fact} name="yaw">${((yaw * 180) / Math.PI).toFixed(0)}°<//>
  ${moved && html`<p class="note">${t("moved by you")}</p>`}
  <button class="studio-button adjust" onclick=${() => showStep("scene")}
    title=${t("Move, rotate and resize it on the Scene page")}>${t("Adjust in Scene")}</button>`;

const compared = ({ fit: { iou, depth_error, short } }) => html`<h3>${t("Compared with the photograph")}</h3>
  <${Fact} name="outline">${t("{iou} % IoU", { iou: Math.round(iou * 100) })}<//>
  ${
    depth_error !== null &&
    html`<${Fact} name="depth">${t("{depth_error} error", { depth_error: centimetres(depth_error) })}<//>`
  }
  <${Fact} name="verdict">${short}<//>`;

export default mounts(Inspector);

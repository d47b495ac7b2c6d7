// The objects, by number or lowest confidence first. The list keeps the selection in step with the viewers.
import { leastConfidentFirst, orderedObjects, setLeastConfidentFirst } from "/static/studio/object_order.js";
import { hear } from "/static/studio/page_events.js";
import { Chip, ConfidenceBadge, TickBox } from "/static/studio/parts.js";
import {
  idOf,
  isSelected,
  nameObjects,
  nameOf,
  onSelect,
  select,
  selected,
  toggleSelected,
} from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { classes, follow, html, mounts, View } from "/static/studio/view.js";

// Each viewer is in a frame of its own.
function selectInViewers() {
  for (const frame of document.querySelectorAll("iframe"))
    frame.contentWindow?.postMessage({ type: "select", name: nameOf(selected()) ?? "" }, location.origin);
}

function hearViewer({ origin, data }) {
  if (origin !== location.origin) return;
  if (data?.type === "select") select(idOf(data.name));
  if (data?.type === "ready") setTimeout(selectInViewers, 100); // after the messages with what Python shows in it
  if (data?.type === "loaded") selectInViewers();
}

class ObjectList extends View {
  constructor(context) {
    super(context);
    follow(this.root, () => nameObjects(this.objects.filter((object) => object.is_object)));
    onSelect(this.root, selectInViewers);
    hear(this.root, window, "message", hearViewer);
  }

  get objects() {
    return this.value.objects ?? [];
  }

  template() {
    const { token, waiting = t("No objects yet") } = this.value,
      photographed = this.objects.filter((object) => !object.is_brought),
      ordered = orderedObjects(token, photographed),
      hasConfidence = ordered.some((object) => object.confidence);
    return html`<h2 class="head">${t("Objects")}<span class="count">${ordered.length || ""}</span></h2>
      ${hasConfidence && order()}
      ${!this.objects.length && html`<div class="none">${waiting}</div>`}
      ${ordered.map(row)}
      ${group(
        t("From the library"),
        this.objects.filter((object) => object.is_brought),
      )}
      ${group(
        t("Not objects"),
        this.objects.filter((object) => !object.is_object),
      )}`;
  }
}

const order = () => html`<div class="order"
  title=${t("Sort by confidence, lowest first. The order stays while you work.")}>
  <${TickBox} label=${t("Lowest confidence first")} checked=${leastConfidentFirst()}
    onChange=${setLeastConfidentFirst} />
</div>`;

const group = (title, objects) => objects.length > 0 && [html`<h2 class="head second">${title}</h2>`, objects.map(row)];

function row(object) {
  const { id, words, caption, asset_label, confidence, mark, mark_note } = object,
    isOn = isSelected(id),
    choose = (event) => (event.shiftKey ? toggleSelected(id) : select(id)),
    name = classes("list-row row", !object.is_object && "non-object", isOn && "selected");
  return html`<button class=${name} key=${id} data-id=${id} aria-pressed=${isOn} onclick=${choose}
    title=${`${words}: ${caption}${asset_label ? `; matched to ${asset_label}` : ""}`}>
    <${Chip} object=${object} />
    <span class="name">${words}${asset_label && html`<span class="asset-label">${asset_label}</span>`}</span>
    <${ConfidenceBadge} confidence=${confidence} withWord=${false} />
    ${mark && html`<span class="mark" title=${mark_note}>${mark}</span>`}
  </button>`;
}

export default mounts(ObjectList);

import { chip, fill, h, tickBox } from "/static/studio/dom.js";
import { orderedObjects, leastConfidentFirst, setLeastConfidentFirst } from "/static/studio/object_order.js";
import {
  alsoSelected,
  idOf,
  nameObjects,
  nameOf,
  onSelect,
  select,
  selected,
  toggleSelected,
} from "/static/studio/selection.js";
import { confidenceBadge } from "/static/studio/confidence.js";
import { t } from "/static/studio/texts.js";
import { onChange } from "/static/studio/view.js";

export default function mount({ element }) {
  const list = element.querySelector(".object-list");
  const markSelected = () => {
    for (const row of list.querySelectorAll("[data-id]")) {
      const id = Number(row.dataset.id),
        isSelected = id === selected() || alsoSelected().has(id);
      row.classList.toggle("selected", isSelected);
      row.setAttribute("aria-pressed", isSelected);
    }
  };
  // Keeps the selection in sync with the viewer, which is in a frame of its own.
  const selectInViewers = () => {
    for (const frame of document.querySelectorAll("iframe"))
      frame.contentWindow?.postMessage({ type: "select", name: nameOf(selected()) ?? "" }, location.origin);
  };
  onSelect(element, () => {
    markSelected();
    selectInViewers();
  });
  window.addEventListener("message", function hear({ origin, data }) {
    if (!element.isConnected) return window.removeEventListener("message", hear);
    if (origin !== location.origin) return;
    if (data?.type === "select") select(idOf(data.name));
    if (data?.type === "ready") setTimeout(selectInViewers, 100); // after the messages with what Python shows in it
    if (data?.type === "loaded") selectInViewers();
  });
  let value = null;
  onChange(element, leastConfidentFirst, () => draw());
  const draw = () => {
    const objects = value?.objects ?? [];
    nameObjects(objects.filter((object) => object.is_object));
    const brought = objects.filter((object) => object.is_brought),
      ordered = orderedObjects(
        value?.token,
        objects.filter((object) => !object.is_brought),
      ),
      others = objects.filter((object) => !object.is_object);
    const row = (object) =>
      h(
        `button.list-row.row${object.is_object ? "" : ".non-object"}`,
        {
          "data-id": object.id,
          title: `${object.words}: ${object.caption}${object.asset_label ? `; matched to ${object.asset_label}` : ""}`,
          onclick: (event) => (event.shiftKey ? toggleSelected(object.id) : select(object.id)),
        },
        chip(object),
        h("span.name", {}, object.words, object.asset_label && h("span.asset-label", {}, object.asset_label)),
        confidenceBadge(object.confidence, false),
        object.mark && h("span.mark", { title: object.mark_note }, object.mark),
      );
    fill(
      list,
      h("h2.head", {}, t("Objects"), h("span.count", {}, String(ordered.length || ""))),
      ordered.some((object) => object.confidence) &&
        h(
          "div.order",
          { title: t("Sort by confidence, lowest first. The order stays while you work.") },
          tickBox(t("Lowest confidence first"), leastConfidentFirst(), setLeastConfidentFirst),
        ),
      objects.length ? null : h("div.none", {}, value?.waiting ?? t("No objects yet")),
      ordered.map(row),
      brought.length ? h("h2.head.second", {}, t("From the library")) : null,
      brought.map(row),
      others.length ? h("h2.head.second", {}, t("Not objects")) : null,
      others.map(row),
    );
    markSelected();
  };
  return (next) => {
    value = next;
    draw();
  };
}

import { chip, fill, h } from "/static/studio/dom.js";
import { inOrder, leastSureFirst, onOrder, sortLeastSureFirst } from "/static/studio/order.js";
import { also, idOf, nameObjects, nameOf, onSelect, select, selected, selectMore } from "/static/studio/selection.js";
import { badge } from "/static/studio/sure.js";

export default function mount({ element }) {
  const list = element.querySelector(".object-list");
  const show = () => {
    for (const row of list.querySelectorAll("[data-id]")) {
      const id = Number(row.dataset.id), on = id === selected() || also().has(id);
      row.classList.toggle("selected", on);
      row.setAttribute("aria-pressed", on);
    }
  };
  // The viewer lives in a frame of its own: what is selected there is selected here, and the other way round.
  const tellViewers = () => {
    for (const frame of document.querySelectorAll("iframe")) frame.contentWindow?.postMessage({ type: "select", name: nameOf(selected()) ?? "" }, location.origin);
  };
  onSelect(element, () => { show(); tellViewers(); });
  window.addEventListener("message", function hear({ origin, data }) {
    if (!element.isConnected) return window.removeEventListener("message", hear);
    if (origin !== location.origin) return;
    if (data?.type === "select") select(idOf(data.name));
    if (data?.type === "ready") setTimeout(tellViewers, 100); // after what Python wants shown in it
    if (data?.type === "loaded") tellViewers();
  });
  let value = null;
  onOrder(element, () => draw());
  const draw = () => {
    const objects = value?.objects ?? [];
    nameObjects(objects.filter((object) => object.is_object));
    const things = inOrder(value?.token, objects), others = objects.filter((object) => !object.is_object);
    const row = (object) => h(`button.row${object.is_object ? "" : ".other"}`, { "data-id": object.id, title: `${object.name}: ${object.caption}${object.known_as ? `; matched to ${object.known_as}` : ""}`, onclick: (event) => (event.shiftKey ? selectMore(object.id) : select(object.id)) },
      chip(object), h("span.name", {}, object.name, object.known_as && h("span.known", {}, object.known_as)), badge(object.sure, false), object.mark && h("span.mark", { title: object.mark_says }, object.mark));
    fill(list,
      h("div.head", {}, "Objects", h("span.count", {}, String(things.length || ""))),
      things.some((object) => object.sure) && h("label.order", { title: "What is most worth a look stands first; the order stays while you work" }, h("input", { type: "checkbox", checked: leastSureFirst(), onchange: (event) => sortLeastSureFirst(event.target.checked) }), "least sure first"),
      objects.length ? null : h("div.none", {}, value?.waiting ?? "None yet"),
      things.map(row), others.length ? h("div.head.second", {}, "Not objects") : null, others.map(row),
    );
    show();
  };
  return (next) => { value = next; draw(); };
}

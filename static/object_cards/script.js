import { Asking } from "/static/mask_canvas/asking.js";
import { keyOf } from "/static/mask_canvas/keys.js";
import { centimetres, chip, fill, h, sizeText } from "/static/studio/dom.js";
import { inOrder, lookingOver, onOrder } from "/static/studio/order.js";
import { onSelect, select, selected } from "/static/studio/selection.js";
import { badge } from "/static/studio/sure.js";
import { Finder, hits } from "./finder.js";
import { overview } from "./small.js";
import { Stage } from "./stage.js";
import { bars, chosen, FIRST, fullName, machineChose, madeSo, options as offers, tile, WAY } from "./tiles.js";

const AGAIN = 300; // milliseconds until it is asked again what has been drawn
const SETTLE = 150; // an object that is only passed by is not drawn

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".object-cards");
  const stage = new Stage(), looked = new Map(), scenes = new Map(), whole = new Set();
  let value = null, objects = [], hovered = null, timer = 0;

  // ---- which object, which candidate
  const things = () => inOrder(value?.token, objects);
  const current = () => objects.find((one) => one.id === selected()) ?? things()[0] ?? objects[0];
  // A way that was chosen is looked at as the twin has it, as soon as that is made anew.
  const wished = (one) => {
    const id = looked.get(one.id);
    if (!id?.startsWith(WAY)) return undefined;
    const way = (value?.ways ?? []).find((each) => `${WAY}${each.way}` === id), option = way && madeSo(way, sceneOf(one)?.drawn[id]);
    if (!way || (chosen(one, option) && one.placed && !one.placed.changed)) { looked.set(one.id, ""); return undefined; }
    return option;
  };
  const options = (one) => offers(one, wished(one));
  const shownTiles = (one) => {
    const list = options(one), last = list.length - 1;
    return whole.has(one.id) ? list : list.filter((option, place) => place < FIRST || place === last || chosen(one, option));
  };
  const offered = (one) => (finder.searching ? finder.found : shownTiles(one));
  const among = (one, id) => [...finder.found, ...options(one)].find((option) => option.asset_id === id);
  const lookedAt = (one) => among(one, looked.get(one.id)) ?? options(one).find((option) => chosen(one, option)) ?? options(one)[0];
  const sceneOf = (one) => scenes.get(one.id);
  const drawnOf = (one, option) => {
    const known = sceneOf(one)?.drawn[option.asset_id];
    if (!option.asset_id && (known ?? { state: "none" }).state === "none") return { state: "none", why: chosen(one, option) ? "it shows here as soon as the twin stands" : "it is made, and shown here, when it is chosen" };
    const asked = !sceneOf(one) || looked.get(one.id) === option.asset_id;
    return known ?? (asked ? { state: "drawing" } : undefined);
  };

  // ---- what the server draws
  const asking = new Asking(server.ask, (answer) => {
    if (answer.error) return;
    const before = scenes.get(answer.id);
    scenes.set(answer.id, { ...answer, drawn: { ...(before?.photo === answer.photo ? before.drawn : {}), ...answer.drawn } });
    draw();
    clearTimeout(timer);
    if (Object.values(answer.drawn).some(({ state }) => state === "drawing")) timer = setTimeout(compare, AGAIN);
  });
  const compare = () => {
    const one = current();
    if (!one?.match || !root.offsetParent) return;
    const first = lookedAt(one)?.asset_id ?? "";
    const rest = options(one).filter(({ asset_id }) => asset_id && !asset_id.startsWith(WAY)).slice(0, FIRST).map(({ asset_id }) => asset_id);
    const view = one.match.asset_id === null && !first.startsWith(WAY) ? [""] : [];
    asking.ask({ kind: "compare", token: value.token, id: one.id, assets: [...new Set([...(first || view.length ? [first] : []), ...rest, ...view])] });
  };
  // What was chosen in the list, or below among all, is seen whole.
  const inView = () => { if (root.offsetParent && panel.getBoundingClientRect().top < root.closest(".tabitem")?.getBoundingClientRect().top) panel.scrollIntoView({ block: "start" }); };
  const soon = () => { clearTimeout(timer); timer = setTimeout(compare, SETTLE); };
  const finder = new Finder(server.ask, () => value?.token, () => draw());
  finder.cleared = () => draw();

  // ---- what a person decides
  const decide = (kind, data) => trigger("decide", { kind, ...data });
  const act = {
    look: (option) => { looked.set(current().id, option.asset_id); hovered = null; draw(); compare(); },
    choose: (option, ids = [current().id]) => {
      const [id] = ids;
      looked.set(id, option.asset_id);
      if (ids.length === 1 && !(chosen(current(), option) && current().match.source === "human")) decided(id, option);
      if (ids.length > 1) trigger("decide", { kind: "several", said: `${option.name} chosen for ${ids.length} alike objects`, decisions: ids.map((one) => decision(one, option)) });
      finder.clear(draw);
    },
    step: (by) => {
      const order = things(), place = order.indexOf(current());
      if (order.length) select(order[(place + by + order.length) % order.length].id);
    },
    turn: (by) => {
      const one = current(), list = one ? offered(one) : [], place = list.findIndex((option) => option.asset_id === lookedAt(one)?.asset_id);
      if (list.length) act.look(list[(Math.max(place, 0) + by + list.length) % list.length]);
      root.querySelector(".asset.looked")?.scrollIntoView({ block: "nearest" });
    },
  };
  const decision = (id, { asset_id }) => (asset_id && !asset_id.startsWith(WAY) ? { kind: "choose_asset", id, asset_id } : { kind: "make", id, way: asset_id.slice(WAY.length) || "best" });
  const decided = (id, option) => trigger("decide", decision(id, option));

  // ---- drawing
  const head = h("div.head"), part = h("div.part"), side = h("div.side"), tiles = h("div.tiles"), others = h("div"), doing = h("div.doing"), panel = h("section.panel.one", {}, head, part, h("div.wide", {}, stage.element, side), h("div.bar-row", {}, stage.modes, finder.element, others, doing), tiles);
  const rest = h("section.rest"), empty = h("div.empty.panel");
  fill(root, empty, panel, rest);

  const merge = ({ id, part_of }) => { select(part_of.id); decide("merge_segments", { ids: [part_of.id, id], into: part_of.id }); };
  const drawHead = (one) => {
    part.hidden = !one.part_of;
    fill(part, one.part_of && [h("span", {}, one.part_of.says), h("button.studio-button", { title: "Their masks become one; undo takes it back", onclick: () => merge(one) }, `Merge into ${one.part_of.name}`)]);
    const order = things(), place = order.indexOf(one);
    fill(head, chip(one), h("strong", {}, one.name), badge(one.sure), h("span.why", {}, one.sure?.reason ?? (one.size ? `${one.caption.replace(/,? *[\d.]+ x [\d.]+ x [\d.]+ cm/, "")}, ${sizeText(one.size)}` : one.caption)),
      h("button.studio-button", { onclick: () => decide("not_object", { id: one.id, value: one.is_object }) }, one.is_object ? "Not an object" : "It is an object"),
      place >= 0 && h("span.steps", {}, h("button.studio-button.plain", { title: "The object before: arrow up", "aria-label": "The object before", onclick: () => act.step(-1) }, "↑"), `${place + 1} of ${order.length}`, h("button.studio-button.plain", { title: "The next object: arrow down", "aria-label": "The next object", onclick: () => act.step(1) }, "↓")));
  };
  const says = (one, option) => {
    const { match } = one, { machine } = match, who = { measured: "the matcher", human: "a person" }[machine.source] ?? machine.source;
    const machineSays = machine.asset_id ? `${who} chose ${machine.name}` : `${who} chose none of the library's`;
    return match.source === "human" ? [h("span.tag.good", {}, "chosen by a person"), " ", `${machineSays[0].toUpperCase()}${machineSays.slice(1)}.`] : machine.asset_id ? h("span.tag", {}, `chosen by ${who}`) : [h("span.tag", {}, `${who} chose none`), " ", `${match.reason[0].toUpperCase()}${match.reason.slice(1)}.`];
  };
  // Of what the twin shows, the figures are those that the other pages tell.
  const fits = (one, option, facts) => {
    if (facts?.state !== "ready") return null;
    const stands = one.placed && one.fit && (one.placed.asset_id ?? "") === option.asset_id;
    const { iou, depth_error } = stands ? one.fit : { ...facts, iou: facts.overlap };
    return h("p.fit", {}, `${Math.round(iou * 100)} % of the outline agrees`, depth_error !== null && `, ${centimetres(depth_error)} off in depth`, Math.abs(facts.scale - 1) > 0.005 && `, scaled × ${facts.scale.toFixed(2)}`);
  };
  const drawSide = (one, option) => {
    if (!option) return fill(side, h("p.muted", {}, one.is_object ? "Not compared with the library yet." : "Marked as not an object, so it is left out of the twin."));
    const on = chosen(one, option), group = one.alike ?? [], all = group.every((id) => { const other = objects.find((each) => each.id === id); return other && chosen(other, option); });
    fill(side,
      h("h3", {}, fullName(option), option.score !== undefined && h("span.score", {}, `${Math.round(option.score * 100)} %`)),
      h("div.tags", {}, on && h("span.tag.good", {}, "✓ chosen"), !on && machineChose(one, option) && h("span.tag", {}, "machine's choice"), one.match.asset_id === null && option === one.match.candidates[0] && h("span.tag", {}, "nearest")),
      bars(option.scores), h("p.reason", {}, option.reason), fits(one, option, drawnOf(one, option)),
      one.placed && on && option.asset_id && one.placed.asset_id === null && !one.placed.changed && h("p.warn", {}, "In the twin it is made from the view all the same: this asset does not fit what was measured."),
      h("div.buttons", {},
        h("button.studio-button.primary.choose", { disabled: on, title: "Enter", onclick: () => act.choose(option) }, on ? "✓ Chosen" : "Choose this", !on && h("kbd", {}, "↵")),
        group.length > 1 && h("button.studio-button.together", { disabled: all, title: `Objects ${group.join(", ")} look equal: one decision for all of them`, onclick: () => act.choose(option, group) }, all ? `✓ For all ${group.length} alike` : `For all ${group.length} alike`)),
      h("p.machine", {}, says(one, option)));
  };
  let drawnTiles = "";
  const drawTiles = (one, option) => {
    const offer = offered(one), said = JSON.stringify([one.id, one.match, offer, option?.asset_id, whole.has(one.id), finder.searching, finder.says(), sceneOf(one)?.gone, offer.map((each) => drawnOf(one, each))]);
    if (said === drawnTiles) return;
    drawnTiles = said;
    const made = offer.map((each) => tile(one, each, { scene: sceneOf(one), drawn: drawnOf(one, each) }, each.asset_id === option?.asset_id, act));
    const more = options(one).length - shownTiles(one).length;
    fill(tiles, !one.match ? null : finder.searching ? hits(finder, made) : h("div.assets", {}, made));
    fill(others, !finder.searching && (more > 0 || whole.has(one.id)) && h("button.studio-button.plain", { title: "Candidates that fit less well", onclick: () => { whole.has(one.id) ? whole.delete(one.id) : whole.add(one.id); draw(); } }, whole.has(one.id) ? "Fewer" : `${more} more`));
  };
  // A way is looked at first, as a candidate is; a service is not asked for a look.
  const pickWay = (one, way) => {
    doing.querySelector("details").open = false;
    if (way === "provider") { looked.set(one.id, ""); return decide("make", { id: one.id, way }); }
    act.look({ asset_id: `${WAY}${way}` });
  };
  const drawDoing = (one) => fill(doing,
    one.match && h("details.menu", { open: doing.querySelector("details")?.open ?? false }, h("summary.studio-button", {}, "Make it from this view ▾"), h("div.sheet", {}, h("p.hint", {}, "Each is shown in the photograph before you choose it."), (value.ways ?? []).map((each) =>
      h(`button.choice${one.made === each.way ? ".on" : ""}`, { onclick: () => pickWay(one, each.way) }, each.title, one.made === each.way && " ✓")))));
  const draw = () => {
    const one = current();
    panel.hidden = rest.hidden = !one;
    empty.hidden = Boolean(one);
    fill(empty, value?.waiting ?? "");
    if (!one) return;
    const option = one.match ? lookedAt(one) : null;
    stage.show(sceneOf(one) ?? { photo: one.crop, gone: "", aspect: 4 / 3, outline: [] }, option && drawnOf(one, option), option && (option.way || option.name));
    drawHead(one); drawSide(one, option); drawTiles(one, option); drawDoing(one);
    fill(rest, h("h4", {}, "All objects"), overview(things(), objects.filter((each) => !each.is_object), select));
    rest.querySelectorAll("article").forEach((card) => card.classList.toggle("selected", Number(card.dataset.id) === one.id));
  };

  // Whoever comes to look objects over begins with the first; the list and the inspector show the same.
  const begin = () => {
    if (!root.offsetParent) return;
    lookingOver();
    const one = current();
    if (selected() === null && one && (one.sure || !one.placed)) select(one.id);
  };

  // A candidate under the pointer is seen at once, where it is drawn already; what is looked at stays the same.
  const over = (event) => {
    const one = current(), wish = event.target.closest?.(".asset")?.dataset.asset ?? null;
    const ready = wish !== null && sceneOf(one)?.drawn[wish]?.state === "ready";
    if ((ready ? wish : null) === hovered) return;
    hovered = ready ? wish : null;
    const option = (ready && among(one, wish)) || lookedAt(one);
    stage.show(sceneOf(one), option && drawnOf(one, option), option && (option.way || option.name));
    drawSide(one, option);
  };
  tiles.addEventListener("pointermove", over); // not pointerover, which comes as well when tiles are drawn anew
  tiles.addEventListener("pointerleave", over);

  const keyed = (event) => {
    if (!element.isConnected) return document.removeEventListener("keydown", keyed);
    if (!value?.token || !root.offsetParent || event.altKey) return;
    const one = current(), does = { ArrowUp: () => act.step(-1), ArrowDown: () => act.step(1), ArrowLeft: () => act.turn(-1), ArrowRight: () => act.turn(1), b: () => stage.toggleBlink(), "/": () => finder.input.focus(), Enter: () => one?.match && act.choose(lookedAt(one)) }[keyOf(event)];
    if (!does) return;
    event.preventDefault();
    hovered = null;
    does();
  };
  document.addEventListener("keydown", keyed);
  doing.addEventListener("keydown", (event) => { const menu = doing.querySelector("details[open]"); if (event.key === "Escape" && menu) { menu.open = false; menu.querySelector("summary").focus(); } });
  document.addEventListener("pointerdown", (event) => { const menu = doing.querySelector("details[open]"); if (menu && !menu.contains(event.target)) menu.open = false; });
  onSelect(element, () => { hovered = null; if (finder.searching) finder.clear(); draw(); inView(); soon(); });
  onOrder(element, draw);
  new IntersectionObserver(([seen]) => { if (!seen.isIntersecting) return; begin(); soon(); }).observe(root);

  return (next) => {
    if (next?.token !== value?.token) { looked.clear(); scenes.clear(); whole.clear(); finder.clear(); }
    value = next;
    objects = next?.objects ?? [];
    draw();
    begin();
    soon();
  };
}

// The selected object put right: dragged in the viewer, or by numbers here; how it would fit is told while it moves.
import { centimetres, chip, fill, h } from "/static/studio/dom.js";
import { onSelect, selected } from "/static/studio/selection.js";
import { Asking } from "/static/mask_canvas/asking.js";
import { angles, half, quaternion } from "./turns.js";
import { inertia, weights } from "./weights.js";

const WORDS = {
  better: () => h("span.tag.good", { title: "than where the machine had it" }, "✓ better"),
  worse: () => h("span.tag.warn", { title: "than where the machine had it" }, "! worse"),
  "the same": () => h("span.tag", { title: "as where the machine had it" }, "≈ as good"),
};

export default function mount({ element, props, trigger, server }) {
  const panel = element.querySelector(".adjuster");
  let value = {}, tried = null, told = null, waiting = "";
  const frame = () => document.querySelector(`#${props.viewer} iframe`);
  const viewer = (message) => frame()?.contentWindow?.postMessage(message, location.origin);
  const one = () => (value.objects ?? []).find((object) => object.id === selected());
  const asking = new Asking((question) => server.ask(question), answered);
  const decide = (kind, data) => {
    waiting = value.stamp;
    trigger("decide", { kind, ...data });
    tell();
  };

  // What is tried: {pos, quat_wxyz, scale}, by hand in the viewer or by numbers here.
  function attempt(state) {
    tried = { id: one().id, ...state };
    asking.ask({ token: value.token, ...tried });
    numbers();
  }

  function answered(answer) {
    told = answer;
    tell();
  }

  function keep() {
    const object = one();
    if (!object || !tried || tried.id !== object.id) return;
    const { pos, quat_wxyz, scale } = tried;
    decide(...(Math.abs(scale / object.scale - 1) > 1e-4 ? ["resize", { id: object.id, scale, pos, quat_wxyz }] : ["move", { id: object.id, pos, quat_wxyz, scale }]));
  }

  function hear({ source, origin, data }) {
    if (!element.isConnected) return removeEventListener("message", hear);
    if (source !== frame()?.contentWindow || origin !== location.origin) return;
    if (["ready", "loaded"].includes(data.type)) viewer({ type: "adjustable", on: true });
    const object = one();
    if (!["trying", "tried"].includes(data.type) || data.state?.name !== object?.name) return;
    const { pos, quat_wxyz, grown } = data.state;
    attempt({ pos, quat_wxyz, scale: Math.abs(grown - 1) < 1e-4 ? object.scale : object.made_scale * grown });
    if (data.type === "tried") keep();
  }

  // ------------------------------------------------------------------ drawing

  let place, said;
  function draw() {
    const object = one();
    tried = told = null;
    asking.forget();
    if (!value.objects?.length) return fill(panel);
    if (!object) return fill(panel, h("div.hint", {}, "Select an object, in the list or in the picture, to move, turn, resize, weigh or download it."));
    place = h("div.place", {}, [["x", 0], ["y", 1], ["z", 2]].map(([name, i]) => field(name, "cm", i)),
      [["yaw", 3], ["pitch", 4], ["roll", 5]].map(([name, i]) => field(name, "°", i)), field("size", "%", 6));
    place.lastChild.title = object.made ? "100 % is as it was made from the view" : "100 % is the asset's own size, as it is in the library";
    said = h("div.said", { "aria-live": "polite" });
    fill(panel,
      h("div.line", {}, chip(object), h("strong", {}, object.name), said, buttons(object)),
      place,
      h("div.line.weights", {}, weights(object, decide)),
      h("div.line", {}, inertia(object), model(object), h("span.grow"), object.settled ? h("span.settled", { title: object.settled, role: "status" }, shortly(object.settled)) : h("span.what", {}, "Take it away"), ["URDF", "MJCF"].map((form) => h("a.studio-button", { href: `${object.files}_${form.toLowerCase()}.zip`, download: "", title: `${object.name} as ${form}: a zip with its meshes, mass and inertia that loads alone` }, `↓ ${form}`))));
    numbers();
    tell();
    const { id, pos, quat_wxyz, scale } = object;
    asking.ask({ token: value.token, id, pos, quat_wxyz, scale }); // against the machine's, now that it rests
  }

  // In the row it stands in, so that the panel keeps its height.
  const shortly = (sentence) => sentence.replace(/^Settling moved it /, "Settling: ").replace(/ from where you put it\.$/, "");

  function buttons(object) {
    const from = () => {
      const { pos, quat_wxyz, scale } = tried ?? one();
      return { id: object.id, pos, quat_wxyz, scale };
    };
    return [
      h("button.studio-button", { title: "Look again where it fits what was seen best, from here and from all around; its size stays", onclick: () => decide("refit", { ...from(), free: false }) }, "Refit"),
      h("button.studio-button", { title: "The same, and its size may change", onclick: () => decide("refit", { ...from(), free: true }) }, "Refit with size"),
      h("button.studio-button", { disabled: !object.by_hand, title: "Undo every move, turn and size of this object", onclick: () => decide("refit", { id: object.id }) }, "Machine's pose"),
    ];
  }

  function model(object) {
    const asked = (value.asked ?? []).includes(`object ${object.id}`);
    const title = value.asks ? `${value.asks} is asked what things of this kind weigh and how they slide; undo takes its answer back` : "No language model is in use; choose one at the top";
    return h("button.studio-button", { disabled: asked || !value.asks, title, onclick: ({ target }) => { target.disabled = true; trigger("weigh", { id: object.id }); } }, asked ? "Asking the model …" : "Ask the model");
  }

  function field(name, unit, index) {
    const typed = () => {
      const all = [...place.querySelectorAll("input")].map((input) => Number(input.value));
      if (!all.every(Number.isFinite) || !(all[6] > 0)) return false;
      const object = one(), scale = index === 6 ? all[6] / 100 : tried?.scale ?? object.scale;
      const quat_wxyz = index >= 3 && index < 6 ? quaternion(all.slice(3, 6)) : tried?.quat_wxyz ?? object.quat_wxyz;
      const pos = index < 3 ? all.slice(0, 3).map((length) => length / 100) : [...(tried?.pos ?? object.pos)];
      if (index === 6) pos[2] += half(quat_wxyz, object.size) * ((scale - (tried?.scale ?? object.scale)) / object.made_scale);
      attempt({ pos, quat_wxyz, scale });
      viewer({ type: "try", state: { name: object.name, pos, quat_wxyz, grown: scale / object.made_scale } });
      return true;
    };
    return h("label", {}, name, h("input.number", {
      type: "number", step: { cm: 0.1, "°": 1, "%": 1 }[unit], "aria-label": `${name} in ${unit}`, "data-index": index,
      oninput: typed, onchange: () => typed() && keep(),
      onkeydown: (event) => { event.stopPropagation(); if (event.key === "Enter") event.target.blur(); },
    }), unit);
  }

  function numbers() {
    const object = one();
    if (!object || !place) return;
    const { pos, quat_wxyz, scale } = tried ?? object;
    const all = [...pos.map((length) => (length * 100).toFixed(1)), ...angles(quat_wxyz).map((angle) => angle.toFixed(0)), (scale * 100).toFixed(0)];
    place.querySelectorAll("input").forEach((input, i) => document.activeElement !== input && (input.value = all[i].replace(/^-(0(\.0)?)$/, "$1")));
  }

  function tell() {
    const object = one();
    if (!object || !said) return;
    if (value.busy || (waiting && waiting === value.stamp)) return fill(said, h("span.muted", {}, object.changed ? "working … settling" : "settling …"));
    if (told?.error) return fill(said, h("span.tag.bad", {}, told.error));
    const fit = told ?? object.fit;
    if (!fit) return fill(said);
    const percent = Math.round(fit.iou * 100), had = told?.had;
    const gained = had ? percent - Math.round(had.iou * 100) : 0;
    const depth = fit.depth_error, deeper = had && depth !== null && had.depth_error !== null ? Math.round(depth * 1000) - Math.round(had.depth_error * 1000) : 0;
    const word = WORDS[told?.change]?.();
    const compared = object.by_hand || tried;
    fill(said, compared && word ? [word, " "] : "", `outline ${percent} %`, gained ? h("b", {}, ` (${signed(gained)})`) : "",
      depth === null ? "" : ` · depth ${centimetres(depth)}`, deeper ? h("b", {}, ` (${signed((deeper / 10).toFixed(1))})`) : "");
    said.title = said.textContent;
    if (told && tried) viewer({ type: "say", text: `outline ${percent} %${gained ? ` (${signed(gained)})` : ""}` });
  }

  const signed = (number) => (Number(number) > 0 ? `+${number}` : `−${Math.abs(number)}`);

  addEventListener("message", hear);
  onSelect(element, draw);
  return (next) => {
    const before = one(), stamp = value.stamp, asked = [value.asks, value.asked].join();
    if (value.busy && !next?.busy) waiting = "";
    value = next ?? {};
    viewer({ type: "adjustable", on: true });
    if (waiting && stamp !== value.stamp) waiting = "";
    const typing = panel.contains(document.activeElement) && document.activeElement.tagName === "INPUT";
    if (JSON.stringify(before) === JSON.stringify(one()) && asked === [value.asks, value.asked].join() && panel.firstChild) return tell();
    if (!(typing && tried && stamp === value.stamp)) draw();
  };
}

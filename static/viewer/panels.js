// The panels over the view, and the bar below it. `viewer` is the Viewer of viewer.js.
import { areShortcutsListed, listShortcuts, shortcutList } from "../studio/keyboard.js";
import { t } from "../studio/texts.js";
import { classes, html } from "../studio/view.js";

const VIEWS = [
  ["free", t("Free"), t("Orbit (1)")],
  ["top", t("Top"), t("From above (2)")],
  ["front", t("Front"), t("From the front (3)")],
  ["photo", t("Photo"), t("The photograph's own camera (4)")],
];
const ADJUSTMENTS = [
  [
    "translate",
    t("Move"),
    t("Move the selected object (M; arrow keys: 1 mm, with Shift 1 cm)"),
    "M8 1.500v13M1.5 8h13M6 3.500l2-2 2 2M6 12.500l2 2 2-2M3.5 6l-2 2 2 2M12.5 6l2 2-2 2",
  ],
  [
    "rotate",
    t("Rotate"),
    t("Rotate it on the table (T; arrow keys: 1°). Press again for all axes"),
    "M13.5 8a5.5 5.5 0 1 1-1.8-4.100M12.2 1v3.200H9",
  ],
  ["scale", t("Resize"), t("Resize it (S; arrow keys: 1 %)"), "M2 6.500V2h12v12H9.500M2 9h5v5H2zM9 7l3-3M9.5 4H12v2.5"],
];
const COMPARISONS = [
  ["edges", t("Edges"), t("Twin outlines over the photograph (E)")],
  ["depth", t("Depth"), t("Depth difference to the measurement (D)")],
  ["beside", t("Side by side"), t("Side by side (V)")],
];
const SPIN = "M13.5 6.5C13.5 4.8 11 3.5 8 3.5S2.5 4.8 2.5 6.5 5 9.5 8 9.5h4M9.8 7.3 12 9.5l-2.2 2.2";
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const icon = (path) => html`<svg viewBox="0 0 16 16"><path d=${path} /></svg>`;

export function panels(viewer) {
  const notice = viewer.notice.value;
  return html`${viewer.insets.template()}
    ${viewChoice(viewer)}
    ${adjustPanel(viewer)}
    ${viewer.joints.template()}
    ${tools(viewer)}
    ${comparePanel(viewer)}
    ${helpPanel()}
    <p id="caption">${viewer.caption.value || null}</p>
    ${viewer.playback.measures.template()}
    ${graspReason(viewer.grasps.hovered.value)}
    <div id="notice" role="status" hidden=${!notice}>${notice}</div>`;
}

function viewChoice(viewer) {
  const header = viewer.header.value;
  const button = (/** @type {string[]} */ [name, text, title]) => html`<button data-view=${name} title=${title}
    aria-pressed=${viewer.viewName.value === name} disabled=${name === "photo" && header && !header.camera}
    onclick=${() => viewer.views.show(name)}>${text}</button>`;
  return html`<div class="panel" id="views" role="group" aria-label=${t("Camera")}>${VIEWS.map(button)}</div>`;
}

function adjustPanel(viewer) {
  const { isShown, isRefused } = viewer.adjustOffer.value,
    { mode, all } = viewer.adjusting.value;
  const button = (/** @type {string[]} */ [name, text, title, path]) => html`<button data-adjust=${name} title=${title}
    aria-pressed=${mode === name} onclick=${() => viewer.setAdjust(name)}>
    ${icon(path)}${name === "rotate" && mode === name && all ? t("Rotate all") : text}</button>`;
  return html`<div class=${classes("panel", isRefused && "refused")} id="adjust" role="group" inert=${isRefused}
    aria-label=${t("Adjust the selected object")} hidden=${!isShown}>${ADJUSTMENTS.map(button)}</div>`;
}

function tools(viewer) {
  const { turntable, pointer, grasps } = viewer,
    isOpen = areShortcutsListed();
  return html`<div class="panel" id="tools" role="group" aria-label=${t("Tools")}>
    <button id="turntable" title=${t("Turntable (O)")} aria-pressed=${turntable.on.value}
      hidden=${!turntable.isOffered.value} onclick=${() => turntable.toggle()}>
      ${icon(SPIN)}${t("Spin")}</button>
    <button id="push" title=${t("Push: drag an object over the table, with Shift lift it (P, or hold Ctrl)")}
      aria-pressed=${pointer.isPushing.value} onclick=${() => viewer.togglePush()}>
      ${icon("M2 8h8M7 4.5 10.5 8 7 11.5M13.5 3v10")}${t("Push")}</button>
    <button id="contacts" title=${t("Contacts (C)")} aria-pressed=${Boolean(viewer.playback.status.value.contacts)}
      onclick=${() => viewer.toggleContacts()}>
      <svg viewBox="0 0 16 16">
        <circle cx="8" cy="11" r="2" /><path d="M8 9V2M5.5 4.5 8 2l2.5 2.5M2 14h12" />
      </svg>${t("Contacts")}</button>
    <button id="collision" title=${t("Collision shapes (G)")} aria-pressed=${viewer.showsCollision.value}
      onclick=${() => viewer.toggleCollision()}>
      ${icon("M8 1.5 14 5v6l-6 3.5L2 11V5zM2 5l6 3.5L14 5M8 8.5v6")}${t("Collision")}</button>
    <button id="background" title=${backgroundTitle(viewer.header.value?.filled)}
      aria-pressed=${viewer.showsBackground.value} onclick=${() => viewer.toggleBackground()}
      hidden=${viewer.viewName.value === "photo" || !hasBackground(viewer.header.value)}>
      ${icon("M2 3h12v10H2zM2 11l4-4 3 3 2-2 3 3")}${t("Room")}</button>
    <button id="splats" title=${splatTitle(viewer.splats.note.value)} aria-pressed=${viewer.showsSplats.value}
      hidden=${!viewer.header.value?.splats.length} onclick=${() => viewer.toggleSplats()}>
      ${icon("M5 5h.1M11 4h.1M8 8h.1M4 11h.1M12 11h.1M8 13h.1")}${t("Splats")}
      ${viewer.splats.note.value && html`<small>${viewer.splats.note.value}</small>`}</button>
    <button id="grasps" title=${t("Candidate grasps of the selected object (K)")} aria-pressed=${grasps.on.value}
      hidden=${!viewer.header.value?.grasps} onclick=${() => viewer.toggleGrasps()}>
      ${icon("M4 14V7h8v7M8 7V2")}${t("Grasps")}</button>
    <button id="keys" title=${t("Keyboard shortcuts (?)")} aria-label=${t("Keyboard shortcuts")} aria-expanded=${isOpen}
      onclick=${() => listShortcuts(!isOpen)}>?</button>
  </div>`;
}

const hasBackground = (header) =>
  header?.geoms.some((geom) => geom.background) || header?.splats.some(({ body }) => body === 0);

const backgroundTitle = (filled) =>
  typeof filled === "number"
    ? t(
        "What the photograph shows around the table; {share} % of it was hidden or not measured, and is filled in (I)",
        {
          share: Math.round(100 * filled),
        },
      )
    : t("What the photograph shows around the table, filled in where it was hidden (I)");

const splatTitle = (note) =>
  note
    ? t("Splats (L). Without a graphics card only the most visible ones, as points: {note}", { note })
    : t("Splats (L)");

function comparePanel(viewer) {
  const { comparison, views } = viewer,
    compare = comparison.mode.value,
    isPhoto = viewer.viewName.value === "photo" && Boolean(viewer.header.value?.picture);
  const button = (/** @type {string[]} */ [name, text, title]) => html`<button data-compare=${name} title=${title}
    aria-pressed=${compare === name} hidden=${name === "depth" && !viewer.adjustOffer.value.isAllowed}
    onclick=${() => views.setCompare(name)}>${text}</button>`;
  return html`<div class="panel" id="compare" hidden=${!isPhoto}>
      <label for="blend">${t("Photo")}</label>
      <input id="blend" type="range" min="0" max="100" value=${comparison.blend.value}
        aria-label=${t("Blend photograph and twin")} disabled=${compare !== "blend"}
        oninput=${({ target }) => comparison.setBlend(target.value)} />
      <label for="blend">${t("Twin")}</label>
      <span class="rule" />
      <button id="blink" title=${t("Alternate photograph and twin (B)")} aria-pressed=${comparison.isBlinking.value}
        onclick=${() => comparison.blink()}>${t("Blink")}</button>
      ${COMPARISONS.map(button)}
    </div>
    <div class="panel" id="legend" hidden=${!isPhoto || compare !== "depth"}>
      <span>${t("Twin 3 cm nearer")}</span><i /><span>${t("3 cm farther")}</span>
    </div>`;
}

const helpPanel = () => html`<div class="panel" id="help" role="dialog" aria-label=${t("Keyboard shortcuts")}
  hidden=${!areShortcutsListed()}>${areShortcutsListed() && shortcutList()}</div>`;

const graspReason = (hovered) =>
  html`<div id="grasp-reason" role="status" hidden=${!hovered}
    style="left:${hovered?.left ?? 0}px;top:${hovered?.top ?? 0}px">${hovered?.text}</div>`;

export function bar(viewer) {
  const { timeline, measures, status } = viewer.playback,
    { playing, speed = 1 } = status.value;
  return html`<button id="reset" title=${t("Reset (R)")} aria-label=${t("Reset")} onclick=${() => viewer.send("reset")}>
      ${icon("M3 3v10M13 3 6 8l7 5z")}</button>
    <button id="play" title=${playing ? t("Pause (Space)") : t("Play (Space)")}
      aria-label=${playing ? t("Pause") : t("Play")} onclick=${() => viewer.playback.togglePlay()}>
      <svg viewBox="0 0 16 16">
        <path class="when-paused" d="M4.5 2.5 13 8l-8.5 5.500z" /><path class="when-playing" d="M5 3v10M11 3v10" />
      </svg></button>
    <button id="step" title=${t("Step (.)")} aria-label=${t("Step")} onclick=${() => viewer.send("step")}>
      ${icon("M3 3l7 5-7 5zM13 3v10")}</button>
    ${timeline.template(measures.bands())}
    ${kind(status.value)}
    <select id="speed" aria-label=${t("Speed")} title=${t("Speed")} value=${String(speed)}
      onchange=${({ target }) => viewer.send("speed", { value: Number(target.value) })}>
      ${SPEEDS.map((one) => html`<option value=${one}>${one}×</option>`)}
    </select>`;
}

function kind({ layout, recording }) {
  const [text, title] = layout
    ? [t("Goal layout"), t("Drag objects to their goal positions; R resets")]
    : recording
      ? [t("recording"), t("Recorded run")]
      : [t("physics"), t("Live MuJoCo simulation")];
  return html`<span id="kind" class=${classes("badge", recording && "recording")} title=${title}>${text}</span>`;
}

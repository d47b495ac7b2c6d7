// Panel to adjust the selected object: drag it in the viewer or type numbers; shows how well the pose fits.
import { centimetres, chip, fill, h } from "/static/studio/dom.js";
import { isRefused, onRefusals } from "/static/studio/refused_controls.js";
import { onSelect, selected } from "/static/studio/selection.js";
import { LatestRequest } from "/static/studio/latest_request.js";
import { angles, halfHeight, quaternion } from "./euler_angles.js";
import { inertia, physicsFields } from "./physics_fields.js";
import { t } from "/static/studio/texts.js";

const CHANGE_TAGS = {
  better: () => h("span.tag.good", { title: t("Compared with the automatic pose") }, t("✓ better")),
  worse: () => h("span.tag.warn", { title: t("Compared with the automatic pose") }, t("! worse")),
  "the same": () => h("span.tag", { title: t("Compared with the automatic pose") }, t("≈ same fit")),
};

export default function mount({ element, props, trigger, server }) {
  const panel = element.querySelector(".adjuster");
  let value = {},
    trialPose = null,
    trialFit = null,
    pendingVersion = "";
  const viewerFrame = () => document.querySelector(`#${props.viewer} iframe`);
  const postToViewer = (message) => viewerFrame()?.contentWindow?.postMessage(message, location.origin);
  const offerTools = () => postToViewer({ type: "adjustable", on: true, refused: isRefused("adjuster.decide") });
  const currentObject = () => (value.objects ?? []).find((object) => object.id === selected());
  const fitRequest = new LatestRequest((question) => server.ask(question), showTrialFit);
  const decide = (kind, data) => {
    pendingVersion = value.version;
    trigger("decide", { kind, ...data });
    drawFit();
  };

  // Shows and evaluates a trial pose {pos, quat_wxyz, scale} from the viewer or from the fields.
  function tryPose(state) {
    trialPose = { id: currentObject().id, ...state };
    fitRequest.send({ token: value.token, ...trialPose });
    drawNumbers();
  }

  function showTrialFit(answer) {
    trialFit = answer;
    drawFit();
  }

  function commitPose() {
    const object = currentObject();
    if (!object || !trialPose || trialPose.id !== object.id) return;
    const { pos, quat_wxyz, scale } = trialPose;
    decide(
      ...(Math.abs(scale / object.scale - 1) > 1e-4
        ? ["resize", { id: object.id, scale, pos, quat_wxyz }]
        : ["move", { id: object.id, pos, quat_wxyz, scale }]),
    );
  }

  function onMessage({ source, origin, data }) {
    if (!element.isConnected) return removeEventListener("message", onMessage);
    if (source !== viewerFrame()?.contentWindow || origin !== location.origin) return;
    if (["ready", "loaded"].includes(data.type)) offerTools();
    const object = currentObject();
    if (!["adjusting", "adjusted"].includes(data.type) || data.state?.name !== object?.name) return;
    const { pos, quat_wxyz, relative_scale: relativeScale } = data.state;
    tryPose({
      pos,
      quat_wxyz,
      scale: Math.abs(relativeScale - 1) < 1e-4 ? object.scale : object.made_scale * relativeScale,
    });
    if (data.type === "adjusted") commitPose();
  }

  // ------------------------------------------------------------------ drawing

  let poseFields, fitLine;
  function draw() {
    const object = currentObject();
    trialPose = trialFit = null;
    fitRequest.cancel();
    if (!value.objects?.length) return fill(panel);
    if (!object)
      return fill(panel, h("div.muted", {}, t("Select an object to move, rotate, resize, weigh or export it.")));
    poseFields = h(
      "div.pose",
      {},
      [
        ["x", 0],
        ["y", 1],
        ["z", 2],
      ].map(([name, i]) => field(name, "cm", i)),
      [
        [t("yaw"), 3],
        [t("pitch"), 4],
        [t("roll"), 5],
      ].map(([name, i]) => field(name, "°", i)),
      field(t("size"), "%", 6),
    );
    poseFields.lastChild.title = object.reconstructed
      ? t("100 %: as reconstructed from the view")
      : t("100 %: the asset's size in the library");
    fitLine = h("div.fit", { "aria-live": "polite" });
    fill(
      panel,
      h("div.line", {}, chip(object), h("strong", {}, object.words), fitLine, buttons(object)),
      poseFields,
      h("div.line.physics", {}, physicsFields(object, decide)),
      h(
        "div.line",
        {},
        inertia(object),
        askModelButton(object),
        h("span.grow"),
        object.settle_note
          ? h("span.settled", { title: object.settle_note, role: "status" }, shortSettleText(object.settle_note))
          : h("span.label", {}, t("Export")),
        ["URDF", "MJCF"].map((form) =>
          h(
            "a.studio-button",
            {
              href: `${object.files}_${form.toLowerCase()}.zip`,
              download: "",
              title: t("{name} as {form}: a zip with its meshes, mass and inertia that loads alone", {
                name: object.words,
                form,
              }),
            },
            `↓ ${form}`,
          ),
        ),
      ),
    );
    drawNumbers();
    drawFit();
    const { id, pos, quat_wxyz, scale } = object;
    fitRequest.send({ token: value.token, id, pos, quat_wxyz, scale }); // against the machine's, now that it rests
  }

  // Shortened to fit its row, so that the panel keeps its height.
  const shortSettleText = (sentence) => `${t("Settling:")} ${sentence}`;

  function buttons(object) {
    const currentPose = () => {
      const { pos, quat_wxyz, scale } = trialPose ?? currentObject();
      return { id: object.id, pos, quat_wxyz, scale };
    };
    return [
      h(
        "button.studio-button",
        {
          title: t("Fit its pose to the measured points again; keeps its size"),
          "data-sends": "adjuster.decide",
          onclick: () => decide("refit", { ...currentPose(), free: false }),
        },
        t("Refit"),
      ),
      h(
        "button.studio-button",
        {
          title: t("Fit pose and size again"),
          "data-sends": "adjuster.decide",
          onclick: () => decide("refit", { ...currentPose(), free: true }),
        },
        t("Refit with size"),
      ),
      h(
        "button.studio-button",
        {
          disabled: !object.adjusted,
          title: t("Discard every manual change of its pose and size"),
          "data-sends": "adjuster.decide",
          onclick: () => decide("refit", { id: object.id }),
        },
        t("Reset pose"),
      ),
    ];
  }

  function askModelButton(object) {
    const pending = (value.pending ?? []).includes(`object ${object.id}`);
    const title = value.model
      ? t("{model} estimates mass and friction. You can undo it.", { model: value.model })
      : t("No language model in use. Choose one in the top bar.");
    return h(
      "button.studio-button",
      {
        disabled: pending || !value.model,
        title,
        "data-sends": "adjuster.weigh",
        onclick: ({ target }) => {
          target.disabled = true;
          trigger("weigh", { id: object.id });
        },
      },
      pending ? t("Asking the model …") : t("Ask the model"),
    );
  }

  function field(name, unit, index) {
    const onInput = () => {
      const all = [...poseFields.querySelectorAll("input")].map((input) => Number(input.value)),
        object = currentObject(); // none if it was deleted while a number was typed
      if (!object || !all.every(Number.isFinite) || !(all[6] > 0)) return false;
      const scale = index === 6 ? all[6] / 100 : (trialPose?.scale ?? object.scale);
      const quat_wxyz =
        index >= 3 && index < 6 ? quaternion(all.slice(3, 6)) : (trialPose?.quat_wxyz ?? object.quat_wxyz);
      const pos = index < 3 ? all.slice(0, 3).map((length) => length / 100) : [...(trialPose?.pos ?? object.pos)];
      if (index === 6)
        pos[2] +=
          halfHeight(quat_wxyz, object.size) * ((scale - (trialPose?.scale ?? object.scale)) / object.made_scale);
      tryPose({ pos, quat_wxyz, scale });
      postToViewer({
        type: "preview",
        state: { name: object.name, pos, quat_wxyz, relative_scale: scale / object.made_scale },
      });
      return true;
    };
    return h(
      "label",
      {},
      name,
      h("input.number", {
        type: "number",
        "data-sends": "adjuster.decide",
        step: { cm: 0.1, "°": 1, "%": 1 }[unit],
        "aria-label": t("{name} in {unit}", { name, unit }),
        "data-index": index,
        oninput: onInput,
        onchange: () => onInput() && commitPose(),
        onkeydown: (event) => {
          event.stopPropagation();
          if (event.key === "Enter") event.target.blur();
        },
      }),
      unit,
    );
  }

  function drawNumbers() {
    const object = currentObject();
    if (!object || !poseFields) return;
    const { pos, quat_wxyz, scale } = trialPose ?? object;
    const all = [
      ...pos.map((length) => (length * 100).toFixed(1)),
      ...angles(quat_wxyz).map((angle) => angle.toFixed(0)),
      (scale * 100).toFixed(0),
    ];
    for (const [i, input] of [...poseFields.querySelectorAll("input")].entries())
      if (document.activeElement !== input) input.value = all[i].replace(/^-(0(\.0)?)$/, "$1");
  }

  function drawFit() {
    const object = currentObject();
    if (!object || !fitLine) return;
    if (value.busy || (pendingVersion && pendingVersion === value.version))
      return fill(fitLine, h("span.muted", {}, object.changed ? t("computing … settling") : t("settling …")));
    if (trialFit?.error) return fill(fitLine, h("span.tag.bad", {}, trialFit.error));
    const fit = trialFit ?? object.fit;
    if (!fit) return fill(fitLine);
    const percent = Math.round(fit.iou * 100),
      machineFit = trialFit?.machine_fit;
    const overlapChange = machineFit ? percent - Math.round(machineFit.iou * 100) : 0;
    const depth = fit.depth_error,
      depthChange =
        machineFit && depth !== null && machineFit.depth_error !== null
          ? Math.round(depth * 1000) - Math.round(machineFit.depth_error * 1000)
          : 0;
    const changeTag = CHANGE_TAGS[trialFit?.change]?.();
    const isChanged = object.adjusted || trialPose;
    fill(
      fitLine,
      isChanged && changeTag ? [changeTag, " "] : "",
      t("outline {percent} %", { percent }),
      overlapChange ? h("b", {}, ` (${signed(overlapChange)})`) : "",
      depth === null ? "" : ` ${t("· depth {depth}", { depth: centimetres(depth) })}`,
      depthChange ? h("b", {}, ` (${signed((depthChange / 10).toFixed(1))})`) : "",
    );
    fitLine.title = fitLine.textContent;
    if (trialFit && trialPose)
      postToViewer({
        type: "note",
        text: t("outline {percent} %", { percent }) + (overlapChange ? ` (${signed(overlapChange)})` : ""),
      });
  }

  const signed = (number) => (Number(number) > 0 ? `+${number}` : `−${Math.abs(number)}`);

  addEventListener("message", onMessage);
  onSelect(element, draw);
  onRefusals(element, offerTools);
  return (next) => {
    const previous = currentObject(),
      stamp = value.version,
      pending = [value.model, value.pending].join();
    if (value.busy && !next?.busy) pendingVersion = "";
    value = next ?? {};
    offerTools();
    if (pendingVersion && stamp !== value.version) pendingVersion = "";
    const typing = panel.contains(document.activeElement) && document.activeElement.tagName === "INPUT";
    if (
      JSON.stringify(previous) === JSON.stringify(currentObject()) &&
      pending === [value.model, value.pending].join() &&
      panel.firstChild
    )
      return drawFit();
    if (!(typing && trialPose && stamp === value.version)) draw();
  };
}

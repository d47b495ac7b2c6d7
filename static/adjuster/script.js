// Panel to adjust the selected object: drag it in the viewer or type numbers; shows how well the pose fits.
import { LatestRequest } from "/static/studio/latest_request.js";
import { hear } from "/static/studio/page_events.js";
import { Chip } from "/static/studio/parts.js";
import { isRefused, onRefusals } from "/static/studio/refused_controls.js";
import { onSelect, selected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { batch, html, mounts, signal, View } from "/static/studio/view.js";
import { fitLine, overlapText } from "./fit_line.js";
import { inertia, physicsFields } from "./physics_fields.js";
import { poseFields } from "./pose_fields.js";

// A line that is cut is read as its tooltip.
function showWhole(line) {
  if (line) line.title = line.textContent;
}

class Adjuster extends View {
  trial = signal(/** @type {any} */ (null)); // a pose {id, pos, quat_wxyz, scale} that is tried
  fit = signal(/** @type {any} */ (null)); // of the trial, or of the object as it rests
  decidedVersion = signal(""); // of the value in which a decision was made, until there is another
  weighed = signal(/** @type {number | null} */ (null)); // the object that the model was asked about last
  version = "";
  isBusy = false;
  record = ""; // of the object, as last received

  constructor(context) {
    super(context);
    this.viewer = context.props.viewer;
    this.request = new LatestRequest(this.server.ask, (answer) => this.takeFit(answer));
    this.onValue((value) => this.takeValue(value));
    onSelect(this.root, () => this.rest());
    onRefusals(this.root, () => this.offerTools());
    hear(this.root, window, "message", (event) => this.hearViewer(event));
  }

  takeValue({ version, busy }) {
    const { record } = this,
      isSameVersion = version === this.version,
      isTyping = this.root.contains(document.activeElement) && document.activeElement.tagName === "INPUT";
    if ((this.isBusy && !busy) || !isSameVersion) this.decidedVersion.value = "";
    this.version = version;
    this.isBusy = busy;
    this.record = JSON.stringify(this.object);
    this.weighed.value = null;
    this.offerTools();
    if (this.record !== record && !(isTyping && this.trial.value && isSameVersion)) this.rest();
  }

  get object() {
    return (this.value.objects ?? []).find((object) => object.id === selected());
  }

  get pose() {
    return this.trial.value ?? this.object;
  }

  get isSettling() {
    const decided = this.decidedVersion.value;
    return Boolean(this.value.busy || (decided && decided === this.value.version));
  }

  // ---- the viewer

  get viewerFrame() {
    const frame = /** @type {HTMLIFrameElement} */ (document.querySelector(`#${this.viewer} iframe`));
    return frame?.contentWindow;
  }

  post(message) {
    this.viewerFrame?.postMessage(message, location.origin);
  }

  offerTools() {
    this.post({ type: "adjustable", on: true, refused: isRefused("adjuster.decide") });
  }

  hearViewer({ source, origin, data: { type, state } }) {
    if (source !== this.viewerFrame || origin !== location.origin) return;
    if (["ready", "loaded"].includes(type)) this.offerTools();
    const { object } = this;
    if (!object || !["adjusting", "adjusted"].includes(type) || state?.name !== object.name) return;
    const { pos, quat_wxyz, relative_scale } = state,
      scale = Math.abs(relative_scale - 1) < 1e-4 ? object.scale : object.made_scale * relative_scale;
    this.tryPose({ pos, quat_wxyz, scale });
    if (type === "adjusted") this.commit();
  }

  // ---- poses that are tried

  // Shows the object as it is, and how well that fits beside the automatic pose.
  rest() {
    for (const input of this.root.querySelectorAll("input")) input.value = input.defaultValue;
    batch(() => {
      this.trial.value = this.fit.value = null;
    });
    this.request.cancel();
    this.record = JSON.stringify(this.object);
    if (this.object) this.askFit(this.object);
  }

  askFit({ id, pos, quat_wxyz, scale }) {
    this.request.send({ token: this.value.token, id, pos, quat_wxyz, scale });
  }

  takeFit(answer) {
    this.fit.value = answer;
    if (this.trial.value && !answer.error && !this.isSettling) this.post({ type: "note", text: overlapText(answer) });
  }

  tryPose(pose) {
    this.trial.value = { id: this.object.id, ...pose };
    this.askFit(this.trial.value);
  }

  // Tries a pose that was typed, which the viewer then shows.
  tryTyped(pose) {
    const { name, made_scale } = this.object;
    this.tryPose(pose);
    const { scale, ...place } = pose;
    this.post({ type: "preview", state: { name, ...place, relative_scale: scale / made_scale } });
  }

  commit() {
    const { object } = this,
      trial = this.trial.value;
    if (!object || trial?.id !== object.id) return;
    this.decide(Math.abs(trial.scale / object.scale - 1) > 1e-4 ? "resize" : "move", trial);
  }

  decide = (kind, data) => {
    this.decidedVersion.value = this.value.version;
    this.send("decide", { kind, ...data });
  };

  // ---- what is shown

  template() {
    const { object } = this;
    if (!this.value.objects?.length) return null;
    if (!object)
      return html`<div class="muted">${t("Select an object to move, rotate, resize, weigh or export it.")}</div>`;
    return html`<div class="line flow">
        <${Chip} object=${object} /><strong>${object.words}</strong>
        <div class="fit clip" aria-live="polite" ref=${(line) => showWhole(line)}>${this.fitState()}</div>
        ${this.refitButtons()}
      </div>
      ${poseFields(
        object,
        this.pose,
        (pose) => this.object && this.tryTyped(pose),
        () => this.commit(),
      )}
      ${physicsFields(object, this.decide)}
      <div class="line flow">
        ${inertia(object)}
        ${this.askButton()}
        <span class="grow" />
        ${
          object.settle_note
            ? html`<span class="settled clip" title=${object.settle_note} role="status">
                ${t("Settling:")} ${object.settle_note}</span>`
            : html`<span class="label">${t("Export")}</span>`
        }
        ${["URDF", "MJCF"].map((form) => this.download(form))}
      </div>`;
  }

  fitState() {
    const { object } = this,
      fit = this.fit.value ?? object.fit;
    if (this.isSettling)
      return html`<span class="muted">${object.changed ? t("computing … settling") : t("settling …")}</span>`;
    if (fit?.error) return html`<span class="tag bad">${fit.error}</span>`;
    return fit && fitLine(fit, object.adjusted || this.trial.value);
  }

  refitButtons() {
    const { object } = this,
      { pos, quat_wxyz, scale } = this.pose,
      pose = { id: object.id, pos, quat_wxyz, scale },
      button = (label, title, data, disabled = false) => html`<button class="studio-button" disabled=${disabled}
        title=${title} data-sends="adjuster.decide" onclick=${() => this.decide("refit", data)}>${label}</button>`;
    return [
      button(t("Refit"), t("Fit its pose to the measured points again; keeps its size"), { ...pose, free: false }),
      button(t("Refit with size"), t("Fit pose and size again"), { ...pose, free: true }),
      button(
        t("Reset pose"),
        t("Discard every manual change of its pose and size"),
        { id: object.id },
        !object.adjusted,
      ),
    ];
  }

  askButton() {
    const { model, pending = [] } = this.value,
      { id } = this.object,
      isPending = pending.includes(`object ${id}`),
      title = model
        ? t("{model} estimates mass and friction. You can undo it.", { model })
        : t("No language model in use. Choose one in the top bar."),
      ask = () => {
        this.weighed.value = id;
        this.send("weigh", { id });
      };
    return html`<button class="studio-button" disabled=${isPending || !model || this.weighed.value === id}
      title=${title} data-sends="adjuster.weigh" onclick=${ask}>
      ${isPending ? t("Asking the model …") : t("Ask the model")}</button>`;
  }

  download(form) {
    const { words: name, files } = this.object,
      title = t("{name} as {form}: a zip with its meshes, mass and inertia that loads alone", { name, form });
    return html`<a class="studio-button" href=${`${files}_${form.toLowerCase()}.zip`} download="" title=${title}>
      ↓ ${form}</a>`;
  }
}

export default mounts(Adjuster);

// Aligns the robot's base by a file, or by clicks on its gripper in photographs of one camera. The result is looked at
// before it is taken. See components/robot_aligner.py.
import { fileButton } from "/static/studio/parts.js";
import { ClickPicture } from "/static/camera_aligner/click_picture.js";
import { COVER, shortcuts } from "/static/studio/keyboard.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { batch, html, mounts, signal, View } from "/static/studio/view.js";

const OVERLAY_TITLE = t("The base's axes over the photograph: x red, y green, z blue"),
  HINT = t(
    "Choose the base's pose or a hand-eye calibration (.json); or choose the robot's model, and click its gripper in two or more photographs of this camera.",
  );

class RobotAligner extends View {
  isOpen = signal(false);
  files = signal(/** @type {any[]} */ ([]));
  photos = signal(/** @type {Photo[]} */ ([]));
  tool = signal("");
  outcome = signal(/** @type {any} */ (null)); // computing, stopped or the base
  isAligning = signal(false);
  error = signal("");
  token = "";
  ask = asker(this.server, () => ({ token: this.value.token }));

  constructor(context) {
    super(context);
    this.onValue((value) => this.takeValue(value));
    const keys = { Escape: { help: t("close"), act: () => this.close() }, "mod+z": { act: () => {} } }; // not the page's undo
    const isOn = () => this.isOpen.value;
    shortcuts(this.root, { title: t("Place the robot"), keys: () => keys, isOn, rank: COVER, holdsKeys: true });
  }

  takeValue({ token }) {
    if (token !== this.token)
      batch(() => {
        this.photos.value = [];
        this.files.value = [];
        this.outcome.value = null;
        this.isOpen.value = false;
      });
    this.token = token;
  }

  // The outcome belongs to what it was computed from.
  forget = () => {
    this.outcome.value = null;
  };

  chooseFiles(files) {
    this.files.value = files;
    this.forget();
  }

  addPhotos(files) {
    for (const one of files) this.addPhoto(one);
  }

  /** Shows one more photograph, of the same camera as the project's. */
  addPhoto({ file, name }) {
    const address = URL.createObjectURL(file),
      image = new Image();
    image.onload = () => {
      const [first] = this.photos.value,
        isAlike = String(first.size.value) === String([image.naturalWidth, image.naturalHeight]);
      this.error.value = isAlike
        ? ""
        : t("{name} has another size than the photograph; take it with the same camera.", { name });
      if (isAlike) this.photos.value = [...this.photos.value, new Photo(name, address, this.forget)];
    };
    image.onerror = () => {
      this.error.value = t("{name} is not a picture.", { name });
    };
    image.src = address;
  }

  async align() {
    const outcome = { isComputing: true };
    batch(() => {
      this.error.value = "";
      this.outcome.value = outcome;
      this.isAligning.value = true;
    });
    const answer = await this.askBase();
    batch(() => {
      this.isAligning.value = false;
      if (this.outcome.value !== outcome) return;
      this.error.value = answer.error ?? "";
      this.outcome.value = answer.error ? null : answer;
    });
  }

  async askBase() {
    const clicks = this.photos.value.flatMap((photo, i) =>
      photo.clicks.value.map((pixel) => ({ photo: i, pixel, q: readAngles(photo.angles.value) })),
    );
    try {
      const sent = this.files.value.map(async ({ file, name }) => ({ path: (await this.upload(file)).path, name }));
      return await this.ask({ kind: "align", files: await Promise.all(sent), clicks, tool: this.tool.value.trim() });
    } catch {
      return { error: t("The files could not be uploaded. Try again.") };
    }
  }

  take() {
    this.send("take", { id: this.outcome.value.id });
    this.forget();
    this.close();
  }

  open() {
    this.isOpen.value = true;
    if (!this.photos.value.length) this.photos.value = [new Photo(t("Photograph"), this.value.photo, this.forget)];
  }

  close() {
    this.isOpen.value = false;
    /** @type {HTMLElement} */ (this.root.querySelector("[data-act=open-robot-alignment]")).focus();
  }

  template() {
    const error = this.error.value;
    return html`<button class="studio-button" data-act="open-robot-alignment" data-sends="robot-aligner.align"
        hidden=${!this.value.token} onclick=${() => this.open()}>${t("Align the robot …")}</button>
      <section class="full-page" hidden=${!this.isOpen.value} role="dialog" aria-label=${t("Align the robot")}>
        <div class="full-page-head">
          <h2>${t("Align the robot")}</h2>
          <p class="hint">${HINT}</p>
          <button class="studio-button primary" data-act="align" disabled=${this.isAligning.value}
            onclick=${() => this.align()}>${t("Align")}</button>
          <button class="studio-button plain" title=${t("Close (Esc)")} aria-label=${t("Close the alignment")}
            onclick=${() => this.close()}>✕</button>
        </div>
        <div class="full-page-body">
          <div class="pictures">${this.photos.value.map((photo) => photo.figure())}</div>
          <aside class="full-page-side">
            <p class="fault" role="alert" hidden=${!error}>${error}</p>
            ${this.choosers()}
            <p class="muted">${this.files.value.map(({ name }) => name).join(", ")}</p>
            <label class="field">${t("Tool: site or body of the model")}
              <input type="text" aria-label=${t("Tool: site or body of the model")} value=${this.tool.value}
                oninput=${({ target }) => (this.tool.value = target.value)} /></label>
            <div class="result" role="status">${this.result()}</div>
          </aside>
        </div>
      </section>`;
  }

  choosers() {
    const chooser = (label, name, accept, onFiles) =>
      fileButton(label, onFiles, { "data-file": name, accept, multiple: true });
    return html`<div class="choosers">
      ${chooser(t("Pose or model …"), "base", ".json,.xml,.mjcf,.urdf", (files) => this.chooseFiles(files))}
      ${chooser(t("Photograph …"), "photo", "image/*", (files) => this.addPhotos(files))}
    </div>`;
  }

  result() {
    const { isComputing, stopped, world_from_base: base, overlay, ...one } = this.outcome.value ?? {};
    if (isComputing)
      return html`<p><i class="spin" /> ${t("Computing the base")} </p>
        <button class="studio-button" key="stop" data-act="stop" onclick=${() => this.ask({ kind: "stop" })}>
          ${t("■ Stop")}</button>`;
    if (stopped) return html`<p>${t("Stopped.")}</p>`;
    if (!base) return null;
    const [x, y, z] = base.map((row) => row[3]?.toFixed(3));
    return html`<p data-result="base">${t("The base stands at x {x}, y {y}, z {z} m.", { x, y, z })}</p>
      ${one.residuals_px && html`<p>${uncertainty(one)}</p>`}
      <img class="overlay" src=${overlay} alt=${OVERLAY_TITLE} title=${OVERLAY_TITLE} />
      <button class="studio-button primary" key="take" data-act="take" onclick=${() => this.take()}>
        ${t("Use this base")}</button>
      <p class="muted">${t("Undo takes it back.")}</p>`;
  }
}

/** A photograph in which the gripper is clicked, with the angles of the joints. */
class Photo extends ClickPicture {
  clicks = signal(/** @type {number[][]} */ ([]));
  angles = signal("");

  /** `onChange` is called at each change. */
  constructor(title, address, onChange) {
    super(title, (at) => {
      this.clicks.value = [at];
      onChange();
    });
    this.address.value = address;
    this.onChange = onChange;
  }

  figure() {
    const type = ({ target }) => {
      this.angles.value = target.value;
      this.onChange();
    };
    return this.template(
      this.clicks.value,
      null,
      html`<label class="field">${t("Joint angles (rad)")}
        <input type="text" placeholder="shoulder=0.4 elbow=-1.2" value=${this.angles.value}
          aria-label=${t("Joint angles (rad): {photo}", { photo: this.title })} oninput=${type} /></label>`,
    );
  }
}

const uncertainty = ({ rotation_std_deg, position_std_m, residuals_px }) =>
  t("Standard deviation up to {deg}° and {mm} mm; clicks are up to {px} px off.", {
    deg: Math.max(...rotation_std_deg).toFixed(2),
    mm: (1000 * Math.max(...position_std_m)).toFixed(1),
    px: Math.max(...residuals_px).toFixed(1),
  });

/** Returns {joint: angle} of "joint=angle joint=angle", with commas or without. */
function readAngles(text) {
  const pairs = [...text.matchAll(/([^\s,=]+)\s*=\s*(-?[\d.]+(?:e-?\d+)?)/gi)];
  return Object.fromEntries(pairs.map(([, joint, angle]) => [joint, Number(angle)]));
}

export default mounts(RobotAligner);

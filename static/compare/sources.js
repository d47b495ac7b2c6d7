// The files of a comparison: a real episode, a simulated one, and the robot's model, each dropped or chosen.
import { fileButton } from "/static/studio/parts.js";
import { filesOfDrop } from "/static/studio/dropped_files.js";
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

const MAX_FILE_BYTES = 400 * 2 ** 20;
const SLOTS = [
  { name: "real", title: t("Real episode"), hint: "NPZ, CSV, LeRobot, ROS" },
  { name: "sim", title: t("Simulated episode"), hint: "NPZ, CSV, LeRobot, ROS" },
  { name: "robot", title: t("Robot (optional)"), hint: "MJCF, URDF, DH (.json)" },
];
// The choices within a recording, with the word for all or none of them.
const CHOICES = {
  joints: [t("Joint positions"), t("All topics")],
  commands: [t("Commands"), t("None")],
  episodes: [t("Episode"), null],
};

export class Sources {
  files = signal(/** @type {Record<string, any>} */ ({ real: [], sim: [], robot: [] })); // or {project, source, title}
  offered = signal(/** @type {Record<string, any>} */ ({})); // names to choose from by kind, by slot
  chosen = signal(/** @type {Record<string, any>} */ ({})); // the chosen name by kind, by slot
  dropping = signal(""); // the slot that files are held over

  /** `onSelect` is called with {real, sim: [topic or episode]} when those were chosen. */
  constructor(onSelect) {
    this.onSelect = onSelect;
  }

  get complete() {
    const { real, sim } = this.files.value;
    return [real, sim].every((files) => files.source || files.length > 0);
  }

  /** Shows a menu for each choice {real, sim: {offered: {joints, commands: [topic], episodes: [number]}, chosen}}. */
  offerChoices(choices) {
    for (const side of ["real", "sim"]) {
      const { offered = {}, chosen = [] } = choices?.[side] ?? {},
        first = (kind, names) => (CHOICES[kind][1] === null ? names[0] : "");
      const entries = Object.entries(offered).map(([kind, names]) => [
        kind,
        names.findLast((name) => chosen.includes(name)) ?? first(kind, names),
      ]);
      this.offered.value = { ...this.offered.value, [side]: offered };
      this.chosen.value = { ...this.chosen.value, [side]: Object.fromEntries(entries) };
    }
  }

  select(side, kind, name) {
    this.chosen.value = { ...this.chosen.value, [side]: { ...this.chosen.value[side], [kind]: name } };
    const { real = {}, sim = {} } = this.chosen.value,
      names = (of) => Object.values(of).filter((one) => one !== "");
    this.onSelect({ real: names(real), sim: names(sim) });
  }

  /** Takes files [{file, name}], or an episode {project, source, title} of the open project. */
  take(slot, files) {
    if (files.length === 0) return;
    this.files.value = { ...this.files.value, [slot]: files };
    this.offered.value = { ...this.offered.value, [slot]: {} };
    this.chosen.value = { ...this.chosen.value, [slot]: {} };
  }

  async drop(slot, event) {
    event.preventDefault();
    this.dropping.value = "";
    this.take(slot, await filesOfDrop(event.dataTransfer));
  }

  /** Uploads all files; returns {real, sim, robot: [{path, name}] each}. Throws an Error for the person. */
  async upload(upload) {
    const sent = {};
    for (const [slot, files] of Object.entries(this.files.value))
      sent[slot] = files.source ? files : await Promise.all(files.map((one) => send(one, upload)));
    return sent;
  }

  /** `value` is the page's, with the episodes [{source, title}] of the open project. */
  template(value) {
    return html`<div class="slots">${SLOTS.map((slot) => this.#slot(slot, value))}</div>`;
  }

  #slot({ name, title, hint }, value) {
    const files = this.files.value[name],
      isChosen = files.source || files.length > 0;
    const hold = (event) => {
      event.preventDefault();
      this.dropping.value = name;
    };
    return html`<div class=${classes("slot", this.dropping.value === name && "dropping")} data-slot=${name}
      ondragover=${hold} ondragleave=${() => (this.dropping.value = "")} ondrop=${(event) => this.drop(name, event)}>
      <strong>${title}</strong>
      <span class="choosers">${fileButtons(title, (chosen) => this.take(name, chosen))}</span>
      ${name !== "robot" && this.#projectMenu(name, title, value)}
      <span class=${classes("file", isChosen && "chosen")}>${isChosen ? nameOf(files) : hint}</span>
      ${name !== "robot" && this.#choices(name)}
    </div>`;
  }

  #projectMenu(slot, title, { project, name, episodes = [] }) {
    const chosen = this.files.value[slot],
      find = (source) => episodes.find((one) => one.source === source);
    return html`<select hidden=${!episodes.length} aria-label=${`${title}: ${t("of the open project")}`}
      value=${chosen.project === project && find(chosen.source) ? chosen.source : ""}
      onchange=${({ target }) => target.value && this.take(slot, { project, ...find(target.value) })}>
      <option value="">${t("From {project} …", { project: name })}</option>
      ${episodes.map(({ source, title: text }) => html`<option value=${source}>${text}</option>`)}
    </select>`;
  }

  #choices(slot) {
    return html`<div class="choices">
      ${Object.entries(this.offered.value[slot] ?? {}).map(([kind, names]) => this.#choice(slot, kind, names))}
    </div>`;
  }

  #choice(slot, kind, names) {
    const [title, all] = CHOICES[kind];
    return html`<label class="choice flow">${title}
      <select data-choice=${kind} value=${this.chosen.value[slot][kind]}
        onchange=${({ target }) => this.select(slot, kind, target.value)}>
        ${all && html`<option value="">${all}</option>`}
        ${names.map((name) => html`<option value=${name}>${name}</option>`)}
      </select>
    </label>`;
  }
}

const nameOf = (files) =>
  files.title ?? (files.length === 1 ? files[0].name : t("{n} file|{n} files", { n: files.length }));

/** Returns two buttons, for files and for a folder; `choose` gets what a person chose, [{file, name}]. */
export function fileButtons(title, choose) {
  const button = (label, attributes) => {
    const name = `${title}: ${label}`;
    return fileButton(label, choose, { "aria-label": name, ...attributes }, { title: name });
  };
  return [button(t("File …"), { multiple: true }), button(t("Folder …"), { webkitdirectory: true })];
}

/** Uploads a file; returns {path, name} as requests name it. Throws an Error for the person. */
export async function send({ file, name }, upload) {
  if (file.size > MAX_FILE_BYTES)
    throw new Error(t("{name} is larger than 0.4 GB. Use the command grs-studio compare.", { name }));
  const { path } = await upload(file).catch(() => {
    throw new Error(t("{name} could not be uploaded. Try again.", { name }));
  });
  return { path, name };
}

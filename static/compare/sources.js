// The files of a comparison: a real episode, a simulated one, and the robot's model, each dropped or chosen.
import { fill, h } from "/static/studio/dom.js";
import { filesOfDrop, filesOfInput } from "/static/studio/dropped_files.js";
import { t } from "/static/studio/texts.js";

const MAX_FILE_BYTES = 400 * 2 ** 20;
const SLOTS = [
  { name: "real", title: t("Real episode"), hint: "NPZ, CSV, LeRobot, ROS" },
  { name: "sim", title: t("Simulated episode"), hint: "NPZ, CSV, LeRobot, ROS" },
  { name: "robot", title: t("Robot (optional)"), hint: "MJCF, URDF, DH (.json)" },
];

export class Sources {
  /** `onChange` is called when files were chosen, `onSelect` with {real, sim: [topic or episode]} when those were. */
  constructor(onChange, onSelect) {
    this.onChange = onChange;
    this.onSelect = onSelect;
    this.choiceMenus = { real: h("div.choices"), sim: h("div.choices") };
    this.files = { real: [], sim: [], robot: [] };
    this.element = h(
      "div.slots",
      {},
      SLOTS.map((slot) => this.#slot(slot)),
    );
  }

  get complete() {
    return [this.files.real, this.files.sim].every((files) => files.source || files.length > 0);
  }

  /** Offers the episodes [{source, title}] of the open project. */
  offer(project, name, episodes) {
    const offered = JSON.stringify([project, episodes]);
    if (offered === this.offered) return;
    this.offered = offered;
    for (const menu of this.element.querySelectorAll("select")) {
      menu.hidden = !episodes.length;
      fill(
        menu,
        h("option", { value: "" }, t("From {project} …", { project: name })),
        episodes.map(({ source, title }) => h("option", { value: source, "data-project": project }, title)),
      );
    }
  }

  /** Shows a menu for each choice {real, sim: {offered: {joints, commands: [topic], episodes: [number]}, chosen}}. */
  offerChoices(choices) {
    for (const [side, element] of Object.entries(this.choiceMenus)) {
      const { offered = {}, chosen = [] } = choices?.[side] ?? {};
      fill(
        element,
        Object.entries(offered).map(([kind, names]) => this.#choiceMenu(kind, names, chosen)),
      );
    }
  }

  #choiceMenu(kind, names, chosen) {
    const title = { joints: t("Joint positions"), commands: t("Commands"), episodes: t("Episode") }[kind];
    const all = { joints: t("All topics"), commands: t("None") }[kind];
    const changed = () =>
      this.onSelect(
        Object.fromEntries(
          Object.entries(this.choiceMenus).map(([side, element]) => [
            side,
            [...element.querySelectorAll("select")].map((menu) => menu.value).filter(Boolean),
          ]),
        ),
      );
    const options = [...(all ? [["", all]] : []), ...names.map((name) => [name, name])];
    return h(
      "label.choice",
      {},
      title,
      h(
        "select",
        { "data-choice": kind, onchange: changed },
        options.map(([value, text]) => h("option", { value, selected: chosen.includes(value) }, text)),
      ),
    );
  }

  /** Uploads all files; returns {real, sim, robot: [{path, name}] each}. Throws an Error for the person. */
  async upload(upload) {
    const sent = {};
    for (const { name } of SLOTS) {
      const files = this.files[name];
      sent[name] = files.source ? files : await Promise.all(files.map((one) => send(one, upload)));
    }
    return sent;
  }

  #slot({ name, title, hint }) {
    const shown = h("span.file", {}, hint);
    const choose = (files) => {
      if (!files.length) return;
      this.files[name] = files;
      shown.textContent = files.length === 1 ? files[0].name : t("{n} file|{n} files", { n: files.length });
      shown.classList.add("chosen");
      if (menu) menu.value = "";
      fill(this.choiceMenus[name] ?? h("div"));
      this.onChange();
    };
    const menu =
      name !== "robot" &&
      h("select", {
        hidden: true,
        "aria-label": `${title}: ${t("of the open project")}`,
        onchange: () => {
          const [option] = menu.selectedOptions;
          if (!option.value) return;
          this.files[name] = { project: option.dataset.project, source: option.value };
          shown.textContent = option.textContent;
          shown.classList.add("chosen");
          fill(this.choiceMenus[name]);
          this.onChange();
        },
      });
    const element = h(
      "div.slot",
      { "data-slot": name },
      h("strong", {}, title),
      h("span.choosers", {}, fileButtons(title, choose)),
      menu,
      shown,
      this.choiceMenus[name],
    );
    const setDropping = (on) => element.classList.toggle("dropping", on);
    element.addEventListener("dragover", (event) => {
      event.preventDefault();
      setDropping(true);
    });
    element.addEventListener("dragleave", () => setDropping(false));
    element.addEventListener("drop", async (event) => {
      event.preventDefault();
      setDropping(false);
      choose(await filesOfDrop(event.dataTransfer));
    });
    return element;
  }
}

/** Returns two buttons, for files and for a folder; `choose` gets what a person chose, [{file, name}]. */
export function fileButtons(title, choose) {
  const button = (label, more) =>
    h(
      "label.studio-button.file-button",
      {},
      label,
      h("input.hidden-input", {
        type: "file",
        "aria-label": `${title}: ${label}`,
        ...more,
        onchange: ({ target }) => {
          choose(filesOfInput(target.files));
          target.value = "";
        },
      }),
    );
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

/** Fills an element with the choice of the alignment. */
export function alignmentMenu(value, onChange) {
  const menu = h("select", { "aria-label": t("Time alignment"), onchange: () => onChange(menu.value) });
  const methods = {
    clock: t("From the first sample"),
    motion: t("From the first motion"),
    dtw: t("Dynamic time warping"),
    none: t("Times as they are"),
  };
  fill(
    menu,
    Object.entries(methods).map(([name, title]) => h("option", { value: name, selected: name === value }, title)),
  );
  return menu;
}

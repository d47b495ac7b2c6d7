// Asset packs: contents, download size, licences, and the button that installs one.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

export class Packs {
  constructor({ ask, onStarted }) {
    Object.assign(this, { ask, onStarted });
    this.element = h("div.packs", { hidden: true });
  }

  async show() {
    this.element.hidden = false;
    const { packs = [], error } = await this.ask({ kind: "packs" });
    fill(
      this.element,
      h(
        "div.packs-head",
        {},
        h("h3", {}, t("Packs")),
        h("button.studio-button.plain", { "aria-label": t("Close the packs"), onclick: () => this.hide() }, "✕"),
      ),
      error && h("p.fault", {}, error),
      packs.map((pack) => this.packCard(pack)),
      this.objaverseForm(),
    );
  }

  hide() {
    this.element.hidden = true;
  }

  packCard(pack) {
    const isComplete = pack.installed >= pack.count,
      isPartial = pack.installed > 0 && !isComplete;
    return h(
      "section.pack.panel",
      { "data-pack": pack.name },
      h(
        "div",
        {},
        h("strong", {}, pack.name),
        h("p", {}, pack.about),
        h(
          "p.muted",
          {},
          `${t("{count} assets,", { count: pack.count })} `,
          pack.download
            ? t("{size} MB to download with pip", { size: Math.round(pack.download / 1e6) })
            : t("already downloaded"),
          t(". The import takes minutes and runs in the background."),
        ),
        h(
          "p.muted",
          {},
          `${t("Licences (stored with each asset):")} `,
          pack.licences.map((licence) => h("span.tag", {}, licence)),
          ` ${t("Read them before you share your results.")}`,
        ),
      ),
      h(
        "div.install",
        {},
        isComplete
          ? h("span.tag.good", {}, t("✓ All {installed} installed", { installed: pack.installed }))
          : h(
              "button.studio-button.primary",
              { "data-sends": "library.install", onclick: () => this.install(pack.name) },
              isPartial ? t("Resume") : t("Install"),
            ),
        isPartial &&
          h("span.muted", {}, t("{installed} of {count} installed", { installed: pack.installed, count: pack.count })),
      ),
    );
  }

  // Looks up one object of Objaverse by its id; nothing is downloaded before its licence is accepted.
  objaverseForm() {
    const id = h("input", {
      "aria-label": t("Objaverse id"),
      placeholder: t("Objaverse id or URL"),
      spellcheck: false,
      onkeydown: (event) => {
        if (event.key === "Enter") lookUp();
        if (event.key !== "Escape") event.stopPropagation();
      },
      oninput: () => {
        problem.hidden = true;
      },
    });
    const problem = h("p.fault", { role: "alert", hidden: true });
    const button = h(
      "button.studio-button.primary",
      { "data-act": "objaverse", onclick: () => lookUp() },
      t("Look up"),
    );
    const lookUp = async () => {
      button.disabled = true;
      const answer = await this.ask({ kind: "objaverse", id: id.value });
      button.disabled = false;
      problem.hidden = !answer.error;
      problem.textContent = answer.error ?? "";
      if (answer.error) return id.focus();
      this.hide();
      this.onStarted(answer);
    };
    return h(
      "section.pack.panel",
      { "data-pack": "objaverse" },
      h(
        "div",
        {},
        h("strong", {}, t("Objaverse object")),
        h(
          "p",
          {},
          `${t("800,000 objects, each with its own author and licence. Needs the network.")} `,
          t("Nothing is downloaded before you accept the licence."),
        ),
        h("div.objaverse-id", {}, id, button),
        problem,
      ),
    );
  }

  async install(name) {
    const answer = await this.ask({ kind: "install", pack: name });
    this.hide();
    this.onStarted(answer);
  }
}

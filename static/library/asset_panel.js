// Panel with one asset: 3D preview, properties with their sources, and fields to edit them.
import { chip, fact, fill, h, sizeText } from "/static/studio/dom.js";
import { collectionName, describerName, inertia, mass, sourceName, travel } from "/static/library/formatting.js";
import { t } from "/static/studio/texts.js";

const BODY_NAME = "asset"; // name of its body in the preview model

export class AssetPanel {
  // `ask` sends a request, `onEdited` gets the answer to an edit, `onClose` closes, `onUse` assigns it to an object.
  constructor({ ask, onEdited, onClose, onUse }) {
    Object.assign(this, { ask, onEdited, onClose, onUse, asset: null, target: null });
    this.frame = h("iframe.preview", { title: t("3D preview") });
    this.overlay = h("p.overlay");
    this.scene = h("div.scene", {}, this.frame, this.overlay);
    this.head = h("div.asset-head");
    this.facts = h("div.facts");
    this.actions = h("div.asset-actions");
    this.inertia = h("span");
    this.element = h("aside.asset", { hidden: true }, this.head, this.scene, this.facts, this.actions);
    addEventListener("message", ({ source, origin, data }) => {
      if (source !== this.frame.contentWindow || origin !== location.origin || data?.type !== "loaded") return;
      // Selected, so that the viewer shows its joint sliders.
      if (this.asset?.joints.length) source.postMessage({ type: "select", name: BODY_NAME }, origin);
    });
  }

  get id() {
    return this.element.hidden ? "" : (this.asset?.id ?? "");
  }

  async show(id) {
    this.element.hidden = false;
    // Emptied, so that nobody types into the previous asset's fields.
    if (this.asset?.id !== id) for (const part of [this.head, this.facts, this.actions]) fill(part);
    this.wantedId = id;
    const asset = await this.ask({ kind: "asset", id });
    if (this.wantedId !== id) return;
    if (asset.error) return this.showMissing(asset.error);
    const isSame = this.asset?.digest === asset.digest && this.token;
    this.asset = asset;
    if (!isSame) this.preview = null;
    this.draw();
    if (!isSame) this.showPreview(id);
  }

  showMissing(text) {
    this.asset = this.token = null;
    fill(this.head, h("strong", {}, t("Asset not found")), this.closeButton());
    fill(this.facts, h("p.fault", {}, text));
    fill(this.actions);
    this.scene.hidden = true;
  }

  async showPreview(id) {
    this.scene.hidden = false;
    this.scene.classList.toggle("articulated", this.asset.joints.length > 0); // makes room for the joint sliders
    this.overlay.hidden = false;
    this.overlay.textContent = t("Loading preview …");
    const preview = await this.ask({ kind: "preview", id });
    if (this.asset?.id !== id) return;
    this.token = preview.view ?? null;
    if (preview.error) {
      this.overlay.textContent = preview.error;
      this.frame.removeAttribute("src");
      return;
    }
    this.preview = preview;
    this.overlay.hidden = true;
    if (this.frame.getAttribute("src")?.startsWith("/viewer/"))
      this.frame.contentWindow.postMessage({ type: "load", token: preview.view }, location.origin);
    else this.frame.src = `/viewer/?standalone#${preview.view}`;
    this.drawInertia();
  }

  hide() {
    this.element.hidden = true;
  }

  // Sets the object of the open project it may be used for: {id, name, colour, asset_id} or null.
  setTarget(target) {
    this.target = target;
    if (this.asset && !this.element.hidden) this.drawActions();
  }

  async change(request) {
    this.element.inert = true;
    this.element.classList.add("busy");
    const answer = await this.ask({ ...request, id: this.asset.id });
    if (request.kind === "remove" && !answer.error) {
      answer.note = [t("{name} removed. You can undo it.", { name: this.asset.name }), answer.note]
        .filter(Boolean)
        .join(" ");
      this.onClose();
    }
    await this.onEdited(answer);
    this.element.inert = false;
    this.element.classList.remove("busy");
    if (answer.error) this.draw();
  }

  closeButton() {
    return h(
      "button.studio-button.plain",
      { "aria-label": t("Close the asset"), title: t("Close"), onclick: () => this.onClose() },
      "✕",
    );
  }

  draw() {
    const { asset } = this;
    const saveField = (key) => (event) =>
      event.target.value.trim() !== String(asset[key] ?? "") &&
      this.change({ kind: "change", values: { [key]: event.target.value.trim() } });
    const text = (key, label, extra = {}) =>
      h("input", {
        value: asset[key],
        "aria-label": label,
        spellcheck: false,
        onkeydown: onKeyDown,
        "data-sends": "library.change",
        onchange: saveField(key),
        ...extra,
      });
    fill(
      this.head,
      text("name", t("Name"), { class: "name" }),
      h("span.busy-note", { role: "status" }, h("i.spin"), t("Saving …")),
      this.closeButton(),
    );
    fill(
      this.facts,
      h("input.caption", {
        value: asset.caption,
        "aria-label": t("Caption"),
        title: t("One sentence; read by language models"),
        spellcheck: false,
        onkeydown: onKeyDown,
        "data-sends": "library.change",
        onchange: saveField("caption"),
      }),
      fact("description", this.descriptionField()),
      fact("category", text("category", t("Category"))),
      fact(
        "size",
        sizeText(asset.size),
        !asset.joints.length &&
          h(
            "span",
            {},
            h("span.source", {}, `${t("longest side")} `),
            this.numberInput(100 * Math.max(...asset.size), "cm", t("Longest side in cm"), 0.1, (value) =>
              this.change({ kind: "scale", longest: value / 100 }),
            ),
          ),
      ),
      fact(
        "rotate",
        ["x", "y", "z"].map((axis) =>
          h(
            "button.studio-button",
            {
              title: t("Rotate 90° about {axis}", { axis }),
              "data-sends": "library.turn",
              onclick: () => this.change({ kind: "turn", axis }),
            },
            `↻ ${axis}`,
          ),
        ),
      ),
      asset.tipped_over &&
        h(
          "p.warning",
          {},
          `${t("Its opening faces {faces}. Tipped over?", { faces: asset.tipped_over.faces })} `,
          h(
            "button.studio-button",
            {
              "data-act": "stand-up",
              onclick: () =>
                this.change({ kind: "turn", axis: asset.tipped_over.axis, quarters: asset.tipped_over.quarters }),
            },
            t("Set upright"),
          ),
        ),
      fact(
        "mass",
        this.numberInput(1000 * asset.mass, "g", t("Mass in g"), 1, (value) =>
          this.change({ kind: "change", values: { mass: value / 1000 } }),
        ),
        range(asset.mass, asset.mass_range, mass),
        h("span.source", {}, sourceName(asset.mass_source)),
      ),
      fact(
        "friction",
        this.numberInput(asset.friction, "", t("Sliding friction"), 0.05, (value) =>
          this.change({ kind: "change", values: { friction: value } }),
        ),
        range(asset.friction, asset.friction_range, (value) => value.toFixed(2)),
        h("span.source", {}, sourceName(asset.friction_source)),
      ),
      fact("inertia", this.inertia),
      fact(
        "collision",
        t("{n} convex part|{n} convex parts", { n: asset.convex_parts }) +
          (asset.container ? t(", open at the top") : ""),
      ),
      asset.joints.length > 0 &&
        fact(
          "joints",
          h(
            "ul.joints",
            {},
            asset.joints.map((joint) =>
              h(
                "li",
                {},
                `${joint.part.replaceAll("_", " ")}: ${joint.kind === "hinge" ? t("rotates") : t("slides")} ${travel(joint)}`,
              ),
            ),
          ),
        ),
      fact("licence", text("licence", t("Licence"), { placeholder: t("unknown") })),
      fact("source", asset.provenance || t("unknown")),
      fact(
        "collection",
        collectionName(asset.collection),
        !asset.own && h("span.source", {}, t("edits are saved as your own version")),
        asset.version && h("span.source", {}, t("your version of this asset")),
      ),
      asset.warnings.length > 0 && [
        h("h4", {}, t("Import warnings")),
        h(
          "ul.warnings",
          {},
          asset.warnings.map((fault) => h("li", {}, fault)),
        ),
      ],
    );
    this.drawInertia();
    this.drawActions();
  }

  // What models read about the asset, who wrote it, and a person's own words in its place.
  descriptionField() {
    const { text, source } = this.asset.description;
    const save = (words) => words !== text && this.change({ kind: "describe", text: words });
    return h(
      "span.description",
      {},
      h(
        "textarea",
        {
          rows: 3,
          maxLength: 600,
          "aria-label": t("Description"),
          placeholder: t("Not described yet. Models read the caption instead."),
          onkeydown: (event) => event.key !== "Escape" && event.stopPropagation(),
          "data-sends": "library.describe",
          onchange: ({ target }) => save(target.value.trim()),
        },
        text,
      ),
      source && h("span.source", {}, describerName(source)),
      source === "human" &&
        h(
          "button.studio-button.plain",
          { title: t("Remove your description; the model's or the measured one is back"), onclick: () => save("") },
          t("Remove"),
        ),
    );
  }

  // Drawn separately when the model has compiled, so that fields being edited stay as they are.
  drawInertia() {
    const { preview } = this;
    fill(
      this.inertia,
      preview ? inertia(preview.inertia) : "…",
      preview && h("span.source", {}, ` ${t("about its centre of mass, from MuJoCo")}`),
      preview?.doubt && h("p.warning", {}, preview.doubt),
    );
  }

  drawActions() {
    const { asset, target } = this;
    fill(
      this.actions,
      target &&
        (target.asset_id === asset.id
          ? h("span.muted", {}, `${t("Used for")} `, chip(target), ` ${target.words}`)
          : h(
              "button.studio-button.primary",
              { "data-act": "use", "data-sends": "library.decide", onclick: () => this.onUse(target, asset) },
              `${t("Use for")} `,
              chip(target),
              ` ${target.words}`,
            )),
      asset.own &&
        h(
          "button.studio-button",
          {
            "data-act": "remove",
            title: t("Remove from the library. You can undo it."),
            "data-sends": "library.remove",
            onclick: () => this.change({ kind: "remove" }),
          },
          asset.version ? t("Remove my version") : t("Remove from library"),
        ),
    );
  }

  numberInput(value, unit, label, step, save) {
    const shown = Number(value.toFixed(step < 1 ? 2 : value < 10 ? 1 : 0));
    return h(
      "span.number",
      {},
      h("input", {
        type: "number",
        step: String(step),
        min: "0",
        value: String(shown),
        "aria-label": label,
        onkeydown: onKeyDown,
        onchange: (event) =>
          event.target.value !== "" && Number(event.target.value) !== shown && save(Number(event.target.value)),
      }),
      unit && ` ${unit}`,
    );
  }
}

function onKeyDown(event) {
  if (event.key === "Enter") event.target.blur();
  if (event.key !== "Escape") event.stopPropagation();
}

// Shows where a value lies in its plausible range.
function range(value, [low, high], format) {
  const isPlausible = value >= low * 0.999 && value <= high * 1.001;
  const position = Math.min(100, Math.max(0, (100 * Math.log(value / low)) / Math.log(high / low)));
  return h(
    `span.range${isPlausible ? "" : ".out"}`,
    { title: t("Plausible: {low} to {high}", { low: format(low), high: format(high) }) },
    h("i", { style: `left:${Number.isFinite(position) ? position : 50}%` }),
    h("span.ends", {}, h("span", {}, format(low)), h("span", {}, format(high))),
    !isPlausible && h("span.sr", {}, t("Outside the plausible range")),
  );
}

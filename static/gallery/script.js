// The gallery: the board of the workspace's projects, and the sample scenes. See components/page_frame.py.
import { startDemo } from "/static/studio/demo.js";
import { asker } from "/static/studio/server.js";
import { ProjectBoard } from "/static/gallery/board.js";
import { card } from "/static/gallery/project_views.js";
import { t } from "/static/studio/texts.js";
import { follow, html, mounts, signal, View } from "/static/studio/view.js";

const BUSY_TIMEOUT_MS = 20_000,
  CARDS_MS = 20_000; // in which the demo waits for the card that it opens

class Gallery extends View {
  opening = signal(""); // name of the project or sample that was asked for

  constructor(context) {
    super(context);
    this.board = new ProjectBoard({
      root: this.root,
      ask: asker(this.server, () => ({ page_token: this.value.page_token })),
      upload: this.upload,
      opening: this.opening,
      onOpen: (name) => this.open("project", name),
    });
    follow(this.root, () => (this.root.hidden = !this.value.page_token));
    this.onValue((value) => this.takeValue(value));
  }

  takeValue(value) {
    this.opening.value = "";
    if (!value.page_token) return this.board.leave();
    nameDropArea();
    this.board.show(value);
    const address = new URL(location.href);
    if (value.samples?.length && address.searchParams.has("demo")) {
      const [kind, name] = address.searchParams.get("demo").split(":");
      address.searchParams.delete("demo");
      history.replaceState(null, "", address);
      startDemo({ [kind === "project" ? "project" : "scene"]: name, wait: CARDS_MS });
    }
  }

  // Ends by itself: the gallery is replaced by the project, or opening it failed.
  open(kind, name) {
    this.opening.value = name;
    setTimeout(() => {
      if (this.opening.value === name) this.opening.value = "";
    }, BUSY_TIMEOUT_MS);
    this.send("open", { kind, name });
  }

  template() {
    const { samples = [] } = this.value;
    return html`${this.board.template()}
      <section class="samples">
        <h2 class="samples-head">
          ${t("Sample scenes")}<span class="faint"> ${t("rendered with simulated camera noise")}</span>
          ${
            samples.length > 0 &&
            html`<button class="studio-button show-me" data-sends="frame-picker.open" onclick=${() => startDemo()}>
              ${t("▶ Show me (2 minutes)")}</button>`
          }
        </h2>
        ${samples.length ? this.samples(samples) : html`<p class="muted">${t("No sample scenes installed.")}</p>`}
      </section>`;
  }

  samples(samples) {
    return html`<div class="cards" data-sends="frame-picker.open">
      ${samples.map((one) => card(one, this.opening.value, () => this.open("sample", one.name), t("Synthetic")))}
    </div>`;
  }
}

// Gradio names its upload area by other words than it shows.
function nameDropArea() {
  for (const area of document.querySelectorAll("#drop [aria-label]"))
    if (area.textContent.trim())
      area.setAttribute("aria-label", `${t("Drop a frame here, or click to choose its files")} ${area.textContent}`);
}

export default mounts(Gallery);

// The gallery: the board of the workspace's projects, and the sample scenes. See components/page_frame.py.
import { fill, h } from "/static/studio/dom.js";
import { startDemo } from "/static/studio/demo.js";
import { asker } from "/static/studio/server.js";
import { ProjectBoard } from "/static/gallery/board.js";
import { card } from "/static/gallery/project_views.js";
import { t } from "/static/studio/texts.js";

const BUSY_TIMEOUT_MS = 20_000,
  CARDS_MS = 20_000; // in which the demo waits for the card that it opens

export default function mount({ element, trigger, server, upload }) {
  const gallery = element.querySelector(".gallery"),
    samplesElement = h("section.samples");
  let pageToken = "";
  // Ends by itself: the gallery is replaced by the project, or opening it failed.
  const open = (kind, name, button) => {
    button.setAttribute("aria-busy", "true");
    setTimeout(() => button.removeAttribute("aria-busy"), BUSY_TIMEOUT_MS);
    trigger("open", { kind, name });
  };
  const board = new ProjectBoard({
    ask: asker(server, () => ({ page_token: pageToken })),
    upload,
    onOpen: (name, button) => open("project", name, button),
  });
  fill(gallery, board.element, samplesElement);
  // Gradio names its upload area by other words than it shows.
  const nameDropArea = () => {
    for (const area of document.querySelectorAll("#drop [aria-label]"))
      if (area.textContent.trim())
        area.setAttribute("aria-label", `${t("Drop a frame here, or click to choose its files")} ${area.textContent}`);
  };
  const drawSamples = (samples) =>
    fill(
      samplesElement,
      h(
        "h2.samples-head",
        {},
        t("Sample scenes"),
        h("span.faint", {}, ` ${t("rendered with simulated camera noise")}`),
        samples.length > 0 &&
          h(
            "button.studio-button.show-me",
            { "data-sends": "frame-picker.open", onclick: () => startDemo() },
            t("▶ Show me (2 minutes)"),
          ),
      ),
      samples.length
        ? h(
            "div.cards",
            { "data-sends": "frame-picker.open" },
            samples.map((one) => card(one, (button) => open("sample", one.name, button), t("Synthetic"))),
          )
        : h("p.muted", {}, t("No sample scenes installed.")),
    );
  return (value) => {
    gallery.hidden = !value;
    if (!value) return board.leave();
    nameDropArea();
    pageToken = value.page_token;
    board.show(value);
    drawSamples(value.samples ?? []);
    const address = new URL(location.href);
    if (value.samples?.length && address.searchParams.has("demo")) {
      const [kind, name] = address.searchParams.get("demo").split(":");
      address.searchParams.delete("demo");
      history.replaceState(null, "", address);
      startDemo({ [kind === "project" ? "project" : "scene"]: name, wait: CARDS_MS });
    }
  };
}

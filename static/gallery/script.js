import { fill, h } from "/static/studio/dom.js";
import { startDemo } from "/static/studio/demo.js";
import { t } from "/static/studio/texts.js";

const BUSY_TIMEOUT_MS = 20_000; // milliseconds

export default function mount({ element, trigger }) {
  const gallery = element.querySelector(".gallery");
  const card = (kind, one) =>
    h(
      "button.tile",
      {
        "data-name": one.name,
        onclick: ({ currentTarget }) => {
          markBusy(currentTarget);
          trigger("open", { kind, name: one.name });
        },
      },
      h(
        "span.picture",
        { style: one.image ? `background-image:url("${one.image}")` : "" },
        kind === "sample" && h("span.label", {}, t("Synthetic")),
      ),
      h("strong", {}, one.title),
      h("span.about", {}, one.about),
    );
  // Ends by itself: the gallery is replaced by the project, or opening it failed.
  const markBusy = (one) => {
    one.setAttribute("aria-busy", "true");
    setTimeout(() => one.removeAttribute("aria-busy"), BUSY_TIMEOUT_MS);
  };
  // Gradio names its upload area by other words than it shows.
  const nameDropArea = () => {
    for (const area of document.querySelectorAll("#drop [aria-label]"))
      if (area.textContent.trim())
        area.setAttribute("aria-label", `${t("Drop a frame here, or click to choose its files")} ${area.textContent}`);
  };
  return (value) => {
    if (!value) return fill(gallery);
    nameDropArea();
    const { samples = [], projects = [] } = value;
    fill(
      gallery,
      projects.length
        ? h(
            "section",
            {},
            h("h2", {}, t("Projects")),
            h(
              "div.cards",
              {},
              projects.map((one) => card("project", one)),
            ),
          )
        : null,
      h(
        "section",
        {},
        h(
          "h2",
          {},
          t("Sample scenes"),
          h("span.faint", {}, ` ${t("rendered with simulated camera noise")}`),
          samples.length > 0 && h("button.studio-button.show-me", { onclick: startDemo }, t("▶ Show me (2 minutes)")),
        ),
        samples.length
          ? h(
              "div.cards",
              {},
              samples.map((one) => card("sample", one)),
            )
          : h("p.muted", {}, t("No sample scenes installed.")),
      ),
    );
    const address = new URL(location.href);
    if (samples.length && address.searchParams.has("demo")) {
      address.searchParams.delete("demo");
      history.replaceState(null, "", address);
      startDemo();
    }
  };
}

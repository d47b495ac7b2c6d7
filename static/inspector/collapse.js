// Collapses the inspector on steps that are not about single objects, until a person opens or collapses it there.
import { h } from "/static/studio/dom.js";
import { onTab, openStep } from "/static/studio/gradio_tabs.js";
import { t } from "/static/studio/texts.js";

const COLLAPSED_STEPS = ["task", "review"];
const narrow = matchMedia("(max-width: 1180px)"); // where it covers the page, as studio.css says
window.studioInspector ??= {};
const choices = window.studioInspector;

export function collapseButton(element, panel) {
  const column = element.closest("#right");
  if (!column) return null;
  const collapsesByDefault = () => narrow.matches || COLLAPSED_STEPS.includes(openStep());
  const isCollapsed = () => choices[collapsesByDefault()] ?? collapsesByDefault();
  const button = h("button.collapse", {
    onclick: () => {
      choices[collapsesByDefault()] = !isCollapsed();
      update();
    },
  });
  const update = () => {
    column.classList.toggle("collapsed", isCollapsed());
    panel.classList.toggle("collapsed", isCollapsed());
    button.textContent = isCollapsed() ? "‹" : "›";
    button.title = isCollapsed() ? t("Show the inspector") : t("Hide the inspector");
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-expanded", String(!isCollapsed()));
  };
  onTab(update);
  narrow.addEventListener("change", update);
  update();
  return button;
}

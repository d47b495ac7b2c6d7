// Collapses the inspector on steps that are not about single objects, until a person opens or collapses it there.
import { onTab, openStep } from "/static/studio/gradio_tabs.js";
import { t } from "/static/studio/texts.js";
import { computed, follow, html, signal } from "/static/studio/view.js";

const COLLAPSED_STEPS = ["task", "review"],
  narrow = matchMedia("(max-width: 1180px)"), // where it covers the page, as studio.css says
  isNarrow = signal(narrow.matches),
  step = signal(""),
  choices = signal({}), // of a person, by whether it is collapsed else
  byDefault = computed(() => isNarrow.value || COLLAPSED_STEPS.includes(step.value)),
  isCollapsed = computed(() => choices.value[String(byDefault.value)] ?? byDefault.value);
const noteStep = () => {
  step.value = openStep();
};
narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
});
onTab(noteStep);

/** Collapses the inspector's column of the page with its panel; returns the template of the button, if it is in one. */
export function collapsing(panel) {
  const column = panel.closest("#right");
  if (!column) return () => null;
  noteStep();
  follow(panel, () => {
    for (const element of [column, panel]) element.classList.toggle("collapsed", isCollapsed.value);
  });
  return collapseButton;
}

function collapseButton() {
  const title = isCollapsed.value ? t("Show the inspector") : t("Hide the inspector"),
    toggle = () => (choices.value = { ...choices.value, [String(byDefault.value)]: !isCollapsed.value });
  return html`<button class="collapse" title=${title} aria-label=${title} aria-expanded=${!isCollapsed.value}
    onclick=${toggle}>${isCollapsed.value ? "‹" : "›"}</button>`;
}

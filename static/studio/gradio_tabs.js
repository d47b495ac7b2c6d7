// The page's steps are tabs of Gradio. Needed of Gradio 6.31, and checked by tests/ui/test_gradio_page.py: the tabs of
// the gr.Tabs with elem_id "steps" are .tab-container [role=tab], the open one has aria-selected="true", a tab's text
// begins with its label, and the panel of a tab is .tabitem.
const TABS = "#steps .tab-container [role=tab]";

// The text of the open tab; "" if there is none yet.
export const openTabText = () => document.querySelector(`${TABS}[aria-selected=true]`)?.textContent.trim() ?? "";

// Opens the tab whose text begins with the label.
export function openTab(label) {
  [...document.querySelectorAll(TABS)].find((tab) => tab.textContent.trim().startsWith(label))?.click();
}

// Calls back whenever another tab is opened.
export function onTab(callback) {
  const steps = document.querySelector("#steps");
  if (steps) new MutationObserver(callback).observe(steps, { subtree: true, attributeFilter: ["aria-selected"] });
}

// The panel that holds an element.
export const tabPanel = (element) => element.closest(".tabitem");

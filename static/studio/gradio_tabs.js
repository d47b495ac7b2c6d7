// The page's steps are tabs of Gradio. Needed of Gradio 6, and checked by tests/ui/test_every_page.py: the
// tabs of the gr.Tabs with elem_id "steps" are .tab-container [role=tab], the open one has aria-selected="true",
// data-tab-id is the id of its gr.Tab, here the name of the step, and the panel of a tab is .tabitem.
const TABS = "#steps .tab-container [role=tab]";

/** @returns {HTMLElement | null} */
const tabOf = (condition) => document.querySelector(`${TABS}[${condition}]`);
const named = (name) => tabOf(`data-tab-id="${CSS.escape(name)}"`);

// The name of the open step; "" if there is none yet.
export const openStep = () => tabOf("aria-selected=true")?.dataset.tabId ?? "";

// Whether the tabs say these states, {name of the step: text}.
export const tabsSay = (states) =>
  Object.entries(states).every(([name, text]) => named(name)?.textContent.includes(text));

// The name of the step whose tab holds an element; "" if none does.
export const stepOf = (element) => element.closest?.(TABS)?.dataset.tabId ?? "";

export function showStep(name) {
  named(name)?.click();
}

// Calls back whenever another tab is opened. The tabs may not be in the page yet.
export function onTab(callback) {
  new MutationObserver(callback).observe(document.body, { subtree: true, attributeFilter: ["aria-selected"] });
}

// Lets the keyboard scroll the panels although nothing in them may have the focus; or leaves that to what is in them.
export function focusPanels(isNeeded) {
  for (const panel of document.querySelectorAll("#steps > .tabitem"))
    isNeeded ? panel.setAttribute("tabindex", "0") : panel.removeAttribute("tabindex");
}

// The panel that holds an element.
export const tabPanel = (element) => element.closest(".tabitem");

// The inspector folds away where objects are beside the point; whoever opens or folds it is followed from then on.
import { h } from "/static/studio/dom.js";

const DOING = ["Task", "Review"];
const wanted = (window.studioInspector ??= {});

export function folding(element, panel) {
  const place = element.closest("#right"), steps = document.querySelector("#steps");
  if (!place || !steps) return null;
  const step = () => steps.querySelector(".tab-container [role=tab][aria-selected=true]")?.textContent.trim() ?? "";
  const doing = () => DOING.some((name) => step().startsWith(name));
  const folded = () => wanted[doing()] ?? doing();
  const button = h("button.fold", { onclick: () => { wanted[doing()] = !folded(); show(); } });
  const show = () => {
    place.classList.toggle("folded", folded());
    panel.classList.toggle("folded", folded());
    button.textContent = folded() ? "‹" : "›";
    button.title = folded() ? "Show what is known of the selected object" : "Fold this away";
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-expanded", String(!folded()));
  };
  new MutationObserver(show).observe(steps, { subtree: true, attributeFilter: ["aria-selected"] });
  show();
  return button;
}

// Plotly, loaded when a page first draws a plot.
import { t } from "./texts.js";

let loading = null;

export function loadPlotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: "/static/plotly.min.js" });
    script.onload = () => resolve(/** @type {any} */ (window).Plotly);
    script.onerror = () => {
      loading = null;
      reject(new Error(t("The plots could not be loaded. Reload the page.")));
    };
    document.head.append(script);
  });
  return loading;
}

/** Returns a colour of the theme, such as "--ink", as plotly reads it. `element` is in the page. */
export function themeColour(element, name) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

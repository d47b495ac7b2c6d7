// Plotly, loaded when a page first draws a plot.
import { h } from "./dom.js";
import { t } from "./texts.js";

let loading = null;

export function loadPlotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = h("script", { src: "/static/plotly.min.js" });
    script.onload = () => resolve(window.Plotly);
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
  const probe = h("i", { style: `color: var(${name})` });
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

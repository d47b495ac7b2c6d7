// Overlay that says what is being opened until the page has been filled.
import { t } from "./texts.js";

// Texts that CSS shows in elements of Gradio.
const CSS_TEXTS = {
  "--text-drop": t("Drop a frame here, or click to choose its files"),
  "--text-drawing": t("drawing …"),
  "--text-opening": t("opening …"),
};
for (const [property, text] of Object.entries(CSS_TEXTS))
  document.documentElement.style.setProperty(property, JSON.stringify(text));

const name = new URL(location.href).searchParams.get("project")?.replaceAll("_", " ");
const overlay = Object.assign(document.createElement("div"), {
  className: "loading-overlay",
  textContent: name ? t("Opening {name} …", { name }) : t("Opening the studio …"),
});
overlay.setAttribute("role", "status");
overlay.prepend(document.createElement("i"));
document.body.append(overlay);

export const hideLoading = () => overlay.remove();

// Overlay that says what is being opened until the page has been filled.
const name = new URL(location.href).searchParams.get("project")?.replaceAll("_", " ");
const overlay = Object.assign(document.createElement("div"), {
  className: "loading-overlay",
  textContent: `Opening ${name || "the studio"} …`,
});
overlay.setAttribute("role", "status");
overlay.prepend(document.createElement("i"));
document.body.append(overlay);

export const hideLoading = () => overlay.remove();

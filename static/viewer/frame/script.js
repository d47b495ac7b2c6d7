// The viewer's page in a frame: passes Python's value to it and reports what a person selects in it.
import { t, translateMarkup } from "/static/studio/texts.js";

import { arrived, join, leave } from "/static/viewer/frame/shared_clock.js";

const USES = ["focusin", "pointerdown"];

export default function ({ element, trigger }) {
  translateMarkup(element);
  const frame = element.querySelector("iframe"),
    empty = element.querySelector(".viewer-empty"),
    emptyText = empty.textContent;
  let given = {},
    shown = {},
    ghosts = null, // poses by name while the task builder is open
    ready = false,
    asked = ""; // the last selection that Python asked for: new names and colours keep a person's

  const postToViewer = (message) => frame.contentWindow?.postMessage(message, location.origin);

  function sendAll() {
    if (!ready) return;
    postToViewer({ type: "present", on: Boolean(shown.presents), about: shown.about ?? null });
    postToViewer({ type: "palette", colours: shown.palette ?? {}, names: shown.names ?? {}, parts: shown.parts ?? {} });
    const wanted = `${shown.token} ${shown.selected}`;
    if (wanted !== asked) postToViewer({ type: "select", name: shown.selected ?? "" });
    asked = wanted;
    if (shown.cameras) join(frame);
    else leave(frame);
    postToViewer({ type: "beside", on: Boolean(shown.cameras) });
    postToViewer({ type: "load", token: shown.token ?? "", caption: shown.caption, wait: shown.wait ?? null });
    postToViewer({ type: "ghosts", poses: shown.ghosts ?? {} });
  }

  function onMessage({ source, origin, data }) {
    if (!frame.isConnected) return removeEventListener("message", onMessage);
    if (source !== frame.contentWindow || origin !== location.origin) return;
    if (data.type === "ready") {
      ready = true;
      asked = "";
      sendAll();
    }
    if (data.type === "frame" && shown.cameras) arrived(frame, data);
    if (data.type === "camera" && shown.cameras)
      dispatchEvent(new CustomEvent("grs-camera", { detail: { ...data, sender: frame, cameras: shown.cameras } }));
    if (data.type === "select" && data.name !== (shown.selected ?? "")) {
      shown.selected = data.name;
      trigger("select", { index: 0, value: data.name, selected: Boolean(data.name) });
    }
  }

  // A check that is hovered anywhere on the page: its quantity is drawn on the timeline.
  function onCheck({ detail }) {
    if (!frame.isConnected) return removeEventListener("grs-check", onCheck);
    if (ready) postToViewer({ type: "measure", check: detail });
  }

  // Another viewer's camera moved.
  function onCamera({ detail: { sender, cameras, position, target } }) {
    if (!frame.isConnected) return removeEventListener("grs-camera", onCamera);
    if (ready && sender !== frame && cameras === shown.cameras) postToViewer({ type: "camera", position, target });
  }

  // The task builder was opened, closed, or has other ghosts.
  function onGhosts({ detail }) {
    if (!frame.isConnected) return removeEventListener("grs-ghosts", onGhosts);
    ghosts = detail;
    if (given.builder) show();
  }

  addEventListener("message", onMessage);
  addEventListener("grs-ghosts", onGhosts);
  addEventListener("grs-camera", onCamera);
  addEventListener("grs-check", onCheck);
  // A person begins to use what leads to this viewer: it is loaded in time.
  function onUse({ target }) {
    const isLoaded = Boolean(frame.getAttribute("src"));
    if (frame.isConnected && !isLoaded && shown.loads_with && target.closest?.(shown.loads_with)) load();
    if (!frame.isConnected || isLoaded) for (const name of USES) document.removeEventListener(name, onUse);
  }
  for (const name of USES) document.addEventListener(name, onUse);

  function load() {
    if (frame.getAttribute("src")) return;
    frame.hidden = false;
    frame.src = "/viewer/"; // loaded when first needed, so that a hidden tab stays cheap
  }

  function show() {
    const builds = given.hidden && given.builder && ghosts;
    shown = builds ? { ...given, token: given.builder, hidden: false, about: null, ghosts } : given;
    element.querySelector(".viewer-box").hidden = Boolean(shown.hidden);
    empty.textContent = shown.token ? t("Loading the scene …") : (shown.empty ?? emptyText);
    if (frame.getAttribute("src")) sendAll();
    else if (shown.token) load();
  }

  return (value) => {
    given = typeof value === "string" ? { token: value } : { ...value };
    show();
  };
}

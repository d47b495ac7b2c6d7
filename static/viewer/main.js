// Assembles the viewer's page. It shows one view at a time, named by the page's #token or by a message from the studio.
// With "?standalone" in its address the model turns until it is touched, and there is no photograph.
import { t, translateMarkup } from "../studio/texts.js";
import { follow, show } from "../studio/view.js";
import { fetchGeometry } from "./connection.js";
import { listenToKeys } from "./keys.js";
import { postToParent, receiveMessages } from "./messages.js";
import { bar, panels } from "./panels.js";
import { Renderer } from "./renderer.js";
import { Viewer } from "./viewer.js";

const $ = (id) => document.getElementById(id);
const wantedToken = () => location.hash.slice(1);

translateMarkup(document.body);
const geometryRequest = wantedToken() ? fetchGeometry(wantedToken()) : null; // loads while the canvas is created
geometryRequest?.catch(() => {}); // reported when it is used
const renderer = rendererOfPage();
if (renderer) start(viewerOf(renderer));
else setState("failed", t("The 3D view needs WebGL 2. Turn on hardware acceleration or use another browser."));

function rendererOfPage() {
  try {
    return new Renderer($("canvas"), $("viewport"));
  } catch {
    return null;
  }
}

function viewerOf(renderer) {
  const elements = ["canvas", "photo", "difference", "labels", "objects"].map((id) => [id, $(id)]),
    standalone = new URLSearchParams(location.search).has("standalone");
  return new Viewer({ renderer, standalone, ...Object.fromEntries(elements) });
}

function setState(name, message) {
  document.body.dataset.state = name;
  $("message").textContent = message;
}

function start(viewer) {
  const { loading } = viewer;
  follow(document.body, () => setState(loading.state.value.name, loading.state.value.message));
  follow($("announcement"), () => {
    $("announcement").textContent = viewer.objectNames.announcement.value;
  });
  show($("panels"), () => panels(viewer));
  show($("bar"), () => bar(viewer));
  receiveMessages(viewer);
  listenToKeys(viewer);
  addEventListener("hashchange", () => loading.load(wantedToken()));
  viewer.renderer.resize();
  postToParent({ type: "ready" });
  if (wantedToken()) loading.load(wantedToken(), geometryRequest);
}

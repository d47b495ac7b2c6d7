// Messages of the parent window, same origin only.
//
// Received:
// * {type: "load", token, caption, wait}, see Loading.take; {type: "select", name}
// * {type: "palette", colours: {name: "#hex"}, names: {name: words}, parts: {name: {joint: words}}}
// * {type: "measure", check: name}
// * {type: "present", on, about} to play in a loop without selection, or to let only some objects be selected from
//   outside
// * {type: "camera", position, target}, also sent when a person moves the camera
// * {type: "beside", on} next to a recording on the same clock, which also shows insets of the model's cameras, then
//   with {type: "frame", time, atEnd} sent and the event "grs-show" awaited
// * {type: "seek", time} in seconds
// * on the Scene page {type: "adjustable", on, refused} to dim the tools of who only looks, {type: "where"}, answered
//   by {type: "here", pos, quat_wxyz, field_of_view}, {type: "preview", state or null} and {type: "note", text}
// * on the Task page {type: "ghosts", poses: {name: [x, y, z, w, x, y, z]}} to show where objects are to be
//
// Sent:
// * {type: "ready"}, {type: "loaded", token}, {type: "select", name}
// * {type: "time", time, begin, end} with each frame that is shown
// * {type: "steered"} when a person sends a command
// * on the Scene page {type: "adjusting" or "adjusted", state}, where state is {name, pos, quat_wxyz, relative_scale},
//   the scale relative to the object's present size

export function postToParent(message) {
  if (parent !== window) parent.postMessage(message, location.origin);
}

export function receiveMessages(viewer) {
  addEventListener("message", ({ source, origin, data }) => {
    if (source === parent && origin === location.origin && parent !== window) RECEIVED[data?.type]?.(viewer, data);
  });
  addEventListener("grs-show", (/** @type {any} */ { detail: time }) => viewer.loading.showReceived(time));
}

const RECEIVED = {
  load: ({ loading }, view) => loading.take(view),
  select(viewer, { name }) {
    if (name === viewer.selected.value || viewer.playback.presents) return;
    const isKnown = !viewer.about || viewer.about.includes(name),
      wanted = isKnown ? (name ?? "") : "";
    if (viewer.twin) viewer.select(wanted, true);
    else viewer.selected.value = wanted;
  },
  palette(viewer, { colours = {}, names = {}, parts = {} }) {
    viewer.palette = colours;
    viewer.joints.displayNames.value = parts;
    viewer.labels.names.value = names;
    viewer.select(viewer.selected.value, true);
  },
  measure: ({ playback }, { check }) => playback.measures.showCheck(check),
  present(viewer, { on, about }) {
    viewer.playback.presents = on;
    viewer.about = about;
  },
  camera: ({ views }, { position, target }) => views.place(position, target),
  beside(viewer, { on }) {
    viewer.isBeside = on;
    viewer.showInsets();
  },
  seek: ({ loading }, { time }) => loading.connection?.send("seek", { time }),
  adjustable: (viewer, { on, refused }) => viewer.allowAdjust(Boolean(on), Boolean(refused)),
  where: ({ views }) => postToParent({ type: "here", ...views.pose() }),
  preview: ({ adjust }, { state }) => adjust.preview(state),
  note: ({ labels }, { text = "" }) => labels.setSuffix(text),
  ghosts(viewer, { poses }) {
    viewer.ghosts.poses = poses;
    viewer.showGhosts();
  },
};

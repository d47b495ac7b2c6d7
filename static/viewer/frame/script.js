// The viewer's page in a frame: passes Python's value to it and reports what a person selects in it.
import { hear } from "/static/studio/page_events.js";
import { t } from "/static/studio/texts.js";
import { computed, follow, html, mounts, onChange, signal, View } from "/static/studio/view.js";
import { ghosts, measuredCheck, movedCamera } from "/static/viewer/frame/linked_viewers.js";
import { arrived, join, leave } from "/static/viewer/frame/shared_clock.js";

const USES = ["focusin", "pointerdown"];

class ViewerFrame extends View {
  isLoaded = signal(false); // when first needed, so that a hidden tab stays cheap
  isReady = signal(false);
  frame = /** @type {HTMLIFrameElement} */ (null);
  #shown = computed(() => {
    const { value } = this;
    if (!value.hidden || !value.builder || !ghosts.value) return { ...value };
    return { ...value, token: value.builder, hidden: false, about: null, ghosts: ghosts.value };
  });
  asked = ""; // the last selection that Python asked for: new names and colours keep a person's

  constructor(context) {
    super(context);
    follow(this.root, () => this.takeValue());
    onChange(
      this.root,
      () => measuredCheck.value,
      (check) => this.isReady.value && this.post({ type: "measure", check }),
    );
    onChange(
      this.root,
      () => movedCamera.value,
      (moved) => this.followCamera(moved),
    );
    hear(this.root, window, "message", (event) => this.receive(event));
    this.loadWithUse();
  }

  // A person begins to use what leads to this viewer: it is loaded in time.
  loadWithUse() {
    const onUse = ({ target }) => {
      const { loads_with } = this.shown;
      if (this.root.isConnected && loads_with && target.closest?.(loads_with)) this.isLoaded.value = true;
      if (!this.root.isConnected || this.isLoaded.value)
        for (const name of USES) document.removeEventListener(name, onUse);
    };
    for (const name of USES) document.addEventListener(name, onUse);
  }

  takeValue() {
    this.root.hidden = Boolean(this.shown.hidden);
    if (this.shown.token) this.isLoaded.value = true;
    if (this.isReady.value) this.sendAll();
  }

  /** The value; while the task builder is open, the twin with the ghosts in place of a viewer that is hidden. */
  get shown() {
    return this.#shown.value;
  }

  sendAll() {
    const { shown } = this;
    this.post({ type: "present", on: Boolean(shown.presents), about: shown.about ?? null });
    this.post({ type: "palette", colours: shown.palette ?? {}, names: shown.names ?? {}, parts: shown.parts ?? {} });
    const wanted = `${shown.token} ${shown.selected}`;
    if (wanted !== this.asked) this.post({ type: "select", name: shown.selected ?? "" });
    this.asked = wanted;
    if (shown.cameras) join(this.frame);
    else leave(this.frame);
    this.post({ type: "beside", on: Boolean(shown.cameras) });
    this.post({ type: "load", token: shown.token ?? "", caption: shown.caption, wait: shown.wait ?? null });
    this.post({ type: "ghosts", poses: shown.ghosts ?? {} });
  }

  post(message) {
    this.frame?.contentWindow?.postMessage(message, location.origin);
  }

  receive({ source, origin, data }) {
    const { shown, frame } = this;
    if (!frame || source !== frame.contentWindow || origin !== location.origin) return;
    if (data.type === "ready") {
      this.asked = "";
      if (this.isReady.value) this.sendAll();
      this.isReady.value = true;
    }
    if (data.type === "frame" && shown.cameras) arrived(frame, data);
    if (data.type === "camera" && shown.cameras) movedCamera.value = { ...data, sender: frame, cameras: shown.cameras };
    if (data.type === "select" && data.name !== (shown.selected ?? "")) {
      shown.selected = data.name;
      this.send("select", { index: 0, value: data.name, selected: Boolean(data.name) });
    }
  }

  followCamera({ sender, cameras, position, target }) {
    if (this.isReady.value && sender !== this.frame && cameras === this.shown.cameras)
      this.post({ type: "camera", position, target });
  }

  template() {
    const { token, empty } = this.shown,
      isLoaded = this.isLoaded.value,
      text = token ? t("Loading the scene …") : (empty ?? t("The twin shows here as soon as it is ready."));
    return html`<p class="viewer-empty">${text}</p>
      <iframe class="viewer-frame cover" title=${t("MuJoCo viewer")} allow="fullscreen" hidden=${!isLoaded}
        src=${isLoaded ? "/viewer/" : null} ref=${(frame) => (this.frame = frame)} />`;
  }
}

export default mounts(ViewerFrame);

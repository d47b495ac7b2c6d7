// Loads views one after the other and connects to the one that is shown.
import { t } from "../studio/texts.js";
import { signal } from "../studio/view.js";
import { Connection, fetchGeometry, Unreachable, ViewNotAvailable } from "./connection.js";
import { postToParent } from "./messages.js";
import { Twin } from "./twin.js";

const RETRY_MS = 1500;
const SHADOWS_MS = 100; // after the first picture

export class Loading {
  state = signal({ name: "waiting", message: t("Loading the view …") });
  token = "";
  caption = "";
  geometryTag = ""; // of the twin
  connection = null;
  waiting = null; // the view that is loaded next: {token, caption, due, geometryRequest, timer}
  isOpening = false; // a view is loading and not yet drawn
  retry = 0;
  received = []; // frames that are not shown yet
  outdated = []; // twins to dispose of once the next is drawn, so that shaders that both use are compiled once
  isShaded = false;

  constructor(viewer) {
    this.viewer = viewer;
  }

  #setState(name, message = "") {
    this.state.value = { name, message };
  }

  /** Loads a view now, or, where `wait` is a number of seconds, in turn. */
  take({ token, caption = "", wait }) {
    const { viewer } = this;
    if (token !== this.token && Number.isFinite(wait)) return this.#loadInTurn(token, caption, wait);
    clearTimeout(this.waiting?.timer);
    this.waiting = null;
    this.caption = caption;
    if (token === this.token) viewer.caption.value = caption;
    else this.load(token);
  }

  /**
   * Loads a view that follows others that play by themselves: once the one before is drawn and was held at its failed
   * check, or once it waited so long for the hold.
   */
  #loadInTurn(token, caption, wait) {
    clearTimeout(this.waiting?.timer);
    const known = this.waiting?.token === token ? this.waiting : { due: Infinity },
      due = Math.min(performance.now() + 1000 * wait, known.due),
      geometryRequest = known.geometryRequest ?? (this.isOpening ? undefined : fetchGeometry(token, this.geometryTag));
    geometryRequest?.catch(() => {}); // reported when it is used
    this.waiting = { token, caption, due, geometryRequest };
    this.loadWhenDue();
  }

  loadWhenDue() {
    const { waiting } = this;
    if (!waiting || this.isOpening) return;
    clearTimeout(waiting.timer);
    if (this.viewer.playback.status.value.presenting && performance.now() < waiting.due)
      waiting.timer = setTimeout(() => this.loadWhenDue(), waiting.due - performance.now());
    else {
      this.waiting = null;
      this.caption = waiting.caption;
      this.load(waiting.token, waiting.geometryRequest);
    }
  }

  async load(token, geometryRequest = token && fetchGeometry(token, this.geometryTag)) {
    const { name } = this.state.value,
      isRetry = token === this.token && name === "lost";
    this.token = token;
    this.connection?.close();
    clearTimeout(this.retry);
    this.isOpening = Boolean(token);
    if (!token) return this.#setState("waiting", t("Nothing to show yet."));
    // the old view stays until the next has loaded; after an edit they differ little
    if (!isRetry && name !== "showing") this.#setState("opening", t("Loading the scene …"));
    try {
      const pack = await geometryRequest,
        next = pack.header ? await Twin.from(pack) : null; // null: the twin that is shown has this geometry
      if (token === this.token) this.#show(next, pack);
    } catch (error) {
      if (token === this.token) this.#fail(error);
    }
  }

  #fail(error) {
    this.isOpening = false;
    if (this.waiting) return this.loadWhenDue();
    if (error instanceof Unreachable) return this.#retryLater(t("The studio does not answer. Trying again …"));
    const { message } = error;
    this.#setState(
      "failed",
      error instanceof ViewNotAvailable ? message : t("The scene could not be opened: {message}", { message }),
    );
  }

  /** Shows the message and retries while this view is wanted. */
  #retryLater(message) {
    const { token } = this;
    this.#setState("lost", message);
    this.retry = setTimeout(() => this.load(token), RETRY_MS);
  }

  #show(next, pack) {
    const { viewer } = this;
    if (next) {
      if (viewer.twin) this.outdated.push(viewer.twin);
      this.geometryTag = pack.tag;
    }
    viewer.caption.value = this.caption;
    viewer.show(next, pack, this.token);
    this.#connect();
  }

  #connect() {
    const { viewer, token } = this;
    let isFirst = true;
    this.received = [];
    this.connection = new Connection(token, {
      onFrame: (frame) => {
        if (viewer.isBeside && !isFirst) return this.#receive(frame);
        viewer.playback.showFrame(frame);
        if (!isFirst) return;
        isFirst = false;
        viewer.showGhosts(); // its bodies stand where they start
        viewer.renderer.onDrawn = () => this.#drawn(token);
      },
      onStatus: (status) => {
        viewer.playback.takeStatus(status, token);
        this.loadWhenDue();
      },
      onError: (text) => viewer.notify(text),
      onLost: () => this.#retryLater(t("The connection was lost. Trying again …")),
    });
  }

  #drawn(token) {
    const { renderer, standalone, turntable } = this.viewer;
    renderer.onDrawn = null;
    for (const former of this.outdated.splice(0)) former.dispose();
    this.#setState("showing");
    this.isOpening = false;
    this.loadWhenDue();
    postToParent({ type: "loaded", token });
    if (standalone) turntable.enable();
    if (!this.isShaded) setTimeout(() => renderer.castShadows(true), SHADOWS_MS);
    this.isShaded = true;
  }

  // Beside another recording: a frame waits until the other one has its frame of that time.
  #receive(frame) {
    this.received.push(frame);
    postToParent({ type: "frame", time: frame.time, atEnd: frame.time >= frame.end });
  }

  /** Shows the newest frame of that time or before it. */
  showReceived(time) {
    const index = this.received.findLastIndex((frame) => frame.time <= time);
    if (index >= 0) this.viewer.playback.showFrame(this.received.splice(0, index + 1).at(-1));
  }
}

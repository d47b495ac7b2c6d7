// The viewers of a comparison: the real and the simulated robot side by side, or one over the other. They share a clock.
import { fill, h } from "/static/studio/dom.js";
import { arrived, join, leave } from "/static/viewer/frame/shared_clock.js";
import { t } from "/static/studio/texts.js";

export class Viewers {
  /** `onTime` gets the clock's time in seconds whenever it changes. */
  constructor(onTime) {
    this.onTime = onTime;
    this.time = 0;
    this.panes = {};
    this.overlaid = false;
    this.panesElement = h("div.panes");
    this.toggle = h("div.layout-choice", { role: "group", "aria-label": t("Layout") });
    this.element = h("section.viewers", {}, this.panesElement);
    this.onMessage = (event) => this.#receive(event);
  }

  /** Shows the views {real, sim, ghost} of a comparison, by token; an empty object hides the viewers. */
  show(views, titles) {
    this.views = views;
    this.titles = titles;
    this.element.hidden = this.toggle.hidden = !views.real;
    removeEventListener("message", this.onMessage);
    if (views.real) addEventListener("message", this.onMessage);
    this.#draw();
  }

  seek(time) {
    for (const frame of Object.values(this.panes).slice(0, 1))
      frame.contentWindow?.postMessage({ type: "seek", time }, location.origin);
  }

  #draw() {
    const names = !this.views.real ? [] : this.overlaid ? ["ghost"] : ["real", "sim"];
    const captions = {
      real: this.titles[0],
      sim: this.titles[1],
      ghost: t("Real, with the simulated robot as a blue ghost"),
    };
    for (const frame of Object.values(this.panes)) leave(frame);
    this.panes = {};
    fill(
      this.panesElement,
      names.map((name) => {
        const frame = h("iframe", { title: captions[name], src: `/viewer/#${this.views[name]}` });
        this.panes[name] = frame;
        return h("figure.pane", { "data-pane": name }, h("figcaption", {}, captions[name]), frame);
      }),
    );
    fill(this.toggle, this.#choice(false, t("Side by side")), this.#choice(true, t("Ghost overlay")));
  }

  #choice(overlaid, title) {
    return h(
      `button.studio-button${this.overlaid === overlaid ? ".on" : ""}`,
      {
        "aria-pressed": String(this.overlaid === overlaid),
        onclick: () => {
          this.overlaid = overlaid;
          this.#draw();
        },
      },
      title,
    );
  }

  #receive({ source, origin, data }) {
    const sender = Object.values(this.panes).find((frame) => frame.contentWindow === source);
    if (!sender || origin !== location.origin) return;
    if (data.type === "loaded" && !this.overlaid) {
      join(sender);
      sender.contentWindow.postMessage({ type: "beside", on: true }, location.origin);
    }
    if (data.type === "frame") arrived(sender, data);
    if (data.type === "time") this.onTime(data.time);
    if (data.type === "camera")
      for (const frame of Object.values(this.panes))
        if (frame !== sender) frame.contentWindow?.postMessage(data, location.origin);
  }
}

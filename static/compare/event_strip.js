// The events of both episodes with their pictures, in the order of time: the real one above the simulated one.
import { eventName } from "/static/compare/plots.js";
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const SIDES = [
  { side: "real", clock: "real_s", title: t("real") },
  { side: "sim", clock: "sim_on_real_s", title: t("simulated") },
];

export class EventStrip {
  /** `onSeek` gets the time in seconds of an event that was clicked. */
  constructor(onSeek) {
    this.onSeek = onSeek;
    this.element = h("section.event-strip", { "aria-label": t("Pictures of the events"), hidden: true });
  }

  /** Shows events with their pictures [{real, sim}], data URLs or null; hides itself if there is no picture. */
  show(events, pictures) {
    this.element.hidden = !pictures.some(({ real, sim }) => real || sim);
    fill(
      this.element,
      pictures.map((picture, i) => this.#event(events[i], picture)),
    );
  }

  #event(event, picture) {
    const name = `${eventName(event.name)} · ${event.arm}`;
    return h(
      "button.event",
      { onclick: () => this.onSeek(event.time_s), title: t("Show this event: {name}", { name }) },
      h("strong", {}, name),
      SIDES.map(({ side, clock, title }) => [
        picture[side] ? h("img", { src: picture[side], alt: title }) : h("span.none", {}, "–"),
        h("span.when", {}, `${title} ${event[clock] === null ? t("missing") : `${event[clock].toFixed(2)} s`}`),
      ]),
    );
  }
}

// The events of both episodes with their pictures, in the order of time: the real one above the simulated one.
import { eventName } from "/static/compare/plots.js";
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const SIDES = [
  { side: "real", clock: "real_s", title: t("real") },
  { side: "sim", clock: "sim_on_real_s", title: t("simulated") },
];

/**
 * Events with their pictures [{real, sim}], data URLs or null; hidden if there is no picture. `seek` gets the time in
 * seconds of an event that was clicked.
 */
export const eventStrip = (events, pictures, seek) =>
  html`<section class="event-strip" aria-label=${t("Pictures of the events")}
    hidden=${!pictures.some(({ real, sim }) => real || sim)}>
    ${pictures.map((picture, i) => shownEvent(events[i], picture, seek))}
  </section>`;

function shownEvent(event, picture, seek) {
  const name = `${eventName(event.name)} · ${event.arm}`,
    when = (time) => (time === null ? t("missing") : `${time.toFixed(2)} s`);
  return html`<button class="event" onclick=${() => seek(event.time_s)} title=${t("Show this event: {name}", { name })}>
    <strong>${name}</strong>
    ${SIDES.map(({ side, clock, title }) => [
      picture[side] ? html`<img src=${picture[side]} alt=${title} />` : html`<span class="none">–</span>`,
      html`<span class="when">${title} ${when(event[clock])}</span>`,
    ])}
  </button>`;
}

// Conditions of `grs-studio vary` under which the robot failed, each with a button to watch it. See components/steps.py.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const percent = (share) => Math.round(100 * share);
const short = (value) => (typeof value === "number" ? Number(value.toPrecision(3)) : value);

export default function mount({ element, trigger }) {
  const root = element.querySelector(".condition-table");
  const open = new Set();

  function row(study, failure, watched) {
    const on = watched?.study === study.name && watched.id === failure.id;
    const button = h(
      "button.studio-button",
      {
        "aria-pressed": String(on),
        onclick: () => trigger("watch", on ? {} : { study: study.name, id: failure.id }),
      },
      on ? t("■ Close") : t("▶ Watch {id}", { id: failure.id }),
    );
    return h(
      on ? "tr.watched" : "tr",
      { "data-condition": failure.id },
      h("td", {}, button),
      h("td.number", {}, failure.reward.toFixed(2)),
      h("td", {}, failure.reason),
      failure.values.map((value) => h("td.number", {}, String(short(value)))),
    );
  }

  function table(study, watched) {
    const { successes, count, low, high } = study.success;
    const keep = (isOpen) => (isOpen ? open.add(study.name) : open.delete(study.name));
    return h(
      "details",
      {
        open: open.has(study.name) || watched?.study === study.name,
        ontoggle: ({ target }) => keep(target.open),
      },
      h(
        "summary",
        { onclick: ({ currentTarget }) => keep(!currentTarget.parentElement.open) }, // an update may come before "toggle"
        t("{name}: {successes} of {count} conditions solved by {robot} ({low} to {high} %)", {
          name: study.name,
          successes,
          count,
          robot: study.title,
          low: percent(low),
          high: percent(high),
        }),
      ),
      h(
        "div.rows",
        {},
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              [t("Condition"), t("Reward"), t("Reason"), ...study.factors].map((title) => h("th", {}, title)),
            ),
          ),
          h(
            "tbody",
            {},
            study.failures.map((failure) => row(study, failure, watched)),
          ),
        ),
      ),
    );
  }

  return (value) => {
    const studies = value?.studies ?? [];
    fill(
      root,
      studies.length > 0 && h("h3", {}, t("Failed conditions")),
      studies.map((study) => table(study, value.watched)),
    );
  };
}

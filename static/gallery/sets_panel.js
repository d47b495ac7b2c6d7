// Sets of accepted projects: made with a split, exported together with their card.
import { fill, h, tickBox } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const POLL_MS = 400;

// Returns the panel's content; `ask(request)` asks the server, `selected` are the names of the selected projects.
export async function setsPanel(ask, selected) {
  const message = h("p.set-message", { role: "status", hidden: true }),
    list = h("div.sets");
  let formats = [];
  const tell = (...content) => {
    message.hidden = !content.length;
    fill(message, content);
  };
  const take = (answer) => {
    if (answer.error) return tell(answer.error);
    tell(...(answer.note ? [answer.note] : []));
    formats = answer.formats;
    draw(answer.sets);
  };

  async function follow(answer) {
    if (answer.error) return tell(answer.error);
    const { job, done, of, running, address, left_out = [], more } = answer;
    if (running) {
      const stop = h(
        "button.studio-button.stop",
        { onclick: () => ask({ kind: "stop_set_export", job }) },
        t("■ Stop"),
      );
      tell(t("Exporting: {done} of {of} projects", { done, of }), " ", stop);
      setTimeout(async () => message.isConnected && follow(await ask({ kind: "set_export", job })), POLL_MS);
    } else if (address)
      tell(
        h("a.studio-button.primary", { href: address, download: "" }, t("Download the set")),
        left_out.length > 0 && ` ${t("Left out:")} ${left_out.join("; ")}${more ? " …" : ""}`,
      );
    else tell(t("Stopped."));
  }

  function draw(sets) {
    const row = (one) => {
      const format = h(
        "select",
        { "aria-label": t("Format of {name}", { name: one.name }) },
        formats.map((name) => h("option", { value: name, selected: name === "zip" }, name)),
      );
      const send = () => ask({ kind: "export_set", name: one.name, format: format.value }).then(follow);
      return h(
        "tr",
        {},
        h("td", {}, h("strong", {}, one.name), one.about && h("div.muted", {}, one.about)),
        h("td.number", {}, t("{train} train, {test} test", one)),
        h("td", {}, one.licence || "–"),
        h(
          "td",
          {},
          h(
            "span.set-actions",
            {},
            format,
            h("button.studio-button", { "data-sends": "gallery.export_set", onclick: send }, t("Export")),
            h(
              "button.studio-button.plain",
              {
                "data-sends": "gallery.remove_set",
                onclick: () => ask({ kind: "remove_set", name: one.name }).then(take),
              },
              t("Remove"),
            ),
          ),
        ),
      );
    };
    const heads = [t("Set"), t("Split"), t("Licence"), t("Export")];
    fill(
      list,
      sets.length
        ? h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                heads.map((name) => h("th", { scope: "col" }, name)),
              ),
            ),
            h("tbody", {}, sets.map(row)),
          )
        : h("p.muted", {}, t("No set yet. One holds accepted projects, split for training and testing.")),
    );
  }

  take(await ask({ kind: "sets" }));
  return [form(ask, selected, take), message, list];
}

function form(ask, selected, take) {
  const field = (label, attributes) => h("input", { "aria-label": label, placeholder: label, ...attributes });
  const name = field(t("Name of the set"), { type: "text", maxlength: "60", required: true }),
    test = field(t("Test, %"), { type: "number", min: "0", max: "99", value: "20" }),
    seed = field(t("Seed"), { type: "number", min: "0", max: "999999", value: "0" }),
    licence = field(t("Licence"), { type: "text", maxlength: "400" }),
    about = field(t("What it is"), { type: "text", maxlength: "400" });
  let bySource = false;
  const submit = (event) => {
    event.preventDefault();
    ask({
      kind: "make_set",
      names: selected,
      name: name.value,
      test: Number(test.value) / 100,
      seed: Number(seed.value),
      by_source: bySource,
      licence: licence.value,
      about: about.value,
    }).then(take);
  };
  return h(
    "form.set-form",
    { onsubmit: submit },
    name,
    about,
    licence,
    h("label", {}, t("Test, %"), test),
    h("label", {}, t("Seed"), seed),
    tickBox(t("Split by source"), false, (on) => {
      bySource = on;
    }),
    h(
      "button.studio-button.primary",
      { type: "submit" },
      selected.length ? t("Make set of the {n} selected", { n: selected.length }) : t("Make set of all accepted"),
    ),
  );
}

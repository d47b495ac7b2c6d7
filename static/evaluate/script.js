// The Evaluate page: policies on the same conditions, and their episodes side by side. See components/evaluate_page.py.
import { eventName } from "/static/compare/plots.js";
import { fileButtons, send } from "/static/compare/sources.js";
import { Differences } from "/static/evaluate/differences.js";
import { closeEvaluate, evaluateOpen, onEvaluate } from "/static/evaluate/evaluate_state.js";
import { filters, logOutcome, outcome, OutcomeGrid } from "/static/evaluate/outcomes.js";
import { PolicyForm } from "/static/evaluate/policy_form.js";
import { fill, h } from "/static/studio/dom.js";
import { closeButton, coverPage } from "/static/studio/full_page.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { Viewers } from "/static/viewer/frame/viewers.js";

const POLL_MS = 1000;
const short = (value) => (typeof value === "number" ? String(Number(value.toPrecision(3))) : value);

export default function mount({ element, server, upload }) {
  const root = element.querySelector(".evaluate");
  let value = {},
    record = null,
    chosen = "", // condition that plays
    filter = "all",
    timer;
  const ask = asker(server, () => ({ token: value.project }));

  // Requests

  async function act(request) {
    clearTimeout(timer);
    const { project } = value,
      answer = await ask(request);
    if (project !== value.project) return;
    showError(answer.error);
    if (!answer.error) take(answer);
    if (["waiting", "running"].includes(record?.job?.state) && evaluateOpen()) timer = setTimeout(refresh, POLL_MS);
  }

  const refresh = () => value.project && act({ kind: "status" });

  function take(answer) {
    if (!record && answer.shown) form.take(answer.shown);
    record = answer;
    if (answer.job?.state === "failed") showError(answer.job.message);
    draw();
  }

  async function play(condition) {
    chosen = condition;
    draw();
    const answer = await ask({ kind: "play", condition });
    if (condition !== chosen) return;
    showError(answer.error);
    if (!answer.error) showEpisodes(answer);
  }

  /** Adds the files of a real robot's log to a condition, or removes its log if there are none. */
  async function setLog(condition, picked) {
    fill(madeElement, picked.length && t("Reading the log …"));
    try {
      const files = await Promise.all(picked.map((one) => send(one, upload)));
      await act(files.length ? { kind: "add_log", condition, files } : { kind: "remove_log", condition });
    } catch (error) {
      showError(error.message);
    }
    fill(madeElement);
    if (condition === chosen && errorElement.hidden) play(condition);
  }

  async function makeProject(condition) {
    const made = await ask({ kind: "make_project", condition });
    showError(made.error);
    if (made.error) return;
    const undo = async () => {
      const undone = await ask({ kind: "unmake_project", name: made.name });
      showError(undone.error);
      if (!undone.error) fill(madeElement, t("“{title}” is in the trash of the gallery.", made));
    };
    fill(
      madeElement,
      t("“{title}” is in the gallery: a copy of this project with the twin of this condition.", made),
      " ",
      h("a.link", { href: `?project=${encodeURIComponent(made.name)}` }, t("Open it")),
      " ",
      h("button.link", { "data-sends": "evaluate.unmake_project", onclick: undo }, t("Undo")),
    );
  }

  // Elements

  const viewers = new Viewers((time) => differences.setTime(time)),
    differences = new Differences(
      ask,
      (time) => viewers.seek(time),
      (text) => showError(text),
    ),
    form = new PolicyForm(act),
    grid = new OutcomeGrid(play),
    errorElement = h("p.fault", { role: "alert", hidden: true }),
    noteElement = h("p.warning", { hidden: true }, t("These episodes are of an earlier twin or task; evaluate again.")),
    words = h("ul.words"),
    taskElement = h("span.task"),
    empty = h("p.muted.empty"),
    about = h("div.about"),
    madeElement = h("p.made", { role: "status" }),
    menu = h("select", {
      "aria-label": t("Filter"),
      onchange: ({ target }) => {
        filter = target.value;
        draw();
      },
    }),
    report = h("a.studio-button", { hidden: true, download: "report.html" }, t("⤓ Report"));

  function showError(text) {
    errorElement.hidden = !text;
    errorElement.textContent = text ?? "";
  }

  // Drawing

  function draw() {
    const { shown, task, job } = record;
    taskElement.textContent = task;
    form.show(record, value);
    for (const one of [words, menu, grid.element]) one.hidden = !shown;
    empty.hidden = Boolean(shown && chosen);
    empty.textContent = shown
      ? t("Click an episode to watch it.")
      : t("Choose policies and evaluate them: each one is tried under the same conditions.");
    noteElement.hidden = !shown || shown.is_present;
    report.hidden = !shown?.report || ["waiting", "running"].includes(job?.state);
    if (!shown) return;
    report.href = `project/${value.project}/evaluation.html`;
    fill(
      words,
      shown.words.map((sentence) => h("li", {}, sentence)),
    );
    const offered = filters(shown),
      kept = offered.find(({ name }) => name === filter) ?? offered[0];
    fill(
      menu,
      offered.map(({ name, title }) => h("option", { value: name, selected: name === kept.name }, title)),
    );
    grid.show(shown, kept.rows, chosen);
  }

  const eventLine = ({ title, events, note }) =>
    h(
      "p.events",
      { "aria-label": title },
      h("strong", {}, title),
      events.map(([time, name]) =>
        h("button.link", { onclick: () => viewers.seek(time) }, `${time.toFixed(1)} s ${eventName(name)}`),
      ),
      !events.length && h("span.muted", {}, t("None.")),
      note && h("span.muted", {}, note),
    );

  function logButtons(condition, log) {
    if (!value.may_work) return null;
    const remove = () => setLog(condition, []);
    return [
      h("span.muted", {}, log ? t("Real log: {file}", log) : t("Real log of a robot:")),
      fileButtons(t("Real log"), (files) => files.length && setLog(condition, files)),
      log && h("button.link", { "data-sends": "evaluate.remove_log", onclick: remove }, t("Remove")),
    ];
  }

  function showEpisodes({ condition, panes, values }) {
    const { conditions, policies, real } = record.shown,
      row = conditions.indexOf(condition);
    const ended = ({ title, is_real }) =>
      is_real ? logOutcome(real[row]) : outcome(policies.find(({ name }) => name === title).cells[row]);
    fill(madeElement);
    viewers.show(panes.map((pane) => ({ ...pane, title: `${pane.title} · ${ended(pane)}` })));
    differences.show(condition, panes);
    fill(
      about,
      h("h3", {}, t("Events")),
      panes.map(eventLine),
      h(
        "p.actions",
        {},
        logButtons(condition, real?.[row]),
        h(
          "button.studio-button",
          {
            "data-act": "make-project",
            "data-sends": "evaluate.make_project",
            disabled: !value.may_work,
            onclick: () => makeProject(condition),
          },
          t("Make this condition a project"),
        ),
      ),
      madeElement,
      h(
        "details",
        {},
        h("summary", {}, t("Condition {id}", { id: condition })),
        h(
          "dl",
          {},
          Object.entries(values).map(([name, drawn]) => h("div", {}, h("dt", {}, name), h("dd", {}, short(drawn)))),
        ),
      ),
    );
  }

  function clear() {
    record = null;
    chosen = "";
    filter = "all";
    viewers.show([]);
    differences.clear();
    fill(about);
  }

  // The page

  fill(
    root,
    h(
      "div.full-page-head",
      {},
      h("h2", {}, t("Evaluate")),
      taskElement,
      report,
      closeButton(t("Close the Evaluate page"), closeEvaluate),
    ),
    h(
      "div.full-page-body",
      {},
      h("div.stage", {}, errorElement, noteElement, words, empty, viewers.element, differences.element, about),
      h("aside.full-page-side", {}, form.element, menu, grid.element),
    ),
  );
  clear();
  const page = { isOpen: evaluateOpen, close: closeEvaluate, on: onEvaluate };
  coverPage(element, root, page, refresh, () => clearTimeout(timer));

  return (next) => {
    const before = value;
    value = next ?? {};
    if (value.project === before.project) return;
    clear();
    if (!value.project) closeEvaluate();
    else if (evaluateOpen()) refresh();
  };
}

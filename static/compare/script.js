// The Compare page: a real and a simulated episode on one clock. See components/compare_page.py.
import { closeCompare, compareOpen, onCompare } from "/static/compare/compare_state.js";
import { EventStrip } from "/static/compare/event_strip.js";
import { Plots } from "/static/compare/plots.js";
import { alignmentMenu, Sources } from "/static/compare/sources.js";
import { eventTable, jointTable, phaseTable, summary } from "/static/compare/tables.js";
import { Viewers } from "/static/viewer/frame/viewers.js";
import { fill, h } from "/static/studio/dom.js";
import { closeButton, coverPage } from "/static/studio/full_page.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";

const POLL_MS = 300;

export default function mount({ element, server, upload }) {
  const root = element.querySelector(".compare");
  let value = {},
    job = null,
    timer;
  const ask = asker(server, () => ({ page_token: value.page_token }));

  // Running a comparison

  async function run(request) {
    job = { state: "running", message: t("Starting") };
    showError("");
    drawState();
    let files = {};
    try {
      if (request.kind === "compare") files = await sources.upload(upload);
    } catch (error) {
      job = null;
      drawState();
      return showError(error.message);
    }
    follow(await ask({ ...request, ...files, align: menu.value }));
  }

  function follow(answer) {
    clearTimeout(timer);
    if (answer.error) {
      job = null;
      showError(answer.error);
    } else {
      job = answer;
      if (job.state !== "running") sources.offerChoices(job.choices);
      if (job.state === "failed") showError(job.message);
      if (job.state === "done") showResult();
      if (job.state === "running")
        timer = setTimeout(async () => follow(await ask({ kind: "status", job: job.job })), POLL_MS);
    }
    drawState();
  }

  /** Shows the pictures of the events as soon as they are drawn. */
  async function followPictures(token) {
    const answer = await ask({ kind: "pictures", job: token });
    if (job?.job !== token) return;
    if (answer.error) return showError(answer.error);
    if (!answer.pictures) return setTimeout(() => followPictures(token), POLL_MS);
    strip.show(job.result.comparison.events, answer.pictures);
    setReport(token);
  }

  /** Offers the report of a comparison; null while there is none. */
  function setReport(token) {
    reportLink.hidden = !token;
    if (token) reportLink.href = `compare/${token}/report.html`;
  }

  const canRepeat = () => job?.state === "done";

  // Components

  const sources = new Sources(
    () => drawState(),
    (selection) => job?.job && job.state !== "running" && run({ kind: "again", job: job.job, selection }),
  );
  const menu = alignmentMenu("clock", () => canRepeat() && run({ kind: "again", job: job.job }));
  const seek = (time) => {
    plots.setTime(time);
    viewers.seek(time);
  };
  const plots = new Plots(seek);
  const strip = new EventStrip(seek);
  const viewers = new Viewers((time) => plots.setTime(time));
  const errorElement = h("p.fault", { role: "alert", hidden: true }),
    stateElement = h("span.state", { role: "status" }),
    noteElement = h("p.note.muted"),
    summaryElement = h("p.summary"),
    tablesElement = h("div.tables"),
    stageElement = h("div.stage");
  const compareButton = h(
    "button.studio-button.primary",
    { "data-act": "compare", "data-sends": "compare.compare", onclick: () => run({ kind: "compare" }) },
    t("Compare"),
  );

  const reportLink = h(
    "a.studio-button.report",
    { hidden: true, download: "report.html", title: t("Everything on this page in one file") },
    t("⤓ Report"),
  );

  function showError(text) {
    errorElement.hidden = !text;
    errorElement.textContent = text;
  }

  function drawState() {
    const running = job?.state === "running";
    compareButton.disabled = running || !sources.complete;
    sampleButton.disabled = menu.disabled = running;
    fill(
      stateElement,
      running && [
        h("i.spin"),
        ` ${job.message} `,
        job.job &&
          h(
            "button.studio-button.stop",
            { "data-act": "stop", onclick: () => ask({ kind: "stop", job: job.job }) },
            t("■ Stop"),
          ),
      ],
      job?.state === "stopped" && t("Stopped."),
    );
  }

  function showResult() {
    const { result, titles, views, note, has_robot } = job;
    const { comparison } = result;
    const joints = Object.values(comparison.arms).flatMap((arm) => arm.joints);
    const widest = joints.reduce((a, b) => (b.rmse / b.range > a.rmse / a.range ? b : a));
    const select = (name) => {
      plots.select(name);
      drawTables(name);
    };
    const drawTables = (name) =>
      fill(
        tablesElement,
        h("h3", {}, t("Joints")),
        jointTable(comparison, name, select),
        h("h3", {}, t("Error growth by phase")),
        phaseTable(comparison),
        h("h3", {}, t("Events")),
        eventTable(comparison, seek),
      );
    plots.element.hidden = false;
    fill(summaryElement, h("strong", {}, `${titles[0]} · ${titles[1]}. `), summary(comparison));
    const viewNote = views.real
      ? note
      : has_robot
        ? t("A table of DH parameters has no shapes; give an MJCF or URDF to see the robots move.")
        : t("Add the robot's MJCF or URDF to see both robots move, and the errors of their tools.");
    noteElement.textContent = [viewNote, ...result.notes].filter(Boolean).join(" · ");
    noteElement.hidden = !noteElement.textContent;
    const ghost = t("Real, with the simulated robot as a blue ghost");
    const pane = (name, title) => ({ name, title, token: views[name] });
    if (views.real) viewers.show([pane("real", titles[0]), pane("sim", titles[1])], pane("ghost", ghost));
    else viewers.show([]);
    const joint = comparison.onset?.joint ?? widest.name;
    plots.time = comparison.events[0]?.time_s ?? 0;
    plots.show(result, joint).catch((error) => showError(error.message));
    drawTables(joint);
    setReport(null);
    strip.show([], []);
    followPictures(job.job);
  }

  const sampleButton = h(
    "button.studio-button",
    { "data-act": "sample", "data-sends": "compare.sample", onclick: () => run({ kind: "sample" }) },
    t("Open the sample pair"),
  );
  fill(stageElement, errorElement, noteElement, viewers.element, plots.element, strip.element);
  viewers.show([]);
  plots.element.hidden = true;
  fill(
    root,
    h(
      "div.full-page-head",
      {},
      h("h2", {}, t("Compare")),
      summaryElement,
      stateElement,
      viewers.toggle,
      reportLink,
      closeButton(t("Close the comparison"), closeCompare),
    ),
    h(
      "div.full-page-body",
      {},
      stageElement,
      h(
        "aside.full-page-side",
        {},
        sources.element,
        h("div.actions", {}, h("label.align", {}, t("Align"), menu), compareButton),
        sampleButton,
        tablesElement,
      ),
    ),
  );
  drawState();

  coverPage(element, root, { isOpen: compareOpen, close: closeCompare, on: onCompare }, () => {
    if (!job) run({ kind: "sample" });
  });

  return (next) => {
    value = next ?? {};
    sources.offer(value.project ?? "", value.name ?? "", value.episodes ?? []);
  };
}

// The Learn page: policies for the subtasks of a task, trained, measured and played. See components/learn_page.py.
import { closeLearn, learnOpen, onLearn } from "/static/learn/learn_state.js";
import { TrainingControls } from "/static/learn/controls.js";
import { AblationPlot, TrainingCurves } from "/static/learn/curves.js";
import { EpisodePlayer } from "/static/learn/episode_player.js";
import { drawReward } from "/static/learn/reward_editor.js";
import { fill, h } from "/static/studio/dom.js";
import { closeButton, coverPage } from "/static/studio/full_page.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";

const POLL_MS = 1000;
const percent = (share) => `${Math.round(100 * share)} %`;
export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".learn");
  let value = {},
    record = null,
    chosen = "",
    checkpoint = null, // steps; null for the evaluation
    playsFirst = false, // the first episode, as soon as it is known: the page or a subtask was opened
    episodes = [],
    timer,
    shownKey = "";
  const ask = asker(server, () => ({ token: value.project }));
  const subtask = () => record?.subtasks?.find((one) => one.name === chosen) ?? record?.subtasks?.[0];
  const running = () => ["waiting", "running"].includes(record?.job?.state);
  const mayChange = () => value.may_work && !running();

  // Requests

  async function refresh() {
    clearTimeout(timer);
    if (!learnOpen() || !value.project) return;
    const answer = await ask({ kind: "status" });
    if (!answer.isUnanswered) take(answer); // else the bar over the page says so
    timer = setTimeout(refresh, POLL_MS);
  }

  async function act(request) {
    take(await ask(request));
    if (["edit", "fix"].includes(request.kind)) trigger("changed"); // a decision, which Undo names
  }

  function take(answer) {
    if (answer.error) return showError(answer.error);
    showError(answer.job?.state === "failed" ? answer.job.message : answer.fault);
    const hasEnded = running() && answer.job?.state === "done" && answer.job.kind !== "ablation";
    record = answer;
    if (hasEnded) checkpoint = null; // of the evaluation, where there is one
    draw();
    if (hasEnded) loadEpisodes().then(playFirst);
  }

  /** Returns whether they are still wanted. */
  async function loadEpisodes() {
    const one = subtask();
    if (!one) return false;
    const answer = await ask({ kind: "episodes", subtask: one.name, steps: checkpoint });
    if (one.name !== chosen) return false;
    episodes = answer.episodes ?? [];
    drawEpisodes();
    return true;
  }

  function playFirst() {
    if (episodes.length) play(episodes[0].layout);
  }

  async function play(layout, time = 0, oracle = false) {
    await player.show(ask({ kind: "play", subtask: subtask().name, steps: checkpoint, layout, time, oracle }));
    drawEpisodes();
  }

  function openSubtask(name) {
    chosen = name;
    checkpoint = null;
    shownKey = "";
    playsFirst = true;
    player.clear();
  }

  // Elements

  const errorElement = h("p.fault", { role: "alert", hidden: true }),
    summary = h("p.summary"),
    state = h("span.state", { role: "status" }),
    strip = h("div.strip", { role: "tablist", "aria-label": t("Subtasks") }),
    curves = new TrainingCurves((steps) => choose(steps)),
    controls = new TrainingControls(act),
    player = new EpisodePlayer(play, showError),
    ablation = new AblationPlot(),
    ablationBox = h("section.ablation", { hidden: true }, h("h3", {}, t("What each part was worth")), ablation.element),
    curveEmpty = h("p.muted.empty"),
    tuned = h("p.muted", { hidden: true }),
    episodeList = h("div.episodes"),
    episodeBox = h("section", { hidden: true }, h("h3", {}, t("Episodes")), episodeList),
    reward = h("section.reward"),
    shortcut = h("div.shortcut", { hidden: true }),
    failures = h("section.failures");

  /** What a policy began with, as its first evaluation says: a skill, the oracle's demonstrations, or nothing. */
  function beginning(first) {
    if (first?.skill)
      return {
        label: ` · ${t("from a skill")}`,
        hint: t("Training began with the skill {name}", { name: first.skill }),
      };
    if (first?.cloned)
      return {
        label: ` · ${t("demonstrated")}`,
        hint: t("Training began by imitating {n} demonstrations and corrections of the oracle", { n: first.cloned }),
      };
    return { label: "", hint: "" };
  }

  function showError(text) {
    errorElement.hidden = !text;
    errorElement.textContent = text ?? "";
  }

  // Drawing

  function draw() {
    const one = subtask();
    chosen = one?.name ?? "";
    drawHead();
    drawStrip();
    controls.show(record, one, value.may_work);
    if (!one) return;
    const key = JSON.stringify([one, mayChange()]);
    if (key === shownKey) return;
    shownKey = key;
    const [first] = one.curve;
    const hasCurve = one.curve.length > 1 || (Boolean(first) && !first.cloned);
    curves.element.hidden = !hasCurve;
    curveEmpty.hidden = hasCurve;
    curveEmpty.textContent = first?.cloned
      ? t(
          "{share} of the validation layouts after {n} demonstrations and corrections of the oracle. No step by reward.",
          {
            share: percent(first.success),
            n: first.cloned,
          },
        )
      : t("Not learned yet. The curve appears after the first evaluation, about half a minute in.");
    if (hasCurve) curves.show(one).catch((error) => showError(error.message));
    tuned.hidden = !one.tuned;
    if (one.tuned)
      tuned.textContent = t(
        "Trained on for {steps} steps from where the former subtask ends: {before} to {after} of {n} such states.",
        {
          steps: one.tuned.steps.toLocaleString(),
          before: percent(one.tuned.before),
          after: percent(one.tuned.after),
          n: one.tuned.layouts,
        },
      );
    drawReward(reward, one, mayChange(), (edit) => act({ kind: "edit", subtask: one.name, ...edit }));
    drawShortcut(one);
    drawFailures(one);
    if (checkpoint === null ? !one.measured : !one.checkpoints.includes(checkpoint))
      checkpoint = one.checkpoints.at(-1) ?? null;
    loadEpisodes().then((isWanted) => {
      if (isWanted && playsFirst) playFirst();
      playsFirst &&= !isWanted;
    });
  }

  function drawHead() {
    const { task, chain, whole, variants, preparing, install } = record;
    const text = chain
      ? t("Chain: {share} of {n} unseen layouts.", { share: percent(chain.success), n: chain.layouts })
      : "";
    const alone = whole ? t("One policy for the whole task: {share}.", { share: percent(whole.success) }) : "";
    const varied = variants
      ? t("On unseen variants: {share} of {n}.", { share: percent(variants.success), n: variants.layouts })
      : "";
    fill(
      summary,
      h("strong", {}, task),
      [text, varied, alone].map((part) => part && ` ${part}`),
    );
    if (install) showError(t("Training needs extra packages: {command}", { command: install }));
    fill(state, preparing && [h("i.spin"), ` ${t("Splitting the task into subtasks")}`]);
  }

  function drawStrip() {
    fill(
      strip,
      (record.subtasks ?? []).map((one, index) => {
        const active = running() && record.job.subtask === one.name;
        const share = one.measured?.success ?? one.validation;
        const status = active
          ? `◐ ${t("learning")}`
          : one.measured
            ? `${one.measured.success >= 0.95 ? "✓" : "◔"} ${percent(one.measured.success)} ${t("of {n}", { n: one.measured.layouts })}`
            : one.learned
              ? `◔ ${percent(one.validation ?? 0)} ${t("in training")}`
              : `○ ${t("not learned")}`;
        return [
          index > 0 && one.can_edit && h("span.arrow", { "aria-hidden": "true" }, "→"),
          h(
            `button.card${one.name === chosen ? ".on" : ""}`,
            {
              role: "tab",
              "aria-selected": String(one.name === chosen),
              "data-subtask": one.name,
              title: one.instruction,
              onclick: () => {
                openSubtask(one.name);
                draw();
              },
            },
            h("strong", {}, one.title),
            h(
              "span.status",
              {
                title: beginning(one.curve[0]).hint,
              },
              one.shortcut ? `! ${t("shortcut")} · ` : "",
              status,
              beginning(one.curve[0]).label,
            ),
            h("span.track", {}, h("i.fill", { style: `width: ${100 * (share ?? 0)}%` })),
          ),
        ];
      }),
    );
  }

  function drawShortcut(one) {
    shortcut.hidden = !one.shortcut;
    if (!one.shortcut) return;
    const { text, advice, layout, time, can_fix } = one.shortcut;
    fill(
      shortcut,
      h("strong", {}, `! ${t("Shortcut")}: `),
      text,
      " ",
      advice,
      h(
        "span.buttons",
        {},
        h("button.studio-button", { onclick: () => playEvaluated(layout, time) }, t("▶ Show")),
        can_fix &&
          h(
            "button.studio-button.primary",
            {
              "data-act": "fix",
              "data-sends": "learn.fix",
              disabled: !mayChange(),
              onclick: () => act({ kind: "fix", subtask: one.name }),
            },
            t("Make this change"),
          ),
      ),
    );
  }

  function playEvaluated(layout, time) {
    checkpoint = null;
    loadEpisodes();
    play(layout, Math.max(0, time - 1));
  }

  function drawFailures(one) {
    const rows = one.failures
      .slice(0, 30)
      .map((failure) =>
        h(
          "li",
          {},
          h(
            "button.link",
            { onclick: () => playEvaluated(failure.layout, failure.time) },
            `${failure.time.toFixed(1)} s · ${failure.text}`,
          ),
        ),
      );
    fill(
      failures,
      h("h3", {}, t("Failures on unseen layouts")),
      rows.length ? h("ul.rows", {}, rows) : h("p.muted", {}, one.measured ? t("None.") : t("Not evaluated yet.")),
    );
  }

  const checkpointLabel = (steps, [first]) =>
    !steps && first?.cloned
      ? t("After imitating the oracle")
      : t("After {steps} steps", { steps: steps.toLocaleString() });

  function choose(steps) {
    if (!subtask()?.checkpoints.includes(steps)) return;
    checkpoint = steps;
    loadEpisodes().then(playFirst);
  }

  function drawEpisodes() {
    const one = subtask();
    const options = [
      ...(one.measured ? [[null, t("Evaluation, best policy")]] : []),
      ...[...one.checkpoints].reverse().map((steps) => [steps, checkpointLabel(steps, one.curve)]),
    ];
    episodeBox.hidden = !options.length;
    fill(
      episodeList,
      options.length > 0 &&
        h(
          "label.setting",
          {},
          t("Policy"),
          h(
            "select",
            {
              "aria-label": t("Checkpoint"),
              onchange: ({ target }) => {
                checkpoint = target.value === "" ? null : Number(target.value);
                loadEpisodes();
              },
            },
            options.map(([steps, label]) => h("option", { value: steps ?? "", selected: steps === checkpoint }, label)),
          ),
        ),
      episodes.slice(0, 40).map((episode) =>
        h(
          `button.episode${episode.success ? ".good" : ".bad"}${player.played?.layout === episode.layout ? ".on" : ""}`,
          {
            title: t("Play layout {layout}", { layout: episode.layout }),
            "aria-label": `${t("Play layout {layout}", { layout: episode.layout })}: ${episode.success ? t("solved") : t("not solved")}`,
            onclick: () => play(episode.layout),
          },
          episode.success ? "✓" : "✗",
        ),
      ),
    );
    const found = record.ablation;
    ablationBox.hidden = !found?.rows?.length;
    if (found?.rows?.length) ablation.show(found).catch((error) => showError(error.message));
  }

  // The page

  fill(
    root,
    h(
      "div.full-page-head",
      {},
      h("h2", {}, t("Learn")),
      summary,
      state,
      closeButton(t("Close the Learn page"), closeLearn),
    ),
    h("div.learn-bar", {}, strip, controls.element),
    h(
      "div.full-page-body",
      {},
      h(
        "div.stage",
        {},
        errorElement,
        shortcut,
        h("h3", {}, t("Training")),
        curveEmpty,
        curves.element,
        tuned,
        episodeBox,
        player.element,
        ablationBox,
      ),
      h("aside.full-page-side", {}, reward, failures),
    ),
  );

  const page = { isOpen: learnOpen, close: closeLearn, on: onLearn };
  coverPage(element, root, page, refresh, () => clearTimeout(timer));

  return (next) => {
    const before = value;
    value = next ?? {};
    if (value.project !== before.project) {
      record = null;
      openSubtask("");
      fill(strip);
      if (!value.project) closeLearn();
    }
    if (value.decided !== before.decided && learnOpen()) refresh();
  };
}

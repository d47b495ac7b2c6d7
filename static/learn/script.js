// The Learn page: policies for the subtasks of a task, trained, measured and played. See components/learn_page.py.
import { closeLearn, learnOpen, onLearn } from "/static/learn/learn_state.js";
import { AblationPlot, EpisodeTerms, TrainingCurves } from "/static/learn/curves.js";
import { progressText } from "/static/learn/progress.js";
import { drawReward } from "/static/learn/reward_editor.js";
import { closeLibrary, onLibrary } from "/static/library/library_state.js";
import { cover } from "/static/studio/covering.js";
import { fill, h, tickBox } from "/static/studio/dom.js";
import { closeDrawer, onDrawer } from "/static/studio/drawer.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";

const POLL_MS = 1000;
const percent = (share) => `${Math.round(100 * share)} %`;
const minutes = (seconds) =>
  seconds < 90 ? t("{n} s", { n: Math.round(seconds) }) : t("{n} min", { n: Math.round(seconds / 60) });

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".learn");
  let value = {},
    record = null,
    chosen = "",
    checkpoint = null, // steps; null for the evaluation
    episodes = [],
    played = null,
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
    take(await ask({ kind: "status" }));
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

  async function loadEpisodes() {
    const one = subtask();
    if (!one) return;
    const answer = await ask({ kind: "episodes", subtask: one.name, steps: checkpoint });
    episodes = answer.episodes ?? [];
    drawEpisodes();
  }

  function playFirst() {
    if (episodes.length) play(episodes[0].layout);
  }

  async function play(layout, time = 0, oracle = false) {
    playerButtons.forEach((button) => {
      button.disabled = true;
    });
    const answer = await ask({ kind: "play", subtask: subtask().name, steps: checkpoint, layout, time, oracle });
    drawPlayers();
    if (answer.error) return showError(answer.error);
    showError("");
    played = answer;
    drawPlayers();
    frame.src = `/viewer/#${answer.view}`;
    viewer.hidden = false;
    fill(
      caption,
      players,
      t("Layout {layout}", { layout: answer.layout }),
      answer.success ? ` · ✓ ${t("solved")}` : ` · ✗ ${t("not solved")}`,
      ` · ${t("return {value}", { value: answer.reward })}`,
    );
    terms.show(answer).catch((error) => showError(error.message));
    drawEpisodes();
  }

  // Elements

  const errorElement = h("p.fault", { role: "alert", hidden: true }),
    summary = h("p.summary"),
    state = h("span.state", { role: "status" }),
    strip = h("div.strip", { role: "tablist", "aria-label": t("Subtasks") }),
    curves = new TrainingCurves((steps) => choose(steps)),
    terms = new EpisodeTerms(),
    ablation = new AblationPlot(),
    ablationBox = h("section.ablation", { hidden: true }, h("h3", {}, t("What each part was worth")), ablation.element),
    curveEmpty = h("p.muted.empty"),
    tuned = h("p.muted", { hidden: true }),
    episodeList = h("div.episodes"),
    episodeBox = h("section", { hidden: true }, h("h3", {}, t("Episodes")), episodeList),
    caption = h("figcaption"),
    frame = h("iframe", { title: t("The policy in the twin") }),
    viewer = h("figure.pane", { hidden: true }, caption, frame, terms.element),
    reward = h("section.reward"),
    shortcut = h("div.shortcut", { hidden: true }),
    failures = h("section.failures"),
    controls = h("div.controls");
  const playerButtons = [
    [false, t("Policy")],
    [true, t("Oracle")],
  ].map(([oracle, label]) =>
    h(
      "button.player",
      {
        "data-oracle": String(oracle),
        title: oracle
          ? t("The oracle in the same subtask on the same layout, moving at most as fast as a policy")
          : t("The policy's recorded episode"),
        onclick: () => play(played.layout, 0, oracle),
      },
      label,
    ),
  );
  const players = h("span.players", { role: "group", "aria-label": t("Who is shown") }, playerButtons);
  const stepsInput = h("input", {
    type: "number",
    min: "4096",
    step: "4096",
    value: "80000",
    "aria-label": t("Most steps"),
  });
  const demonstrationsInput = h("input", {
    type: "number",
    min: "0",
    max: "200",
    value: "40",
    "aria-label": t("Demonstrations"),
  });

  const variantsInput = h("input", {
    type: "number",
    min: "0",
    max: "20",
    value: "0",
    "aria-label": t("Variants"),
  });
  let usesSkills = false;

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
    drawControls(one);
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
    loadEpisodes();
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
                chosen = one.name;
                checkpoint = null;
                shownKey = "";
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

  function drawControls(one) {
    const { job, install } = record;
    if (running()) {
      const { left } = job;
      const title = record.subtasks.find((each) => each.name === job.subtask)?.title ?? t("Whole task, one policy");
      const text = progressText(job, title);
      return fill(
        controls,
        h("i.spin"),
        h("span.progress-text", {}, text, left ? ` · ${t("at most {time} left", { time: minutes(left) })}` : ""),
        h(
          "button.studio-button.stop",
          { "data-act": "stop", "data-sends": "learn.stop", onclick: () => act({ kind: "stop" }) },
          t("■ Stop"),
        ),
      );
    }
    const disabled = !value.may_work || Boolean(install) || !record.subtasks?.length;
    const train = (more) =>
      act({
        kind: "train",
        steps: Number(stepsInput.value),
        demonstrations: usesSkills ? 0 : Number(demonstrationsInput.value), // a policy begins with one of them
        variants: Number(variantsInput.value),
        skills: usesSkills,
        ...more,
      });
    const allLearned = record.subtasks?.filter((each) => each.can_edit).every((each) => each.learned);
    const button = (name, label, primary, request, more = {}) =>
      h(
        `button.studio-button${primary ? ".primary" : ""}`,
        { "data-act": name, "data-sends": `learn.${request.kind}`, disabled, onclick: () => act(request), ...more },
        label,
      );
    fill(
      controls,
      h("label.setting", {}, t("Steps"), stepsInput),
      h(
        "label.setting",
        { title: t("Starts from which the oracle is imitated first; 0 to learn by trial and error alone") },
        t("Demonstrations"),
        demonstrationsInput,
      ),
      h(
        "label.setting",
        { title: t("Twins with other masses, frictions, sizes and poses: trained on, and others measured on") },
        t("Variants"),
        variantsInput,
      ),
      h(
        "span.setting",
        { title: t("Begin with policies that solved such subtasks in this workspace, where there are any") },
        tickBox(t("Start from skills"), usesSkills, (checked) => {
          usesSkills = checked;
        }),
      ),
      button("train", t("Train all"), true, { kind: "train" }, { onclick: () => train({}) }),
      one &&
        button(
          "train-one",
          t("Train this subtask"),
          false,
          { kind: "train" },
          { onclick: () => train({ subtask: one.name }) },
        ),
      button(
        "whole",
        t("Train one policy for all"),
        false,
        { kind: "train" },
        {
          onclick: () => train({ subtask: "whole" }),
          disabled: disabled || !allLearned,
          title: t("The whole task by one policy, with as many steps as all subtasks took"),
        },
      ),
      button(
        "evaluate",
        t("Evaluate"),
        false,
        { kind: "evaluate" },
        {
          disabled: disabled || !allLearned,
          onclick: () => act({ kind: "evaluate", variants: Number(variantsInput.value) }),
        },
      ),
      button(
        "ablation",
        t("Ablation"),
        false,
        { kind: "ablation", steps: 40000 },
        {
          title: t(
            "Learns the task with and without subtasks, shaping and demonstrations, with three seeds. Takes long.",
          ),
        },
      ),
      job?.state === "stopped" && h("span.muted", {}, t("Stopped; what was learned is kept.")),
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

  function drawPlayers() {
    playerButtons.forEach((button, index) => {
      button.disabled = false;
      button.setAttribute("aria-pressed", String(Boolean(played?.is_oracle) === Boolean(index)));
    });
  }

  function choose(steps) {
    if (!subtask()?.checkpoints.includes(steps)) return;
    checkpoint = steps;
    loadEpisodes().then(playFirst);
  }

  function drawEpisodes() {
    const one = subtask();
    const options = [
      ...(one.measured ? [[null, t("Evaluation, best policy")]] : []),
      ...[...one.checkpoints]
        .reverse()
        .map((steps) => [steps, t("After {steps} steps", { steps: steps.toLocaleString() })]),
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
          `button.episode${episode.success ? ".good" : ".bad"}${played?.layout === episode.layout ? ".on" : ""}`,
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
      h(
        "button.studio-button.plain",
        { title: t("Close (Esc)"), "aria-label": t("Close the Learn page"), onclick: closeLearn },
        "✕",
      ),
    ),
    h("div.learn-bar", {}, strip, controls),
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
        viewer,
        ablationBox,
      ),
      h("aside.full-page-side", {}, reward, failures),
    ),
  );

  document.addEventListener(
    "keydown",
    (event) => {
      if (!learnOpen() || !element.isConnected) return;
      if (event.key === "Escape") {
        event.stopPropagation();
        closeLearn();
      } else if (!root.contains(event.target) && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    },
    true,
  );
  onLearn(element, (request) => {
    root.hidden = !request;
    if (!request) {
      clearTimeout(timer);
      return cover(null);
    }
    closeDrawer();
    closeLibrary();
    cover(root);
    refresh();
  });
  onLibrary(element, (request) => request && closeLearn());
  onDrawer(element, (page) => page && closeLearn());

  return (next) => {
    const before = value;
    value = next ?? {};
    if (value.project !== before.project) {
      record = null;
      chosen = shownKey = "";
      checkpoint = played = null;
      viewer.hidden = true;
      fill(strip);
      if (!value.project) closeLearn();
    }
    if (value.decided !== before.decided && learnOpen()) refresh();
  };
}

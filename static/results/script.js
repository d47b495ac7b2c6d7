import { capitalised, fill, h } from "/static/studio/dom.js";
import { RobotReach } from "/static/results/robot_reach.js";
import { ShareLinks } from "/static/results/share_links.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";

const BUTTONS = { zip: t("Download zip"), html: t("Share as web page"), mp4: t("Share as video") };

function formatMenu(formats, chosen, choose) {
  const about = formats.find((format) => format.name === chosen) ?? formats[0];
  if (!about) return null;
  return h(
    "div.formats",
    {},
    h(
      "select",
      { "aria-label": t("Export format"), onchange: (event) => choose(event.target.value) },
      formats.map((format) => h("option", { value: format.name, selected: format === about }, format.title)),
    ),
    about.missing
      ? h("button.studio-button", { disabled: true, title: about.missing }, t("Download {name}", { name: about.name }))
      : h("a.studio-button", { href: about.address, download: "" }, t("Download {name}", { name: about.name })),
    h("p.faint", {}, h("strong", {}, `${t("Contains:")} `), about.holds || t("see its package")),
    about.lacks ? h("p.faint", {}, h("strong", {}, `${t("Not included:")} `), about.lacks) : null,
    about.missing ? h("p.faint", {}, h("strong", {}, `${t("Not available:")} `), about.missing) : null,
  );
}

const video = (src, name) => h("video", { src, "aria-label": name, controls: true, muted: true, preload: "metadata" });

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".results");
  let format = "",
    shown = null,
    isProvenanceOpen = false;
  const ask = asker(server, () => ({ token: shown?.token }));
  const share = new ShareLinks(ask),
    reach = new RobotReach(ask);
  const choose = (name) => {
    format = name;
    draw(shown);
  };
  const draw = (value) => {
    shown = value;
    if (!value?.stages) return fill(root);
    share.show(value.token, value.shares);
    reach.show(value.token, value.robots ?? [], value.exports.length > 0);
    const seeds = value.seeds ?? [],
      doubts = value.doubts ?? [],
      failed = seeds.filter((seed) => !seed.success);
    const failureTime =
      value.failure?.instant == null ? "" : t(", at {instant} s", { instant: value.failure.instant.toFixed(1) });
    fill(
      root,
      value.sentence &&
        h(
          `div.verdict.${value.solved && !doubts.length ? "good" : "warn"}`,
          {},
          h("strong", {}, `${!value.solved ? t("! Not solved.") : doubts.length ? t("? Doubtful.") : t("✓ Solved.")} `),
          value.sentence,
          value.earlier ? h("p.earlier", {}, value.earlier) : null,
          doubts.map((doubt) => h("p", {}, `${capitalised(doubt)}.`)),
        ),
      h(
        "div.panel.box.robots",
        {},
        h("h3", {}, t("Robot")),
        (value.robots ?? []).map((robot) =>
          h(
            `button.robot${robot.chosen ? ".chosen" : ""}`,
            {
              disabled: value.busy || !value.ready,
              "data-sends": "results.solve",
              "aria-pressed": String(robot.chosen),
              title: value.ready
                ? t("Solve every seed with it: {note}", { note: robot.note })
                : t("Generate a task first"),
              onclick: () => trigger("solve", { robot: robot.name }),
            },
            h("strong", {}, `${robot.chosen ? "● " : "○ "}${robot.title}`),
            h("span.faint", {}, robot.note),
          ),
        ),
        reach.element,
      ),
      h(
        "div.grid",
        {},
        h(
          "div.panel.box",
          {},
          h("h3", {}, t("Reward per seed")),
          seeds.length
            ? [
                h(
                  "div.bars",
                  {
                    role: "img",
                    "aria-label": seeds
                      .map((seed) => t("seed {seed}: {reward}", { seed: seed.seed, reward: seed.reward.toFixed(2) }))
                      .join(", "),
                  },
                  seeds.map((seed) =>
                    h(
                      "div.seed",
                      {
                        title:
                          seed.crash ||
                          t("seed {seed}: reward {reward}", { seed: seed.seed, reward: seed.reward.toFixed(2) }),
                      },
                      h("span.number", {}, seed.crash ? "✕" : seed.reward.toFixed(2)),
                      h(
                        "span.column",
                        {},
                        h(`span.level${seed.success ? ".good" : ""}`, {
                          style: `height:${Math.max(2, seed.reward * 100)}%`,
                        }),
                      ),
                      h("span.faint", {}, `${seed.success ? "✓" : "✕"} ${seed.seed}`),
                    ),
                  ),
                ),
                h(
                  "p.faint",
                  {},
                  t("Each seed is one start layout; seed 0 is the photographed one. Full bar: reward 1."),
                ),
                failed.length
                  ? h(
                      "ul.failed",
                      {},
                      failed
                        .slice(0, 4)
                        .map((seed) =>
                          h(
                            "li",
                            {},
                            h("strong", {}, `${t("Seed {seed}:", { seed: seed.seed })} `),
                            seed.why || seed.crash,
                          ),
                        ),
                    )
                  : null,
              ]
            : h("p.muted", {}, value.waiting ?? ""),
        ),
        h(
          "div.panel.box",
          {},
          h("h3", {}, t("Export")),
          h(
            "div.links",
            {},
            value.exports
              .filter(({ name }) => BUTTONS[name])
              .map(({ name, address }, index) =>
                h(`a.studio-button${index ? "" : ".primary"}`, { href: address, download: "" }, BUTTONS[name]),
              ),
            value.video
              ? h("a.studio-button", { href: value.video, download: "solution.mp4" }, t("Download video"))
              : null,
          ),
          formatMenu(
            value.exports.filter(({ name }) => !BUTTONS[name]),
            format,
            choose,
          ),
          h(
            "p.faint",
            {},
            value.exports.length
              ? t("The zip contains MJCF, meshes, task, code, solution and a README on how to run it.")
              : t("Available when the twin is ready."),
          ),
          value.video && value.solved && h("p.caption", {}, t("✓ First solved seed")),
          value.video && video(value.video, t("Video of the solution")),
          value.failure?.video && [
            h(
              "p.caption",
              {},
              t("✕ First failed seed: {seed}{failure_time}", { seed: value.failure.seed, failure_time: failureTime }),
            ),
            video(value.failure.video, t("Video of the first failed seed")),
          ],
        ),
      ),
      h(
        "div.panel.box.wide",
        {},
        h("h3", {}, t("Stages")),
        h(
          "table",
          {},
          h(
            "tbody",
            {},
            value.stages.map((stage) =>
              h(
                "tr",
                {},
                h("td", {}, stage.stage),
                h("td", {}, h(`span.tag.${stage.tone}`, {}, stage.state)),
                h("td", {}, stage.source),
                h("td.faint", {}, stage.note),
              ),
            ),
          ),
        ),
      ),
      value.decisions?.length
        ? h(
            "details.panel.box.wide.provenance",
            {
              open: isProvenanceOpen,
              ontoggle: ({ target }) => {
                isProvenanceOpen = target.open;
              },
            },
            h(
              "summary",
              { onclick: ({ currentTarget }) => (isProvenanceOpen = !currentTarget.parentElement.open) }, // as the map of tasks
              h("h3", {}, t("Provenance: {n} decision|Provenance: {n} decisions", { n: value.decisions.length })),
            ),
            h(
              "table",
              {},
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  [t("When"), t("Who"), t("Decision")].map((title) => h("th", {}, title)),
                ),
              ),
              h(
                "tbody",
                {},
                value.decisions.map((one) =>
                  h("tr", {}, h("td.faint", {}, one.at), h("td", {}, one.by), h("td", {}, one.text)),
                ),
              ),
            ),
          )
        : null,
      share.element,
    );
  };
  return draw;
}

import { h } from "/static/studio/dom.js";

const WRONG = { nothing: "moved nothing", inverted: "did the opposite", swapped: "exchanged two things", "another object": "took another thing", "another part": "took another drawer or door", misplaced: "put a thing elsewhere", "half done": "left half undone", order: "got the order wrong by one" };

export const notices = (kind) => `the checks notice a robot that ${WRONG[kind] ?? kind}`;

// What the robot did wrong on purpose, and which check found it out; nothing where no mistake was tried.
export function noticed(round) {
  const missed = round.checks.filter((check) => !check.passed && WRONG[check.name.replace(/^meaning /, "")]).map((check) => check.name.replace(/^meaning /, ""));
  const rows = [...Object.entries(round.noticed).map(([kind, by]) => [kind, by]), ...missed.map((kind) => [kind, null])];
  if (!rows.length) return null;
  return h("div.noticed", {}, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "On purpose the robot …"), h("th", { scope: "col" }, "Noticed by"))),
    h("tbody", {}, rows.map(([kind, by]) => h("tr", {}, h("th", { scope: "row" }, WRONG[kind] ?? kind),
      h(`td.${by ? "passed" : "failed"}`, {}, by ? ["✓ ", h("code", {}, by)] : "✕ no check"))))));
}

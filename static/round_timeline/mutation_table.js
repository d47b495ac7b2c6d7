import { h } from "/static/studio/dom.js";

const MUTATIONS = {
  nothing: "Moves nothing",
  inverted: "Does the opposite",
  swapped: "Swaps two objects",
  "another object": "Moves another object",
  "another part": "Uses another drawer or door",
  misplaced: "Misplaces an object",
  "half done": "Partially completed",
  order: "Order off by one",
  displaced: "Ends with an object elsewhere",
};

export const mutationCheckTitle = (kind) => `Checks catch mutation: ${(MUTATIONS[kind] ?? kind).toLowerCase()}`;

// Table of mutations of the solution and the check that caught each; null if none was tried.
export function mutationTable(round) {
  const missed = round.checks
    .filter((check) => !check.passed && MUTATIONS[check.name.replace(/^meaning /, "")])
    .map((check) => check.name.replace(/^meaning /, ""));
  const rows = [
    ...Object.entries(round.mutations).map(([kind, check]) => [kind, check]),
    ...missed.map((kind) => [kind, null]),
  ];
  if (!rows.length) return null;
  return h(
    "div.mutations",
    {},
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col" }, "Injected fault"), h("th", { scope: "col" }, "Detected by")),
      ),
      h(
        "tbody",
        {},
        rows.map(([kind, check]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, MUTATIONS[kind] ?? kind),
            h(`td.${check ? "passed" : "failed"}`, {}, check ? ["✓ ", h("code", {}, check)] : "✕ No check"),
          ),
        ),
      ),
    ),
  );
}

import { h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const MUTATIONS = {
  nothing: t("Moves nothing"),
  inverted: t("Does the opposite"),
  swapped: t("Swaps two objects"),
  "another object": t("Moves another object"),
  "another part": t("Uses another drawer or door"),
  misplaced: t("Misplaces an object"),
  "half done": t("Partially completed"),
  order: t("Order off by one"),
  steps: t("Reverses the steps"),
  displaced: t("Ends with an object elsewhere"),
};

export const mutationCheckTitle = (kind) => t("Checks detect the fault: {kind}", { kind: MUTATIONS[kind] ?? kind });

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
  const titles = new Map(round.checks.map(({ name, title }) => [name, title]));
  return h(
    "div.mutations",
    {},
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col" }, t("Injected fault")), h("th", { scope: "col" }, t("Detected by"))),
      ),
      h(
        "tbody",
        {},
        rows.map(([kind, check]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, MUTATIONS[kind] ?? kind),
            h(
              `td.${check ? "passed" : "failed"}`,
              {},
              check ? ["✓ ", h("span", { title: check }, titles.get(check) ?? check)] : t("✕ No check"),
            ),
          ),
        ),
      ),
    ),
  );
}

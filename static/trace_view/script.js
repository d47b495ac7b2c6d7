import { fill, h } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";
import { asker } from "/static/studio/server.js";
import { onCalls } from "/static/studio/drawer.js";
import { facts, heading, tabContent, TABS } from "/static/trace_view/call_detail.js";
import { totalsLine, callTree } from "/static/trace_view/call_tree.js";
import { t } from "/static/studio/texts.js";

const POLL_MS = 400; // between polls of a streaming response

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".trace-view");
  const head = h("div.head"),
    list = h("div.tree", { role: "navigation", "aria-label": t("Calls") }),
    detail = h("section.detail", { "aria-label": t("Selected call") });
  const editor = h("textarea", { "aria-label": t("Prompt"), spellcheck: false });
  fill(root, h("div.list", {}, head, list), detail);
  const closed = new Set();
  let value = {},
    chosen = null,
    details = null,
    tab = "Prompt",
    filter = "all",
    editing = false,
    comparing = null,
    compared = null,
    note = "",
    live = "",
    retried = null;

  const all = () => (value.stages ?? []).flatMap((stage) => stage.groups.flatMap((group) => group.calls));
  const call = (id = chosen) => all().find((item) => item.id === id);
  const ask = asker(server, () => ({ token: value.token }));
  const isShown = (item) =>
    filter === "all" ||
    (filter === "failed" ? item.state === "failed" || item.state === "interrupted" : item.about === filter);

  const openCall = async (id, wantedTab) => {
    if (comparing && id !== comparing) return compare(comparing, id);
    [chosen, details, editing, comparing, compared, note, live] = [id, null, false, null, null, "", ""];
    if (wantedTab || call()?.state === "running") tab = wantedTab ?? "Response";
    draw();
    list.querySelector(".call.on")?.scrollIntoView({ block: "nearest" });
    await loadDetails();
  };
  const loadDetails = async () => {
    const id = chosen,
      state = call()?.state;
    const answer = await ask({ kind: "call", id });
    if (id !== chosen) return;
    if (answer.error) note = answer.error;
    else details = { ...answer, state };
    if (!details?.running) live = ""; // the whole response takes its place
    draw();
    if (details?.running) pollLive(id);
  };
  const pollLive = async (id) => {
    const answer = await ask({ kind: "live", id });
    if (id !== chosen || answer.error) return;
    if (!answer.running) return loadDetails();
    live = answer.text;
    if (tab === "Response" && !editing) draw();
    setTimeout(() => id === chosen && root.isConnected && pollLive(id), POLL_MS);
  };
  const compare = async (a, b) => {
    comparing = null;
    const answer = await ask({ kind: "compare", ids: [a, b] });
    if (answer.error) note = answer.error;
    else compared = answer;
    draw();
  };
  const retry = async () => {
    const answer = await ask({ kind: "retry", id: chosen, text: editor.value });
    if (answer.error) {
      note = answer.error;
      return draw();
    }
    retried = { title: call().title, about: call().about, known: new Set(all().map((item) => item.id)) };
    editing = false;
    note = t("Sent. The response will show here.");
    draw();
    trigger("changed");
  };
  const copySnippet = async () => {
    const answer = await ask({ kind: "snippet", id: chosen });
    if (answer.error) note = answer.error;
    else
      try {
        await navigator.clipboard.writeText(answer.text);
        note = t("Copied. Needs pip install openai and OPENAI_API_KEY.");
      } catch {
        details.snippet = answer.text;
        tab = "Snippet";
        note = t("The browser blocked copying; select the text below.");
      }
    draw();
  };
  const act = (kind) => trigger("act", { kind, id: chosen });

  const actions = () =>
    h(
      "div.actions",
      {},
      (details.remedies ?? []).map((remedy) =>
        h(
          "button.studio-button",
          {
            title: remedy.title,
            "data-sends": "trace-view.act",
            onclick: () => (remedy.kind === "edit" ? edit() : act(remedy.kind)),
          },
          remedy.label,
        ),
      ),
      details.askable &&
        !(details.remedies ?? []).some((remedy) => remedy.kind === "edit") &&
        h(
          "button.studio-button",
          { title: t("Edit the prompt and send it as a new call"), "data-sends": "trace-view.retry", onclick: edit },
          t("Edit and resend"),
        ),
      !details.running &&
        h(
          "button.studio-button",
          {
            title: t("Compare two responses"),
            onclick: () => {
              comparing = chosen;
              compared = null;
              draw();
            },
          },
          t("Compare with …"),
        ),
      details.snippets &&
        h(
          "button.studio-button",
          { title: t("Python code for this call, without the key"), onclick: copySnippet },
          t("Copy as code"),
        ),
      details.running &&
        h(
          "button.studio-button.stop",
          {
            "data-sends": "trace-view.cancel",
            onclick: async () => {
              const answer = await ask({ kind: "cancel", id: chosen });
              if (answer.error) {
                note = answer.error;
                draw();
              }
            },
          },
          t("■ Stop call"),
        ),
    );
  const edit = () => {
    editing = true;
    tab = "Prompt";
    editor.value = details.editable ?? "";
    draw();
    editor.focus();
  };

  const drawDetail = () => {
    const call_ = call();
    if (!all().length)
      return h(
        "div.empty",
        {},
        value.token
          ? t("No calls yet. Model calls show here with their pictures, responses and costs.")
          : t("Open a project to see its model calls."),
      );
    if (compared)
      return [
        h(
          "div.heading",
          {},
          h("strong", {}, t("Two responses")),
          h(
            "button.studio-button",
            {
              onclick: () => {
                compared = null;
                draw();
              },
            },
            t("Back"),
          ),
        ),
        h(
          "div.sides",
          {},
          compared.titles.map((title) => h("span.faint", {}, title)),
        ),
        compared.rows.length ? diff(compared.rows) : h("p.muted", {}, t("The two responses are the same.")),
      ];
    if (comparing)
      return h(
        "div.empty",
        {},
        `${t("Select another call in the list.")} `,
        h(
          "button.studio-button",
          {
            onclick: () => {
              comparing = null;
              draw();
            },
          },
          t("Cancel"),
        ),
      );
    if (!call_) return h("div.empty", {}, t("Select a call to see its prompt and response."));
    if (!details) return [heading(call_), note ? h("p.fault", {}, note) : h("p.muted", {}, t("Reading …"))];
    const tabs = [...TABS.slice(0, editing ? 2 : 5), tab === "Snippet" && "Snippet"].filter(Boolean);
    return [
      heading(call_, details),
      call_.error && h("p.fault", {}, call_.error),
      facts(call_, details),
      actions(),
      note && h("p.note", { role: "status" }, note),
      h(
        "div.tabs",
        { role: "tablist" },
        tabs.map((name) =>
          h(
            `button${name === tab ? ".on" : ""}`,
            {
              role: "tab",
              "aria-selected": String(name === tab),
              onclick: () => {
                tab = name;
                draw();
              },
            },
            name === "Pictures" && details.pictured ? t("Pictures ({count})", { count: details.pictured }) : t(name),
          ),
        ),
      ),
      h(
        "div.page",
        { role: "tabpanel" },
        tab === "Snippet"
          ? h("pre", {}, details.snippet ?? "")
          : editing && tab === "Prompt"
            ? [
                h(
                  "p.muted",
                  {},
                  t("Pictures are sent unchanged. Edits apply to this call only, not to the prompt file."),
                ),
                editor,
                h(
                  "div.actions",
                  {},
                  h("button.studio-button.primary", { onclick: retry }, t("Send")),
                  h(
                    "button.studio-button",
                    {
                      onclick: () => {
                        editing = false;
                        draw();
                      },
                    },
                    t("Cancel"),
                  ),
                ),
              ]
            : tabContent(tab, details, live),
      ),
    ];
  };
  const filters = () => {
    const failedCount = all().filter((item) => item.state === "failed" || item.state === "interrupted").length;
    if (filter === "failed" && !failedCount) filter = "all";
    const button = (name, label) =>
      h(
        `button.studio-button${filter === name ? ".on" : ""}`,
        {
          onclick: () => {
            filter = name;
            draw();
          },
        },
        label,
      );
    return h(
      "div.filters",
      {},
      button("all", t("All")),
      failedCount ? button("failed", t("Failed ({count})", { count: failedCount })) : null,
      filter !== "all" && filter !== "failed" && button(filter, filter),
    );
  };
  const draw = () => {
    const scrolled = list.scrollTop;
    fill(head, value.totals && all().length ? [totalsLine(value.totals), filters()] : null);
    fill(
      list,
      callTree(value.stages ?? [], {
        chosen,
        closed,
        wanted: isShown,
        pick: openCall,
        toggle: (stage) => {
          closed.has(stage) ? closed.delete(stage) : closed.add(stage);
          draw();
        },
      }),
    );
    list.scrollTop = scrolled;
    if (!editing || document.activeElement !== editor) fill(detail, drawDetail());
  };
  onCalls(element, async ({ id = null, about = null, tab: wantedTab, edit: editable } = {}) => {
    filter = about ?? "all";
    const wantedId = id ?? all().filter(isShown).at(-1)?.id;
    if (!wantedId) return draw();
    await openCall(wantedId, wantedTab);
    if (editable && details?.askable) edit();
  });
  return (next) => {
    const isOtherProject = next?.token !== value.token;
    value = next ?? {};
    if (isOtherProject || (chosen && !call()))
      [chosen, details, editing, comparing, compared, note, filter] = [null, null, false, null, null, "", "all"];
    const answered =
      retried &&
      all().find((item) => item.title === retried.title && item.about === retried.about && !retried.known.has(item.id));
    if (answered) {
      retried = null;
      return openCall(answered.id, "Response");
    }
    draw();
    if (chosen && details && details.state !== call()?.state) loadDetails();
  };
}

import { fill, h } from "/static/studio/dom.js";
import { asker } from "/static/studio/server.js";
import { closeDrawer, drawer, onDrawer, openDrawer } from "/static/studio/drawer.js";
import { SettingsForm } from "/static/models_panel/settings_form.js";
import { openSendDialog } from "/static/sending/open_dialog.js";
import { PromptEditor } from "/static/models_panel/prompt_editor.js";
import { t } from "/static/studio/texts.js";

const TABS = [
  ["model", t("Model")],
  ["calls", t("Calls")],
  ["prompts", t("Prompts")],
];
const SIGNS = { true: ["good", "✓"], false: ["bad", "✕"], null: ["warn", "?"] };
const POLL_MS = 300;
const SENDING = {
  undecided: "Nothing is sent to {address} until you decide.",
  allowed: "Pictures and texts are sent to {address}.",
  declined: "Nothing is sent to {address}. Offline rules answer.",
};

export default function mount({ element, trigger, server, upload }) {
  const root = element.querySelector(".models-panel");
  let value = {},
    isEdited = false,
    findings = [],
    testing = false,
    problem = "",
    confirmation = "",
    estimates = "",
    choices = [],
    timer;
  const ask = asker(server, () => ({ page_token: value.page_token, token: value.token }));
  const form = new SettingsForm(
    () => {
      isEdited = true;
      choices = [];
      problem = confirmation = "";
      draw();
      estimate();
    },
    () => send({ kind: "forget key" }),
    async (file) => (await upload(file)).path,
  );
  const promptEditor = new PromptEditor(ask);

  const send = async (question) => {
    const answer = await ask(question);
    problem = answer.error ?? "";
    confirmation = answer.done ?? "";
    choices = [];
    if (!answer.error) {
      isEdited = false;
      trigger("changed");
    }
    draw();
  };
  const apply = async () => {
    if (!value.token) return send({ kind: "use", ...form.request });
    const answer = await ask({ kind: "choices", ...form.request, key: undefined });
    if (answer.error) problem = answer.error;
    choices = answer.choices ?? [];
    draw();
  };
  const choice = ({ scope, title, cost = "" }, index) =>
    h(
      `button.studio-button${index ? "" : ".primary"}`,
      { "data-sends": "models-panel.use", onclick: () => send({ kind: "use", scope, ...form.request }) },
      cost ? `${title} (${cost})` : title,
    );
  const scopeChoices = () =>
    h(
      "div.actions",
      { role: "group", "aria-label": t("Ask this model about") },
      h("span.note", {}, t("Ask this model about")),
      [...choices, { scope: "none", title: t("New questions only") }].map(choice),
      h(
        "button.studio-button.plain",
        {
          onclick: () => {
            choices = [];
            draw();
          },
        },
        t("Cancel"),
      ),
    );
  const estimate = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const answer = await ask({ kind: "estimate", ...form.request, key: undefined });
      estimates = answer.sentences ?? [];
      draw();
    }, POLL_MS);
  };
  const test = async () => {
    findings = [];
    testing = true;
    problem = confirmation = "";
    draw();
    const answer = await ask({ kind: "test", ...form.request });
    if (answer.error) {
      problem = answer.error;
      testing = false;
      return draw();
    }
    pollFindings(answer.test);
  };
  const pollFindings = async (id) => {
    const answer = await ask({ kind: "findings", test: id });
    if (answer.error) {
      problem = answer.error;
      testing = false;
      return draw();
    }
    ({ findings, testing } = answer);
    draw();
    if (testing && root.isConnected) setTimeout(() => pollFindings(id), POLL_MS);
  };

  const head = h("div.drawer-head"),
    body = h("div.model-page"),
    sidebar = h("div.side"),
    footer = h("div.foot");
  const settingsPage = h("div.holder", {}, h("div.column", {}, form.element, footer), sidebar);
  const draw = () => {
    const page = drawer();
    fill(
      head,
      h(
        "div.tabs",
        { role: "tablist" },
        TABS.map(([name, title]) =>
          h(
            `button${name === page ? ".on" : ""}`,
            { role: "tab", "aria-selected": String(name === page), "data-page": name, onclick: () => openDrawer(name) },
            title,
          ),
        ),
      ),
      h("button.studio-button.plain", { title: t("Close (Esc)"), "aria-label": t("Close"), onclick: closeDrawer }, "✕"),
    );
    body.hidden = page === "calls";
    settingsPage.hidden = page !== "model";
    promptEditor.element.hidden = page !== "prompts";
    fill(
      footer,
      problem && h("p.fault", { role: "alert" }, problem),
      confirmation && h("p.note", { role: "status" }, confirmation),
      value.problem && !problem && h("p.fault", {}, value.problem),
      value.override_note && h("p.hint", {}, value.override_note),
      choices.length ? scopeChoices() : null,
      h(
        "div.actions",
        { hidden: choices.length > 0 },
        h(
          "button.studio-button.primary",
          { disabled: !isEdited && !value.problem, "data-sends": "models-panel.use", onclick: apply },
          isEdited || value.problem ? t("Apply") : t("In use"),
        ),
        !isEdited &&
          value.answered_by_another &&
          h("button.studio-button", { onclick: apply }, t("Ask it about this project …")),
        form.service === "openai" &&
          h(
            "button.studio-button",
            { disabled: testing, "data-sends": "models-panel.test", onclick: test },
            testing ? t("Testing …") : t("Test connection"),
          ),
        isEdited &&
          h(
            "button.studio-button.plain",
            {
              onclick: () => {
                isEdited = false;
                problem = "";
                resetForm();
                draw();
              },
            },
            t("Discard changes"),
          ),
      ),
    );
    fill(
      sidebar,
      h("h3", {}, t("Connection")),
      findings.length || testing
        ? h(
            "ul.findings",
            {},
            findings.map((finding) =>
              h(
                `li.${SIGNS[finding.ok][0]}`,
                {},
                h("i", {}, SIGNS[finding.ok][1]),
                h(
                  "span",
                  {},
                  h("b", {}, finding.ok === false && finding.what === "reachable" ? t("not reachable") : finding.what),
                  h("span.detail", {}, finding.sentence),
                ),
              ),
            ),
            testing &&
              h(
                "li",
                {},
                h("i.spin"),
                h("span.muted", {}, t("Testing …")),
                h("button.studio-button.stop", { onclick: () => ask({ kind: "stop test" }) }, t("■ Stop")),
              ),
          )
        : h(
            "p.hint",
            {},
            form.service === "openai"
              ? t("Test connection checks reachability, pictures, schemas, streaming and context length.")
              : form.service === "replay"
                ? t("No connection needed. Calls that are not in the record are reported as missing.")
                : t("No connection needed."),
          ),
      value.token &&
        form.service === "openai" && [
          h("h3", {}, t("Estimated cost")),
          estimates.length
            ? h(
                "ul.plain",
                {},
                estimates.map((sentence) => h("li", {}, sentence)),
              )
            : h("p.hint", {}, t("No calls left for this project.")),
        ],
      value.token && [
        h("h3", {}, t("This project")),
        value.sending?.address &&
          h(
            "div.sending",
            {},
            h("p.detail", {}, t(SENDING[value.sending.state], { address: value.sending.address })),
            h("div.actions", {}, h("button.studio-button", { onclick: openSendDialog }, t("Review what is sent"))),
          ),
        h("p.detail", {}, value.cost_summary),
        value.record &&
          h(
            "div.actions",
            {},
            h("a.studio-button", { href: value.record, download: "" }, t("Download record")),
            h("button.studio-button", { onclick: () => openDrawer("calls") }, t("Show calls")),
          ),
        value.record &&
          h(
            "p.hint",
            {},
            t("The record replays this project on another machine without a key. Choose Recorded run there."),
          ),
      ],
    );
  };
  const resetForm = () =>
    form.show(value.settings ?? { service: "offline" }, value.key_source ?? "", value.project_record);
  fill(body, settingsPage, promptEditor.element);
  fill(root, head, body);
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape" && drawer() && element.isConnected) {
        event.stopPropagation();
        closeDrawer();
      }
    },
    true,
  );
  onDrawer(element, (page) => {
    draw();
    if (page === "prompts") promptEditor.show(value.prompts);
    if (page === "model") {
      head.querySelector(".on")?.focus();
      estimate();
    }
  });
  return (next) => {
    value = next ?? {};
    if (!isEdited) resetForm();
    draw();
  };
}

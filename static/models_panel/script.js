import { fill, h } from "/static/studio/dom.js";
import { closeDrawer, drawer, onDrawer, openDrawer } from "/static/studio/drawer.js";
import { Form } from "/static/models_panel/form.js";
import { Prompts } from "/static/models_panel/prompts.js";

const PAGES = [["model", "Model"], ["calls", "Calls"], ["prompts", "Prompts"]];
const SIGNS = { true: ["good", "✓"], false: ["bad", "✕"], null: ["warn", "?"] };
const LATER = 300;

export default function mount({ element, trigger, server, upload }) {
  const root = element.querySelector(".models-panel");
  let value = {}, touched = false, findings = [], testing = false, problem = "", done = "", estimated = "", timer;
  const ask = (question) => server.ask({ ...question, door: value.door, token: value.token }).catch(() => ({ error: "The server does not answer. Is it still running?" }));
  const form = new Form(() => { touched = true; problem = done = ""; draw(); estimate(); }, () => send({ kind: "forget key" }), async (file) => (await upload(file)).path);
  const prompts = new Prompts(ask);

  const send = async (question) => {
    const answer = await ask(question);
    problem = answer.error ?? "";
    done = answer.done ?? "";
    if (!answer.error) { touched = false; trigger("changed"); }
    draw();
  };
  const estimate = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => { const answer = await ask({ kind: "estimate", ...form.said, key: undefined }); estimated = answer.sentences ?? []; draw(); }, LATER);
  };
  const test = async () => {
    findings = []; testing = true; problem = done = "";
    draw();
    const answer = await ask({ kind: "test", ...form.said });
    if (answer.error) { problem = answer.error; testing = false; return draw(); }
    follow(answer.test);
  };
  const follow = async (id) => {
    const answer = await ask({ kind: "findings", test: id });
    if (answer.error) { problem = answer.error; testing = false; return draw(); }
    ({ findings, testing } = answer);
    draw();
    if (testing && root.isConnected) setTimeout(() => follow(id), LATER);
  };

  const head = h("div.drawer-head"), body = h("div.model-page"), side = h("div.side"), foot = h("div.foot");
  const holder = h("div.holder", {}, h("div.column", {}, form.element, foot), side);
  const draw = () => {
    const page = drawer();
    fill(head, h("div.pages", { role: "tablist" }, PAGES.map(([name, title]) => h(`button${name === page ? ".on" : ""}`, { role: "tab", "aria-selected": String(name === page), "data-page": name, onclick: () => openDrawer(name) }, title))),
      h("button.studio-button.plain", { title: "Close (Esc)", "aria-label": "Close", onclick: closeDrawer }, "✕"));
    body.hidden = page === "calls";
    holder.hidden = page !== "model";
    prompts.element.hidden = page !== "prompts";
    fill(foot, problem && h("p.fault", { role: "alert" }, problem), done && h("p.note", { role: "status" }, done), value.problem && !problem && h("p.fault", {}, value.problem), value.overruled && h("p.hint", {}, value.overruled),
      h("div.actions", {}, h("button.studio-button.primary", { disabled: !touched && !value.problem, onclick: () => send({ kind: "use", ...form.said }) }, touched || value.problem ? "Use this" : "In use"),
        form.service === "openai" && h("button.studio-button", { disabled: testing, onclick: test }, testing ? "Testing …" : "Test connection"),
        touched && h("button.studio-button.plain", { onclick: () => { touched = false; problem = ""; take(); draw(); } }, "Back to what is in use")));
    fill(side, h("h4", {}, "Connection"), findings.length || testing ? h("ul.findings", {}, findings.map((one) => h(`li.${SIGNS[one.ok][0]}`, {}, h("i", {}, SIGNS[one.ok][1]), h("span", {}, h("b", {}, one.ok === false && one.what === "reachable" ? "not reachable" : one.what), h("span.said", {}, one.sentence)))), testing && h("li", {}, h("i.spin"), h("span.muted", {}, "trying …"), h("button.studio-button.stop", { onclick: () => ask({ kind: "stop test" }) }, "■ Stop")))
      : h("p.hint", {}, form.service === "openai" ? "Test connection tells what works: whether the server answers, sees pictures, keeps a schema, streams, and how much it can read at once." : form.service === "replay" ? "Nothing to connect to. A question that is not in the record is said to be missing; its object stays as measured." : "Nothing to connect to."),
      value.token && form.service === "openai" && [h("h4", {}, "What it takes"), estimated.length ? h("ul.plain", {}, estimated.map((one) => h("li", {}, one))) : h("p.hint", {}, "Nothing is left to ask about this project.")],
      value.token && [h("h4", {}, "This project so far"), h("p.said", {}, value.spent), value.record && h("div.actions", {}, h("a.studio-button", { href: value.record, download: "" }, "Download the record"), h("button.studio-button", { onclick: () => openDrawer("calls") }, "See the calls")), value.record && h("p.hint", {}, "The record replays this project on another machine without a key: choose it there under A recorded run.")]);
  };
  const take = () => form.show(value.settings ?? { service: "offline" }, value.key_from ?? "", value.own_record);
  fill(body, holder, prompts.element);
  fill(root, head, body);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && drawer() && element.isConnected) { event.stopPropagation(); closeDrawer(); } }, true);
  onDrawer(element, (page) => { draw(); if (page === "prompts") prompts.show(value.prompts); if (page === "model") { head.querySelector(".on")?.focus(); estimate(); } });
  return (next) => {
    value = next ?? {};
    if (!touched) take();
    draw();
  };
}

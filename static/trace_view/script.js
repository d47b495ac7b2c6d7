import { fill, h } from "/static/studio/dom.js";
import { diff } from "/static/studio/diff.js";
import { onCalls } from "/static/studio/drawer.js";
import { facts, heading, page, TABS } from "/static/trace_view/detail.js";
import { sums, tree } from "/static/trace_view/tree.js";

const LATER = 400; // milliseconds between two looks at an answer that arrives

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".trace-view");
  const head = h("div.head"), list = h("div.tree", { role: "navigation", "aria-label": "Calls" }), detail = h("section.detail", { "aria-label": "The chosen call" });
  const editor = h("textarea", { "aria-label": "The prompt", spellcheck: false });
  fill(root, h("div.list", {}, head, list), detail);
  const closed = new Set();
  let value = {}, chosen = null, told = null, tab = "Prompt", only = "all", editing = false, comparing = null, compared = null, note = "", live = "", awaited = null;

  const all = () => (value.stages ?? []).flatMap((stage) => stage.groups.flatMap((group) => group.calls));
  const call = (id = chosen) => all().find((one) => one.id === id);
  const ask = (question) => server.ask({ ...question, token: value.token }).catch(() => ({ error: "The server does not answer. Is it still running?" }));
  const wanted = (one) => only === "all" || (only === "failed" ? one.state === "failed" || one.state === "lost" : one.about === only);

  const pick = async (id, page_) => {
    if (comparing && id !== comparing) return compare(comparing, id);
    [chosen, told, editing, comparing, compared, note, live] = [id, null, false, null, null, "", ""];
    if (page_ || call()?.state === "running") tab = page_ ?? "Response";
    draw();
    list.querySelector(".call.on")?.scrollIntoView({ block: "nearest" });
    await look();
  };
  const look = async () => {
    const id = chosen, state = call()?.state;
    const answer = await ask({ kind: "call", id });
    if (id !== chosen) return;
    if (answer.error) note = answer.error; else told = { ...answer, state };
    draw();
    if (told?.running) follow(id);
  };
  const follow = async (id) => {
    const answer = await ask({ kind: "live", id });
    if (id !== chosen || answer.error) return;
    if (!answer.running) return look();
    live = answer.text;
    if (tab === "Response" && !editing) draw();
    setTimeout(() => id === chosen && root.isConnected && follow(id), LATER);
  };
  const compare = async (a, b) => {
    comparing = null;
    const answer = await ask({ kind: "compare", ids: [a, b] });
    if (answer.error) note = answer.error; else compared = answer;
    draw();
  };
  const again = async () => {
    const answer = await ask({ kind: "again", id: chosen, text: editor.value });
    if (answer.error) { note = answer.error; return draw(); }
    awaited = { title: call().title, about: call().about, known: new Set(all().map((one) => one.id)) };
    editing = false;
    note = "Asked. The answer comes up here.";
    draw();
    trigger("changed");
  };
  const snippet = async () => {
    const answer = await ask({ kind: "snippet", id: chosen });
    if (answer.error) note = answer.error;
    else try { await navigator.clipboard.writeText(answer.text); note = "Copied. It runs with pip install openai, and reads the key from OPENAI_API_KEY."; }
    catch { told.snippet = answer.text; tab = "Snippet"; note = "This browser does not let pages copy here; select the text below."; }
    draw();
  };
  const act = (kind) => trigger("act", { kind, id: chosen });

  const actions = () => h("div.actions", {},
    (told.remedies ?? []).map((one) => h("button.studio-button", { title: one.title, onclick: () => (one.kind === "edit" ? edit() : act(one.kind)) }, one.label)),
    told.askable && !(told.remedies ?? []).some((one) => one.kind === "edit") && h("button.studio-button", { title: "Change the prompt and send it; the answer stands beside this one", onclick: edit }, "Edit and ask again"),
    !told.running && h("button.studio-button", { title: "See what differs between two answers", onclick: () => { comparing = chosen; compared = null; draw(); } }, "Compare with …"),
    told.snippets && h("button.studio-button", { title: "A Python program that asks the same; there is no key in it", onclick: snippet }, "Copy as snippet"),
    told.running && h("button.studio-button.stop", { onclick: async () => { const answer = await ask({ kind: "cancel", id: chosen }); if (answer.error) { note = answer.error; draw(); } } }, "■ Stop this call"));
  const edit = () => { editing = true; tab = "Prompt"; editor.value = told.editable ?? ""; draw(); editor.focus(); };

  const shown = () => {
    const one = call();
    if (!all().length) return h("div.empty", {}, value.token ? "Nothing has been asked yet. Every question to a model shows here as it is asked, with its pictures, its answer, and what it cost." : "Open a project to see what its models were asked.");
    if (compared) return [h("div.heading", {}, h("strong", {}, "Two answers"), h("button.studio-button", { onclick: () => { compared = null; draw(); } }, "Back")), h("div.sides", {}, compared.titles.map((title) => h("span.faint", {}, title))), compared.rows.length ? diff(compared.rows) : h("p.muted", {}, "The two answers are the same.")];
    if (comparing) return h("div.empty", {}, "Choose the other call in the list. ", h("button.studio-button", { onclick: () => { comparing = null; draw(); } }, "Cancel"));
    if (!one) return h("div.empty", {}, "Choose a call to see what was asked and what came back.");
    if (!told) return [heading(one), note ? h("p.fault", {}, note) : h("p.muted", {}, "Reading …")];
    const tabs = [...TABS.slice(0, editing ? 2 : 5), tab === "Snippet" && "Snippet"].filter(Boolean);
    return [heading(one, told), one.error && h("p.fault", {}, one.error), facts(one, told), actions(), note && h("p.note", { role: "status" }, note),
      h("div.tabs", { role: "tablist" }, tabs.map((name) => h(`button${name === tab ? ".on" : ""}`, { role: "tab", "aria-selected": String(name === tab), onclick: () => { tab = name; draw(); } }, name === "Pictures" && told.pictured ? `Pictures (${told.pictured})` : name))),
      h("div.page", { role: "tabpanel" }, tab === "Snippet" ? h("pre", {}, told.snippet ?? "") : editing && tab === "Prompt" ? [h("p.muted", {}, "The pictures go with it as they are. What you change here is for this one question; the prompt file stays as it is."), editor,
        h("div.actions", {}, h("button.studio-button.primary", { onclick: again }, "Ask"), h("button.studio-button", { onclick: () => { editing = false; draw(); } }, "Cancel"))] : page(tab, told, live))];
  };
  const filters = () => {
    const bad = all().filter((one) => one.state === "failed" || one.state === "lost").length;
    if (only === "failed" && !bad) only = "all";
    const button = (name, label) => h(`button.studio-button${only === name ? ".on" : ""}`, { onclick: () => { only = name; draw(); } }, label);
    return h("div.filters", {}, button("all", "All"), bad ? button("failed", `Failed (${bad})`) : null, only !== "all" && only !== "failed" && button(only, only));
  };
  const draw = () => {
    const scrolled = list.scrollTop;
    fill(head, value.totals && all().length ? [sums(value.totals), filters()] : null);
    fill(list, tree(value.stages ?? [], { chosen, closed, wanted, pick, toggle: (stage) => { closed.has(stage) ? closed.delete(stage) : closed.add(stage); draw(); } }));
    list.scrollTop = scrolled;
    if (!editing || document.activeElement !== editor) fill(detail, shown());
  };
  onCalls(element, async ({ id = null, about = null, tab: page_, edit: editable } = {}) => {
    only = about ?? "all";
    const wish = id ?? all().filter(wanted).at(-1)?.id;
    if (!wish) return draw();
    await pick(wish, page_);
    if (editable && told?.askable) edit();
  });
  return (next) => {
    const other = next?.token !== value.token;
    value = next ?? {};
    if (other || (chosen && !call())) [chosen, told, editing, comparing, compared, note, only] = [null, null, false, null, null, "", "all"];
    const came = awaited && all().find((one) => one.title === awaited.title && one.about === awaited.about && !awaited.known.has(one.id));
    if (came) { awaited = null; return pick(came.id, "Response"); }
    draw();
    if (chosen && told && told.state !== call()?.state) look();
  };
}

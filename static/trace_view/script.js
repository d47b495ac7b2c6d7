// The calls of models: a list of all, and one with its prompt and response, to compare, edit and send again.
import { Diff } from "/static/studio/diff.js";
import { shownCalls } from "/static/studio/drawer.js";
import { asker } from "/static/studio/server.js";
import { t } from "/static/studio/texts.js";
import { batch, html, mounts, onChange, signal, View } from "/static/studio/view.js";
import { actions } from "/static/trace_view/call_actions.js";
import { facts, heading, TABS, tabContent } from "/static/trace_view/call_detail.js";
import { callsOf, callTree, filters, isFailed, totalsLine } from "/static/trace_view/call_tree.js";

const POLL_MS = 400; // between polls of a streaming response

class TraceView extends View {
  chosen = signal(/** @type {string | null} */ (null));
  details = signal(/** @type {any} */ (null)); // of the chosen call, once they are read
  tab = signal("Prompt");
  filter = signal("all"); // "all", "failed", or what the calls are about
  closed = signal(/** @type {Set<string>} */ (new Set())); // stages
  edited = signal(/** @type {string | null} */ (null)); // the prompt, while it is edited
  comparing = signal(/** @type {string | null} */ (null)); // the call that another one will be compared with
  compared = signal(/** @type {any} */ (null));
  note = signal("");
  live = signal("");
  token = "";
  /** @type {any} */
  retried = null; // the call that was sent again, until the new one is in the list
  ask = asker(this.server, () => ({ token: this.value.token }));

  constructor(context) {
    super(context);
    this.onValue((value) => this.takeValue(value));
    onChange(this.root, shownCalls, (calls) => this.showCalls(calls));
  }

  takeValue({ token }) {
    if (token !== this.token || (this.chosen.value && !this.call)) {
      this.reset(null);
      this.filter.value = "all";
    }
    this.token = token;
    if (this.filter.value === "failed" && !this.calls.some(isFailed)) this.filter.value = "all";
    const { title, about, known } = this.retried ?? {},
      answered = this.calls.find((call) => call.title === title && call.about === about && !known.has(call.id));
    if (answered) {
      this.retried = null;
      this.openCall(answered.id, "Response");
    } else if (this.details.value && this.details.value.state !== this.call?.state) this.readDetails();
  }

  get stages() {
    return this.value.stages ?? [];
  }

  get calls() {
    return this.stages.flatMap(callsOf);
  }

  get call() {
    return this.calls.find((call) => call.id === this.chosen.value);
  }

  isShown = (call) => {
    const filter = this.filter.value;
    return filter === "all" || (filter === "failed" ? isFailed(call) : call.about === filter);
  };

  async showCalls({ id = null, about = null, tab, edit }) {
    this.filter.value = about ?? "all";
    const wanted = id ?? this.calls.filter(this.isShown).at(-1)?.id;
    if (!wanted) return;
    await this.openCall(wanted, tab);
    if (edit && this.details.value?.askable) this.edit();
  }

  reset(id) {
    batch(() => {
      this.chosen.value = id;
      for (const one of [this.details, this.edited, this.comparing, this.compared]) one.value = null;
      this.note.value = this.live.value = "";
    });
  }

  async openCall(id, tab) {
    const first = this.comparing.value;
    if (first && id !== first) return this.compare(first, id);
    this.reset(id);
    if (tab || this.call?.state === "running") this.tab.value = tab ?? "Response";
    queueMicrotask(() => this.root.querySelector(".call.on")?.scrollIntoView({ block: "nearest" }));
    await this.readDetails();
  }

  async readDetails() {
    const id = this.chosen.value,
      state = this.call?.state,
      answer = await this.ask({ kind: "call", id });
    if (id !== this.chosen.value) return;
    batch(() => {
      if (answer.error) this.note.value = answer.error;
      else this.details.value = { ...answer, state };
      if (!this.details.value?.running) this.live.value = ""; // the whole response takes its place
    });
    if (this.details.value?.running) this.pollLive(id);
  }

  async pollLive(id) {
    const answer = await this.ask({ kind: "live", id });
    if (id !== this.chosen.value || answer.error) return;
    if (!answer.running) return this.readDetails();
    this.live.value = answer.text;
    setTimeout(() => id === this.chosen.value && this.root.isConnected && this.pollLive(id), POLL_MS);
  }

  // ---- what a person does

  /** Asks the server; shows what went wrong, and returns the answer if nothing did. */
  async attempt(question) {
    const answer = await this.ask(question);
    if (!answer.error) return answer;
    this.note.value = answer.error;
  }

  toggle(stage) {
    const closed = new Set(this.closed.value);
    closed.delete(stage) || closed.add(stage);
    this.closed.value = closed;
  }

  async compare(...ids) {
    this.comparing.value = null;
    const compared = await this.attempt({ kind: "compare", ids });
    if (compared) this.compared.value = compared;
  }

  edit() {
    this.edited.value = this.details.value.editable ?? "";
    this.tab.value = "Prompt";
    queueMicrotask(() => this.root.querySelector("textarea").focus());
  }

  async sendEdited() {
    const { title, about } = this.call,
      known = new Set(this.calls.map((call) => call.id));
    if (!(await this.attempt({ kind: "retry", id: this.chosen.value, text: this.edited.value }))) return;
    this.retried = { title, about, known };
    this.edited.value = null;
    this.note.value = t("Sent. The response will show here.");
    this.send("changed");
  }

  async copySnippet() {
    const snippet = await this.attempt({ kind: "snippet", id: this.chosen.value });
    if (!snippet) return;
    try {
      await navigator.clipboard.writeText(snippet.text);
      this.note.value = t("Copied. Needs pip install openai and OPENAI_API_KEY.");
    } catch {
      this.details.value = { ...this.details.value, snippet: snippet.text };
      this.tab.value = "Snippet";
      this.note.value = t("The browser blocked copying; select the text below.");
    }
  }

  // ---- what is shown

  template() {
    const { totals } = this.value;
    return html`<div class="list">
        <div class="head">${totals && this.calls.length > 0 && [totalsLine(totals), filters(this)]}</div>
        <div class="tree" role="navigation" aria-label=${t("Calls")}>${callTree(this)}</div>
      </div>
      <section class="detail" aria-label=${t("Selected call")}>${this.detail()}</section>`;
  }

  detail() {
    const { call } = this,
      details = this.details.value,
      note = this.note.value;
    if (!this.calls.length)
      return html`<div class="empty">${
        this.value.token
          ? t("No calls yet. Model calls show here with their pictures, responses and costs.")
          : t("Open a project to see its model calls.")
      }</div>`;
    if (this.compared.value) return this.comparison(this.compared.value);
    if (this.comparing.value)
      return html`<div class="empty">${t("Select another call in the list.")}${" "}
        <button class="studio-button" onclick=${() => (this.comparing.value = null)}>${t("Cancel")}</button></div>`;
    if (!call) return html`<div class="empty">${t("Select a call to see its prompt and response.")}</div>`;
    if (!details)
      return html`${heading(call)}
        ${note ? html`<p class="fault">${note}</p>` : html`<p class="muted">${t("Reading …")}</p>`}`;
    return html`${heading(call, details)}
      ${call.error && html`<p class="fault">${call.error}</p>`}
      ${facts(call, details)}
      ${actions(this, details)}
      ${note && html`<p class="note" role="status">${note}</p>`}
      ${this.pages(details)}`;
  }

  comparison({ titles, rows }) {
    return html`<div class="heading flow"><strong>${t("Two responses")}</strong>
        <button class="studio-button" onclick=${() => (this.compared.value = null)}>${t("Back")}</button></div>
      <div class="sides">${titles.map((title) => html`<span class="faint">${title}</span>`)}</div>
      ${
        rows.length
          ? html`<${Diff} rows=${rows} />`
          : html`<p class="muted">${t("The two responses are the same.")}</p>`
      }`;
  }

  pages(details) {
    const shown = this.tab.value,
      isEditing = this.edited.value !== null,
      names = [...TABS.slice(0, isEditing ? 2 : 5), ...(shown === "Snippet" ? ["Snippet"] : [])],
      title = (name) =>
        name === "Pictures" && details.pictured ? t("Pictures ({count})", { count: details.pictured }) : t(name),
      tab = (name) => html`<button class=${name === shown && "on"} key=${name} role="tab"
        aria-selected=${name === shown} onclick=${() => (this.tab.value = name)}>${title(name)}</button>`;
    return html`<div class="tabs" role="tablist">${names.map(tab)}</div>
      <div class="page" role="tabpanel" key=${`${this.chosen.value} ${shown}`}>
        ${isEditing && shown === "Prompt" ? this.editor() : tabContent(shown, details, this.live.value)}
      </div>`;
  }

  editor() {
    return html`<p class="muted">
        ${t("Pictures are sent unchanged. Edits apply to this call only, not to the prompt file.")}</p>
      <textarea aria-label=${t("Prompt")} spellcheck=${false} value=${this.edited.value}
        oninput=${({ target }) => (this.edited.value = target.value)} />
      <div class="actions">
        <button class="studio-button primary" onclick=${() => this.sendEdited()}>${t("Send")}</button>
        <button class="studio-button" onclick=${() => (this.edited.value = null)}>${t("Cancel")}</button>
      </div>`;
  }
}

export default mounts(TraceView);

// The bar above every page: the project, undo and redo, who edits, and the buttons of pages over the window. See
// components/page_frame.py.
import { openCompare } from "/static/compare/compare_state.js";
import { openEvaluate } from "/static/evaluate/evaluate_state.js";
import { openLearn } from "/static/learn/learn_state.js";
import { openLibrary } from "/static/library/library_state.js";
import { mayWork, role, user } from "/static/studio/account.js";
import { isConnected, isOpened, onLoss, onOpened, onReload } from "/static/studio/channel.js";
import { openDrawer } from "/static/studio/drawer.js";
import { NoticesButton, showNoticesOf } from "/static/studio/notices.js";
import { JobsButton } from "/static/studio/jobs.js";
import { EVERYWHERE, shortcuts, showShortcutSheet } from "/static/studio/keyboard.js";
import { keepInput, takeUpInput } from "/static/studio/kept_input.js";
import { hideLoading } from "/static/studio/loading.js";
import { showPlace } from "/static/studio/place.js";
import { disableRefused } from "/static/studio/refused_controls.js";
import { chooseLanguage, language, languages, t } from "/static/studio/texts.js";
import { classes, follow, html, mounts, signal, View } from "/static/studio/view.js";

const BUSY_TIMEOUT_MS = 20_000; // after which a button is released if no answer came
const PAGES = "#home, #steps > .tabitem";

class TopBar extends View {
  pending = signal(/** @type {any} */ (null)); // {kind, until}: a step that the server has not recorded yet

  constructor(context) {
    super(context);
    const { root } = this,
      keep = () => this.value.project && keepInput(this.value.project);
    const undo = { name: t("Ctrl-Z, with Shift"), help: t("undo, redo"), act: (event) => this.takeKey(event) };
    shortcuts(root, {
      title: t("Everywhere"),
      keys: () => ({ "mod+z": undo }),
      isOn: () => Boolean(this.value.project),
      rank: EVERYWHERE,
    });
    showShortcutSheet();
    onReload(root, keep);
    addEventListener("pagehide", () => isConnected() || keep());
    onOpened(root, () => this.showOpened());
    this.showNotices();
    this.onValue((value) => this.takeValue(value));
  }

  takeValue(value) {
    const { kind, until } = this.pending.value ?? {};
    disableRefused(this.isElsewhere);
    if (!(value.decided < until && value[`can_${kind}`])) this.pending.value = null;
    this.showOpened();
  }

  // Lines outside the bar: why controls are disabled, and, until it is back, that the server is gone.
  showNotices() {
    const why = notice("editing", "status"),
      lost = notice("connection-lost", "alert");
    this.root.after(why);
    document.body.append(lost);
    follow(this.root, () => {
      why.textContent = this.whyDisabled;
      why.hidden = !this.whyDisabled;
    });
    lost.textContent = t(
      "The studio does not answer. Check that it is running. What you type is kept and sent when it is back.",
    );
    onLoss(this.root, (isLost) => {
      lost.hidden = !isLost;
    });
  }

  // What was opened, once all of it is on the screen.
  showOpened() {
    const { project, title, ready, reached } = this.value;
    if (!ready || !isOpened()) return;
    hideLoading();
    showPlace(this.root, project, reached);
    showNoticesOf(project ?? "");
    if (project) takeUpInput(project);
    document.title = project ? `${title} · GRS Studio` : "GRS Studio";
  }

  // Whether another person edits the project, until this person takes over.
  get isElsewhere() {
    const { editor } = this.value;
    return Boolean(user && editor && editor !== user);
  }

  get whyDisabled() {
    if (!mayWork) return t("View only: your role is to look. What changes something is disabled.");
    if (!this.isElsewhere) return "";
    return t("{name} is editing. You look until you take over.", { name: this.value.editor });
  }

  takeKey(event) {
    const kind = event.shiftKey ? "redo" : "undo";
    if (this.value[`can_${kind}`]) this.request(kind);
  }

  // The button stays pressed until the server has recorded the step. Pressing again undoes one more.
  request(kind) {
    this.pending.value = { kind, until: Math.max(this.value.decided, this.pending.value?.until ?? 0) + 1 };
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.pending.value = null), BUSY_TIMEOUT_MS);
    this.send(kind);
  }

  // ---------------------------------------------------------------- what is shown

  template() {
    const { project, services = [] } = this.value;
    return html`<a class="skip-link studio-button" href="#skip" onclick=${skipBars}>${t("Skip to the page")}</a>
      <button class="brand flow" title=${t("All projects")} onclick=${() => this.send("home")}>
        <span class="mark" />GRS Studio</button>
      ${project && this.project(this.value)}
      <span class="services">
        <${JobsButton} />
        <${NoticesButton} />
        ${project && opens("learn-button", t("Learn policies for the task's subtasks"), openLearn, t("Learn"))}
        ${
          project &&
          opens("evaluate-button", t("Evaluate policies on the same conditions"), openEvaluate, t("Evaluate"))
        }
        ${opens("compare-button", t("Compare a real episode with a simulated one"), openCompare, t("Compare"))}
        ${services.map(service)}
        ${languageMenu()}
        ${user && role !== "visit" && logout()}
      </span>`;
  }

  project({ title, saved, editor }) {
    return html`<span class="slash">/</span>
      <strong role="heading" aria-level="1" title=${title}>${title}</strong>
      <span class="saved">${saved}</span>
      ${
        this.isElsewhere &&
        mayWork &&
        html`<button class="studio-button take-over" onclick=${() => this.send("take_over")}
          title=${t("Edit this project yourself; {name} can then only look", { name: editor })}>
          ${t("Take over")}</button>`
      }
      <span class="history">
        ${this.step("undo", "↶", t("Undo"), "Ctrl Z")}
        ${this.step("redo", "↷", t("Redo"), "Ctrl Shift Z")}
        ${this.pending.value && this.pendingText(this.pending.value)}
      </span>`;
  }

  step(kind, icon, name, keys) {
    const isPending = this.pending.value?.kind === kind;
    return html`<button class=${classes("studio-button plain", isPending && "on")}
      disabled=${!this.value[`can_${kind}`] || !mayWork || this.isElsewhere}
      title=${`${name} ${this.value[kind] ?? ""} (${keys})`} aria-label=${name} aria-busy=${isPending}
      onclick=${() => this.request(kind)}>
      ${isPending ? html`<i class="spin" aria-hidden="true" />` : html`<i>${icon}</i>`}
      <span class="word"> ${name}</span>
    </button>`;
  }

  pendingText({ kind }) {
    return html`<span class="saved pending" role="status">
      ${kind === "undo" ? t("Undoing") : t("Redoing")} ${this.value[kind] ?? ""} …</span>`;
  }
}

function notice(name, role) {
  const element = Object.assign(document.createElement("div"), { className: name, hidden: true });
  element.setAttribute("role", role);
  return element;
}

// Leads past the bars and the list of objects, to the page that is open.
function skipBars(event) {
  event.preventDefault();
  const page = [...document.querySelectorAll(PAGES)].find((one) => one.checkVisibility());
  if (!page) return;
  /** @type {HTMLElement} */ (page).tabIndex = -1;
  /** @type {HTMLElement} */ (page).focus({ preventScroll: true });
}

const opens = (name, title, open, text) =>
  html`<button class=${`${name} opens`} title=${title} onclick=${() => open()}>${text}</button>`;

function service({ what, name, note, live, opens: page }) {
  if (page === "library") return opens("library-button", note, openLibrary, serviceText(what, name));
  const mark = live ? html`<i class="live">●</i>` : html`<i class="stand-in">○</i>`,
    text = html`${mark}${serviceText(what, name)}`;
  return page
    ? opens("service", note, () => openDrawer(page), text)
    : html`<span class="service" title=${note}>${text}</span>`;
}

// What stands in brackets is left out where the bar is narrow; the tooltip says it too.
function serviceText(what, name) {
  const [short, ...aside] = name.split(/(?= \()/);
  return html`<span class="what">${what} </span>${short}<span class="aside">${aside}</span>`;
}

const languageMenu = () =>
  html`<select class="language" aria-label=${t("Language")} title=${t("Language")}
    onchange=${({ target }) => chooseLanguage(target.value)}>
    ${Object.entries(languages).map(
      ([code, name]) => html`<option value=${code} selected=${code === language}>${name}</option>`,
    )}
  </select>`;

// Nothing in a studio without logins, and for those who came by a link. The address is relative: of the studio's path.
const logout = () =>
  html`<span class="user clip">${user}</span>
    <a class="log-out opens" href="logout" title=${t("End all logins of {user}", { user })}>${t("Log out")}</a>`;

export default mounts(TopBar);

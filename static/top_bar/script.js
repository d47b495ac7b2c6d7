import "/static/studio/kept_clicks.js";
import { fill, h } from "/static/studio/dom.js";
import { isConnected, isOpened, onLoss, onOpened, onReload } from "/static/studio/channel.js";
import { keepInput, takeUpInput } from "/static/studio/kept_input.js";
import { hideLoading } from "/static/studio/loading.js";
import { noticesButton, showNoticesOf } from "/static/studio/gradio_notices.js";
import { mayWork, role, user } from "/static/studio/account.js";
import { openLearn } from "/static/learn/learn_state.js";
import { openCompare } from "/static/compare/compare_state.js";
import { openEvaluate } from "/static/evaluate/evaluate_state.js";
import { openDrawer } from "/static/studio/drawer.js";
import { openLibrary } from "/static/library/library_state.js";
import { disableRefused } from "/static/studio/refused_controls.js";
import { showPlace } from "/static/studio/place.js";
import { chooseLanguage, language, languages, t } from "/static/studio/texts.js";

const BUSY_TIMEOUT_MS = 20_000; // after which a button is released if no answer came
const PAGES = "#home, #steps > .tabitem";

// Leads past the bars and the list of objects, to the page that is open.
function skipBars(event) {
  event.preventDefault();
  const page = [...document.querySelectorAll(PAGES)].find((one) => one.checkVisibility());
  if (!page) return;
  page.tabIndex = -1;
  page.focus({ preventScroll: true });
}

export default function mount({ element, trigger }) {
  const bar = element.querySelector(".top-bar");
  const notice = h("div.editing", { role: "status", hidden: true });
  bar.after(notice);
  let current = {},
    pending = null,
    pendingTimer;
  // The button stays pressed until the server has recorded the step. Pressing again undoes one more.
  const request = (kind) => {
    pending = { kind, until: Math.max(current.decided, pending?.until ?? 0) + 1 };
    clearTimeout(pendingTimer);
    pendingTimer = setTimeout(() => {
      pending = null;
      draw();
    }, BUSY_TIMEOUT_MS);
    draw();
    trigger(kind);
  };
  document.addEventListener("keydown", (event) => {
    if (
      !(event.ctrlKey || event.metaKey) ||
      event.key.toLowerCase() !== "z" ||
      event.target.closest("input, textarea, .cm-editor")
    )
      return;
    event.preventDefault();
    if (event.shiftKey ? current.can_redo : current.can_undo) request(event.shiftKey ? "redo" : "undo");
  });
  const lostBanner = h(
    "div.connection-lost",
    { role: "alert", hidden: true },
    t("The studio does not answer. Check that it is running. What you type is kept and sent when it is back."),
  );
  document.body.append(lostBanner);
  // If the server is gone, a banner says so until it is back.
  onLoss(element, (isLost) => {
    lostBanner.hidden = !isLost;
  });
  const keep = () => current.project && keepInput(current.project);
  onReload(element, keep);
  addEventListener("pagehide", () => isConnected() || keep());
  const languageMenu = h(
    "select.language",
    { "aria-label": t("Language"), title: t("Language"), onchange: ({ target }) => chooseLanguage(target.value) },
    Object.entries(languages).map(([code, name]) => h("option", { value: code, selected: code === language }, name)),
  );
  // Nothing in a studio without logins, and for those who came by a link. The address is relative: of the studio's path.
  const logout = user &&
    role !== "visit" && [
      h("span.user", {}, user),
      h("a.log-out.opens", { href: "logout", title: t("End all logins of {user}", { user }) }, t("Log out")),
    ];
  const button = (kind, icon, name, keys) =>
    h(
      `button.studio-button.plain${pending?.kind === kind ? ".on" : ""}`,
      {
        disabled: !current[`can_${kind}`] || !mayWork || isElsewhere(),
        title: `${name} ${current[kind] ?? ""} (${keys})`,
        "aria-label": name,
        "aria-busy": String(pending?.kind === kind),
        onclick: () => request(kind),
      },
      pending?.kind === kind ? h("i.spin", { "aria-hidden": "true" }) : h("i", {}, icon),
      h("span.word", {}, ` ${name}`),
    );
  // Who may change the project: this person, or another one until this person takes over.
  const isElsewhere = () => Boolean(user && current.editor && current.editor !== user);
  const editing = () =>
    isElsewhere() &&
    mayWork &&
    h(
      "button.studio-button.take-over",
      {
        title: t("Edit this project yourself; {name} can then only look", { name: current.editor }),
        onclick: () => trigger("take_over"),
      },
      t("Take over"),
    );
  // One line that says why controls are disabled.
  const whyDisabled = () => {
    if (!mayWork) return t("View only: your role is to look. What changes something is disabled.");
    return isElsewhere() ? t("{name} is editing. You look until you take over.", { name: current.editor }) : "";
  };
  const pendingText = () =>
    pending &&
    h(
      "span.saved.pending",
      { role: "status" },
      `${pending.kind === "undo" ? t("Undoing") : t("Redoing")} ${current[pending.kind] ?? ""} …`,
    );
  function draw() {
    const { project, title, saved, services = [] } = current;
    fill(
      bar,
      h("a.skip-link.studio-button", { href: "#skip", onclick: skipBars }, t("Skip to the page")),
      h("button.brand", { title: t("All projects"), onclick: () => trigger("home") }, h("span.mark"), "GRS Studio"),
      project && h("span.slash", {}, "/"),
      project && h("strong", { role: "heading", "aria-level": "1" }, title),
      project && h("span.saved", {}, saved),
      project && editing(),
      project &&
        h(
          "span.history",
          {},
          button("undo", "↶", t("Undo"), "Ctrl Z"),
          button("redo", "↷", t("Redo"), "Ctrl Shift Z"),
          pendingText(),
        ),
      h(
        "span.services",
        {},
        noticesButton,
        project &&
          h(
            "button.learn-button.opens",
            { title: t("Learn policies for the task's subtasks"), onclick: () => openLearn() },
            t("Learn"),
          ),
        project &&
          h(
            "button.evaluate-button.opens",
            { title: t("Evaluate policies on the same conditions"), onclick: () => openEvaluate() },
            t("Evaluate"),
          ),
        h(
          "button.compare-button.opens",
          { title: t("Compare a real episode with a simulated one"), onclick: () => openCompare() },
          t("Compare"),
        ),
        services.map((service) =>
          h(
            service.opens === "library"
              ? "button.library-button.opens"
              : service.opens
                ? "button.service.opens"
                : "span.service",
            {
              title: service.note,
              onclick: () => service.opens && (service.opens === "library" ? openLibrary() : openDrawer(service.opens)),
            },
            service.opens !== "library" && (service.live ? h("i.live", {}, "●") : h("i.stand-in", {}, "○")),
            h("span.what", {}, service.what),
            ` ${service.name}`,
          ),
        ),
        languageMenu,
        logout,
      ),
    );
    fill(notice, whyDisabled());
    notice.hidden = !whyDisabled();
  }
  // What was opened, once all of it is on the screen.
  const showOpened = () => {
    const { project, title } = current;
    if (!current.ready || !isOpened()) return;
    hideLoading();
    showPlace(element, project, current.reached);
    showNoticesOf(project ?? "");
    if (project) takeUpInput(project);
    document.title = project ? `${title} · GRS Studio` : "GRS Studio";
  };
  onOpened(element, showOpened);
  return (value) => {
    current = value ?? {};
    disableRefused(isElsewhere());
    if (pending && !(current.decided < pending.until && current[`can_${pending.kind}`])) pending = null;
    showOpened();
    draw();
  };
}

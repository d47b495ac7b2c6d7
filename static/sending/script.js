import { showDialog } from "/static/studio/covering.js";
import { fill, h } from "/static/studio/dom.js";
import { drawer, onDrawer, openDrawer } from "/static/studio/drawer.js";
import { asker } from "/static/studio/server.js";
import { onSendDialog } from "/static/sending/open_dialog.js";
import { t } from "/static/studio/texts.js";

const TEXTS = [
  t("Names, colours, sizes and places of the objects"),
  t("Names and descriptions of library assets"),
  t("The task, the programs and their reports"),
];
const ROW_LENGTH = 12;

// A line that asks whether the project may be sent to the model's server, and a dialog with exactly what would be sent.
export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".sending");
  let value = {},
    preview = {},
    offered = "";
  const ask = asker(server, () => ({ token: value.token }));
  const line = h("div.line", { role: "status" });
  const body = h("div.body", { tabindex: "-1" });
  const foot = h("div.foot");
  const dialog = h(
    "dialog",
    { "aria-labelledby": "sending-title" },
    h(
      "div.head",
      {},
      h("strong", { id: "sending-title" }, t("Send this project to a model?")),
      h(
        "button.studio-button.plain",
        { title: t("Decide later (Esc)"), "aria-label": t("Decide later"), onclick: () => dialog.close() },
        "✕",
      ),
    ),
    body,
    foot,
  );
  const decide = (allow) => {
    dialog.close();
    trigger("decide", { address: value.address, allow });
  };
  const open = async () => {
    if (!value.address || dialog.open) return;
    preview = { loading: true };
    draw();
    showDialog(dialog);
    body.focus();
    preview = await ask({ kind: "preview" });
    draw();
  };
  const pictures = () =>
    preview.loading
      ? h("p.hint", {}, t("Preparing the pictures …"))
      : !preview.pictures?.length
        ? h("p.hint", {}, t("No pictures. They are switched off, or the objects are not described yet."))
        : preview.pictures.map(({ title, thumbnails }) =>
            h(
              "section",
              {},
              h("h5", {}, title, h("span.count", {}, String(thumbnails.length))),
              h(
                "div.thumbnails",
                {},
                thumbnails.slice(0, ROW_LENGTH).map((src, k) => h("img", { src, alt: `${title}, ${k + 1}` })),
                thumbnails.length > ROW_LENGTH &&
                  h("span.hint", {}, t("and {count} more", { count: thumbnails.length - ROW_LENGTH })),
              ),
            ),
          );
  const fact = (name, ...content) => [h("dt", {}, name), h("dd", {}, ...content)];
  const draw = () => {
    const isUndecided = value.state === "undecided";
    root.hidden = !isUndecided;
    fill(
      line,
      h(
        "span.text",
        {},
        h("b", {}, value.model),
        ` ${t("on {address} gets nothing until you decide. Offline rules answer.", { address: value.address })}`,
      ),
      h("button.studio-button.primary", { "data-sends": "sending.preview", onclick: open }, t("Review and decide")),
    );
    fill(
      body,
      h(
        "dl",
        {},
        fact("Server", h("code", {}, value.address), ` ${value.place}`),
        fact("Model", value.model),
        fact(
          "Cost",
          (preview.cost ?? [])
            .filter(Boolean)
            .map((sentence) => h("span.sentence", {}, sentence.replace(/[.]?$/, "."))),
          h(
            "button.studio-button.plain",
            {
              onclick: () => {
                dialog.close();
                openDrawer("model");
              },
            },
            t("Set a budget"),
          ),
        ),
      ),
      preview.error && h("p.fault", { role: "alert" }, preview.error),
      h("h3", {}, t("Pictures")),
      pictures(),
      h("h3", {}, t("Texts")),
      h(
        "ul",
        {},
        TEXTS.map((text) => h("li", {}, text)),
      ),
      preview.text &&
        h("details", {}, h("summary", {}, t("Show the first request")), h("pre", { tabIndex: 0 }, preview.text)),
      h("p.hint", {}, t("Depth, file names and the project's name are not sent. Undo takes the decision back.")),
    );
    fill(
      foot,
      h(
        "span.hint",
        {},
        value.state === "allowed" && t("Now: sent."),
        value.state === "declined" && t("Now: not sent, offline rules answer."),
      ),
      h(
        "button.studio-button",
        { "data-sends": "sending.decide", onclick: () => decide(false) },
        t("Do not send (use offline rules)"),
      ),
      h("button.studio-button.primary", { "data-sends": "sending.decide", onclick: () => decide(true) }, t("Send")),
    );
  };
  fill(root, line);
  element.append(dialog);
  // Opens once by itself for each project and server, when a person is not busy with something else that is open.
  const offer = () => {
    const subject = value.state === "undecided" ? `${value.token} ${value.address}` : "";
    if (!subject || subject === offered || drawer() || document.querySelector("dialog[open]")) return;
    offered = subject;
    open();
  };
  onSendDialog(element, open);
  onDrawer(element, offer);
  return (next) => {
    value = next ?? {};
    if (!value.address && dialog.open) dialog.close();
    if (!dialog.open) draw();
    offer();
  };
}

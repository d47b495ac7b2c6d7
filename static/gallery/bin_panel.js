// The trash: deleted projects, to restore or to delete for good.
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

// Returns the panel's content; `ask(request)` asks the server, `onRestored()` is called when projects came back.
export async function binPanel(ask, onRestored) {
  const message = h("p.muted", { role: "status", hidden: true }),
    list = h("div");
  const tell = (text) => {
    message.hidden = !text;
    message.textContent = text ?? "";
  };
  const send = async (kind, ids) => {
    const answer = await ask({ kind, ids });
    tell(answer.error ?? answer.note);
    if (answer.error) return;
    draw(answer.deleted);
    if (kind === "restore") onRestored();
  };
  const button = (label, onclick, more = "") =>
    h(`button.studio-button${more}`, { "data-sends": "gallery.restore", onclick }, label);

  function draw(deleted) {
    const all = deleted.map((one) => one.id);
    const row = (one) =>
      h(
        "tr",
        {},
        h("td", {}, one.title),
        h("td", {}, one.at),
        h(
          "td",
          {},
          button(t("Restore"), () => send("restore", [one.id])),
        ),
      );
    const head = [t("Project"), t("Deleted"), ""].map((name) => h(name ? "th" : "td", {}, name));
    if (!deleted.length) return fill(list, h("p.muted", {}, t("The trash is empty.")));
    const empty = h("p.bin-actions");
    const ask = () =>
      fill(
        empty,
        t("Delete {n} project for good? This cannot be undone.|Delete {n} projects for good? This cannot be undone.", {
          n: all.length,
        }),
        button(t("Delete for good"), () => send("empty_bin", all), ".stop"),
        button(t("Cancel"), offer),
      );
    const offer = () =>
      fill(
        empty,
        button(t("Restore all"), () => send("restore", all)),
        button(t("Empty the trash …"), ask, ".stop"),
      );
    offer();
    fill(list, empty, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, deleted.map(row))));
  }

  const answer = await ask({ kind: "bin" });
  if (answer.error) tell(answer.error);
  else draw(answer.deleted);
  return [message, list];
}

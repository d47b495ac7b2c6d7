// Read-only links to the project: make one, copy it, revoke it. A link's address is shown once, when it is made.
import { mayWork } from "/static/studio/account.js";
import { fill, h } from "/static/studio/dom.js";
import { t } from "/static/studio/texts.js";

const DAYS = [1, 7, 30];

export class ShareLinks {
  // `ask` sends requests about the project that is shown.
  constructor(ask) {
    this.ask = ask;
    this.element = h("div.panel.box.wide.share", { hidden: true });
    this.links = [];
    this.made = this.error = "";
    this.days = 7;
  }

  // Shows the links of a project; reads them when another project is shown.
  async show(token, isOffered) {
    this.element.hidden = !isOffered || !mayWork;
    if (this.element.hidden || token === this.token) return;
    this.token = token;
    this.links = [];
    this.made = "";
    await this.send({ kind: "links" });
  }

  async send(request) {
    const { token } = this;
    const answer = await this.ask(request);
    if (token !== this.token) return;
    this.error = answer.error ?? "";
    this.links = answer.links ?? this.links;
    if (answer.token) this.made = new URL(`link/${answer.token}`, document.baseURI).href;
    this.draw();
  }

  draw() {
    fill(
      this.element,
      h("h3", {}, t("Read-only links")),
      h("p.faint", {}, t("Whoever has a link sees this project and nothing else, without a login.")),
      h(
        "div.links",
        {},
        h(
          "select",
          {
            "aria-label": t("Lasts"),
            onchange: ({ target }) => {
              this.days = Number(target.value);
            },
          },
          DAYS.map((n) => h("option", { value: n, selected: n === this.days }, t("{n} day|{n} days", { n }))),
        ),
        h(
          "button.studio-button.make-link",
          { "data-sends": "results.share", onclick: () => this.send({ kind: "share", days: this.days }) },
          t("Create link"),
        ),
      ),
      this.made && [
        h("input.made-link", {
          value: this.made,
          readOnly: true,
          "aria-label": t("New link"),
          onfocus: ({ target }) => target.select(),
        }),
        h("p.faint", {}, t("Copy it now: it is not shown again.")),
      ],
      this.error && h("p.bad", { role: "alert" }, this.error),
      this.links.map((link) =>
        h(
          "div.kept-link",
          {},
          h(
            "span",
            {},
            t("Until {time}, by {name}", { time: new Date(link.expires * 1000).toLocaleString(), name: link.by }),
          ),
          h(
            "button.studio-button.revoke",
            { "data-sends": "results.revoke", onclick: () => this.send({ kind: "revoke", id: link.id }) },
            t("Revoke"),
          ),
        ),
      ),
    );
  }
}

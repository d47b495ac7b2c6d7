// The cards of the objects: for the current one, its candidates are compared with the photograph, found and chosen.
import { isInReach } from "/static/studio/covering.js";
import { tabPanel } from "/static/studio/gradio_tabs.js";
import { shortcuts } from "/static/studio/keyboard.js";
import { orderedObjects } from "/static/studio/object_order.js";
import { onSelect, select, selected } from "/static/studio/selection.js";
import { t } from "/static/studio/texts.js";
import { batch, html, mounts, View } from "/static/studio/view.js";
import { AssetSearch } from "./asset_search.js";
import { side } from "./candidate_side.js";
import { tile } from "./candidate_tiles.js";
import { decision, isChosen } from "./candidates.js";
import { Comparison } from "./comparison.js";
import { head, mergeHint } from "./object_head.js";
import { MethodMenu } from "./method_menu.js";
import { overview } from "./object_overview.js";
import { Previews } from "./previews.js";

class ObjectCards extends View {
  token = "";

  constructor(context) {
    super(context);
    this.search = new AssetSearch(this.server.ask, () => this.value.token);
    this.previews = new Previews(this);
    this.comparison = new Comparison(this.root, () => this.previews.compared());
    this.methodMenu = new MethodMenu(this);
    this.onValue((value) => this.takeValue(value));
    onSelect(this.root, () => this.showSelected());
    const isOn = () => this.value.token && isInReach(this.root);
    shortcuts(this.root, { title: t("Objects"), keys: () => this.keys, isOn });
    new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      this.selectFirst();
      this.previews.scheduleCompare();
    }).observe(this.root);
  }

  takeValue({ token }) {
    if (token !== this.token) {
      this.previews.clear();
      this.search.clear();
    }
    this.token = token;
    this.previews.forgetBuiltMethods();
    this.selectFirst();
    this.previews.scheduleCompare();
  }

  // ---- the objects and their options

  get objects() {
    return this.value.objects ?? [];
  }

  get ordered() {
    return orderedObjects(this.value.token, this.objects);
  }

  get current() {
    return this.objects.find((object) => object.id === selected()) ?? this.ordered[0] ?? this.objects[0];
  }

  // ---- what a person does

  decide(kind, data) {
    this.send("decide", { kind, ...data });
  }

  keys = {
    ArrowUp: { name: "↑ ↓", help: t("the object before, after"), act: () => this.step(-1) },
    ArrowDown: { act: () => this.step(1) },
    ArrowLeft: { name: "← →", help: t("the candidate before, after"), act: () => this.turn(-1) },
    ArrowRight: { act: () => this.turn(1) },
    Enter: { name: t("Enter"), help: t("choose the candidate"), act: () => this.chooseViewed() },
    b: { help: t("blink between photograph and candidate"), act: () => this.comparison.toggleBlink() },
    "/": { help: t("search the library"), act: () => this.focusSearch() },
  };

  chooseViewed() {
    const object = this.current;
    if (object?.match) this.choose(this.previews.viewedOption(object));
  }

  focusSearch() {
    /** @type {HTMLElement} */ (this.root.querySelector(".search input"))?.focus();
  }

  look(option) {
    const { previews } = this;
    batch(() => {
      previews.view(this.current, option.asset_id);
      previews.forgetBuiltMethods();
      previews.hovered.value = null;
    });
    previews.compare();
  }

  choose(option, ids = [this.current.id]) {
    const { current } = this,
      [id] = ids,
      isDecided = isChosen(current, option) && current.match.source === "human";
    this.previews.view({ id }, option.asset_id);
    if (ids.length > 1)
      this.send("decide", {
        kind: "several",
        label: t("{name} chosen for {count} identical objects", { name: option.name, count: ids.length }),
        decisions: ids.map((object) => decision(object, option)),
      });
    else if (!isDecided) this.send("decide", decision(id, option));
    this.search.clear();
  }

  step(offset) {
    const order = this.ordered,
      position = order.indexOf(this.current);
    if (order.length) select(order[(position + offset + order.length) % order.length].id);
  }

  turn(offset) {
    this.previews.hovered.value = null;
    const object = this.current,
      options = object ? this.previews.shownOptions(object) : [],
      position = options.findIndex((option) => option.asset_id === this.previews.viewedOption(object)?.asset_id);
    if (options.length) this.look(options[(Math.max(position, 0) + offset + options.length) % options.length]);
    const tile = /** @type {HTMLElement} */ (this.root.querySelector(".asset.viewed"));
    tile?.scrollIntoView({ block: "nearest" });
    if (this.root.querySelector(".tiles :focus")) tile?.focus({ preventScroll: true });
  }

  selectFirst() {
    const object = this.current;
    if (this.root.offsetParent && selected() === null && object && (object.confidence || !object.placed))
      select(object.id);
  }

  showSelected() {
    this.previews.hovered.value = null;
    this.search.clear();
    const panel = this.root.querySelector(".current");
    if (this.root.offsetParent && panel?.getBoundingClientRect().top < tabPanel(this.root)?.getBoundingClientRect().top)
      panel.scrollIntoView({ block: "start" });
    this.previews.scheduleCompare();
  }

  // ---- what is shown

  template() {
    const object = this.current;
    if (!object) return html`<div class="empty panel">${this.value.waiting}</div>`;
    return html`<section class="panel current">
        ${head(this, object)}
        ${mergeHint(this, object)}
        <div class="main">
          ${this.comparison.picture()}
          <div class="side">${side(this, object, this.previews.comparedOption(object))}</div>
        </div>
        <div class="bar-row flow">
          ${this.comparison.modes()}
          ${this.search.field()}
          <div>${!this.search.query && this.moreButton(object)}</div>
          <div class="method-menu">${object.match && this.methodMenu.template(object)}</div>
        </div>
        ${this.tiles(object)}
      </section>
      <section class="overview">
        <h3>${t("All objects")}</h3>
        ${overview(
          this.ordered,
          this.objects.filter((other) => !other.is_object),
          object,
        )}
      </section>`;
  }

  moreButton(object) {
    const { previews } = this,
      isExpanded = previews.expanded.value.has(object.id),
      count = previews.options(object).length - previews.visibleOptions(object).length,
      others = [...previews.expanded.value].filter((id) => id !== object.id),
      toggle = () => (previews.expanded.value = new Set(isExpanded ? others : [...others, object.id]));
    if (!count && !isExpanded) return null;
    return html`<button class="studio-button plain" title=${t("Show candidates with lower scores")} onclick=${toggle}>
      ${isExpanded ? t("Show fewer") : t("Show {count} more", { count })}</button>`;
  }

  tiles(object) {
    const viewed = this.previews.viewedOption(object),
      hover = ({ target }) => (this.previews.hovered.value = target.closest(".asset")?.dataset.asset ?? null),
      tiles =
        object.match &&
        this.previews.shownOptions(object).map((one) => tile(this, object, one, one.asset_id === viewed?.asset_id)),
      content = this.search.query ? this.search.results(tiles) : html`<div class="assets">${tiles}</div>`;
    return html`<div class="tiles" onpointermove=${hover} onpointerleave=${hover}>${object.match && content}</div>`;
  }
}

export default mounts(ObjectCards);

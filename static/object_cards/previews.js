// Which option of each object is viewed, and how the options look in the photograph.
import { LatestRequest } from "/static/studio/latest_request.js";
import { t } from "/static/studio/texts.js";
import { signal } from "/static/studio/view.js";
import { COLLAPSED_COUNT, isChosen, isMethod, METHOD_PREFIX, methodOption, optionsOf } from "./candidates.js";

const POLL_MS = 300; // between polls for candidates that are being rendered
const COMPARE_DELAY_MS = 150; // an object that is selected only in passing is not rendered

export class Previews {
  viewed = signal(/** @type {Map<number, string>} */ (new Map())); // id of the option that is viewed, by object
  renders = signal(/** @type {Map<number, any>} */ (new Map())); // what the server rendered, by object
  expanded = signal(/** @type {Set<number>} */ (new Set())); // objects with all their candidates shown
  hovered = signal(/** @type {string | null} */ (null)); // id of the option under the pointer
  timer = 0;

  /** @param {any} cards */
  constructor(cards) {
    this.cards = cards;
    this.request = new LatestRequest(cards.server.ask, (answer) => this.takeRenders(answer));
  }

  clear() {
    this.viewed.value = new Map();
    this.renders.value = new Map();
    this.expanded.value = new Set();
  }

  view(object, id) {
    this.viewed.value = new Map(this.viewed.value).set(object.id, id);
  }

  methodOf(id) {
    return (this.cards.value.methods ?? []).find(({ method }) => `${METHOD_PREFIX}${method}` === id);
  }

  // A method that was viewed is the reconstruction once the twin has been built with it.
  forgetBuiltMethods() {
    for (const object of this.cards.objects) {
      const id = this.viewed.value.get(object.id);
      if (!id?.startsWith(METHOD_PREFIX)) continue;
      const isBuilt = object.placed && !object.placed.changed && isChosen(object, { asset_id: id });
      if (isBuilt || !this.methodOf(id)) this.view(object, "");
    }
  }

  options(object) {
    const id = this.viewed.value.get(object.id),
      method = this.methodOf(id);
    return optionsOf(object, method && methodOption(method, this.comparisonOf(object)?.renders[id]));
  }

  visibleOptions(object) {
    const options = this.options(object),
      last = options.length - 1;
    if (this.expanded.value.has(object.id)) return options;
    return options.filter((one, place) => place < COLLAPSED_COUNT || place === last || isChosen(object, one));
  }

  shownOptions(object) {
    return this.cards.search.query ? this.cards.search.found : this.visibleOptions(object);
  }

  optionById(object, id) {
    return [...this.cards.search.found, ...this.options(object)].find((option) => option.asset_id === id);
  }

  viewedOption(object) {
    const options = this.options(object);
    return (
      this.optionById(object, this.viewed.value.get(object.id)) ??
      options.find((option) => isChosen(object, option)) ??
      options[0]
    );
  }

  // The option under the pointer, once it is rendered; else the viewed one.
  comparedOption(object) {
    if (!object.match) return null;
    const id = this.hovered.value,
      isReady = this.comparisonOf(object)?.renders[id]?.state === "ready";
    return (isReady && this.optionById(object, id)) || this.viewedOption(object);
  }

  comparisonOf(object) {
    return this.renders.value.get(object.id);
  }

  renderOf(object, option) {
    const comparison = this.comparisonOf(object),
      render = comparison?.renders[option.asset_id];
    if (!option.asset_id && (!render || render.state === "none")) {
      const why = isChosen(object, option)
        ? t("Shown here when the twin is ready.")
        : t("Reconstructed and shown here when you choose it.");
      return { state: "none", why };
    }
    const isRequested = !comparison || this.viewed.value.get(object.id) === option.asset_id;
    return render ?? (isRequested ? { state: "drawing" } : undefined);
  }

  compared() {
    const object = this.cards.current,
      option = object && this.comparedOption(object),
      unknown = { photo: object?.crop, background: "", aspect: 4 / 3, outline: [] };
    return {
      scene: (object && this.comparisonOf(object)) ?? unknown,
      render: option && this.renderOf(object, option),
      name: option && (option.method || option.name),
    };
  }

  scheduleCompare(delay = COMPARE_DELAY_MS) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.compare(), delay);
  }

  compare() {
    const object = this.cards.current;
    if (!object?.match || !this.cards.root.offsetParent) return;
    const first = this.viewedOption(object)?.asset_id ?? "",
      isFromView = object.match.asset_id === null && !first.startsWith(METHOD_PREFIX),
      candidates = this.options(object)
        .filter((option) => option.asset_id && !isMethod(option))
        .slice(0, COLLAPSED_COUNT)
        .map(({ asset_id }) => asset_id);
    this.request.send({
      kind: "compare",
      token: this.cards.value.token,
      id: object.id,
      assets: [...new Set([...(first || isFromView ? [first] : []), ...candidates, ...(isFromView ? [""] : [])])],
    });
  }

  takeRenders(answer) {
    if (answer.error) return;
    const before = this.renders.value.get(answer.id),
      renders = { ...(before?.photo === answer.photo && before.renders), ...answer.renders };
    this.renders.value = new Map(this.renders.value).set(answer.id, { ...answer, renders });
    clearTimeout(this.timer);
    if (Object.values(answer.renders).some(({ state }) => state === "drawing")) this.scheduleCompare(POLL_MS);
  }
}

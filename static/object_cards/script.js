import { LatestRequest } from "/static/studio/latest_request.js";
import { keyOf } from "/static/mask_canvas/shortcuts.js";
import { centimetres, chip, fill, h, sizeText } from "/static/studio/dom.js";
import { leastConfidentFirst, orderedObjects as sortObjects } from "/static/studio/object_order.js";
import { isInReach } from "/static/studio/covering.js";
import { tabPanel } from "/static/studio/gradio_tabs.js";
import { onSelect, select, selected } from "/static/studio/selection.js";
import { confidenceBadge, matchConfidence } from "/static/studio/confidence.js";
import { AssetSearch, searchResults } from "./asset_search.js";
import { overview } from "./object_overview.js";
import { Comparison } from "./comparison.js";
import {
  scoreBars,
  isChosen,
  COLLAPSED_COUNT,
  fullName,
  isMatcherChoice,
  isRecoloured,
  methodOption,
  optionsOf,
  recolouredTag,
  tile,
  METHOD_PREFIX,
} from "./candidate_tiles.js";
import { t } from "/static/studio/texts.js";
import { onChange } from "/static/studio/view.js";

const POLL_MS = 300; // between polls for candidates that are being rendered
const COMPARE_DELAY_MS = 150; // an object that is selected only in passing is not rendered

export default function mount({ element, trigger, server }) {
  const root = element.querySelector(".object-cards");
  const comparison = new Comparison(),
    viewed = new Map(),
    comparisons = new Map(),
    expanded = new Set();
  let value = null,
    objects = [],
    hovered = null,
    timer = 0;

  // ---- current object and candidate
  const orderedObjects = () => sortObjects(value?.token, objects);
  const current = () => objects.find((object) => object.id === selected()) ?? orderedObjects()[0] ?? objects[0];
  // The option of a reconstruction method that is being viewed; undefined once the twin has been rebuilt with it.
  const viewedMethod = (object) => {
    const id = viewed.get(object.id);
    if (!id?.startsWith(METHOD_PREFIX)) return undefined;
    const method = (value?.methods ?? []).find((other) => `${METHOD_PREFIX}${other.method}` === id),
      option = method && methodOption(method, comparisonOf(object)?.renders[id]);
    if (!method || (isChosen(object, option) && object.placed && !object.placed.changed)) {
      viewed.set(object.id, "");
      return undefined;
    }
    return option;
  };
  const options = (object) => optionsOf(object, viewedMethod(object));
  const visibleOptions = (object) => {
    const list = options(object),
      last = list.length - 1;
    return expanded.has(object.id)
      ? list
      : list.filter((option, position) => position < COLLAPSED_COUNT || position === last || isChosen(object, option));
  };
  const shownOptions = (object) => (search.isActive ? search.found : visibleOptions(object));
  const optionById = (object, id) => [...search.found, ...options(object)].find((option) => option.asset_id === id);
  const viewedOption = (object) =>
    optionById(object, viewed.get(object.id)) ??
    options(object).find((option) => isChosen(object, option)) ??
    options(object)[0];
  const comparisonOf = (object) => comparisons.get(object.id);
  const renderOf = (object, option) => {
    const render = comparisonOf(object)?.renders[option.asset_id];
    if (!option.asset_id && (render ?? { state: "none" }).state === "none")
      return {
        state: "none",
        why: isChosen(object, option)
          ? t("Shown here when the twin is ready.")
          : t("Reconstructed and shown here when you choose it."),
      };
    const isRequested = !comparisonOf(object) || viewed.get(object.id) === option.asset_id;
    return render ?? (isRequested ? { state: "drawing" } : undefined);
  };

  // ---- rendered candidates
  const compareRequest = new LatestRequest(server.ask, (answer) => {
    if (answer.error) return;
    const before = comparisons.get(answer.id);
    comparisons.set(answer.id, {
      ...answer,
      renders: { ...(before?.photo === answer.photo ? before.renders : {}), ...answer.renders },
    });
    draw();
    clearTimeout(timer);
    if (Object.values(answer.renders).some(({ state }) => state === "drawing")) timer = setTimeout(compare, POLL_MS);
  });
  const compare = () => {
    const object = current();
    if (!object?.match || !root.offsetParent) return;
    const first = viewedOption(object)?.asset_id ?? "";
    const candidates = options(object)
      .filter(({ asset_id }) => asset_id && !asset_id.startsWith(METHOD_PREFIX))
      .slice(0, COLLAPSED_COUNT)
      .map(({ asset_id }) => asset_id);
    const viewOption = object.match.asset_id === null && !first.startsWith(METHOD_PREFIX) ? [""] : [];
    compareRequest.send({
      kind: "compare",
      token: value.token,
      id: object.id,
      assets: [...new Set([...(first || viewOption.length ? [first] : []), ...candidates, ...viewOption])],
    });
  };
  // Scrolls the panel to the top if an object was selected elsewhere.
  const scrollIntoView = () => {
    if (root.offsetParent && panel.getBoundingClientRect().top < tabPanel(root)?.getBoundingClientRect().top)
      panel.scrollIntoView({ block: "start" });
  };
  const scheduleCompare = () => {
    clearTimeout(timer);
    timer = setTimeout(compare, COMPARE_DELAY_MS);
  };
  const search = new AssetSearch(
    server.ask,
    () => value?.token,
    () => draw(),
  );
  search.onCleared = () => draw();

  // ---- decisions
  const decide = (kind, data) => trigger("decide", { kind, ...data });
  const actions = {
    look: (option) => {
      viewed.set(current().id, option.asset_id);
      hovered = null;
      draw();
      compare();
    },
    choose: (option, ids = [current().id]) => {
      const [id] = ids;
      viewed.set(id, option.asset_id);
      if (ids.length === 1 && !(isChosen(current(), option) && current().match.source === "human"))
        decideOne(id, option);
      if (ids.length > 1)
        trigger("decide", {
          kind: "several",
          label: t("{name} chosen for {count} identical objects", { name: option.name, count: ids.length }),
          decisions: ids.map((object) => decision(object, option)),
        });
      search.clear(draw);
    },
    step: (offset) => {
      const order = orderedObjects(),
        position = order.indexOf(current());
      if (order.length) select(order[(position + offset + order.length) % order.length].id);
    },
    turn: (offset) => {
      const object = current(),
        list = object ? shownOptions(object) : [],
        position = list.findIndex((option) => option.asset_id === viewedOption(object)?.asset_id);
      if (list.length) actions.look(list[(Math.max(position, 0) + offset + list.length) % list.length]);
      const tile = root.querySelector(".asset.viewed");
      tile?.scrollIntoView({ block: "nearest" });
      if (tiles.contains(document.activeElement)) tile?.focus({ preventScroll: true });
    },
  };
  const decision = (id, { asset_id }) =>
    asset_id && !asset_id.startsWith(METHOD_PREFIX)
      ? { kind: "choose_asset", id, asset_id }
      : { kind: "make", id, way: asset_id.slice(METHOD_PREFIX.length) || "best" };
  const decideOne = (id, option) => trigger("decide", decision(id, option));

  // ---- drawing
  const head = h("div.head"),
    mergeHint = h("div.warning.merge-hint"),
    side = h("div.side"),
    tiles = h("div.tiles"),
    moreButton = h("div"),
    methodMenu = h("div.method-menu"),
    panel = h(
      "section.panel.current",
      {},
      head,
      mergeHint,
      h("div.main", {}, comparison.element, side),
      h("div.bar-row", {}, comparison.modes, search.element, moreButton, methodMenu),
      tiles,
    );
  const overviewElement = h("section.overview"),
    empty = h("div.empty.panel");
  fill(root, empty, panel, overviewElement);

  const merge = ({ id, probably_part_of: target }) => {
    select(target.id);
    decide("merge_segments", { ids: [target.id, id], into: target.id });
  };
  const drawHead = (object) => {
    mergeHint.hidden = !object.probably_part_of;
    fill(
      mergeHint,
      object.probably_part_of && [
        h("span", {}, object.probably_part_of.note),
        h(
          "button.studio-button",
          {
            "data-sends": "object-cards.decide",
            title: t("Merge both masks into one. You can undo it."),
            onclick: () => merge(object),
          },
          t("Merge into {name}", { name: object.probably_part_of.name }),
        ),
      ],
    );
    const order = orderedObjects(),
      position = order.indexOf(object);
    fill(
      head,
      chip(object),
      h("h3.name", {}, object.words),
      confidenceBadge(object.confidence),
      h(
        "span.why",
        {},
        object.confidence?.reason ??
          (object.size
            ? `${object.caption.replace(/,? *[\d.]+ x [\d.]+ x [\d.]+ cm/, "")}, ${sizeText(object.size)}`
            : object.caption),
      ),
      h(
        "button.studio-button",
        {
          "data-sends": "object-cards.decide",
          onclick: () => decide("not_object", { id: object.id, value: object.is_object }),
        },
        object.is_object ? t("Mark as not an object") : t("Mark as object"),
      ),
      position >= 0 &&
        h(
          "span.steps",
          {},
          h(
            "button.studio-button.plain",
            { title: t("Previous object (↑)"), "aria-label": t("Previous object"), onclick: () => actions.step(-1) },
            "↑",
          ),
          t("{number} of {count}", { number: position + 1, count: order.length }),
          h(
            "button.studio-button.plain",
            { title: t("Next object (↓)"), "aria-label": t("Next object"), onclick: () => actions.step(1) },
            "↓",
          ),
        ),
    );
  };
  const sourceLine = (object) => {
    const { match } = object,
      { machine } = match,
      matcherName = { measured: t("the matcher"), human: t("you") }[machine.source] ?? machine.source;
    const matcherText = machine.asset_id
      ? t("{matcher} chose {asset}", { matcher: matcherName, asset: machine.name })
      : t("{matcher} found no match", { matcher: matcherName });
    return match.source === "human"
      ? [h("span.tag.good", {}, t("Chosen by you")), " ", `${matcherText[0].toUpperCase()}${matcherText.slice(1)}.`]
      : machine.asset_id
        ? h("span.tag", {}, t("Chosen by {matcher}", { matcher: matcherName }))
        : [h("span.tag", {}, t("No match")), " ", `${match.reason[0].toUpperCase()}${match.reason.slice(1)}.`];
  };
  // For the option the twin uses, shows the same numbers as the other pages.
  const fitLine = (object, option, facts) => {
    if (facts?.state !== "ready") return null;
    const isPlaced = object.placed && object.fit && (object.placed.asset_id ?? "") === option.asset_id;
    const { iou, depth_error } = isPlaced ? object.fit : { ...facts, iou: facts.overlap };
    return h(
      "p.fit",
      {},
      t("{iou} % IoU", { iou: Math.round(iou * 100) }),
      depth_error !== null && t(", {depth_error} depth error", { depth_error: centimetres(depth_error) }),
      Math.abs(facts.scale - 1) > 0.005 && t(", scaled × {scale}", { scale: facts.scale.toFixed(2) }),
    );
  };
  const drawSide = (object, option) => {
    if (!option)
      return fill(
        side,
        h("p.muted", {}, object.is_object ? t("Not matched yet.") : t("Not an object; not in the twin.")),
      );
    const chosen = isChosen(object, option),
      group = object.identical ?? [],
      isAllChosen = group.every((id) => {
        const other = objects.find((other) => other.id === id);
        return other && isChosen(other, option);
      });
    fill(
      side,
      h(
        "h3.title",
        {},
        fullName(option),
        option.score !== undefined && h("span.score", {}, `${Math.round(option.score * 100)} %`),
      ),
      h(
        "div.tags",
        {},
        chosen && h("span.tag.good", {}, t("✓ Chosen")),
        !chosen && isMatcherChoice(object, option) && h("span.tag", {}, t("Matcher's choice")),
        object.match.asset_id === null &&
          option === object.match.candidates[0] &&
          h("span.tag", {}, t("Closest (rejected)")),
        isRecoloured(object, option) && recolouredTag(object),
      ),
      Object.keys(option.scores ?? {}).length ? scoreBars(option.scores) : h("p.reason", {}, option.reason),
      fitLine(object, option, renderOf(object, option)),
      object.placed &&
        chosen &&
        option.asset_id &&
        object.placed.asset_id === null &&
        !object.placed.changed &&
        h(
          "p.warn",
          {},
          t("This asset does not fit the measured points, so the twin uses a reconstruction from the view."),
        ),
      h(
        "div.buttons",
        {},
        h(
          "button.studio-button.primary.choose",
          {
            disabled: chosen,
            "data-sends": "object-cards.decide",
            title: "Enter",
            onclick: () => actions.choose(option),
          },
          chosen ? t("✓ Chosen") : t("Choose"),
          !chosen && h("kbd", {}, "↵"),
        ),
        group.length > 1 &&
          h(
            "button.studio-button.choose-all",
            {
              disabled: isAllChosen,
              "data-sends": "object-cards.decide",
              title: t("Choose for all identical objects: {names}", { names: group.join(", ") }),
              onclick: () => actions.choose(option, group),
            },
            isAllChosen
              ? t("✓ Chosen for all {count}", { count: group.length })
              : t("Choose for all {count} identical", { count: group.length }),
          ),
      ),
      h(
        "p.source",
        {},
        sourceLine(object),
        object.match.confidence && [" ", matchConfidence(object.match.confidence, object.match.candidates[0].name)],
      ),
    );
  };
  let drawnState = "";
  const drawTiles = (object, option) => {
    const offeredOptions = shownOptions(object),
      state = JSON.stringify([
        object.id,
        object.match,
        object.method,
        object.placed,
        offeredOptions,
        option?.asset_id,
        expanded.has(object.id),
        search.isActive,
        search.summary(),
        comparisonOf(object)?.background,
        offeredOptions.map((other) => renderOf(object, other)),
      ]);
    if (state === drawnState) return;
    drawnState = state;
    const tileElements = offeredOptions.map((other) =>
      tile(
        object,
        other,
        { scene: comparisonOf(object), render: renderOf(object, other) },
        other.asset_id === option?.asset_id,
        actions,
      ),
    );
    const hiddenCount = options(object).length - visibleOptions(object).length;
    fill(
      tiles,
      !object.match ? null : search.isActive ? searchResults(search, tileElements) : h("div.assets", {}, tileElements),
    );
    fill(
      moreButton,
      !search.isActive &&
        (hiddenCount > 0 || expanded.has(object.id)) &&
        h(
          "button.studio-button.plain",
          {
            title: t("Show candidates with lower scores"),
            onclick: () => {
              expanded.has(object.id) ? expanded.delete(object.id) : expanded.add(object.id);
              draw();
            },
          },
          expanded.has(object.id) ? t("Show fewer") : t("Show {count} more", { count: hiddenCount }),
        ),
    );
  };
  // A method is previewed like a candidate. An external service is only called when chosen.
  const viewMethod = (object, method) => {
    methodMenu.querySelector("details").open = false;
    if (method === "provider") {
      viewed.set(object.id, "");
      return decide("make", { id: object.id, way: method });
    }
    actions.look({ asset_id: `${METHOD_PREFIX}${method}` });
  };
  const drawMethodMenu = (object) =>
    fill(
      methodMenu,
      object.match &&
        h(
          "details.menu",
          { open: methodMenu.querySelector("details")?.open ?? false },
          h("summary.studio-button", {}, t("Reconstruct from view ▾")),
          h(
            "div.sheet",
            {},
            h("p.hint", {}, t("Preview a method, then choose it.")),
            (value.methods ?? []).map((other) =>
              h(
                `button.list-row.choice${object.method === other.method ? ".on" : ""}`,
                { onclick: () => viewMethod(object, other.method) },
                other.title,
                object.method === other.method && " ✓",
              ),
            ),
          ),
        ),
    );
  const draw = () => {
    const object = current();
    panel.hidden = overviewElement.hidden = !object;
    empty.hidden = Boolean(object);
    fill(empty, value?.waiting ?? "");
    if (!object) return;
    const option = object.match ? viewedOption(object) : null;
    comparison.show(
      comparisonOf(object) ?? { photo: object.crop, background: "", aspect: 4 / 3, outline: [] },
      option && renderOf(object, option),
      option && (option.method || option.name),
    );
    drawHead(object);
    drawSide(object, option);
    drawTiles(object, option);
    drawMethodMenu(object);
    fill(
      overviewElement,
      h("h3", {}, t("All objects")),
      overview(
        orderedObjects(),
        objects.filter((other) => !other.is_object),
        select,
      ),
    );
    for (const card of overviewElement.querySelectorAll(".object"))
      card.classList.toggle("selected", Number(card.dataset.id) === object.id);
  };

  // Selects the first object when the page opens with none selected.
  const selectFirst = () => {
    if (!root.offsetParent) return;
    const object = current();
    if (selected() === null && object && (object.confidence || !object.placed)) select(object.id);
  };

  // Shows a rendered candidate while the pointer is over it, without changing which one is viewed.
  const onTileHover = (event) => {
    const object = current(),
      hoveredAsset = event.target.closest?.(".asset")?.dataset.asset ?? null;
    const isReady = hoveredAsset !== null && comparisonOf(object)?.renders[hoveredAsset]?.state === "ready";
    if ((isReady ? hoveredAsset : null) === hovered) return;
    hovered = isReady ? hoveredAsset : null;
    const option = (isReady && optionById(object, hoveredAsset)) || viewedOption(object);
    comparison.show(comparisonOf(object), option && renderOf(object, option), option && (option.method || option.name));
    drawSide(object, option);
  };
  tiles.addEventListener("pointermove", onTileHover); // not pointerover, which also fires when tiles are redrawn
  tiles.addEventListener("pointerleave", onTileHover);

  const onKeyDown = (event) => {
    if (!element.isConnected) return document.removeEventListener("keydown", onKeyDown);
    if (!value?.token || !isInReach(root) || event.altKey) return;
    const object = current(),
      handler = {
        ArrowUp: () => actions.step(-1),
        ArrowDown: () => actions.step(1),
        ArrowLeft: () => actions.turn(-1),
        ArrowRight: () => actions.turn(1),
        b: () => comparison.toggleBlink(),
        "/": () => search.input.focus(),
        Enter: () => object?.match && actions.choose(viewedOption(object)),
      }[keyOf(event)];
    if (!handler) return;
    event.preventDefault();
    hovered = null;
    handler();
  };
  document.addEventListener("keydown", onKeyDown);
  methodMenu.addEventListener("keydown", (event) => {
    const menu = methodMenu.querySelector("details[open]");
    if (event.key === "Escape" && menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  document.addEventListener("pointerdown", function closeMenu(event) {
    if (!element.isConnected) return document.removeEventListener("pointerdown", closeMenu);
    const menu = methodMenu.querySelector("details[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
  });
  onSelect(element, () => {
    hovered = null;
    if (search.isActive) search.clear();
    draw();
    scrollIntoView();
    scheduleCompare();
  });
  onChange(element, leastConfidentFirst, draw);
  new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    selectFirst();
    scheduleCompare();
  }).observe(root);

  return (next) => {
    if (next?.token !== value?.token) {
      viewed.clear();
      comparisons.clear();
      expanded.clear();
      search.clear();
    }
    value = next;
    objects = next?.objects ?? [];
    draw();
    selectFirst();
    scheduleCompare();
  };
}

// What a component shows: a template of `html` that preact patches into the page, again whenever a signal that it read
// has changed. What is not in the template, such as the focus, a scroll position or a pressed button, stays as it is.
import { Component, h, options, render } from "/static/vendor/preact/preact.mjs";
import htm from "/static/vendor/htm/htm.mjs";
import { batch, computed, effect, signal, untracked } from "/static/vendor/signals-core/signals-core.mjs";

export { batch, computed, effect, render, signal, untracked };

/** A template: html`<button class="primary" onclick=${save}>${text}</button>`. Its values are text, never markup. */
export const html = htm.bind(h);

// What a person does changes several signals; the page is drawn once, when the listener is done.
const createVnode = options.vnode;
options.vnode = (vnode) => {
  if (typeof vnode.type === "string")
    for (const [name, value] of Object.entries(vnode.props))
      if (name.startsWith("on") && typeof value === "function")
        vnode.props[name] = (event) => batch(() => value(event));
  createVnode?.(vnode);
};

/**
 * Calls `act` now and whenever a signal that it read has changed, until `element`, which may enter the page later, has
 * left it.
 * @param {Element} element
 * @param {() => void} act
 * @returns {() => void} ends it
 */
export function follow(element, act) {
  let wasThere = false;
  const stop = effect(() => {
    if (wasThere && !element.isConnected) queueMicrotask(() => stop());
    else act();
    wasThere ||= element.isConnected;
  });
  return stop;
}

/**
 * Calls `act` with what `read()` gives whenever that has changed, until `element` has left the page.
 * @template T
 * @param {Element} element
 * @param {() => T} read
 * @param {(value: T) => void} act
 */
export function onChange(element, read, act) {
  let isFirst = true;
  follow(element, () => {
    const value = read();
    if (!isFirst) untracked(() => act(value));
    isFirst = false;
  });
}

/**
 * Draws `view()` into `root` now and whenever a signal that it read has changed.
 * @param {Element} root
 * @param {() => any} view
 */
export const show = (root, view) => follow(root, () => render(view(), root));

/** What a component shows and does. Its script exports `mounts(Class)`; `template()` is shown in its element. */
export class View {
  #newest;

  /** @param {{root: HTMLElement, newest: import("@preact/signals-core").Signal<any>, [name: string]: any}} context */
  constructor({ root, newest, trigger, server, upload }) {
    this.root = root;
    this.#newest = newest;
    /** @type {(name: string, data?: object) => any} sends an event to Python */
    this.send = trigger;
    this.server = server;
    this.upload = upload;
  }

  /** The newest value from Python. Who reads it is drawn again when another one comes. */
  get value() {
    return this.#newest.value;
  }

  /** Is called once the template is in the page. */
  ready() {}

  /**
   * Calls `act` with each value that comes from Python, and with the one before, {} at first.
   * @param {(value: any, before: any) => void} act
   */
  onValue(act) {
    let newest = /** @type {any} */ ({});
    const take = (value) => {
      const before = newest;
      newest = value;
      act(value, before);
    };
    onChange(this.root, () => this.value, take);
  }

  /** @returns {any} */
  template() {
    return null;
  }
}

/**
 * Returns the mount function of a component that a View shows.
 * @param {new (context: any) => View} Shown
 */
export const mounts =
  (Shown) =>
  ({ element, ...context }) => {
    const newest = signal(/** @type {any} */ ({})),
      root = element.firstElementChild,
      view = new Shown({ root, newest, ...context });
    show(root, () => view.template());
    view.ready();
    return (/** @type {any} */ value) => {
      newest.value = value ?? {};
    };
  };

/** An element that is made elsewhere, such as a canvas, in a template: html`<${Placed} element=${canvas} />`. */
export class Placed extends Component {
  shouldComponentUpdate({ element }) {
    return element !== this.props.element;
  }
  render({ element }) {
    const put = (/** @type {Element | null} */ holder) => holder?.replaceChildren(element);
    return h("div", { ref: put, style: "display:contents" });
  }
}

/** Joins the classes that apply: classes("tile", isChosen && "on"). */
export const classes = (...names) => names.filter(Boolean).join(" ");

// What a screen reader finds in the canvas: its objects by name, the selected one, and what happens to it.
import { follow, html, show, signal } from "../studio/view.js";

const ID = "object-";

export class ObjectNames {
  names = signal(/** @type {string[]} */ ([]));
  selected = signal("");
  announcement = signal(""); // read out when it changes

  /** `list` is inside the canvas, `say(name)` gives an object's words. */
  constructor(canvas, list, say) {
    show(list, () =>
      this.names.value.map(
        (name, index) => html`<li id="${ID}${index}" aria-current=${name === this.selected.value}>${say(name)}</li>`,
      ),
    );
    follow(canvas, () => {
      const index = this.names.value.indexOf(this.selected.value);
      if (index < 0) canvas.removeAttribute("aria-activedescendant");
      else canvas.setAttribute("aria-activedescendant", ID + index);
    });
  }

  /** Returns the name after or before the selected one, the first without a selection. */
  next(step) {
    const names = this.names.value,
      index = names.indexOf(this.selected.value);
    return names[(index < 0 ? (step > 0 ? 0 : -1) : index + step + names.length) % names.length] ?? names.at(-1) ?? "";
  }
}

// What a screen reader finds in the canvas: its objects by name, the selected one, and what happens to it.
const ID = "object-";

export class ObjectNames {
  /** `list` is inside the canvas, `status` is read out when it changes, `say(name)` gives an object's words. */
  constructor(canvas, list, status, say) {
    Object.assign(this, { canvas, list, status, say, names: [], selected: "" });
  }

  show(names, selected) {
    Object.assign(this, { names, selected });
    this.list.replaceChildren(
      ...names.map((name, index) => {
        const item = document.createElement("li");
        item.id = ID + index;
        item.textContent = this.say(name);
        item.setAttribute("aria-current", String(name === selected));
        return item;
      }),
    );
    const index = names.indexOf(selected);
    if (index < 0) this.canvas.removeAttribute("aria-activedescendant");
    else this.canvas.setAttribute("aria-activedescendant", ID + index);
  }

  announce(text) {
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  /** Returns the name after or before the selected one, the first without a selection. */
  next(step) {
    const { names } = this,
      index = names.indexOf(this.selected);
    return names[(index < 0 ? (step > 0 ? 0 : -1) : index + step + names.length) % names.length] ?? names.at(-1) ?? "";
  }
}

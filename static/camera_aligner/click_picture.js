// A picture that answers clicks in its own pixels, with marks on it and a magnifier under the mouse.
import { fill, h } from "/static/studio/dom.js";

const ZOOM = 4,
  LENS_PX = 132;

export class ClickPicture {
  /** `onClick` gets [u, v]: pixels of the picture, (0, 0) being the centre of the top left one. */
  constructor(title, onClick) {
    this.image = h("img", { alt: title, draggable: "false" });
    this.marks = h("div.marks");
    this.lens = h("div.lens", { hidden: true });
    this.box = h("div.click-picture", {}, this.image, this.marks, this.lens);
    this.element = h("figure", {}, h("figcaption", {}, title), this.box);
    this.shown = [[], null];
    this.box.addEventListener("click", (event) => {
      if (this.image.naturalWidth) onClick(this.#pixel(event).map((value) => Math.round(100 * value) / 100));
    });
    this.box.addEventListener("mousemove", (event) => this.#magnify(event));
    this.box.addEventListener("mouseleave", () => {
      this.lens.hidden = true;
    });
    this.image.addEventListener("load", () => this.mark(...this.shown));
  }

  show(address) {
    if (this.image.src !== address) this.image.src = address;
  }

  /** Draws numbered marks at pixels, and one more without a number. */
  mark(pixels, pending) {
    this.shown = [pixels, pending];
    if (!this.image.naturalWidth) return;
    const mark = ([u, v], text) =>
      h(
        "span.mark",
        {
          style: `left: ${(100 * (u + 0.5)) / this.image.naturalWidth}%; top: ${(100 * (v + 0.5)) / this.image.naturalHeight}%`,
        },
        text,
      );
    fill(
      this.marks,
      pixels.map((pixel, i) => mark(pixel, String(i + 1))),
      pending && mark(pending, "?"),
    );
  }

  #pixel({ clientX, clientY }) {
    const box = this.image.getBoundingClientRect();
    return [
      ((clientX - box.left) / box.width) * this.image.naturalWidth - 0.5,
      ((clientY - box.top) / box.height) * this.image.naturalHeight - 0.5,
    ];
  }

  #magnify({ clientX, clientY }) {
    const box = this.image.getBoundingClientRect();
    const [x, y] = [clientX - box.left, clientY - box.top];
    this.lens.hidden = !this.image.naturalWidth || x < 0 || y < 0 || x > box.width || y > box.height;
    const aside = x < box.width / 2 ? 24 : -24 - LENS_PX;
    this.lens.style.left = `${x + aside}px`;
    this.lens.style.top = `${Math.min(Math.max(y - LENS_PX / 2, 0), box.height - LENS_PX)}px`;
    this.lens.style.backgroundImage = `url("${this.image.src}")`;
    this.lens.style.backgroundSize = `${box.width * ZOOM}px ${box.height * ZOOM}px`;
    this.lens.style.backgroundPosition = `${LENS_PX / 2 - x * ZOOM}px ${LENS_PX / 2 - y * ZOOM}px`;
  }
}

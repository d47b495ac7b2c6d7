// A picture that answers clicks in its own pixels, with marks on it and a magnifier under the mouse.
import { html, signal } from "/static/studio/view.js";

const ZOOM = 4,
  LENS_PX = 132;

export class ClickPicture {
  address = signal("");
  size = signal(/** @type {number[] | null} */ (null)); // in pixels, once it is loaded
  lens = signal(/** @type {string | null} */ (null)); // its style, while it is shown

  /** `onPick` gets [u, v]: pixels of the picture, (0, 0) being the centre of the top left one. */
  constructor(title, onPick) {
    this.title = title;
    this.onPick = onPick;
  }

  /** Shows numbered marks at pixels, and one more without a number; `more` stands below. */
  template(pixels, pending, more = null) {
    const load = ({ target }) => (this.size.value = [target.naturalWidth, target.naturalHeight]);
    return html`<figure>
      <figcaption>${this.title}</figcaption>
      <div class="click-picture" onclick=${(event) => this.pick(event)} onmousemove=${(event) => this.magnify(event)}
        onmouseleave=${() => (this.lens.value = null)}>
        <img src=${this.address.value || undefined} alt=${this.title} draggable=${false} onload=${load} />
        <div class="marks">
          ${pixels.map((pixel, i) => this.mark(pixel, i + 1))}
          ${pending && this.mark(pending, "?")}
        </div>
        <div class="lens" hidden=${!this.lens.value} style=${this.lens.value} />
      </div>
      ${more}
    </figure>`;
  }

  mark([u, v], text) {
    if (!this.size.value) return null;
    const [width, height] = this.size.value;
    return html`<span class="mark" style=${`left: ${(100 * (u + 0.5)) / width}%; top: ${(100 * (v + 0.5)) / height}%`}>
      ${text}</span>`;
  }

  pick({ currentTarget, clientX, clientY }) {
    const image = currentTarget.querySelector("img"),
      { left, top, width, height } = image.getBoundingClientRect();
    if (!image.naturalWidth) return;
    const pixel = [
      ((clientX - left) / width) * image.naturalWidth - 0.5,
      ((clientY - top) / height) * image.naturalHeight - 0.5,
    ];
    this.onPick(pixel.map((value) => Math.round(100 * value) / 100));
  }

  magnify({ currentTarget, clientX, clientY }) {
    const { left, top, width, height } = currentTarget.querySelector("img").getBoundingClientRect(),
      [x, y] = [clientX - left, clientY - top],
      isOutside = !this.size.value || x < 0 || y < 0 || x > width || y > height,
      aside = x < width / 2 ? 24 : -24 - LENS_PX,
      above = Math.min(Math.max(y - LENS_PX / 2, 0), height - LENS_PX);
    this.lens.value = isOutside
      ? null
      : `left: ${x + aside}px; top: ${above}px; background-image: url("${this.address.value}");
        background-size: ${width * ZOOM}px ${height * ZOOM}px;
        background-position: ${LENS_PX / 2 - x * ZOOM}px ${LENS_PX / 2 - y * ZOOM}px`;
  }
}

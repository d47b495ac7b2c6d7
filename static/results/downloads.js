// Downloads of what the studio writes when it is asked for, which may take a minute: each says so at once, and stops.
import { t } from "/static/studio/texts.js";
import { classes, html, signal } from "/static/studio/view.js";

const NAME = /filename\*=utf-8''([^;]+)|filename="([^"]+)"/i;

export class Downloads {
  running = signal(/** @type {Record<string, AbortController>} */ ({})); // by address
  problem = signal({ address: "", text: "" }); // of the last one

  link({ address, label, isPrimary = false }) {
    const stop = this.running.value[address];
    if (stop) {
      return html`<button class="studio-button" onclick=${() => stop.abort()} title=${t("Stop: {label}", { label })}>
        <i class="spin" aria-hidden="true"></i> ${t("Writing… Stop")}</button>`;
    }
    const start = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.fetch(address);
    };
    return html`<a class=${classes("studio-button", isPrimary && "primary")} href=${address} download=""
      onclick=${start}>${label}</a>`;
  }

  /** Why the last one failed, if it was one of these formats. */
  fault(formats) {
    const { address, text } = this.problem.value;
    return text && formats.some((one) => one.address === address) && html`<p class="fault" role="alert">${text}</p>`;
  }

  async fetch(address) {
    const stop = new AbortController();
    this.problem.value = { address, text: "" };
    this.running.value = { ...this.running.value, [address]: stop };
    try {
      const answer = await fetch(address, { signal: stop.signal });
      if (!answer.ok) throw new Error(await answer.text());
      save(await answer.blob(), nameIn(answer) ?? address.split("/").pop());
    } catch (error) {
      if (!stop.signal.aborted) this.problem.value = { address, text: /** @type {Error} */ (error).message };
    }
    const { [address]: _, ...others } = this.running.value;
    this.running.value = others;
  }
}

function nameIn(answer) {
  const [, encoded, plain] = NAME.exec(answer.headers.get("content-disposition") ?? "") ?? [];
  return encoded ? decodeURIComponent(encoded) : plain;
}

function save(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

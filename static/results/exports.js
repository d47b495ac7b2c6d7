// What can be taken out of the project: files in several formats, and videos.
import { t } from "/static/studio/texts.js";
import { html } from "/static/studio/view.js";

const BUTTONS = { zip: t("Download zip"), html: t("Share as web page"), mp4: t("Share as video") };

/** `chosen` is a signal of the name of the format that a person chose, `downloads` fetches them. */
export function exportBox({ exports, video: film, solved, failure }, chosen, downloads) {
  return html`<div class="panel box">
    <h3>${t("Export")}</h3>
    <div class="links">
      ${exports
        .filter(({ name }) => BUTTONS[name])
        .map(({ name, address }, index) => downloads.link({ address, label: BUTTONS[name], isPrimary: !index }))}
      ${film && html`<a class="studio-button" href=${film} download="solution.mp4">${t("Download video")}</a>`}
    </div>
    ${formatMenu(
      exports.filter(({ name }) => !BUTTONS[name]),
      chosen,
      downloads,
    )}
    ${downloads.fault(exports)}
    <p class="faint">
      ${
        exports.length
          ? t("The zip contains MJCF, meshes, task, code, solution and a README on how to run it.")
          : t("Available when the twin is ready.")
      }</p>
    ${film && solved && html`<p class="caption">${t("✓ First solved seed")}</p>`}
    ${film && video(film, t("Video of the solution"))}
    ${failure?.video && failureVideo(failure)}
  </div>`;
}

const video = (src, name) => html`<video src=${src} aria-label=${name} controls muted preload="metadata" />`;

function failureVideo({ seed, instant, video: film }) {
  const failure_time = instant === null ? "" : t(", at {instant} s", { instant: instant.toFixed(1) });
  return html`<p class="caption">${t("✕ First failed seed: {seed}{failure_time}", { seed, failure_time })}</p>
    ${video(film, t("Video of the first failed seed"))}`;
}

function formatMenu(formats, chosen, downloads) {
  const about = formats.find((format) => format.name === chosen.value) ?? formats[0];
  if (!about) return null;
  const { name, missing, address, holds, lacks } = about,
    download = t("Download {name}", { name });
  return html`<div class="formats flow">
    <select aria-label=${t("Export format")} value=${name} onchange=${({ target }) => (chosen.value = target.value)}>
      ${formats.map((format) => html`<option value=${format.name} key=${format.name}>${format.title}</option>`)}
    </select>
    ${
      missing
        ? html`<button class="studio-button" disabled title=${missing}>${download}</button>`
        : downloads.link({ address, label: download })
    }
    <p class="faint"><strong>${t("Contains:")} </strong>${holds || t("see its package")}</p>
    ${lacks && html`<p class="faint"><strong>${t("Not included:")} </strong>${lacks}</p>`}
    ${missing && html`<p class="faint"><strong>${t("Not available:")} </strong>${missing}</p>`}
  </div>`;
}

// The recording that the twin follows: started and stopped here, played in the viewer, what happened in a list, and any
// instant of it made a project.
import { uploadFiles } from "/static/studio/dropped_files.js";
import { hear } from "/static/studio/page_events.js";
import { fileButton } from "/static/studio/parts.js";
import { t } from "/static/studio/texts.js";
import { classes, html, mounts, signal, View } from "/static/studio/view.js";

const SENDS = { "data-sends": "track-panel.follow" };

class TrackPanel extends View {
  sending = signal(""); // what the upload is doing, or why it failed
  time = signal(0); // seconds, of the frame that the viewer shows
  log = signal([]); // the robot's log of the recording, [{file, name}], if a person chose one

  constructor(context) {
    super(context);
    this.frame = `#${context.props.viewer} iframe`;
    hear(this.root, window, "message", ({ source, origin, data }) => {
      if (source === this.viewer && origin === location.origin && data.type === "time") this.time.value = data.time;
    });
  }

  get viewer() {
    return /** @type {HTMLIFrameElement} */ (document.querySelector(this.frame))?.contentWindow;
  }

  async choose(files) {
    const first = Number(/** @type {HTMLInputElement} */ (this.root.querySelector("input[type=number]")).value);
    const tell = (done, of) => (this.sending.value = t("Uploading file {n} of {of} …", { n: done + 1, of }));
    try {
      const sent = await uploadFiles([...files, ...this.log.value], this.upload, tell, "grs-studio track");
      this.sending.value = "";
      this.log.value = [];
      this.send("follow", { files: sent.slice(0, files.length), first, log: sent.slice(files.length) });
    } catch (error) {
      this.sending.value = /** @type {Error} */ (error).message;
    }
  }

  template() {
    const { job, track, shown, first } = this.value;
    if (first === undefined) return null;
    const isActive = ["waiting", "running"].includes(job?.state);
    return html`${isActive ? this.progress(job) : this.start()}
      ${job?.state === "failed" && html`<p class="fault" role="alert">${job.message}</p>`}
      ${track && this.track(track, shown)}`;
  }

  progress({ state, message }) {
    return html`<p class="row" role="status">
      <span>${state === "waiting" ? t("Waiting for another recording …") : message || t("Opening the recording …")}</span>
      <button class="studio-button" data-sends="track-panel.stop" onclick=${() => this.send("stop")}>${t("Stop")}</button>
    </p>`;
  }

  start() {
    const { recording, first } = this.value;
    return html`<p class="row">
      ${
        recording &&
        html`<button class="studio-button" data-sends="track-panel.follow"
          onclick=${() => this.choose([])}>${t("Follow {recording} from frame {first}", { recording, first })}</button>`
      }
      ${fileButton(t("Follow a recording …"), (files) => this.choose(files), { multiple: true }, SENDS)}
      <label>${t("of which this is frame")} <input type="number" min="0" value=${first} /></label>
      ${fileButton(
        this.log.value[0]?.name ?? t("The robot's log …"),
        (files) => (this.log.value = files),
        { multiple: true },
        {
          ...SENDS,
          title: t(
            "With a log of the robot that begins with the recording, Compare sets it beside solutions and rounds",
          ),
        },
      )}
      <span role="status">${this.sending.value}</span>
    </p>`;
  }

  track(track, shown) {
    return html`<p class="row">
        <strong>${t("{recording}, {seconds} s", track)}</strong>
        <button class="studio-button" data-sends="track-panel.show" aria-pressed=${shown}
          onclick=${() => this.send("show", { on: !shown })}>${shown ? t("Show the twin") : t("Show it moving")}</button>
        ${
          shown &&
          html`<button class="studio-button" data-sends="track-panel.instant"
            title=${t("A project of the frame at {time} s", { time: this.time.value.toFixed(1) })}
            onclick=${() => this.send("instant", { project: this.value.project, time: this.time.value })}>${t("Project of this instant")}</button>`
        }
        ${track.is_earlier && html`<span>${t("in an earlier twin")}</span>`}
      </p>
      ${track.doubts.map((doubt) => html`<p class="doubt">${doubt}</p>`)}
      ${shown && html`<ol>${track.events.map((event) => this.event(event))}</ol>`}`;
  }

  event({ time, text, is_lost }) {
    const seek = () => this.viewer?.postMessage({ type: "seek", time }, location.origin);
    return html`<li><button class=${classes("event", is_lost && "lost")} onclick=${seek}>
      <span>${time.toFixed(1)} s</span> ${text}</button></li>`;
  }
}

export default mounts(TrackPanel);

// What other parts of the page show in the viewers, and what the viewers share.
import { signal } from "/static/studio/view.js";

/** The check that is hovered anywhere on the page: its quantity is drawn on the viewers' timelines. "" for none. */
export const measuredCheck = signal("");

/** Poses by name of where objects are to be, while the task builder is open; else null. */
export const ghosts = signal(/** @type {Record<string, number[]> | null} */ (null));

/** The camera that a person moved last, {sender, cameras, position, target}: viewers of the same cameras follow it. */
export const movedCamera = signal(/** @type {any} */ (null));

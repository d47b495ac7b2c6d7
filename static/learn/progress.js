// What a training, evaluation or ablation is doing, as a sentence.
import { t } from "/static/studio/texts.js";

// `title` is that of the subtask that is learned now.
export function progressText(job, title) {
  if (job.state === "waiting") return t("Waiting for another training");
  if (job.doing === "reflect") return t("{title}: asking the model for a better reward", { title });
  if (job.kind === "ablation") return job.message || t("Starting");
  if (job.kind === "evaluate" || job.doing === "measure") return t("Playing the policies on unseen layouts");
  if (job.doing === "seams") return t("Playing the policies one after the other");
  if (job.finished) return t("{title}: learned; playing it to see where the next one begins", { title });
  if (job.steps) {
    const [steps, limit] = [job.steps.toLocaleString(), job.limit.toLocaleString()];
    return t("{title}: {steps} of at most {limit} steps", { title, steps, limit });
  }
  if (job.imitated)
    return t("{title}: imitates the oracle, {n} demonstrations and corrections so far", { title, n: job.imitated });
  if (job.subtask) return t("{title}: drawing layouts to begin from", { title });
  return t("Starting");
}

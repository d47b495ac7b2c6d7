"""The training of policies for the subtasks of a task, as a page over the whole window."""

from components.component import Component


class LearnPage(Component):
    """Value: {project, may_work}: the open project's token, "" without one.

    Requests are {token, kind, ...}; the answer has "error" if one failed. Kind status, and train {subtask, steps,
    demonstrations, skills, from_reset}, evaluate {layouts}, ablation {seeds}, fix {subtask}, edit {subtask, change,
    index, weight, row}, and reflect {subtask} and take {subtask}, which ask for a better reward and take it, are
    answered by {install, asks, task, fault, preparing, subtasks: [{name, title, instruction, start, success: [text],
    reward: [{text, weight}], addable_terms, addable_goals, way, learned, steps, seconds, validation, measured, curve,
    checkpoints, shortcut, proposal: {model, reason, reward}, failures: [{layout, time, text}]}], chain, whole,
    ablation, job: {kind, state, message, subtask, steps, limit, seconds, left}}. Kind episodes {subtask, steps} is
    answered by {episodes}; play {subtask, steps, layout, time} by {view, layout, success, reward, times, terms, misses,
    failed_at}. Event: `changed` after an edit.
    """

    folder, event_names = "learn", ("changed",)
    patterns = ("fault", "form_field", "full_page", "link", "progress", "section_title", "spinner")

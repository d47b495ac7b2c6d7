"""The evaluation of policies on the same conditions, as a page over the whole window."""

from components.component import Component


class EvaluatePage(Component):
    """Value: {project, may_work, may_run_code}: the open project's token, "" without one.

    Requests are {token, kind, ...}; the answer has "error" if one failed. Kind status, and start {policies, count,
    seed, uncertainty}, add_log {condition, files: [{path, name}]} and remove_log {condition} are answered by
    {task, can_learned, job: {state, message}, shown: {is_present, seed, conditions: [id], policies: [{name, cells:
    [{success, seconds, failure, reason} or null]}], real: [{file, seconds, success or null, reason} or null], words:
    [sentence], report}}. Kind play {condition} is answered by {condition, values, panes: [{name, title, token,
    is_real, note, events: [[seconds, name]]}]}. Kind differences {condition, first, second}, names of policies or ""
    for the real log, is answered by {result: {comparison, curves, joints}} as ComparePage has it. Kind make_project
    {condition} makes a project of a condition, answered by {name, title}; unmake_project {name} moves it to the bin.
    The report is at /project/<token>/evaluation.html.
    """

    folder = "evaluate"
    patterns = (
        "fault", "form_field", "full_page", "link", "panes", "plots", "progress", "section_title",
        "select", "spinner",
    )  # fmt: skip

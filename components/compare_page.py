"""The comparison of two episodes, as a page over the whole window."""

from components.component import Component


class ComparePage(Component):
    """Value: {page_token, project, name, episodes: [{source, title}]}: the open project's token and name, "" without
    one, and its episodes.

    Requests are {page_token, kind, ...}; the answer has "error" if one failed. Kinds: sample {align}; compare {align,
    real, sim, robot}, the last three being [{path, name}] each, or {project, source} for an episode of a project; again
    {job, align}; status {job}. Each is answered by {job, state, message}, and, once `state` is "done",
    {titles, views: {real, sim, ghost}, note, has_robot, result: {comparison, curves, joints}}. Kind pictures {job} is
    answered by {job, pictures}: null while they are drawn, then [{real, sim}] of the events as data URLs or null. The
    report is at /compare/<job>/report.html.
    """

    folder = "compare"
    patterns = (
        "fault",
        "form_field",
        "full_page",
        "link",
        "panes",
        "plots",
        "progress",
        "section_title",
        "spinner",
    )

"""The calls of a project to language models."""

from components.component import Component


class TraceView(Component):
    """Value: {token, stages: [{stage, title, groups: [{about, calls: [{id, title, about, state, is_retry, seconds,
    error}]}]}], totals: {calls, failed, tokens, cost, seconds}}; the last three are {sum, known, missing}.

    state is "answered", "failed", "running" or "interrupted".

    Requests are {token, kind, id}, answered with {error} if one fails: call gives everything of one call, live the text
    that has arrived, snippet a program; cancel stops the call; retry {text} asks it again, and the new call comes with
    the next value; compare {ids} gives {titles, rows}. Events: `act` {kind, id} for what is to be done about a failure,
    `changed` when a question was asked.
    """

    folder, event_names = "trace_view", ("act", "changed")
    patterns = ("code", "fault", "list_row", "progress", "section_title", "tabs")


class Failures(Component):
    """Value: {failures: [{id, title, about, error, remedies: [{kind, label, title}]}]}.

    Event: `act` {kind, id}. The raw reply and the editor of the prompt open in the drawer.
    """

    folder, event_names = "failures", ("act",)

"""What a project's models were asked and answered."""

from collections.abc import Callable
from typing import Any

from components.component import Component


class TraceView(Component):
    """{token, stages: [{stage, title, groups: [{about, calls: [{id, title, about, state, again, seconds, error}]}]}],
    totals: {calls, failed, tokens, cost, seconds}}, the last three {sum, told, untold}.

    state is "answered", "failed", "running" or "lost". It asks `answer` outside Gradio's queue, {token, kind, id}:
    call gives all of one call, live the text that has arrived, snippet a program; cancel stops it, again {text} asks it
    anew, the new call comes with the next value; compare {ids} gives {titles, rows}; each gives {error} where it
    cannot. It tells `act` {kind, id} for what is to be done about a failure, and `changed` when something was asked.
    """

    folder, tells = "trace_view", ("act", "changed")

    def __init__(self, answer: Callable[[dict], dict], value: Any = None, **settings: Any):
        def ask(request: dict) -> dict:
            return answer(request)

        super().__init__(value, server_functions=[ask], **settings)


class Failures(Component):
    """{failures: [{id, title, about, error, remedies: [{kind, label, title}]}], asks: {name, takes}}, one line each.

    Tells `act` {kind, id}, and `agree` where a model is asked only once a person knows what that takes. The raw reply
    and the edit of the prompt are opened in the drawer.
    """

    folder, tells = "failures", ("act", "agree")

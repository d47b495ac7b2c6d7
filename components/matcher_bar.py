"""Which matcher decides, and how well each does on labelled frames."""

from collections.abc import Callable
from typing import Any

from components.component import Component


class MatcherBar(Component):
    """{token, door, chosen, matchers: [{name, title, about, unavailable}], note, library}; `note` says why another
    matcher stands in for the chosen one, `library` names what is searched.

    It tells `choose` {name}. It asks `answer` outside Gradio's queue, always {door, kind}: plan {frames, truth,
    libraries, masks, matchers} and start with the same; state, stop; download {form: "csv" or "json"}, in base64.
    State is {running, done, of, said, error, table: {head, lines: [{matcher, title, unavailable, exact, category,
    kept, seconds, asked}]} or null}; exact and category are {f1, low, high, first, five}.
    """

    folder, tells = "matcher_bar", ("choose",)

    def __init__(self, answer: Callable[[dict], dict], value: Any = None, **settings: Any):
        def ask(request: dict) -> dict:
            return answer(request)

        super().__init__(value, server_functions=[ask], **settings)

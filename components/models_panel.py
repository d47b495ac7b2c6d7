"""Which model answers, in one place."""

from collections.abc import Callable
from typing import Any

from components.component import Component


class ModelsPanel(Component):
    """{door, token, settings, key_from, overruled, spent, record, own_record, prompts: [{kind, title, changed}]}.

    The key never comes back to the page: key_from says only where it is, "typed", "environment" or "". It asks
    `answer` outside Gradio's queue, always {door, token, kind}: use {settings, key}, forget key, estimate {settings},
    test {settings, key}, findings {test}, stop test, prompt {name}, keep prompt {name, text}, our prompt {name}. It
    tells `changed` when another model answers from now on.
    """

    folder, tells = "models_panel", ("changed",)

    def __init__(self, answer: Callable[[dict], dict], value: Any = None, **settings: Any):
        def ask(request: dict) -> dict:
            return answer(request)

        super().__init__(value, server_functions=[ask], **settings)

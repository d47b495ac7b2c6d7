"""The one seam around every model: a question goes in, a checked value comes out.

`choose` makes the model that settings or a name stand for, at start-up or anew from the Models panel. Nothing here
imports a client before it is needed.
"""

import os
from pathlib import Path

from pipeline.models.model import (
    CallCancelled,
    Model,
    ModelError,
    Question,
    Stopped,
    Wish,
    label_of,
    reads,
    sees,
    source_of,
)
from pipeline.models.settings import ModelSettings, named

__all__ = [
    "CallCancelled", "Model", "ModelError", "ModelSettings", "Question", "Stopped", "Wish", "choose", "label_of",
    "reads", "sees", "source_of",
]  # fmt: skip


def choose(
    which: ModelSettings | str, key: str = "", prompts: Path | None = None, timeout: float | None = None
) -> Model:
    """The model of these settings, or of a name: "offline", "openai", "replay:TRACE", all else from the environment.

    `key` is the server's, empty for OPENAI_API_KEY; `prompts` a folder whose prompts win over our own; `timeout`
    is seconds for one call and wins over the environment. Raises ModelError.
    """
    settings = _named(which, timeout) if isinstance(which, str) else which
    if settings.service == "openai":
        from pipeline.models.openai_client import OpenAIModel

        return OpenAIModel(settings, key or os.environ.get("OPENAI_API_KEY", ""), prompts)
    if settings.service == "replay":
        from pipeline.models.replay import ReplayModel

        return ReplayModel(Path(settings.trace))
    from pipeline.models.rules import RulesModel

    return RulesModel()


def _named(name: str, timeout: float | None) -> ModelSettings:
    if name not in ("offline", "openai") and not name.startswith("replay:"):
        raise ModelError(f"There is no model '{name}'; choose offline, openai, or replay:TRACE.")
    chosen = named(name)
    if name == "openai":
        del chosen["model"]  # the environment names it
    return ModelSettings.from_environment(None, timeout=timeout, **chosen)

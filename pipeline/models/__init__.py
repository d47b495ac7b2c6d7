"""The one seam around every model: a question goes in, a checked value comes out.

`open_model` makes the model that settings choose, once at start-up or anew from the Models panel. Nothing here imports
a client before it is needed.
"""

import os
from pathlib import Path

from pipeline.models.model import Model, ModelError, Question, Stopped, label_of, sees, source_of
from pipeline.models.settings import ModelSettings, named

__all__ = [
    "Model", "ModelError", "ModelSettings", "Question", "Stopped", "choose", "label_of", "open_model", "sees",
    "source_of",
]  # fmt: skip


def open_model(settings: ModelSettings, key: str = "", prompts: Path | None = None) -> Model:
    """The model of these settings. `key` is the server's, empty for OPENAI_API_KEY; `prompts` a folder that wins
    over our own. Raises ModelError."""
    if settings.service == "openai":
        from pipeline.models.openai_client import OpenAIModel

        return OpenAIModel(settings, key or os.environ.get("OPENAI_API_KEY", ""), prompts)
    if settings.service == "replay":
        from pipeline.models.replay import ReplayModel

        return ReplayModel(Path(settings.trace))
    from pipeline.models.rules import RulesModel

    return RulesModel()


def choose(name: str, timeout: float | None = None, prompts: Path | None = None) -> Model:
    """The model of that name: "offline", "openai", or "replay:TRACE"; all else from the environment."""
    if name not in ("offline", "openai") and not name.startswith("replay:"):
        raise ModelError(f"There is no model '{name}'; choose offline, openai, or replay:TRACE.")
    chosen = named(name)
    if name == "openai":
        del chosen["model"]  # the environment names it
    return open_model(ModelSettings.from_environment(None, timeout=timeout, **chosen), prompts=prompts)

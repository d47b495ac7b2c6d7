"""The one seam around every model: a question goes in, a checked value comes out.

`choose` picks the model once, at start-up. Nothing here imports a client before it is needed.
"""

import os
from pathlib import Path

from pipeline.models.model import Model, ModelError, Question

__all__ = ["Model", "ModelError", "Question", "choose"]


def choose(name: str, timeout: float = 60.0, prompts: Path | None = None) -> Model:
    """The model of that name: "offline", "openai", or "replay:TRACE".

    "openai" is any server that speaks its API: GRS_MODEL names the model, GRS_BASE_URL the server, OPENAI_API_KEY the
    key. `timeout` is seconds for one call; `prompts` a folder whose files win over our own. Raises ModelError.
    """
    if name == "offline":
        from pipeline.models.rules import RulesModel

        return RulesModel()
    if name == "openai":
        from pipeline.models.openai_client import OpenAIModel

        settings = (os.environ.get(key, "") for key in ("GRS_MODEL", "GRS_BASE_URL", "OPENAI_API_KEY"))
        return OpenAIModel(*settings, timeout=timeout, prompts=prompts)
    if name.startswith("replay:"):
        from pipeline.models.replay import ReplayModel

        return ReplayModel(Path(name.removeprefix("replay:")))
    raise ModelError(f"There is no model '{name}'; choose offline, openai, or replay:TRACE.")

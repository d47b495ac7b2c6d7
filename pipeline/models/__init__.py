"""Language and vision models behind one interface: a question in, a validated answer out."""

from collections.abc import Callable
from pathlib import Path

from pipeline.models.destination import check_policy
from pipeline.models.model import (
    AnswerOverride,
    CallCancelled,
    Model,
    ModelError,
    Question,
    StageCancelled,
    has_language,
    has_vision,
    label_of,
    sends_picture,
    source_of,
)
from pipeline.models.settings import ModelSettings, service_from_name
from pipeline.secret_environment import KEY_VARIABLE, environment_value

__all__ = [
    "AnswerOverride", "CallCancelled", "Model", "ModelError", "ModelSettings", "Question", "StageCancelled",
    "has_language", "has_vision", "label_of", "open_model", "sends_picture",
    "source_of",
]  # fmt: skip


def open_model(
    settings: ModelSettings | str,
    offline: Callable[[], Model],
    key: str = "",
    prompts: Path | None = None,
    timeout: float | None = None,
) -> Model:
    """Return the model for some settings, or for a name. Imports a client only when it is needed. Raises ModelError.

    Args:
        settings: Settings, or "offline", "openai" or "replay:TRACE" with all else from the environment.
        offline: Makes the model for the service "offline".
        key: The server's key; empty for OPENAI_API_KEY.
        prompts: Folder whose files override the built-in prompts.
        timeout: Seconds for one call, for a name; overrides the environment.
    """
    if isinstance(settings, str):
        settings = _settings_for(settings, timeout)
    if settings.service == "openai":
        from pipeline.models.client.openai_client import OpenAIModel

        model = OpenAIModel(settings, key or environment_value(KEY_VARIABLE), prompts)
        check_policy(model)
        return model
    if settings.service == "replay":
        from pipeline.models.trace.replay import ReplayModel

        return ReplayModel(Path(settings.trace))
    return offline()


def _settings_for(name: str, timeout: float | None) -> ModelSettings:
    if name not in ("offline", "openai") and not name.startswith("replay:"):
        raise ModelError(f"There is no model '{name}'; choose offline, openai, or replay:TRACE.")
    fields = service_from_name(name)
    if name == "openai":
        del fields["model"]  # the environment names it
    return ModelSettings.from_environment(None, timeout=timeout, **fields)

"""A model as one stage uses it: named after the model that answers there, with what it is shown of the scene."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from pydantic import BaseModel

from pipeline.models.model import Model, Question, has_language, has_vision, sends_picture, source_of


@dataclass(frozen=True, eq=False)
class SceneContext:
    """What a model is shown of a scene, besides its measurements."""

    notes: Mapping[str, str] = field(default_factory=dict)
    """By object name: its number in the photograph, its description, its matched asset and the asset's description."""
    pictures: tuple[np.ndarray, ...] = ()
    """The photograph with numbered objects, (H, W, 3), uint8; none for a model without vision."""
    picture_key: str = ""
    """Hash of what the pictures were made from."""


class StageModel:
    """Wrapper around a model that adds the scene's pictures to each question that the settings send them with."""

    def __init__(self, model: Model, kind: str, context: SceneContext | None = None):
        """`kind` is a kind of question that the stage asks."""
        self.name, self.has_vision = source_of(model, kind), has_vision(model)
        self.has_language, self.kinds = has_language(model), getattr(model, "kinds", None)
        self._model, self._context = model, context or SceneContext()

    def ask(self, question: Question) -> BaseModel:
        """Return the model's answer. Raises ModelError."""
        if self._context.pictures and sends_picture(self._model, question.kind):
            question = replace(question, pictures=self._context.pictures, picture_key=self._context.picture_key)
        return self._model.ask(question)

"""A model as one stage uses it: named after the model that answers there, with the pictures that the stage adds."""

from dataclasses import replace

import numpy as np
from pydantic import BaseModel

from pipeline.models.model import Model, Question, has_language, has_vision, source_of


class StageModel:
    """Wrapper around a model that adds pictures to each question."""

    def __init__(self, model: Model, kind: str, pictures: tuple[np.ndarray, ...] = (), picture_key: str = ""):
        """`kind` is a kind of question that the stage asks; `pictures` and `picture_key` are added to each question."""
        self.name, self.has_vision = source_of(model, kind), has_vision(model)
        self.has_language = has_language(model)
        self._model, self._pictures, self._picture_key = model, pictures, picture_key

    def ask(self, question: Question) -> BaseModel:
        """Return the model's answer. Raises ModelError."""
        if self._pictures:
            question = replace(question, pictures=self._pictures, picture_key=self._picture_key)
        return self._model.ask(question)

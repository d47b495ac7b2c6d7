"""A model as one stage asks it: under the name of who answers there, with the pictures that the stage shows."""

from dataclasses import replace

import numpy as np
from pydantic import BaseModel

from pipeline.models.model import Model, Question, sees, source_of


class AskedBy:
    def __init__(self, model: Model, kind: str, pictures: tuple[np.ndarray, ...] = (), shows: str = ""):
        """`kind` is one that the stage asks; `pictures` and `shows` go along with each of its questions."""
        self.name, self.sees = source_of(model, kind), sees(model)
        self._model, self._pictures, self._shows = model, pictures, shows

    def ask(self, question: Question) -> BaseModel:
        """Raises ModelError."""
        if self._pictures:
            question = replace(question, pictures=self._pictures, shows=self._shows)
        return self._model.ask(question)

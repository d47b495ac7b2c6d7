"""The one seam around every model, of language, vision or rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from pydantic import BaseModel

from pipeline.errors import StudioError


class ModelError(StudioError):
    """A model that cannot be reached or whose answer cannot be used. Never counts for or against a program."""

    def __init__(self, message: str, raw: str = ""):
        super().__init__(message)
        self.raw = raw
        """The reply as it came, for a person to read."""


@dataclass(frozen=True, eq=False)
class Question:
    """One question of the method."""

    kind: str
    """Names the prompt, models/prompts/<kind>.md, and the rule that answers offline: "describe_segment",
    "propose_tasks", "understand_task", "write_program", "route", "repair_simulation", "repair_checks"."""
    data: Mapping[str, Any]
    """Fills the prompt's holes; JSON values. What the offline rules reason on."""
    answer: type[BaseModel]
    pictures: tuple[np.ndarray, ...] = ()
    """Each of shape (H, W, 3), uint8."""
    about: str = ""
    """Object or round the question is about, for the trace."""


class Model(Protocol):
    name: str
    """Shown as the source of its answers: "rules", "gpt-...", "replay of ..."."""

    def ask(self, question: Question) -> BaseModel:
        """An instance of question.answer. Raises ModelError."""
        ...

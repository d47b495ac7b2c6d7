"""The one seam around every model, of language, vision or rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import BaseModel

from pipeline.errors import StudioError

Service = Literal["offline", "openai", "replay"]
Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh"]
STAGE_OF = {
    "describe_segment": "descriptions",
    "describe_asset": "matches",
    "choose_match": "matches",
    "match_text": "matches",
    "match_image": "matches",
    "match_image_text": "matches",
    "weigh_object": "scene",
    "propose_tasks": "task",
    "understand_task": "task",
    "write_program": "rounds",
    "route": "rounds",
    "repair_simulation": "rounds",
    "repair_checks": "rounds",
}
"""Every kind of question, and the stage of a project that asks it."""
CODE = ("write_program", "route", "repair_simulation", "repair_checks")
"""Kinds that are put to the model for code."""


class ModelError(StudioError):
    """A model that cannot be reached or whose answer cannot be used. Never counts for or against a program."""

    def __init__(self, message: str, raw: str = ""):
        super().__init__(message)
        self.raw = raw
        """The reply as it came, for a person to read."""


class CallCancelled(ModelError):
    """A person cancelled this one call; its connection is closed."""


class Stopped(CallCancelled):
    """A person stopped the whole work that the call was part of."""


@dataclass(frozen=True, eq=False)
class Question:
    """One question of the method."""

    kind: str
    """Names the prompt, models/prompts/<kind>.md, and the rule that answers offline: a key of STAGE_OF."""
    data: Mapping[str, Any]
    """Fills the prompt's holes; JSON values. What the offline rules reason on."""
    answer: type[BaseModel]
    pictures: tuple[np.ndarray, ...] = ()
    """Each of shape (H, W, 3), uint8."""
    must_see: bool = False
    """An answer without having seen the pictures is worth nothing: a model that cannot is not asked."""
    about: str = ""
    """Object or round the question is about, for the trace: "object 3", "round 2"."""
    shows: str = ""
    """A hash of what the pictures were made from, the same on every machine; empty: the pixels themselves count."""
    attempt: int = 0
    """How often a person asked it anew: another question for the memo and the record, the same one for the model."""
    wording: str = ""
    """A person's own text in the place of the filled prompt; empty for the prompt."""


@dataclass(frozen=True)
class Wish:
    """What a person wants of one question, after seeing how it was answered."""

    attempt: int = 0
    """How often it was asked anew."""
    wording: str = ""
    """The person's own text for it."""
    measured: bool = False
    """The measured answer instead of the model's."""


class Model(Protocol):
    name: str
    """Shown as the source of its answers: "rules", "gpt-..."."""

    def ask(self, question: Question) -> BaseModel:
        """An instance of question.answer. Raises ModelError."""
        ...


def source_of(model: Model, kind: str) -> str:
    """Name of the model that answers this kind of question, where several do."""
    named = getattr(model, "source_of", None)
    return named(kind) if named else model.name


def sees(model: Model) -> bool:
    """Whether a model looks at pictures, so that it is asked what objects are and what they match."""
    return bool(getattr(model, "sees", False))


def reads(model: Model) -> bool:
    """Whether a model understands words: written rules answer only the questions that they were written for."""
    return bool(getattr(model, "reads", True))


def label_of(model: Model) -> str:
    """What the app calls a model: its name, but for a replay, whose answers are another's."""
    return getattr(model, "label", model.name)

"""Interface to every model: questions, errors, and the Model protocol."""

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
    "find_missed": "descriptions",
    "weigh_object": "descriptions",
    "describe_asset": "matches",
    "choose_match": "matches",
    "match_text": "matches",
    "match_image": "matches",
    "match_image_text": "matches",
    "match_paper": "matches",
    "propose_tasks": "task",
    "judge_task": "task",
    "understand_task": "task",
    "write_program": "rounds",
    "route": "rounds",
    "repair_simulation": "rounds",
    "repair_checks": "rounds",
    "decompose_task": "learning",
    "reflect_reward": "learning",
}
"""The stage of a project that asks each kind of question; "learning" is none, and is asked by `grs-studio learn`."""
PICTURED_KINDS = ("propose_tasks", "understand_task", "write_program", "route", "repair_simulation", "repair_checks")
"""Kinds that may get the photograph with numbered objects, and can be answered without it."""
CODE_KINDS = ("write_program", "route", "repair_simulation", "repair_checks")
"""Kinds that the code model answers, if one is set."""


class ModelError(StudioError):
    """A model cannot be reached or its answer cannot be used. Never counts for or against a program."""

    def __init__(self, message: str, raw: str = ""):
        super().__init__(message)
        self.raw = raw
        """The raw reply, for a person to read."""


class CallCancelled(ModelError):
    """The user cancelled this call."""


class StageCancelled(CallCancelled):
    """The user cancelled the stage that the call belongs to."""


@dataclass(frozen=True, eq=False)
class Question:
    """One question to a model."""

    kind: str
    """A key of STAGE_OF; names the prompt, models/prompts/<kind>.md, and the rule that answers offline."""
    data: Mapping[str, Any]
    """JSON values for the prompt's holes, and the input of the offline rules."""
    answer_type: type[BaseModel]
    """Type of the answer; its JSON schema is part of the prompt."""
    pictures: tuple[np.ndarray, ...] = ()
    """Each of shape (H, W, 3), uint8."""
    needs_vision: bool = False
    """Whether an answer without the pictures is useless; a model without vision is then not asked."""
    subject: str = ""
    """Object or round that the question is about, for the trace: "object 3", "round 2"."""
    picture_key: str = ""
    """Hash of the pictures' source data, the same on every machine; empty to hash the pixels."""
    attempt: int = 0
    """How often the user asked it again: a new question for cache and trace, the same prompt for the model."""
    prompt_text: str = ""
    """The user's own text instead of the filled prompt; empty for the prompt."""


@dataclass(frozen=True)
class AnswerOverride:
    """The user's override for one question."""

    attempt: int = 0
    """How often it was asked again."""
    prompt_text: str = ""
    """The user's own text instead of the filled prompt."""
    use_measured: bool = False
    """Whether to use the measured answer instead of the model's."""


class Model(Protocol):
    """Anything that answers questions: a language model, recorded answers, or rules."""

    name: str
    """Source of its answers, as shown to the user: "rules", "gpt-..."."""

    def ask(self, question: Question) -> BaseModel:
        """Return an instance of question.answer_type. Raises ModelError."""
        ...


def source_of(model: Model, kind: str) -> str:
    """Return the name of the model that answers this kind of question."""
    by_kind = getattr(model, "source_of", None)
    return by_kind(kind) if by_kind else model.name


def has_vision(model: Model) -> bool:
    """Whether a model accepts pictures, so that it can describe and match objects."""
    return bool(getattr(model, "has_vision", False))


def sends_picture(model: Model, kind: str) -> bool:
    """Whether the photograph goes along with this kind of question, by the settings of the model."""
    kinds = getattr(model, "picture_kinds", None)
    return has_vision(model) and (kinds is None or kind in kinds)


def can_answer(model: Model, kind: str) -> bool:
    """Whether a model may answer a kind of question; a recorded trace answers only the kinds that were asked then."""
    kinds = getattr(model, "kinds", None)
    return has_language(model) and (kinds is None or kind in kinds)


def has_language(model: Model) -> bool:
    """Whether a model understands free text; the offline rules answer only the kinds they were written for."""
    return bool(getattr(model, "has_language", True))


def label_of(model: Model) -> str:
    """Return the model's label in the app: its name, or for a replay its own label."""
    return getattr(model, "label", model.name)

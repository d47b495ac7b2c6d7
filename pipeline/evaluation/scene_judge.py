"""Blind judge of proposals: can a model tell the scene that a task was written for from two others?

The score is the share of tasks whose scene is found; guessing gives 1/3. It asks whether proposals suit their scene.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from pipeline.models import Model, ModelError, Question, StageCancelled
from pipeline.models.budget import CeilingReached
from pipeline.store import digest
from pipeline.tasks import Task

KIND = "judge_task"
CHOICES = 3
"""Scenes that the judge chooses among."""


class JudgeAnswer(BaseModel):
    scene: Literal[1, 2, 3]
    reason: str = Field(default="", max_length=400)


@dataclass(frozen=True, eq=False)
class JudgedScene:
    """What the judge gets of a scene."""

    name: str
    objects: Sequence[str]
    """Descriptions of its objects."""
    photograph: np.ndarray | None = None
    """(H, W, 3), uint8, without numbers; None for a model without vision."""


def judge_task(task: Task, own: JudgedScene, others: Sequence[JudgedScene], model: Model) -> bool | None:
    """Return whether the model finds the task's scene among two others; None without others or without an answer.

    Which two, and their order, follow from the task's text alone. Raises CeilingReached, StageCancelled.
    """
    if len(others) < CHOICES - 1:
        return None
    rng = np.random.default_rng(int(digest(own.name, task.instruction), 16))
    shown = [own, *(others[int(k)] for k in rng.choice(len(others), CHOICES - 1, replace=False))]
    order = [int(k) for k in rng.permutation(CHOICES)]
    try:
        answer = model.ask(judge_question(task, [shown[k] for k in order]))
    except (CeilingReached, StageCancelled):
        raise
    except ModelError:
        return None
    return isinstance(answer, JudgeAnswer) and order[answer.scene - 1] == 0


def judge_question(task: Task, scenes: Sequence[JudgedScene]) -> Question:
    """Return the question which of the scenes, numbered from 1, the task was written for."""
    data: Mapping[str, object] = {
        "task": task.instruction.replace("_", " "),
        "scenes": [{"number": k, "objects": list(one.objects)} for k, one in enumerate(scenes, 1)],
    }
    pictures = tuple(one.photograph for one in scenes if one.photograph is not None)
    return Question(KIND, data, JudgeAnswer, pictures, subject=task.name)

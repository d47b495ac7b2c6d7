"""A better reward for a subtask, asked of a model that is shown how its last policies learned and where they failed.

As in the reward reflection of Eureka. The proposal lies in `proposal.json` of the subtask's folder. To take it is an
edit like any other: it can be undone, and what was learned with the former reward comes back then.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field, JsonValue

from pipeline.learning.decomposition import describe_assets
from pipeline.learning.layouts import Layouts
from pipeline.learning.learning_files import SubtaskFolder, read_curve
from pipeline.learning.subtask import LEARN, LearningError, Subtask, from_row, to_row, why_unusable
from pipeline.learning.terms import term_manual
from pipeline.models import Model, Question, source_of
from pipeline.store import read_json, write_json

KIND = "reflect_reward"
POINTS = 12
"""Evaluations of a curve that a model is shown, spread over it."""


class ReflectionAnswer(BaseModel):
    """A reward as a model answers it; its terms are checked afterwards."""

    reason: str = Field(max_length=600)
    reward: list[dict[str, JsonValue]] = Field(min_length=1, max_length=12)


@dataclass(frozen=True)
class Proposal:
    """A subtask with the reward that a model proposes."""

    subtask: Subtask
    reason: str
    """Why, in the model's words."""

    @property
    def model(self) -> str:
        return self.subtask.source


def reflect(subtask: Subtask, folder: SubtaskFolder, layouts: Layouts, model: Model) -> Proposal:
    """Ask for a better reward of a subtask that was trained, keep the proposal, and return it.

    Raises ModelError; LearningError if nothing was trained, or if what is answered cannot be used.
    """
    data = question_data(subtask, folder, layouts)
    answer: Any = model.ask(Question(KIND, data, ReflectionAnswer, subject=subtask.name))
    name = source_of(model, KIND)
    try:
        proposed = from_row({**to_row(subtask), "reward": answer.reward, "source": name})
    except LearningError as error:
        raise LearningError(f"{name} answered a reward that cannot be used: {error}") from None
    base = layouts.base
    if why := why_unusable(replace(proposed, start="reset"), (), base.objects, list(base.zones)):
        raise LearningError(f"{name} answered a reward that cannot be used: {why}")
    if proposed.reward == subtask.reward:
        raise LearningError(f"{name} answered the reward that {subtask.name} has; change it yourself, or ask again")
    rows = {"former": to_row(subtask)["reward"], "subtask": to_row(proposed), "reason": answer.reason}
    write_json(folder.proposal, rows)
    return Proposal(proposed, answer.reason)


def read_proposal(subtask: Subtask, folder: SubtaskFolder) -> Proposal | None:
    """Return what was proposed for the reward that a subtask has; None if nothing was. Raises StoreError."""
    kept = read_json(folder.proposal)
    if not isinstance(kept, dict) or kept.get("former") != to_row(subtask)["reward"]:
        return None
    try:
        stored = from_row(kept["subtask"])
        return Proposal(replace(subtask, reward=stored.reward, source=stored.source), str(kept["reason"]))
    except (LearningError, KeyError):
        return None  # damaged, or written by another version: it can be asked for again


def question_data(subtask: Subtask, folder: SubtaskFolder, layouts: Layouts) -> dict[str, Any]:
    """Return what is asked: assets, terms, the subtask with its reward, its curve, and where its policy failed.

    Raises LearningError if nothing was trained.
    """
    curve = read_curve(folder.curve)
    if not (curve and folder.is_of(subtask)):
        raise LearningError(f"{subtask.name} was not trained with its reward yet; train it first")
    evaluation = read_json(folder.evaluation)
    if not isinstance(evaluation, dict) or evaluation.get("way", LEARN) != LEARN:
        evaluation = {}
    shown = sorted({round(k * (len(curve) - 1) / (POINTS - 1)) for k in range(POINTS)})
    failures = Counter(str(one.get("text", "")) for one in evaluation.get("failed") or ())
    shortcut = evaluation.get("shortcut_found")
    return {
        "assets": describe_assets(layouts.base.objects, layouts.world().model),
        "terms": term_manual(),
        "subtask": {name: value for name, value in to_row(subtask).items() if name != "source"},
        "curve": [curve[k] for k in shown],
        "failures": [{"what": text, "episodes": count} for text, count in failures.most_common(8)],
        "shortcut": str(shortcut.get("text", "")) if isinstance(shortcut, dict) else "",
    }

"""Subtasks: what one policy learns. Success is goals of the registry; the reward is data, compiled by us (Gen2Sim 3.2).

learning/subtasks.json holds a list of them, in order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import StudioError, reason_of
from pipeline.learning.reward_code import MAX_CHARACTERS
from pipeline.learning.terms import Code, RewardTerm, args_to_json, term_from_json
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.objects import KitError, Object
from pipeline.simulation.recipe import FiniteJson, from_json, to_json
from pipeline.store import StoreError, read_json, write_json

RESET = "reset"
"""Start of a subtask that begins on the task's own layouts."""
WHOLE = "whole"
"""Name of the task learned by one policy, without subtasks."""
MAX_SUBTASKS = 40


Way = Literal["learn", "plan"]
LEARN: Way = "learn"
PLAN: Way = "plan"


class LearningError(StudioError):
    """A subtask, a policy or a project that cannot be learned with."""


@dataclass(frozen=True)
class WeightedTerm:
    """One summand of a reward."""

    term: RewardTerm
    weight: float = 1.0

    def bound_to(self, goals: Mapping[Goal, Goal]) -> "WeightedTerm":
        """Return the term with its goal replaced, where the mapping has it."""
        term: Any = self.term
        goal = getattr(term, "goal", None)
        return (
            self
            if goal is None or goals.get(goal, goal) == goal
            else replace(self, term=replace(term, goal=goals[goal]))
        )


@dataclass(frozen=True)
class Subtask:
    """One step of a task."""

    name: str
    """Lower-case words joined by "_", unique in its task."""
    instruction: str
    start: str
    """"reset", or the name of an earlier subtask in whose end states it begins."""
    success: tuple[Goal, ...]
    """All of them hold; if none is about the hand, also with everything at rest and nothing held."""
    reward: tuple[WeightedTerm, ...]
    source: str = "rules"
    """"rules", a model's name, or "human"."""
    way: Way = field(default=LEARN, repr=False)
    """Whether a policy learns it, or the oracle plans it."""

    def bound_to(self, goals: Mapping[Goal, Goal]) -> "Subtask":
        """Return the subtask with each goal as another layout has it; goals that the mapping lacks stay."""
        success = tuple(goals.get(goal, goal) for goal in self.success)
        return replace(self, success=success, reward=tuple(one.bound_to(goals) for one in self.reward))

    @property
    def needs_rest(self) -> bool:
        """Whether success also needs an empty hand and everything at rest."""
        return not any(goal.about_hand for goal in self.success)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals of success and reward, each once."""
        rewarded = [goal for one in self.reward for goal in one.term.goals]
        return tuple(dict.fromkeys([*self.success, *rewarded]))

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects that success and reward measure, each once."""
        named = [name for goal in self.goals for name in goal.objects]
        return tuple(dict.fromkeys([*named, *(name for one in self.reward for name in one.term.objects)]))

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        """Names of the moving parts and affordances that they measure: (object, part), each once."""
        named = [joint for goal in self.goals for joint in goal.joints]
        return tuple(dict.fromkeys([*named, *(joint for one in self.reward for joint in one.term.joints)]))

    @property
    def moving_parts(self) -> frozenset[tuple[str, str]]:
        """Those of `joints` that have to be moving parts: what measures a place alone takes affordances too."""
        named = [joint for goal in self.success if not goal.about_hand for joint in goal.joints]
        return frozenset([*named, *(joint for one in self.reward for joint in one.term.moving_parts)])


def whole_task(subtasks: Sequence[Subtask], goals: Sequence[Goal], instruction: str = "") -> Subtask:
    """Return the task as one subtask: its own goals are the success, all terms of its subtasks the reward."""
    heaviest: dict[RewardTerm, float] = {}
    for one in (one for subtask in subtasks for one in subtask.reward):
        heaviest[one.term] = max(one.weight, heaviest.get(one.term, 0.0))
    # 5.0: sum of the weights of its reward, at most: half of the bonus for success
    shrink = min(1.0, 5.0 / max(sum(heaviest.values()), 1e-9))
    reward = tuple(WeightedTerm(term, weight * shrink) for term, weight in heaviest.items())
    return Subtask(WHOLE, instruction or "Do the task.", RESET, tuple(goals), reward, "rules")


class TermRow(BaseModel):
    """A weighted term as JSON."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    term: str
    args: dict[str, FiniteJson] = Field(default_factory=dict)
    source: Annotated[str, Field(max_length=MAX_CHARACTERS)] = ""
    """Of the term "code"."""
    weight: Annotated[float, Field(gt=0, le=100)] = 1.0

    @property
    def arguments(self) -> dict[str, Any]:
        return self.args | ({"source": self.source} if self.source else {})


class SubtaskRow(BaseModel):
    """A subtask as JSON; what a decomposition answers, and a line of subtasks.json."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
    instruction: Annotated[str, Field(max_length=300)]
    start: str = RESET
    success: Annotated[list[dict[str, FiniteJson]], Field(min_length=1, max_length=12)]
    reward: Annotated[list[TermRow], Field(min_length=1, max_length=12)]
    source: str = ""
    way: Way = LEARN


def to_row(subtask: Subtask) -> dict[str, Any]:
    """Return a subtask as JSON values."""
    return {
        "name": subtask.name,
        "instruction": subtask.instruction,
        "start": subtask.start,
        "success": [to_json(goal) for goal in subtask.success],
        "reward": [term_row(one.term, one.weight) for one in subtask.reward],
        "source": subtask.source,
        **({"way": subtask.way} if subtask.way != LEARN else {}),
    }


def term_row(term: RewardTerm, weight: float = 1.0) -> dict[str, Any]:
    """Return a weighted term as JSON values; the source of a term "code" stands in place of arguments."""
    args = args_to_json(term)
    return {"term": term.term} | (args if term.term == Code.term else {"args": args}) | {"weight": weight}


def from_row(row: Any) -> Subtask:
    """Inverse of `to_row`. Raises LearningError with the subtask's name and what is wrong."""
    name = row.get("name") if isinstance(row, Mapping) else row
    try:
        read = SubtaskRow.model_validate(row)
        goals = tuple(from_json(goal) for goal in read.success)
        if wrong := next((goal for goal in goals if not isinstance(goal, Goal)), None):
            raise KitError(f'a goal is written as {{"goal": "Inside", ...}}, not {str(wrong)[:60]}')
        terms = tuple(WeightedTerm(term_from_json(one.term, one.arguments), one.weight) for one in read.reward)
    except (ValidationError, KitError) as error:
        why = reason_of(error) if isinstance(error, ValidationError) else str(error)
        raise LearningError(f"subtask {str(name)[:60]!r}: {why}") from None
    return Subtask(read.name, read.instruction, read.start, goals, terms, read.source or "human", read.way)


def why_unusable(
    subtask: Subtask, earlier: Sequence[Subtask], objects: Mapping[str, Object], zones: Sequence[str]
) -> str:
    """Return why a subtask cannot be learned in a world; empty if it can.

    Args:
        earlier: the usable subtasks before it.
        objects: of the world, by name.
        zones: names of the marked zones.
    """
    names = [one.name for one in earlier]
    if subtask.name == WHOLE:
        return "that name is kept for the task without subtasks"
    if subtask.name in names:
        return f"there are two subtasks {subtask.name!r}"
    if subtask.start != RESET and subtask.start not in names:
        return f"it starts after {subtask.start!r}; before it there are: {', '.join(names) or 'none'} and {RESET!r}"
    bystanders = [name for one in subtask.reward for name in one.term.bystanders]
    for name in (*subtask.objects, *bystanders):
        if name not in objects and name not in zones:
            return f"there is no object {name!r}; there are: {', '.join(objects)}"
    for zone in (zone for goal in subtask.goals for zone in goal.zones):
        if zone not in zones:
            return f"there is no zone {zone!r}; there are: {', '.join(zones) or 'none'}"
    for name, part in subtask.joints:
        places = () if (name, part) in subtask.moving_parts else objects[name].affordances
        parts = [*(one.name for one in objects[name].parts), *places]
        if part not in parts:
            return f"{name} has no part {part!r}; it has: {', '.join(parts) or 'none that moves'}"
    held = [goal.objects[0] for goal in subtask.success if goal.about_hand and not goal.joints]
    if fixed := next((name for name in held if objects[name].fixed or objects[name].parts), None):
        return f"{fixed} stands fast and cannot be lifted; learn its parts or another object"
    return ""


def require_usable(subtasks: Sequence[Subtask], objects: Mapping[str, Object], zones: Sequence[str]) -> None:
    """Raise LearningError for the first subtask that cannot be learned."""
    for number, subtask in enumerate(subtasks):
        if reason := why_unusable(subtask, subtasks[:number], objects, zones):
            raise LearningError(f"subtask {subtask.name!r}: {reason}")


def read_subtasks(path: Path) -> tuple[Subtask, ...] | None:
    """Return the subtasks of subtasks.json; None if there is no such file. Raises LearningError in one line."""
    try:
        rows = read_json(path)
    except StoreError as error:
        raise LearningError(f"{error}; or remove it to have the task decomposed again") from None
    if rows is None:
        return None
    if not isinstance(rows, list) or not 0 < len(rows) <= MAX_SUBTASKS:
        raise LearningError(f"{path.name} holds a list of 1 to {MAX_SUBTASKS} subtasks; remove it to make a new one")
    return tuple(map(from_row, rows))


def write_subtasks(path: Path, subtasks: Sequence[Subtask]) -> None:
    """Write subtasks.json. Raises StoreError."""
    write_json(path, [to_row(subtask) for subtask in subtasks])

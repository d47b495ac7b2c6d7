"""Messages that a sandbox child may send: their schema, and the values made from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from pipeline.errors import StudioError
from pipeline.simulation.recipe import FiniteJson, Recipe
from pipeline.simulation.run_record import Contact, GoalProgress, RunRecord


class SandboxError(StudioError):
    """The sandbox itself failed; never counts as a failed check."""


class RunCancelled(SandboxError):
    """The caller cancelled the run."""


class UnprotectedError(SandboxError):
    """This machine cannot confine a program, and nobody has agreed to run it without that."""


MAX_PHYSICS_SECONDS = 600.0
"""Processor time of a layout's physics, however many objects a program adds."""


@dataclass(frozen=True)
class Limits:
    """Limits of one run, in processor time: a busy machine gives the verdict that a quiet one gives."""

    seconds: float = 20.0
    """Processor time of generated code in one child: to build all layouts, or for the checks of one layout."""
    physics_seconds: float = 20.0
    """Processor time of the oracle and the physics in one layout, besides what each object and each goal adds."""
    memory_mb: int = 1500
    """Memory in addition to what MuJoCo and the kit use."""
    output_mb: int = 32
    """Output of one child."""


def layout_seconds(physics_seconds: float, objects: int, in_goals: int) -> float:
    """Return the limit, in seconds of processor time, of a layout with so many objects and so many names in goals."""
    # Processor time that an object, and an object in a goal, add to the limit of a layout's physics: contacts grow with
    # the first, moves and their retries with the second. Some forty times what is usual (docs/results/router.md).
    return min(MAX_PHYSICS_SECONDS, physics_seconds + 2.0 * objects + 4.0 * in_goals)


Text = Annotated[str, Field(max_length=2000)]


class _StrictModel(BaseModel):
    """Model without extra fields, infinite numbers, and values of another type that would be converted."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class _CheckResult(_StrictModel):
    name: Annotated[str, Field(max_length=200)]
    passed: bool
    message: Text
    seconds: float
    instant: float | None
    line: int | None


class _Goal(_StrictModel):
    name: str
    objects: list[str] = []
    stage: str
    met: bool
    value: float | None
    miss: float | None
    nearest_miss: float | None
    over_time: list[Annotated[list[float | None], Field(min_length=2, max_length=2)]]


class _Event(_StrictModel):
    time: float | None
    verb: str
    object: str
    target: str
    ok: bool
    message: str


class _Contact(_StrictModel):
    a: str
    b: str
    start: float
    end: float


class _Rollout(_StrictModel):
    """A rollout without its arrays: times (T,), qpos and actions, then those of the progress, times (P,) and misses."""

    reward: Annotated[float, Field(ge=0, le=1)]
    xml: str
    events: list[_Event]
    goals: list[_Goal]
    contacts: Annotated[list[_Contact], Field(max_length=5000)] | None = None
    """None without progress."""

    def to_record(self, arrays: Sequence[np.ndarray]) -> RunRecord:
        """Raises ValueError for arrays that are not finite or have inconsistent lengths."""
        if len(arrays) != (3 if self.contacts is None else 5):
            raise ValueError("a rollout with another number of arrays")
        times, qpos, actions = arrays[:3]
        _require_finite(times, qpos, actions)
        progress = None
        if self.contacts is not None:
            _require_finite(arrays[3], arrays[4])
            contacts = tuple(Contact(**contact.model_dump()) for contact in self.contacts)
            progress = GoalProgress(arrays[3], arrays[4], contacts)
        events, goals = (tuple(item.model_dump() for item in items) for items in (self.events, self.goals))
        return RunRecord(times, qpos, actions, self.reward, self.xml, events, goals, progress)


def _require_finite(times: np.ndarray, *others: np.ndarray) -> None:
    """Raise ValueError if arrays over time are not finite floats or have inconsistent lengths."""
    for array in (times, *others):
        if array.dtype != float or not np.isfinite(array).all() or array.shape[:1] != times.shape:
            raise ValueError("the recorded arrays are not finite or have inconsistent lengths")


class _Requested(_StrictModel):
    goals: list[dict[str, FiniteJson]]
    zones: dict[str, list[float | None]]


class _Motion(_StrictModel):
    start: list[float | None]
    end: list[float | None]
    top: float | None
    turned: float | None
    pushed: float | None


class _Mutation(_StrictModel):
    kind: str
    outcome: str
    applies: bool


class _StartGoal(_StrictModel):
    name: str
    objects: list[str]
    carried: list[str]
    miss: float | None
    clear: float


class Start(_StrictModel):
    """How a simulation starts; photographed.py says how each is measured."""

    goals: list[_StartGoal] = []
    left_out: list[str] = []
    moved: dict[str, float] = {}
    resized: dict[str, float] = {}
    copies: dict[str, str] = {}
    opened: dict[str, float] = {}
    refused: str = ""
    """Why the kit refuses it; empty where it does not."""


class Evidence(_StrictModel):
    """What is known of a run besides its checks; worker.py says how each is measured. Absent until it is sent."""

    why: str = ""
    at_rest: bool = True
    goals: list[_Goal] = []
    asked: _Requested | None = None
    reward_at_start: float | None = None
    events: list[_Event] = []
    grasps: list[tuple[float | None, str]] = []
    moved_before_touch: dict[str, float | None] = {}
    objects: dict[str, _Motion] = {}
    contacts: list[list[str]] = []
    overlaps: list[list[str]] = []
    off_table: list[str] = []
    simulated_seconds: float | None = None
    mutation: _Mutation | None = None
    measured: dict[str, str] = {}
    starts: list[Start] = []
    printed: Text = ""


class Message(_StrictModel):
    """The JSON line of a child's message; worker.py lists the kinds."""

    doing: Text | None = None
    recipe: Recipe | None = None
    reward: Annotated[float, Field(ge=0, le=1)] | None = None
    check: _CheckResult | None = None
    crash: Text | None = None
    refused: Text | None = None
    broken: Text | None = None
    evidence: Evidence | None = None
    record: _Rollout | None = None
    finished: bool = False

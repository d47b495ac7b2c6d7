"""A program tried on every seed, and what came of it."""

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from pipeline.errors import StudioError
from pipeline.simulation.program import Program
from pipeline.simulation.rollout import SOLVED
from pipeline.simulation.runner import Runner
from pipeline.simulation.testimony import Limits

Robot = Literal["gripper", "arm"]
SOURCES: dict[Robot, str] = {"gripper": "oracle, floating gripper", "arm": "oracle, UR5e with a 2F-85"}
"""Who acted, as a solution tells it."""
ARM_LIMITS = Limits(seconds=90.0)
"""An arm thinks before it moves."""


class SolvingError(StudioError):
    """A rollout that cannot be kept or shown."""


class Record(Protocol):
    """One rollout as plain data."""

    times: np.ndarray
    qpos: np.ndarray
    actions: np.ndarray
    xml: str
    events: Sequence[dict]
    goals: Sequence[dict]


@dataclass(frozen=True, eq=False)
class Attempt:
    """One seed."""

    seed: int
    reward: float
    """In [0, 1]; 0 where it crashed."""
    crash: str
    """What stopped it; empty where it ran."""
    why: str
    """Why it is not solved, in the oracle's words; empty where it is."""
    record: Record | None

    @property
    def solved(self) -> bool:
        return self.reward > SOLVED


@dataclass(frozen=True, eq=False)
class Rollout:
    """One seed, to be played again."""

    seed: int
    times: np.ndarray
    """Of shape (T,), in seconds."""
    qpos: np.ndarray
    """Of shape (T, nq)."""
    actions: np.ndarray
    """Of shape (T, nu)."""
    xml: str
    """The model it ran in."""
    events: tuple[dict, ...] = ()
    """What the oracle did: time, verb, object, target, ok, message."""

    @staticmethod
    def of(attempt: Attempt | None) -> "Rollout | None":
        """Of an attempt; None where it left no record."""
        one = attempt.record if attempt else None
        if attempt is None or one is None:
            return None
        return Rollout(attempt.seed, one.times, one.qpos, one.actions, one.xml, tuple(one.events))


@dataclass(frozen=True, eq=False)
class Solution:
    """All seeds together, and one rollout to show."""

    seeds: tuple[int, ...]
    reward: tuple[float, ...]
    """One per seed, in [0, 1]."""
    crashes: tuple[str, ...]
    """One per seed; empty where it ran."""
    why: tuple[str, ...]
    """One per seed; empty where it is solved."""
    shown: int | None
    """The seed whose rollout is kept; None where none came to an end."""
    times: np.ndarray
    """Of the shown rollout, of shape (T,), in seconds."""
    qpos: np.ndarray
    """Of shape (T, nq)."""
    actions: np.ndarray
    """Of shape (T, nu): the gripper's x, y, z from its home, its yaw, and the suction; or the arm's six joints and the
    command of its fingers."""
    xml: str
    """The model it ran in; its files are beside scene/scene.xml."""
    events: tuple[dict, ...] = ()
    """What the oracle did: time, verb, object, target, ok, message."""
    source: str = SOURCES["gripper"]
    failed: Rollout | None = None
    """The first seed that ran and did not solve it."""

    @property
    def success(self) -> tuple[bool, ...]:
        """One per seed."""
        return tuple(r > SOLVED for r in self.reward)

    @property
    def solved(self) -> bool:
        """GenSim's rule: reward > 0.99 in at least half of the seeds."""
        return bool(self.reward) and 2 * sum(self.success) >= len(self.reward)

    @property
    def rate(self) -> float:
        """Share of the seeds that ran which are solved, in [0, 1]."""
        ran = [good for good, crash in zip(self.success, self.crashes, strict=True) if not crash]
        return sum(ran) / max(len(ran), 1)

    @property
    def strict_rate(self) -> float:
        """Share of all seeds that are solved, those that crashed counted as failures, in [0, 1]."""
        return sum(self.success) / max(len(self.success), 1)

    @property
    def instant(self) -> float | None:
        """Simulated seconds at which the failed rollout first said what it could not do; None where there is none."""
        said = [e for e in (self.failed.events if self.failed else ()) if not e.get("ok", True)]
        return float(said[-1]["time"]) if said else None


def solve(
    program: Program, project_dir: Path, sandbox: Runner, seeds: Sequence[int] = range(8), robot: Robot = "gripper"
) -> Iterator[Attempt | Solution]:
    """An Attempt per seed, in order, as many side by side as there are cores; last the Solution.

    Closing the generator stops what still runs. Raises SandboxError.
    """
    cancel, attempts = threading.Event(), []
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        running = [pool.submit(_attempt, program, project_dir, sandbox, int(seed), cancel, robot) for seed in seeds]
        for one in running:
            attempts.append(one.result())
            yield attempts[-1]
    finally:
        cancel.set()
        pool.shutdown(cancel_futures=True)
    yield summary(attempts, SOURCES[robot])


def _attempt(
    program: Program, project_dir: Path, sandbox: Runner, seed: int, cancel: threading.Event, robot: Robot
) -> Attempt:
    more: dict[str, Any] = {} if robot == "gripper" else {"robot": robot, "limits": ARM_LIMITS}
    report, record = sandbox.run(program, project_dir, seeds=(seed,), checks=False, cancel=cancel, **more)
    crash = report.crash or report.violation or ("it took too long" if report.timed_out else "")
    reward = report.reward[0] if report.reward else 0.0
    why = "" if reward > SOLVED else str(report.evidence.get("why") or crash)
    return Attempt(seed, reward, crash, why, record)


def summary(attempts: Sequence[Attempt], source: str = SOURCES["gripper"]) -> Solution:
    """Shows the first solved seed, or else the best, and beside it the first that failed."""
    shown = max((a for a in attempts if a.record), key=lambda a: a.reward, default=None)
    failed = next((a for a in attempts if a.record and not a.solved and a is not shown), None)
    record = shown.record if shown else None
    return Solution(
        seeds=tuple(a.seed for a in attempts),
        reward=tuple(a.reward for a in attempts),
        crashes=tuple(a.crash for a in attempts),
        why=tuple(a.why for a in attempts),
        shown=shown.seed if shown else None,
        times=record.times if record else np.zeros(0),
        qpos=record.qpos if record else np.zeros((0, 0)),
        actions=record.actions if record else np.zeros((0, 0)),
        xml=record.xml if record else "",
        events=tuple(record.events) if record else (),
        source=source,
        failed=Rollout.of(failed),
    )

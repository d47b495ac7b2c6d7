"""Run a program on every seed and summarise the results."""

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.simulation.program import Program
from pipeline.simulation.robots import ROBOTS
from pipeline.simulation.run_record import SOLVED, RunRecord
from pipeline.simulation.sandbox.protocol import Limits
from pipeline.simulation.sandbox.runner import ProgramRunner

ARM_LIMITS = Limits(physics_seconds=90.0)
"""Longer than usual: the arm plans its motions."""


class SolvingError(StudioError):
    """A rollout that cannot be saved or shown."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """Result of one seed."""

    seed: int
    reward: float
    """In [0, 1]; 0 if it crashed."""
    crash: str
    """Error message; empty if it ran."""
    reason: str
    """The oracle's reason why it is not solved; empty if it is."""
    record: RunRecord | None

    @property
    def solved(self) -> bool:
        """Whether the reward is above the threshold."""
        return self.reward > SOLVED


@dataclass(frozen=True, eq=False)
class Solution:
    """Results of all seeds, and one rollout to show."""

    seeds: tuple[int, ...]
    reward: tuple[float, ...]
    """Reward of each seed, in [0, 1]."""
    crashes: tuple[str, ...]
    """Error message of each seed; empty if it ran."""
    reasons: tuple[str, ...]
    """Reason of each seed; empty if it is solved."""
    source: str
    """The robot's `RobotKind.source`."""
    shown: RunRecord | None = None
    """The rollout shown: the first solved one, or else the best; None if none finished."""
    failed: RunRecord | None = None
    """Rollout of the first seed that ran without solving the task."""
    failed_check: str = ""
    """What its round found wrong with the program; empty if it passed every check. Such a solution is doubtful."""
    twin: str = ""
    """Hash of the twin that it was recorded in, `twin_digest`; empty if that is not known."""

    @property
    def success(self) -> tuple[bool, ...]:
        """Whether each seed is solved."""
        return tuple(r > SOLVED for r in self.reward)

    @property
    def solved(self) -> bool:
        """Whether at least half of the seeds have a reward above 0.99 (GenSim's rule)."""
        return bool(self.reward) and 2 * sum(self.success) >= len(self.reward)

    @property
    def rate(self) -> float:
        """Share of solved seeds among those that ran, in [0, 1]."""
        ran = [success for success, crash in zip(self.success, self.crashes, strict=True) if not crash]
        return sum(ran) / max(len(ran), 1)

    @property
    def strict_rate(self) -> float:
        """Share of solved seeds among all; a crash counts as a failure. In [0, 1]."""
        return sum(self.success) / max(len(self.success), 1)

    @property
    def failure_time(self) -> float | None:
        """Simulated time in seconds of the failed rollout's last failed action; None if there is none."""
        failures = [e for e in (self.failed.events if self.failed else ()) if not e.get("ok", True)]
        return float(failures[-1]["time"]) if failures else None


def solve(
    program: Program,
    project_dir: Path,
    sandbox: ProgramRunner,
    seeds: Sequence[int] = range(8),
    robot: str = "gripper",
) -> Iterator[Attempt | Solution]:
    """Yield an Attempt per seed, in order, then the Solution; run one seed per core at a time.

    Closing the generator cancels the remaining runs. Raises SandboxError.
    """
    cancel, attempts = threading.Event(), []
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        running = [pool.submit(_attempt, program, project_dir, sandbox, int(seed), cancel, robot) for seed in seeds]
        for future in running:
            attempts.append(future.result())
            yield attempts[-1]
    finally:
        cancel.set()
        pool.shutdown(cancel_futures=True)
    yield summarize(attempts, robot)


def _attempt(
    program: Program, project_dir: Path, sandbox: ProgramRunner, seed: int, cancel: threading.Event, robot: str
) -> Attempt:
    options: dict[str, Any] = {} if robot == "gripper" else {"robot": robot, "limits": ARM_LIMITS}
    rollout_only = replace(program, checks="")
    report, record = sandbox.run(rollout_only, project_dir, seeds=(seed,), cancel=cancel, **options)
    crash = report.crash or report.violation or (report.evidence["stopped"] if report.timed_out else "")
    reward = report.reward[0] if report.reward else 0.0
    reason = "" if reward > SOLVED else str(report.evidence.get("why") or crash)
    return Attempt(seed, reward, crash, reason, record and replace(record, seed=seed))


def summarize(attempts: Sequence[Attempt], robot: str = "gripper") -> Solution:
    """Summarise the attempts of a robot: show the first solved seed or else the best, and keep the first failure."""
    shown = max((a for a in attempts if a.record), key=lambda a: a.reward, default=None)
    failed = next((a for a in attempts if a.record and not a.solved and a is not shown), None)
    return Solution(
        seeds=tuple(a.seed for a in attempts),
        reward=tuple(a.reward for a in attempts),
        crashes=tuple(a.crash for a in attempts),
        reasons=tuple(a.reason for a in attempts),
        source=ROBOTS[robot].source,
        shown=shown.record if shown else None,
        failed=failed.record if failed else None,
    )

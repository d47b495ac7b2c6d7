"""Run a project's program under many conditions with one robot, and record each outcome."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import mujoco

from pipeline.assets import Library
from pipeline.scene import Scene, SceneError
from pipeline.scene.scene_files import read_scene
from pipeline.simulation.program import Program
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.runner import ProgramRunner
from pipeline.solving import Attempt, save_model, solve
from pipeline.variation.condition import Condition, VariationError, condition_id, draw
from pipeline.variation.varied_scene import varied_scene, write_varied

MAX_COUNT = 100_000
T = TypeVar("T")


@dataclass(frozen=True)
class VariedStart:
    """A condition with the digest of the start that it gives."""

    condition: Condition
    digest: str


@dataclass(frozen=True)
class Outcome:
    """What a robot achieved under one condition."""

    id: str
    success: bool
    reward: float
    reason: str
    """Why it was not solved; empty if it was."""
    rollout: RunRecord | None = field(default=None, compare=False, repr=False)
    """What it did; None if nothing ran."""


Perform = Callable[[str, Path], Outcome]
"""Lets a robot try the condition of an id, whose start is in a folder that it may write to."""


def by_oracle(program: Program, sandbox: ProgramRunner, robot: str) -> Perform:
    """Return a function that lets the scripted robot of that name try a condition."""

    def perform(id: str, start: Path) -> Outcome:
        attempt = next(one for one in solve(program, start, sandbox, (0,), robot))
        assert isinstance(attempt, Attempt)
        return Outcome(id, attempt.solved, attempt.reward, attempt.reason, attempt.record)

    return perform


class VariationStudy:
    """The conditions of one project, seed and choice of objects."""

    def __init__(self, project_dir: Path, names: Sequence[str], library: Library | None, seed: int, count: int) -> None:
        """Read the twin. Raises VariationError, SceneError.

        Args:
            names: the objects that vary; all that are in the scene if empty.
        """
        if not 1 <= count <= MAX_COUNT:
            raise VariationError(f"the number of conditions is {count}; give 1 to {MAX_COUNT}")
        if seed < 0:
            raise VariationError(f"the seed is {seed}; give 0 or more")
        self.project_dir, self.library = Path(project_dir), library
        self.scene: Scene = read_scene(self.project_dir)
        there = [p.name for p in self.scene.placements if not p.fixed]
        self.names = tuple(name for name in there if name in names) or tuple(there)
        self.ids = tuple(condition_id(seed, number) for number in range(count))

    def condition(self, id: str) -> Condition:
        """Return the condition of an id, which need not be one of `ids`."""
        return draw(self.scene, self.names, self.library, id)

    def write(self, id: str, folder: Path) -> VariedStart:
        """Write the start of a condition to a folder: scene.json and scene/. Raises SceneError, StoreError."""
        condition = self.condition(id)
        varied = varied_scene(self.scene, condition, self.library)
        return VariedStart(condition, write_varied(self.project_dir, varied, condition, folder))

    def write_again(self, id: str, folder: Path, digest: str) -> VariedStart:
        """Write a start as `write` does. Raises VariationError, too, if it is not the one with a digest."""
        start = self.write(id, folder)
        if start.digest != digest:
            raise VariationError(
                f"condition {id} was run with another twin, task or library; run grs-studio vary in an empty folder"
            )
        return start

    def rollout_models(self, id: str, rollouts: Sequence[RunRecord], digest: str | None = None) -> list[mujoco.MjModel]:
        """Return the models of rollouts under a condition, with the meshes of its start.

        Raises VariationError if they are of another twin: the start has another `digest`, where one is kept.
        """
        models = []
        with tempfile.TemporaryDirectory(prefix="grs-") as folder:
            self.write(id, Path(folder)) if digest is None else self.write_again(id, Path(folder), digest)
            for rollout in rollouts:
                try:
                    model = mujoco.MjModel.from_xml_path(str(save_model(rollout.xml, Path(folder), "rollout")))
                except ValueError as error:  # of a changed file
                    raise VariationError(f"condition {id} cannot be shown: {error}") from error
                if rollout.qpos.shape != (len(rollout.times), model.nq):
                    raise VariationError(f"condition {id} cannot be shown: its recording is of another model")
                models.append(model)
        return models

    def starts(self) -> Iterator[VariedStart]:
        """Yield the start of every condition, in order."""
        for id in self.ids:
            with tempfile.TemporaryDirectory(prefix="grs-") as folder:
                yield self.write(id, Path(folder) / "start")

    def run(self, perform: Perform, ids: Sequence[str], jobs: int = 0) -> Iterator[Outcome]:
        """Yield the outcome of each condition as it is known, `jobs` conditions at a time; 0 for one a core.

        Closing the generator cancels those that have not begun. Raises what `perform` raises, but SceneError.
        """
        return self.each_start(perform, ids, jobs, lambda id, reason: Outcome(id, False, 0.0, reason))

    def each_start(
        self, work: Callable[[str, Path], T], ids: Sequence[str], jobs: int, failed: Callable[[str, str], T]
    ) -> Iterator[T]:
        """Yield what `work` makes of the start of each condition, in order; `failed` of an id and a reason without one.

        Closing the generator cancels those that have not begun. Raises what `work` raises, but SceneError.
        """
        cancel = threading.Event()
        pool = ThreadPoolExecutor(jobs or os.cpu_count() or 1)
        try:
            running = [pool.submit(self._run, work, id, cancel, failed) for id in ids]
            for future in running:
                yield future.result()
        finally:
            cancel.set()
            pool.shutdown(cancel_futures=True)

    def _run(
        self, work: Callable[[str, Path], T], id: str, cancel: threading.Event, failed: Callable[[str, str], T]
    ) -> T:
        if cancel.is_set():
            return failed(id, "stopped")
        folder = Path(tempfile.mkdtemp(prefix="grs-"))
        try:
            self.write(id, folder / "start")
            return work(id, folder / "start")
        except SceneError as error:  # one condition that MuJoCo rejects is no reason to lose the others
            return failed(id, str(error))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

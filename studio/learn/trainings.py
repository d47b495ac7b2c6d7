"""Trainings that pages asked for: one at a time in the whole studio, since each takes a core for minutes.

Each is the command `grs-studio learn` in a process of its own, as a person would type it. In this process it would keep
requests waiting for Python's interpreter lock; and it can be killed at any moment, because what it has learned is kept
at every evaluation.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pipeline.errors import StudioError
from pipeline.store import parse_json
from studio.batch.bounded_process import BoundedProcess
from studio.web.errors import RequestError
from studio.web.jobs import Job

TrainingKind = Literal["train", "evaluate", "ablation"]
MEMORY_BYTES = 8_000_000_000
"""Of data; training with eight environments takes 1 to 2 GB."""


class Training(Job[None]):
    """One training, evaluation or ablation of a project."""

    def __init__(
        self, project: Path, kind: TrainingKind, options: Sequence[str], subtask: str, limit: int,
        workspace: Path | None, turn: threading.Lock,
    ):  # fmt: skip
        """
        Args:
            options: of the command.
            subtask: chosen to be learned; empty for all.
            limit: most control steps of a subtask.
            workspace: where skills are kept; None for that of the environment.
            turn: is held by the training that runs.
        """
        environment = {"OMP_NUM_THREADS": "1"} | ({"GRS_WORKSPACE": str(workspace)} if workspace else {})
        words = ("learn", str(project), "--json", *options)
        self._process = BoundedProcess(words, MEMORY_BYTES, self._follow, environment, reads_output=True)
        super().__init__("training", lambda _: self._run_process(), turn, wake=self._process.kill)
        self.kind, self.subtask, self.limit = kind, subtask, limit
        self.progress: dict[str, Any] = {}
        """{subtask, steps, seconds, imitated, finished} of what is learned now, or {doing}: "seams" or "measure"."""

    @property
    def seconds_left(self) -> float | None:
        """Most seconds until the subtask that is learned now has used its steps; None if unknown."""
        steps, seconds = self.progress.get("steps", 0), self.progress.get("seconds", 0.0)
        return seconds / steps * max(0, self.limit - steps) if steps and seconds else None

    def _run_process(self) -> None:
        fault = self._process.run()
        self.message = ""
        if fault:
            raise StudioError(fault)

    def _follow(self, line: str) -> bool:
        """Note a line of the process; return whether it was progress and not a message."""
        try:
            self.progress = dict(parse_json(line))
        except (ValueError, TypeError):
            self.message = line
            return False
        return True


class Trainings:
    """The newest training of each project. May be used from any thread."""

    def __init__(self) -> None:
        self._trainings: dict[Path, Training] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def of(self, project: Path) -> Training | None:
        """Return the newest training of a project."""
        with self._lock:
            return self._trainings.get(project)

    def start(
        self, project: Path, kind: TrainingKind, options: Sequence[str], subtask: str = "", limit: int = 0,
        workspace: Path | None = None,
    ) -> Training:  # fmt: skip
        """Start a training. Raises RequestError while another one of the project runs."""
        training = Training(project, kind, options, subtask, limit, workspace, self._turn)
        with self._lock:
            known = self._trainings.get(project)
            if known and known.is_active:
                raise RequestError("This project is being trained; stop that first, or wait for its end.")
            self._trainings[project] = training
        return training.start()

    def stop(self, project: Path) -> None:
        """Stop a project's training; what was learned up to the last evaluation is kept."""
        if training := self.of(project):
            training.stop()

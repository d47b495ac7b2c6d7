"""Trainings that pages asked for: one at a time in the whole studio, since each takes a core for minutes."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from studio.learn.training_process import TrainingProcess
from studio.web.background import BackgroundTask
from studio.web.errors import RequestError
from studio.web.notices import error_message

JobKind = Literal["train", "evaluate", "ablation"]


@dataclass(eq=False)
class TrainingJob:
    """One training, evaluation or ablation of a project. Only its own thread changes it."""

    kind: JobKind
    subtask: str
    """Chosen to be learned; empty for all."""
    limit: int
    """Most control steps of a subtask."""
    state: Literal["waiting", "running", "done", "failed", "stopped"] = "waiting"
    message: str = ""
    """The newest line of progress, or why it failed."""
    progress: dict[str, Any] = field(default_factory=dict)
    """{subtask, steps, seconds, imitated, finished} of what is learned now, or {doing}: "seams" or "measure"."""
    task: BackgroundTask | None = None

    @property
    def is_active(self) -> bool:
        return self.state in ("waiting", "running")

    @property
    def seconds_left(self) -> float | None:
        """Most seconds until the subtask that is learned now has used its steps; None if unknown."""
        steps, seconds = self.progress.get("steps", 0), self.progress.get("seconds", 0.0)
        return seconds / steps * max(0, self.limit - steps) if steps and seconds else None


class Trainings:
    """The newest job of each project. May be used from any thread."""

    def __init__(self) -> None:
        self._jobs: dict[Path, TrainingJob] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def job(self, project: Path) -> TrainingJob | None:
        """Return the newest job of a project."""
        with self._lock:
            return self._jobs.get(project)

    def start(
        self, project: Path, kind: JobKind, options: Sequence[str], subtask: str = "", limit: int = 0,
        workspace: Path | None = None,
    ) -> TrainingJob:  # fmt: skip
        """Start a job. Raises RequestError while another one of the project runs."""
        job = TrainingJob(kind, subtask, limit)
        with self._lock:
            known = self._jobs.get(project)
            if known and known.is_active:
                raise RequestError("This project is being trained; stop that first, or wait for its end.")
            self._jobs[project] = job
        process = TrainingProcess(project, options, lambda progress: _follow(job, progress), workspace)
        job.task = BackgroundTask("training", lambda stop: self._run(job, process, stop), wake=process.stop).start()
        return job

    def stop(self, project: Path) -> None:
        """Stop a project's job; what was learned up to the last evaluation is kept."""
        job = self.job(project)
        if job is not None and job.task is not None:
            job.task.stop()

    def _run(self, job: TrainingJob, process: TrainingProcess, stop: threading.Event) -> None:
        try:
            while not self._turn.acquire(timeout=0.2):
                if stop.is_set():
                    job.state = "stopped"
                    return
            try:
                job.state = "running"
                fault = process.run()
            finally:
                self._turn.release()
            job.message = fault
            job.state = "stopped" if stop.is_set() else "failed" if fault else "done"
        except Exception as error:
            job.state, job.message = "failed", error_message(error)


def _follow(job: TrainingJob, progress: Mapping[str, Any]) -> None:
    if "message" in progress:
        job.message = str(progress["message"])
    else:
        job.progress = dict(progress)

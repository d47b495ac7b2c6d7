"""Trainings that pages asked for: each is the command `grs-studio learn`, which keeps what it has learned."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pipeline.models.in_flight import InFlightCalls
from pipeline.store import parse_json
from studio.sessions.project_jobs import CommandJob, ProjectJobs
from studio.texts import t
from studio.web.jobs import Job, Listing

TrainingKind = Literal["train", "evaluate", "ablation"]


class RewardQuestion(Job[None]):
    """A model is asked for a better reward of a subtask."""

    kind, limit, seconds_left = "reflect", 0, None

    def __init__(self, project: Path, subtask: str, ask: Callable[[InFlightCalls], object]):
        """`ask` gets what holds its call."""
        calls = InFlightCalls()
        listing = Listing("training", lambda: t("Question about a reward of {project}", project=project.name), project)
        super().__init__("reflect", lambda _: ask(calls), wake=calls.close, listing=listing)
        self.subtask, self.progress = subtask, {"doing": "reflect"}


class Training(CommandJob):
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
        environment = {"GRS_WORKSPACE": str(workspace)} if workspace else {}
        listing = Listing("training", lambda: t("Training for {project}", project=project.name), project)
        super().__init__(listing, ("learn", str(project), "--json", *options), turn, environment)
        self.kind, self.subtask, self.limit = kind, subtask, limit
        self.progress: dict[str, Any] = {}
        """{subtask, steps, seconds, imitated, finished} of what is learned now, or {doing}: "seams" or "measure"."""

    @property
    def seconds_left(self) -> float | None:
        """Most seconds until the subtask that is learned now has used its steps; None if unknown."""
        steps, seconds = self.progress.get("steps", 0), self.progress.get("seconds", 0.0)
        return seconds / steps * max(0, self.limit - steps) if steps and seconds else None

    def follow(self, line: str) -> bool:
        """Note a line of the process; return whether it was progress and not a message."""
        try:
            self.progress = dict(parse_json(line))
        except (ValueError, TypeError):
            return super().follow(line)
        self.done, self.of = self.progress.get("steps", 0), self.limit
        return True


class Trainings(ProjectJobs[Training | RewardQuestion]):
    """The newest training of each project, or question about one."""

    def ask(self, project: Path, subtask: str, ask: Callable[[InFlightCalls], object]) -> RewardQuestion:
        """Ask for a reward. Raises RequestError while another training of the project runs."""
        question = RewardQuestion(project, subtask, ask)
        self.begin(project, lambda _: question)
        return question

    def start(
        self, project: Path, kind: TrainingKind, options: Sequence[str], subtask: str = "", limit: int = 0,
        workspace: Path | None = None,
    ) -> Training:  # fmt: skip
        """Start a training. Raises RequestError while another one of the project runs."""
        started = self.begin(project, lambda turn: Training(project, kind, options, subtask, limit, workspace, turn))
        assert isinstance(started, Training)
        return started

"""Files of learning in a project: learning/subtasks.json, learning/<k>_<name>/ and learning/report.json."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from pipeline.learning.subtask import Subtask, to_row
from pipeline.store import StoreError, parse_json, read_json, write_bytes, write_json, write_text

FOLDER = "learning"
BRANCHES, RECORD = "branches", "training.json"
CONFIRMED = 2
"""Evaluations in a row that have to reach the target."""


_UNTRAINED: dict[str, Any] = {"key": ""}


Steps = Annotated[int, Field(ge=0, le=1e12)]


class CurvePoint(BaseModel):
    """What every point of a curve has; one evaluation."""

    model_config = ConfigDict(extra="allow")
    steps: Steps
    success: float
    cloned: Steps = 0
    """Episodes of the oracle that were imitated before it."""


@dataclass(frozen=True)
class Spent:
    """What a training has taken so far, of all calls together."""

    steps: int
    seconds: float
    """Wall-clock time."""
    processor: float
    """Processor time in seconds, which other programs on the machine do not change."""


@dataclass(frozen=True)
class TrainingRecord:
    """How far a policy has been trained; training.json."""

    key: Annotated[str, Field(pattern=r"^[\w-]{0,100}$")]
    """Hash of what it was trained on; a folder is named after it."""
    steps: Steps = 0
    seconds: float = 0.0
    """Wall-clock time of training."""
    processor: float = 0.0
    """Its processor time in seconds."""
    success: float = -1.0
    """At the last evaluation; -1 before the first."""
    best: float = -1.0
    """Of the policy that is kept."""
    reached: int = 0
    """Number of evaluations in a row that reached the target."""

    @property
    def was_evaluated(self) -> bool:
        """Whether there is a checkpoint."""
        return self.success >= 0

    def after(self, spent: "Spent", success: float, target: float) -> "TrainingRecord":
        """Return the record after an evaluation."""
        best, reached = max(self.best, success), self.reached + 1 if success >= target else 0
        return replace(self, **vars(spent), success=success, best=best, reached=reached)

    def is_finished(self, steps: int) -> bool:
        """Whether the target is reached, twice in a row so that it is not by chance, or the steps are used."""
        return self.reached >= CONFIRMED or (self.was_evaluated and self.steps >= steps)


class SubtaskFolder:
    """The folder of one subtask."""

    def __init__(self, path: Path):
        self.path = path
        self.policy = path / "policy.zip"
        """The best policy so far."""
        self.curve = path / "curve.jsonl"
        self.evaluation = path / "evaluation.json"
        self.end_states = path / "end_states.npz"
        self.evaluation_rollouts = path / "evaluation.npz"
        self.proposal = path / "proposal.json"
        """A reward that a model proposed; see reflection.py."""
        self.reward = path / "reward.json"
        """Success and reward of what was learned; missing beside what an older version learned."""
        self.seam_file = path / "seam" / "seam.json"

    @property
    def seam(self) -> "SubtaskFolder":
        """The folder of the training across the seam to the former subtask."""
        return SubtaskFolder(self.path / "seam")

    def tuned(self) -> dict[str, Any] | None:
        """Return what training on across the seam gave; None where the policy was not, or was learned again since.

        {before, after, layouts, steps}.
        """
        row = read_json(self.seam_file)
        if not isinstance(row, dict) or row.get("key") != self.training().key:
            return None
        return {name: row.get(name) for name in ("before", "after", "layouts", "steps")}

    def imitated(self) -> int:
        """Return how many episodes of the oracle the policy imitated before it learned; 0 for none."""
        return next((one.get("cloned", 0) for one in read_curve(self.curve)), 0)

    def training(self, key: str = "") -> TrainingRecord:
        """Return the record of the training with that key; an empty one where another or none was trained."""
        try:
            kept = TypeAdapter(TrainingRecord).validate_python(read_json(self.path / RECORD) or _UNTRAINED)
        except (StoreError, ValueError):
            kept = TrainingRecord("")
        is_usable = kept.key == key and self.checkpoint(kept.steps).is_file() and self.policy.is_file()
        return kept if not key or is_usable else TrainingRecord(key)

    def is_of(self, subtask: Subtask) -> bool:
        """Whether what is here was learned with the success and reward that the subtask has. Raises StoreError."""
        kept = read_json(self.reward)
        return kept is None or kept == _wanted(subtask)

    def note(self, subtask: Subtask) -> None:
        """Note with which success and reward of a subtask what is here was learned. Raises StoreError."""
        write_json(self.reward, _wanted(subtask))

    def take_up(self, key: str) -> TrainingRecord:
        """Return the record of the training with that key, whose files the folder then holds.

        Those of another training are kept aside in branches/, and come back with its key: when an edit is undone.
        """
        current = self.training().key
        if current != key:
            if current:
                _move(self.path, self._branch(current))
            if self._branch(key).is_dir():
                _move(self._branch(key), self.path)
        return self.training(key)

    def _branch(self, key: str) -> Path:
        return self.path / BRANCHES / key[:16]

    def rollouts(self, steps: int) -> Path:
        """Return the file with recorded episodes of the policy as it was after so many steps."""
        return self.path / "rollouts" / f"{steps}.npz"

    def checkpoint(self, steps: int) -> Path:
        """Return the file with which training goes on after so many steps."""
        return self.path / f"checkpoint-{steps}.zip"

    def save(self, before: TrainingRecord, now: TrainingRecord, point: Mapping[str, Any], model: bytes) -> None:
        """Save an evaluated model: as checkpoint, as policy if none was better, and its point of the curve.

        The record is written last, so that a run killed at any moment goes on from one complete evaluation.
        """
        write_bytes(self.checkpoint(now.steps), model)
        if now.success >= now.best:
            write_bytes(self.policy, model)
        points = [one for one in read_curve(self.curve) if before.was_evaluated and one["steps"] <= before.steps]
        write_text(self.curve, "".join(f"{json.dumps(one)}\n" for one in [*points, point]))
        write_json(self.path / RECORD, asdict(now))
        for old in self.path.glob("checkpoint-*.zip"):
            if old != self.checkpoint(now.steps):
                old.unlink(missing_ok=True)


def note_former(project_dir: Path, subtasks: Sequence[Subtask]) -> None:
    """Note what policies of an older version were learned with, before their subtasks change. Raises StoreError."""
    for number, one in enumerate(subtasks):
        folder = subtask_folder(project_dir, number, one)
        if folder.policy.is_file() and not folder.reward.is_file():
            folder.note(one)


def _wanted(subtask: Subtask) -> dict[str, Any]:
    row = to_row(subtask)
    return {"success": row["success"], "reward": row["reward"]}


def _move(source: Path, target: Path) -> None:
    """Move what is in a folder, apart from its branches and a proposal, into another one.

    The record is last, so that a killed move is not taken for a complete one.
    """
    target.mkdir(parents=True, exist_ok=True)
    for one in sorted(source.iterdir(), key=lambda path: path.name == RECORD):
        if one.name not in (BRANCHES, "proposal.json"):
            if (target / one.name).is_dir():
                shutil.rmtree(target / one.name)
            one.replace(target / one.name)


def read_curve(path: Path) -> list[dict[str, Any]]:
    """Return the points of a curve.jsonl; none if there is none. Lines that are no points are left out."""
    if not path.is_file():
        return []
    points = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            points.append(CurvePoint.model_validate(parse_json(line)).model_dump(exclude_unset=True))
        except ValueError:
            continue
    return points


def subtask_folder(project_dir: Path, number: int, subtask: Subtask) -> SubtaskFolder:
    """Return the folder of a subtask; subtasks are numbered from 0 in the order of subtasks.json."""
    return SubtaskFolder(Path(project_dir) / FOLDER / f"{number}_{subtask.name}")

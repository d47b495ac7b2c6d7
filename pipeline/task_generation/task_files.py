"""Files of generated tasks in a project: generated/tasks.jsonl, one tried task a line, and the folders of their starts.

The lines are appended as each task is measured, so a killed command goes on with the next one.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pipeline.errors import StudioError, reason_of
from pipeline.simulation.program import Program
from pipeline.store import append_lines, parse_json
from pipeline.task_generation.demands import Demands
from pipeline.tasks import Task, task_from_json, task_to_json

FOLDER = "generated"
SCHEMA = 1
KEPT, REJECTED, REPEATED, UNUSABLE = "kept", "rejected", "repeated", "unusable"


class TaskGenerationError(StudioError):
    """Tasks that cannot be generated, or whose files cannot be read."""


@dataclass(frozen=True)
class TriedTask:
    """One tried task and what was measured of it."""

    key: str
    task: Task
    state: str
    """KEPT, REJECTED, REPEATED, or UNUSABLE for a proposal that is no task of its start."""
    reason: str
    """Why it was not kept; empty if it was."""
    level: int | None
    """By `demands`; None if its goals cannot be read by the rules."""
    start: str
    """Id of the start."""
    brought: tuple[str, ...]
    distractors: tuple[str, ...]
    categories: Mapping[str, str]
    """Of the objects of its start, by name."""
    demands: Demands | None = None
    layouts: int = 0
    solved: int = 0
    held: int = 0
    seconds: float = 0.0
    actions: float = 0.0
    difficulty: float | None = None
    worth: float | None = None
    """Success of the learner after its budget; None if it was not measured."""
    worth_reason: str = ""
    """Why it was not measured."""
    worth_layouts: int = 0
    """New layouts that the learner was measured on."""
    worth_seconds: float = 0.0
    """Processor time that it took."""
    run: str = ""
    """What it was generated from."""
    novelty: float | None = None
    """1 - the similarity to the nearest kept or solved task."""
    nearest: str = ""
    """Instruction of that task."""
    program: Program | None = None
    """That it was measured by, or the last that did not pass; None if none was written, or by an earlier version."""
    rounds: int = 0
    """Rounds in which a language model wrote and repaired it; 0 for the rules."""

    @property
    def success(self) -> float:
        """Share of the layouts that the oracle solved."""
        return self.solved / self.layouts if self.layouts else 0.0


def append_tried(project_dir: Path, run: str, tried: TriedTask) -> None:
    """Append a line. `run` names what the task was generated from. Raises StoreError."""
    path = tried_file(project_dir)
    path.parent.mkdir(exist_ok=True)
    append_lines(path, [{"schema": SCHEMA, **asdict(tried), "run": run, "task": task_to_json(tried.task)}])


def read_tried(project_dir: Path, run: str = "") -> list[TriedTask]:
    """Return the tried tasks of a run, in order; of the last one if `run` is empty. Raises TaskGenerationError."""
    path = tried_file(project_dir)
    try:
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        lines = lines[:-1] if lines and not lines[-1] else lines  # splitlines would end a line within a text, at U+2028
        rows = [_parsed(line, number == len(lines)) for number, line in enumerate(lines, 1)]
        rows = [row for row in rows if row]
        chosen = run or (rows[-1]["run"] if rows else "")
        return [_tried(row) for row in rows if row["run"] == chosen]
    except (OSError, ValueError, KeyError, TypeError, StudioError) as error:
        raise TaskGenerationError(
            f"{path} cannot be read ({reason_of(error)}); remove it to generate tasks from the beginning"
        ) from None


def _parsed(line: str, is_last: bool) -> dict[str, Any]:
    try:
        row = parse_json(line)
    except ValueError:
        if is_last:  # a crash while it was written
            return {}
        raise
    if row["schema"] > SCHEMA:
        raise TaskGenerationError("a newer GRS Studio wrote it")
    return row


def _tried(row: Mapping[str, Any]) -> TriedTask:
    values = {key: value for key, value in row.items() if key != "schema"}
    return TypeAdapter(TriedTask).validate_python({**values, "task": task_from_json(values["task"])})


def tried_file(project_dir: Path) -> Path:
    """Return generated/tasks.jsonl."""
    return Path(project_dir) / FOLDER / "tasks.jsonl"


def starts_folder(project_dir: Path, run: str) -> Path:
    """Return the folder of the starts of a run."""
    return Path(project_dir) / FOLDER / f"starts-{run}"


def start_folder(project_dir: Path, tried: TriedTask) -> Path:
    """Return the folder of a task's start."""
    return starts_folder(project_dir, tried.run) / tried.start

"""Programs that solved their task, kept in a workspace, and the nearest of them as examples for another task.

A kept program has the scene's objects in words and sizes, the task, and the version of the kit it was written for;
never a key, a path or a picture.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import without_folders
from pipeline.models.client.redaction import Redactor, secrets_of
from pipeline.secret_environment import KEY_VARIABLE, environment_value
from pipeline.simulation import kit
from pipeline.store import StoreError, digest, read_json, write_json
from pipeline.tasks import Task, task_from_json, task_to_json

SCHEMA = 1
KEPT_FACTS = ("name", "category", "shape", "colour", "size")
"""What is kept of each object."""
OBJECT_WEIGHT = 0.5
"""Weight of common objects beside common words of the instructions."""


@dataclass(frozen=True)
class SolvedProgram:
    """A program that solved its task."""

    scene_key: str
    """Hash of the photograph."""
    objects: tuple[Mapping[str, Any], ...]
    """KEPT_FACTS of every object of the scene."""
    task: Task
    simulation: str
    checks: str
    program_source: str
    """Who wrote the program; the task has its own source."""
    success: float
    """Share of the layouts that were solved."""
    kit_version: str
    robot: str = "gripper"


def kit_version() -> str:
    """Return a hash of the kit's documented interface."""
    return digest(kit.__doc__ or "")[:12]


def object_facts(scene: kit.Scene) -> tuple[dict[str, Any], ...]:
    """Return KEPT_FACTS of every object of a scene; sizes in metres."""
    facts = ({key: getattr(one, key) for key in KEPT_FACTS[:-1]} for one in scene.objects)
    sizes = ([round(float(extent), 3) for extent in one.size] for one in scene.objects)
    return tuple(one | {"size": size} for one, size in zip(facts, sizes, strict=True))


def keep_solved(solved: SolvedProgram, folder: Path) -> Path:
    """Save a solved program, once for each scene, task and program, without keys and folders; return the file."""
    hide = Redactor(secrets_of(environment_value(KEY_VARIABLE), environment_value("GRS_BASE_URL")))
    value = {"schema": SCHEMA, **asdict(solved), "task": task_to_json(solved.task)}
    key = digest(solved.scene_key, value["task"], solved.simulation, solved.checks)
    file = folder / f"{key}.json"
    write_json(file, _each_text(value, lambda text: hide(without_folders(text))))
    return file


def read_solved(folder: Path) -> Iterator[SolvedProgram]:
    """Yield the kept programs that fit the present kit; files that cannot be read are skipped."""
    for file in sorted(folder.glob("*.json")):
        try:
            value: dict[str, Any] = dict(read_json(file, SCHEMA) or {})
            del value["schema"]
            value["task"] = task_from_json(value["task"])
            solved = SolvedProgram(**value)
        except (StoreError, KeyError, TypeError, ValueError):
            continue
        if solved.kit_version == kit_version():
            yield solved


def nearest_solved(
    kept: Iterable[SolvedProgram], task: Task, objects: Sequence[Mapping[str, Any]], scene_key: str, count: int
) -> tuple[SolvedProgram, ...]:
    """Return the programs nearest by the task's words and the objects' categories, best first.

    Those of the scene itself, of other kinds of goals, and with no word in common are left out.
    """
    others = [one for one in kept if one.scene_key != scene_key and _goal_kinds(one.task) == _goal_kinds(task)]
    scored = [(_similarity(one, task, objects), index) for index, one in enumerate(others)]
    best = sorted((one for one in scored if one[0] > 0), key=lambda one: (-one[0], one[1]))[:count]
    return tuple(others[index] for _, index in best)


def example_json(solved: SolvedProgram) -> dict[str, Any]:
    """Return a solved program as an example in a prompt."""
    task = task_to_json(solved.task)
    return {
        "task": {key: task[key] for key in ("instruction", "objects", "goals", "kind")},
        "objects": [dict(one) for one in solved.objects if one.get("name") in solved.task.objects],
        "simulation": solved.simulation,
        "checks": solved.checks,
        "written_by": solved.program_source,
        "solved": f"{solved.success:.0%} of the layouts",
    }


def _goal_kinds(task: Task) -> frozenset[str]:
    """Return the kinds of a task's goals, else the task's own kind where the goals are in words alone."""
    return frozenset(goal.kind for goal in task.planned) or frozenset({task.kind})


def _similarity(solved: SolvedProgram, task: Task, objects: Sequence[Mapping[str, Any]]) -> float:
    words = _cosine(_words(f"{solved.task.instruction} {solved.task.kind}"), _words(f"{task.instruction} {task.kind}"))
    used = _categories(solved.objects, solved.task), _categories(objects, task)
    return words and words + OBJECT_WEIGHT * _cosine(*used)


def _categories(objects: Iterable[Mapping[str, Any]], task: Task) -> Counter[str]:
    return Counter(str(one.get("category") or one.get("shape")) for one in objects if one.get("name") in task.objects)


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[a-z]{2,}", text.lower()))


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    lengths = math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))
    return sum(number * other[word] for word, number in one.items()) / lengths if lengths else 0.0


def _each_text(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _each_text(one, change) for key, one in value.items()}
    return [_each_text(one, change) for one in value] if isinstance(value, list | tuple) else value

"""What a robot shall do with the twin: proposed, or a person's words."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, Field

from pipeline.errors import StudioError
from pipeline.models import Model, ModelError, Question
from pipeline.models.rules.aims import Aim, listed, sentences

_Answer = TypeVar("_Answer", bound=BaseModel)


class TaskError(StudioError):
    """A task that does not fit the scene; says why and what would."""

    def __init__(self, reason: str, instead: str = "", works: Iterable[str] = ()):
        self.reason, self.instead, self.works = reason, instead, tuple(works)
        """Why; the same words with what may be meant instead of what is not there, empty where nothing suggests itself;
        instructions that would do, best first."""
        would = ", ".join(f'"{one.rstrip(".")}"' for one in self.works)
        super().__init__(f"{reason.rstrip('.')}. What would work here: {would}" if would and not instead else reason)


@dataclass(frozen=True)
class Task:
    name: str
    """Words joined by "_"."""
    instruction: str
    """One sentence to the robot."""
    objects: tuple[str, ...]
    """Names of the placements used."""
    goals: tuple[str, ...]
    """What holds when it is done, in plain words, in order; a later stage begins with "then"."""
    kind: str = ""
    """"stack", "sort_by_size", "sort_by_colour", "sort_by_height", "line_up", "put_in", "put_in_tray", "put_on",
    "gather", "group", "select", "move_to", "swap", "mirror", "make_room", "move_near", "move_away", "place_beside",
    "put_on_table", "open", "close", "put_in_drawer", "arrange" (laid out by hand) or "several"; another model may say
    others; empty for a person's words not yet understood."""
    source: str = "rules"
    """"rules", a model's name, or "human"."""
    difficulty: float | None = None
    """How hard it looks, from 0, easy, to 1; None where nobody said."""


class TaskAnswer(BaseModel):
    """One task, as a model answers it."""

    name: str = ""
    instruction: str = ""
    objects: list[str] = Field(default_factory=list)
    goals: list[str] = Field(default_factory=list)
    kind: str = ""
    difficulty: float | None = Field(default=None, ge=0, le=1)


class TasksAnswer(BaseModel):
    tasks: list[TaskAnswer]


class UnderstoodAnswer(TaskAnswer):
    fits: bool
    """Whether the words can be done with these objects."""
    reason: str = ""
    """Where not: why, and what would work."""
    instead: str = ""
    """Where not, but nearly: the words that may have been meant."""
    works: list[str] = Field(default_factory=list)
    """Where not: instructions that would do."""


def propose(scene: Any, model: Model, count: int = 12, about: Mapping[str, str] | None = None) -> tuple[Task, ...]:
    """Tasks that these objects support, best first; empty where nothing was found on the table.

    `scene` is a kit.Scene or its objects; `about` tells more of each by name (a caption). Raises ModelError.
    """
    data = scene_data(scene, about)
    if not data["objects"]:
        return ()
    answer = model.ask(Question("propose_tasks", {"scene": data, "count": count}, TasksAnswer))
    tasks = [_task(said, data, model.name) for said in _as(answer, TasksAnswer).tasks]
    found = tuple(task for task in tasks if task)
    if tasks and not found:
        raise ModelError(
            f"{model.name} proposed tasks about objects that are not here; ask again or write one", str(answer)
        )
    return found[:count]


def understand(text: str, scene: Any, model: Model, about: Mapping[str, str] | None = None) -> Task:
    """A person's words as a task. Raises TaskError where they do not fit the scene, ModelError where nobody answers."""
    text = " ".join(str(text).split())
    if not text:
        raise TaskError("the instruction is empty: say what shall be done with which object")
    data = scene_data(scene, about)
    if not data["objects"]:
        raise TaskError("no object was found on this table: mark one on the Masks page first")
    answer = _as(
        model.ask(Question("understand_task", {"scene": data, "text": text}, UnderstoodAnswer)), UnderstoodAnswer
    )
    if not answer.fits:
        raise TaskError(answer.reason or "this cannot be done with these objects", answer.instead, answer.works)
    task = _task(answer, data, "human")
    if task is None:
        raise ModelError(
            f"{model.name} answered with objects that are not here: {', '.join(answer.objects)}", str(answer)
        )
    return replace(task, instruction=text)


def arranged(places: Mapping[str, tuple[float, float]]) -> Task:
    """A person's own layout as a task: world x and y in metres, by name, of what shall stand elsewhere.

    Raises TaskError where nothing was moved.
    """
    if not places:
        raise TaskError("nothing was moved: drag at least one object to where it shall end")
    aims = [Aim("at", (name,), xy=(round(float(x), 3), round(float(y), 3))) for name, (x, y) in places.items()]
    spots = listed([f"{aim.names[0]} to ({aim.xy[0]:.2f}, {aim.xy[1]:.2f})" for aim in aims if aim.xy])
    return Task(f"arrange_{len(aims)}", f"Move {spots}.", tuple(places), sentences(aims), "arrange", "human")


def reworded(task: Task, words: Callable[[str], str]) -> Task:
    """The task with all that names objects put in other words."""
    return replace(
        task,
        instruction=words(task.instruction),
        objects=tuple(map(words, task.objects)),
        goals=tuple(map(words, task.goals)),
    )


def scene_data(scene: Any, about: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A kit.Scene, or its objects alone, as JSON values: what every question about a task is asked with."""
    objects: Iterable[Any] = getattr(scene, "objects", scene)
    data: dict[str, Any] = {"objects": [_object(o, (about or {}).get(o.name, "")) for o in objects]}
    if hasattr(scene, "table"):
        data["table"] = {"polygon": _numbers(scene.table.polygon), "bounds": _numbers(scene.table.bounds)}
        data |= {"right": _numbers(scene.right), "away": _numbers(scene.away)}
    return data


def task_to_json(task: Task) -> dict[str, Any]:
    """As task.json holds it."""
    return asdict(task) | {"objects": list(task.objects), "goals": list(task.goals)}


def task_from_json(said: Mapping[str, Any]) -> Task:
    """Of task.json's values. Raises TaskError that names what is missing."""
    wanted = ("name", "instruction", "objects", "goals")
    if missing := [key for key in wanted if not isinstance(said, Mapping) or key not in said]:
        raise TaskError(f"the task has no {', '.join(missing)}; it needs name, instruction, objects and goals")
    objects, goals = tuple(map(str, said["objects"])), tuple(map(str, said["goals"]))
    kind, source, hard = said.get("kind") or "", said.get("source") or "human", said.get("difficulty")
    return Task(said["name"], said["instruction"], objects, goals, kind, source, hard)


def _object(thing: Any, about: str) -> dict[str, Any]:
    said = {key: getattr(thing, key) for key in ("name", "category", "shape", "colour", "container")}
    size, position = _numbers(thing.size), _numbers(thing.position)
    said |= {"size": size, "position": position, "volume": round(float(thing.volume), 7)}
    if parts := getattr(thing, "parts", ()):
        said["parts"] = [_part(part, thing) for part in parts]
    return said | {"asset": getattr(thing, "asset_id", ""), "caption": about}


def _part(part: Any, thing: Any) -> dict[str, Any]:
    """A drawer, door, lid or knob; `upright` where the hand can move it."""
    size = _numbers(np.ptp(part.corners @ thing.rotation, axis=0))
    said = {"name": part.name, "kind": part.kind, "open": round(part.open, 2), "size": size}
    return said | {"upright": part.upright}


def _numbers(values: Any) -> list[Any]:
    return [_numbers(v) if hasattr(v, "__len__") else round(float(v), 4) for v in values]


def _task(said: TaskAnswer, data: Mapping[str, Any], source: str) -> Task | None:
    known = [o["name"] for o in data["objects"]]
    if not said.objects or not said.instruction or any(name not in known for name in said.objects):
        return None
    name = re.sub(r"\W+", "_", said.name.lower()).strip("_") or "task"
    return Task(name, said.instruction, tuple(said.objects), tuple(said.goals), said.kind, source, said.difficulty)


def _as(answer: BaseModel, kind: type[_Answer]) -> _Answer:
    if not isinstance(answer, kind):
        raise ModelError(f"the model answered with {type(answer).__name__}, not {kind.__name__}")
    return answer

"""Tasks for a robot in the twin: proposed by a model, parsed from an instruction, or arranged by hand."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, Field

from pipeline.errors import StudioError
from pipeline.models import Model, ModelError, Question, has_language
from pipeline.planner.language.object_names import plain_names
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.plans import TaskPlan, difficulty, task_kind
from pipeline.planner.scene_objects import TableTop, rests_on, scene_objects
from pipeline.simulation.goals.sentences import planned_from_json, planned_to_json, read_sentences, sentences
from pipeline.simulation.goals.spec import PlannedGoal, listed

_Answer = TypeVar("_Answer", bound=BaseModel)


class TaskError(StudioError):
    """A task does not fit the scene. The message says why, and which instructions would work."""

    def __init__(self, reason: str, suggestion: str = "", alternatives: Iterable[str] = ()):
        self.reason = reason
        self.suggestion = suggestion
        """The instruction with a name that is not in the scene replaced by a similar one that is; empty if none is."""
        self.alternatives = tuple(alternatives)
        """Instructions that would work, best first."""
        works = ", ".join(f'"{one.rstrip(".")}"' for one in self.alternatives)
        super().__init__(f"{reason.rstrip('.')}. What would work here: {works}" if works and not suggestion else reason)


@dataclass(frozen=True)
class Task:
    """What a robot is to do."""

    name: str
    """Words joined by "_"."""
    instruction: str
    """One sentence for the robot."""
    objects: tuple[str, ...]
    """Names of the placements used."""
    goals: tuple[str, ...]
    """Sentences that hold when the task is done, in order; a later stage begins with "then"."""
    kind: str = ""
    """"stack", "sort_by_size", "sort_by_colour", "sort_by_height", "line_up", "put_in", "put_in_tray", "take_out",
    "put_on", "gather", "group", "select", "move_to", "swap", "mirror", "make_room", "move_near", "move_away",
    "place_beside", "put_on_table", "open", "close", "put_in_drawer", "arrange" (by hand) or "several". A language
    model may answer others. Empty for an instruction that is not parsed yet."""
    source: str = "rules"
    """"rules", a model's name, or "human"."""
    difficulty: float | None = None
    """Estimated difficulty in [0, 1]; None if unknown."""
    planned: tuple[PlannedGoal, ...] = ()
    """The goals as data, which `goals` says in words; empty where the words have no known form."""

    def __post_init__(self) -> None:
        if sentences(self.planned) != self.goals:  # made from words alone, or with other words since
            object.__setattr__(self, "planned", read_sentences(self.goals) or ())


class TaskAnswer(BaseModel):
    """One task, as a model answers it."""

    name: str = ""
    instruction: str = ""
    objects: list[str] = Field(default_factory=list)
    goals: list[str] = Field(default_factory=list)
    kind: str = ""
    difficulty: float | None = None
    """From 0 to 1. Clipped afterwards, because servers do not enforce bounds of numbers."""


class TasksAnswer(BaseModel):
    tasks: list[TaskAnswer]


@dataclass(frozen=True)
class DroppedProposal:
    """A proposal that is no task of the scene."""

    task: Task
    reason: str


@dataclass(frozen=True)
class Proposals:
    """Proposed tasks, and those proposals that cannot be used."""

    tasks: tuple[Task, ...]
    """Best first."""
    dropped: tuple[DroppedProposal, ...] = ()


class UnderstoodAnswer(TaskAnswer):
    fits: bool
    """Whether the instruction can be carried out with these objects."""
    reason: str = ""
    """If not: why, and what would work."""
    instead: str = ""
    """If not, but nearly: the instruction that was probably intended."""
    works: list[str] = Field(default_factory=list)
    """If not: instructions that would work."""


def propose(scene: Any, model: Model, count: int = 12, notes: Mapping[str, str] | None = None) -> tuple[Task, ...]:
    """Return the usable tasks of `ask_for_proposals`. Raises ModelError."""
    return ask_for_proposals(scene, model, count, notes).tasks


def ask_for_proposals(
    scene: Any,
    model: Model,
    count: int = 12,
    notes: Mapping[str, str] | None = None,
    not_picked: Mapping[str, str] | None = None,
    doubtful: Mapping[str, str] | None = None,
    alternatives: bool = False,
    learned: str = "",
) -> Proposals:
    """Return tasks that these objects support, and why others were dropped; none for an empty table.

    `scene` is a kit.Scene or its objects. `notes` tells the model more about each object by name, such as its caption.
    `not_picked` holds why the robot cannot pick up an object, by its name; `doubtful` why its size and place are a
    guess, so that no task is about it. With `alternatives` the offline rules add tasks of the same kinds with other
    objects, beyond `count`. `learned` says what became of the tasks proposed before, for a language model. Raises
    ModelError.
    """
    data = scene_to_json(scene, notes, doubtful)
    for one in data["objects"]:
        if reason := (not_picked or {}).get(one["name"]):
            one["robot_cannot_pick_it_up"] = reason
    if not data["objects"]:
        return Proposals(())
    more = {"alternatives": True} if alternatives and not has_language(model) else {}
    data |= {"earlier_proposals": learned.splitlines()} if learned else {}
    answer = model.ask(Question("propose_tasks", {"scene": data, "count": count, **more}, TasksAnswer))
    answers = _checked(answer, TasksAnswer).tasks
    dropped = [DroppedProposal(_task(one, model.name), why) for one in answers if (why := _why_unusable(one, data))]
    tasks = tuple(_task(one, model.name) for one in answers if not _why_unusable(one, data))
    return Proposals(tasks if more else tasks[:count], tuple(dropped))


def understand_instruction(
    text: str, scene: Any, model: Model, notes: Mapping[str, str] | None = None, before: Task | None = None
) -> Task:
    """Return the task of an instruction in the user's words.

    `before` is the task that the words may correct or continue ("no, the other bowl"). Raises TaskError if it does not
    fit the scene, ModelError if the model gives no usable answer.
    """
    lines = [" ".join(line.split()) for line in str(text).splitlines() if line.strip()]
    text = "\n".join(lines)  # a line may be a step of its own
    if not text:
        raise TaskError("the instruction is empty; say what to do with which object")
    data = scene_to_json(scene, notes)
    if not data["objects"]:
        raise TaskError("there is no object on this table; mark one on the Masks page first")
    earlier = {"instruction": before.instruction, "goals": list(before.goals)} if before else {}
    question = Question("understand_task", {"scene": data, "text": text, "before": earlier}, UnderstoodAnswer)
    answer = _checked(model.ask(question), UnderstoodAnswer)
    if not answer.fits:
        raise TaskError(answer.reason or "this cannot be done with these objects", answer.instead, answer.works)
    if reason := _why_unusable(answer, data):
        name = _identifier(answer.name)
        raise ModelError(f"the answer of {model.name} cannot be used: {name}: {reason}", str(answer))
    return replace(_task(answer, "human"), instruction=(answer.instruction if before else "") or " ".join(lines))


def planned_task(goals: Sequence[PlannedGoal], scene: Mapping[str, Any], instruction: str = "") -> Task:
    """Return the task of these goals, in the words of a person if given.

    `scene` is that of `scene_to_json`.
    """
    goals, objects = tuple(goals), scene_objects(scene)
    words = instruction or instruction_of(goals, plain_names(objects, TableTop.from_json(scene)))
    answer = TaskAnswer(**TaskPlan(task_kind(goals), goals).answer(words), difficulty=difficulty(goals, scene))
    return replace(_task(answer, "human"), planned=goals)


def arrangement_task(positions: Mapping[str, tuple[float, float]]) -> Task:
    """Return the task of moving objects to these positions: world x and y in metres by name.

    Raises TaskError if no object was moved.
    """
    if not positions:
        raise TaskError("nothing was moved; drag at least one object to its target position")
    rounded = {name: (round(float(x), 3), round(float(y), 3)) for name, (x, y) in positions.items()}
    goals = [PlannedGoal("at", (name,), xy=xy) for name, xy in rounded.items()]
    moves = listed([f"{name} to ({x:.3f}, {y:.3f})" for name, (x, y) in rounded.items()])
    return Task(
        f"arrange_{len(goals)}", f"Move {moves}.", tuple(positions), sentences(goals), "arrange", "human",
        planned=tuple(goals),
    )  # fmt: skip


def rename_in_task(task: Task, rename: Callable[[str], str]) -> Task:
    """Return the task with every text that may name objects passed through `rename`."""
    return replace(
        task,
        instruction=rename(task.instruction),
        objects=tuple(map(rename, task.objects)),
        goals=tuple(map(rename, task.goals)),
        planned=tuple(replace(goal, names=tuple(map(rename, goal.names))) for goal in task.planned),
    )


def scene_to_json(
    scene: Any, notes: Mapping[str, str] | None = None, doubtful: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a kit.Scene, or its objects alone, as the JSON values that every question about a task contains.

    `notes` are what is known about an object, `doubtful` why its size is a guess, by its name.
    """
    objects: Iterable[Any] = getattr(scene, "objects", scene)
    data: dict[str, Any] = {"objects": [_object_to_json(o, (notes or {}).get(o.name, "")) for o in objects]}
    if hasattr(scene, "table"):
        data["table"] = {"polygon": _numbers(scene.table.polygon), "bounds": _numbers(scene.table.bounds)}
        data |= {"right": _numbers(scene.right), "away": _numbers(scene.away)}
        if walls := getattr(scene, "walls", ()):
            data["bin_walls"] = [{"top": round(one.top, 3), "polygon": _numbers(one.outline)} for one in walls]
        if shelves := getattr(scene, "shelves", ()):
            data["shelves"] = [{"top": round(one.top, 3), "polygon": _numbers(one.outline)} for one in shelves]
            for row, one in zip(data["objects"], scene.objects, strict=True):
                row |= {"stands_on": shelf.name} if (shelf := scene.shelf_under(one)) else {}
    known = scene_objects(data)
    for row, one in zip(data["objects"], known, strict=True):
        if below := min((o for o in known if rests_on(one, o)), key=lambda o: o.volume, default=None):
            row["stands_in" if below.container else "rests_on"] = below.name
    for row in data["objects"]:
        if reason := (doubtful or {}).get(row["name"]):
            row["size_is_a_guess"] = reason
    return data


def task_to_json(task: Task) -> dict[str, Any]:
    """Return the contents of task.json."""
    return question_task(task) | {"planned": planned_to_json(task.planned)}


def question_task(task: Task) -> dict[str, Any]:
    """Return a task as questions to a model hold it: in words."""
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in vars(task).items() if key != "planned"
    }


def task_from_json(value: Mapping[str, Any]) -> Task:
    """Inverse of `task_to_json`. Raises TaskError that names missing keys."""
    required = ("name", "instruction", "objects", "goals")
    if missing := [key for key in required if not isinstance(value, Mapping) or key not in value]:
        raise TaskError(f"the task has no {', '.join(missing)}; it needs name, instruction, objects and goals")
    if not all(isinstance(value[key], list) for key in ("objects", "goals")):
        raise TaskError("the task's objects and goals should be lists of texts")
    objects, goals = tuple(map(str, value["objects"])), tuple(map(str, value["goals"]))
    kind, source = value.get("kind") or "", value.get("source") or "human"
    planned = planned_from_json(value.get("planned") or ())
    return Task(value["name"], value["instruction"], objects, goals, kind, source, value.get("difficulty"), planned)


def _object_to_json(o: Any, note: str) -> dict[str, Any]:
    value = {key: getattr(o, key) for key in ("name", "category", "shape", "colour", "container")}
    value |= {"size": _numbers(o.size), "position": _numbers(o.position), "volume": round(float(o.volume), 7)}
    if parts := getattr(o, "parts", ()):
        value["parts"] = [_part_to_json(part, o) for part in parts]
    if points := getattr(o, "affordances", {}):
        value["affordances"] = {name: _numbers(o.affordance(name)) for name in points}
    return value | {"asset": getattr(o, "asset_id", ""), "caption": note}


def _part_to_json(part: Any, o: Any) -> dict[str, Any]:
    """Return a drawer, door, lid or knob. `upright` says that the gripper can move it."""
    size = _numbers(np.ptp(part.corners @ o.rotation, axis=0))
    return {"name": part.name, "kind": part.kind, "open": round(part.open, 2), "size": size, "upright": part.upright}


def _numbers(values: Any) -> list[Any]:
    return [_numbers(v) if hasattr(v, "__len__") else round(float(v), 4) for v in values]


def _why_unusable(answer: TaskAnswer, scene: Mapping[str, Any]) -> str:
    """Return why an answer is no task of this scene; empty if it is one."""
    names = [o["name"] for o in scene["objects"]]
    if missing := [name for name in answer.objects if name not in names]:
        return f"there is no {listed(missing)} here"
    if not answer.objects:
        return "it names no object"
    return "" if answer.instruction.strip() else "it has no instruction"


def _task(answer: TaskAnswer, source: str) -> Task:
    difficulty = answer.difficulty
    clipped = min(max(difficulty, 0.0), 1.0) if difficulty is not None and difficulty == difficulty else None
    objects, goals = tuple(answer.objects), tuple(answer.goals)
    return Task(_identifier(answer.name), answer.instruction, objects, goals, answer.kind, source, clipped)


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower()).strip("_") or "task"


def _checked(answer: BaseModel, answer_type: type[_Answer]) -> _Answer:
    if not isinstance(answer, answer_type):
        raise ModelError(f"the model answered with {type(answer).__name__}, not {answer_type.__name__}")
    return answer

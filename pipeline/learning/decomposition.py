"""A task as subtasks: asked of a model, by rules offline. What cannot be used is dropped with the reason."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
from pydantic import BaseModel, Field, JsonValue

from pipeline.learning.layouts import Layouts
from pipeline.learning.subtask import MAX_SUBTASKS, LearningError, Subtask, from_row, why_unusable
from pipeline.learning.terms import term_manual
from pipeline.models import Model, ModelError, Question, source_of
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.spec import goal_specs
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import ancestors
from pipeline.simulation.recipe import to_json
from pipeline.tasks import Task

KIND = "decompose_task"
KINDS = {
    mujoco.mjtJoint.mjJNT_FREE: "free",
    mujoco.mjtJoint.mjJNT_BALL: "ball",
    mujoco.mjtJoint.mjJNT_SLIDE: "prismatic",
    mujoco.mjtJoint.mjJNT_HINGE: "revolute",
}
"""URDF's names of the kinds of joints."""


class DecompositionAnswer(BaseModel):
    """Subtasks as a model answers them; each is checked on its own afterwards."""

    subtasks: list[dict[str, JsonValue]] = Field(max_length=200)


@dataclass(frozen=True)
class Decomposition:
    """The subtasks of a task."""

    subtasks: tuple[Subtask, ...]
    dropped: tuple[str, ...] = ()
    """Why each unusable subtask was dropped."""


def decompose(task: Task, layouts: Layouts, model: Model) -> Decomposition:
    """Return the usable subtasks that a model answers. Raises ModelError if it fails, LearningError if none is left."""
    answer = model.ask(Question(KIND, question_data(task, layouts), DecompositionAnswer, subject=task.name))
    rows = getattr(answer, "subtasks", None)
    if not isinstance(rows, list):
        raise ModelError(f"{model.name} did not answer a list of subtasks")
    source = source_of(model, KIND)
    base = layouts.base
    subtasks: list[Subtask] = []
    dropped = []
    for row in rows[:MAX_SUBTASKS]:
        try:
            subtask = from_row({**row, "source": source})
        except LearningError as error:
            dropped.append(str(error))
            continue
        if reason := why_unusable(subtask, subtasks, base.objects, list(base.zones)):
            dropped.append(f"subtask {subtask.name!r}: {reason}")
        else:
            subtasks.append(subtask)
    if not subtasks:
        reasons = f": {dropped[0]}" if dropped else ""
        raise LearningError(f"{model.name} answered no subtask that can be used{reasons}")
    if missing := missing_goals(subtasks, base.goals):
        dropped.append(f"no subtask ends with: {', '.join(goal.name for goal in missing)}")
    return Decomposition(tuple(subtasks), tuple(dropped))


def missing_goals(subtasks: list[Subtask] | tuple[Subtask, ...], goals: tuple[Goal, ...]) -> list[Goal]:
    """Return the goals of a task that no subtask has among its success, neither itself nor all of its steps."""
    reached = {goal for subtask in subtasks for goal in subtask.success}
    return [goal for goal in goals if goal not in reached and not set(goal.steps) <= reached]


def question_data(task: Task, layouts: Layouts) -> dict[str, Any]:
    """Return what is asked: the assets with parts, joints and limits; the skills; the task and its goals."""
    base = layouts.base
    stages = [[to_json(goal) for goal in goals] for _, goals in base.stages]
    return {
        "assets": describe_assets(base.objects, layouts.world().model),
        "goals": goal_schema(),
        "terms": term_manual(),
        "task": {"name": task.name, "instruction": task.instruction, "stages": stages},
    }


def goal_schema() -> str:
    """Return a line for each kind of goal: its JSON with the types of its fields, and what it means."""
    lines = []
    for kind in dict.fromkeys(spec.goal for spec in goal_specs().values()):
        fields = ", ".join(f'"{one.name}": {_type_name(one)}' for one in dataclasses.fields(kind))
        lines.append(f'{{"goal": "{kind.__name__}", {fields}}}: {(kind.__doc__ or "").strip().splitlines()[0]}')
    return "\n".join(lines)


def _type_name(field: Any) -> str:
    name = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
    return name if field.default is dataclasses.MISSING else f"{name} = {field.default!r}"


def parts_of(model: mujoco.MjModel, body: int) -> list[dict[str, Any]]:
    """Return the links below and with a body: name, link, joint, type and limits, parents first."""
    inside = [b for b in range(1, model.nbody) if body in ancestors(model, b)]
    return [_part(model, b) for b in inside]


def describe_assets(objects: Mapping[str, Object], model: mujoco.MjModel) -> list[dict[str, Any]]:
    """Return every object of a world as JSON: its measures and its parts."""
    return [
        {
            "name": one.name, "category": one.category, "size": [round(float(extent), 3) for extent in one.size],
            "bottom": round(one.bottom, 3), "top": round(one.top, 3), "container": one.container, "fixed": one.fixed,
            "moving_parts": [part.name for part in one.parts],
            "parts": _with_names(parts_of(model, model.body(one.name).id), one),
            **_affordances(one),
        }
        for one in objects.values()
    ]  # fmt: skip


def _affordances(one: Object) -> dict[str, Any]:
    """Return the world points of an object's affordances; nothing for an object without any."""
    points = {name: [round(float(x), 3) for x in one.affordance(name)] for name in one.affordances}
    return {"affordances": points} if points else {}


def _with_names(parts: list[dict[str, Any]], one: Object) -> list[dict[str, Any]]:
    """Return parts under the names that goals use for those that move."""
    by_joint = {part.joint: part.name for part in one.parts}
    return [part | {"name": by_joint.get(part["joint_name"], part["name"])} for part in parts]


def _part(model: mujoco.MjModel, body: int) -> dict[str, Any]:
    name = model.body(body).name
    part: dict[str, Any] = {"name": name, "link_name": name, "joint_name": "", "joint_type": "fixed"}
    if not model.body_jntnum[body]:
        return part
    joint = int(model.body_jntadr[body])
    part |= {"joint_name": model.joint(joint).name, "joint_type": KINDS[mujoco.mjtJoint(int(model.jnt_type[joint]))]}
    if model.jnt_limited[joint]:
        part["limit"] = [round(float(limit), 4) for limit in model.jnt_range[joint]]
    return part

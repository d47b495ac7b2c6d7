"""The task builder of the Task page: its forms, and its requests, which read, word and try the goals in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.feasibility import dry_run
from pipeline.object_words import ObjectWords, object_words
from pipeline.planner.goal_forms import GoalForm, goal_forms, is_fillable
from pipeline.planner.language.lexicon import UnclearPhrase
from pipeline.planner.language.reader import InstructionReader
from pipeline.planner.plans import why_infeasible
from pipeline.planner.scene_objects import NEW_CONTAINERS, SceneObject, TableTop, scene_objects
from pipeline.run import project_robot
from pipeline.run.scene_context import object_notes
from pipeline.simulation import kit
from pipeline.simulation.goals.sentences import planned_from_json, planned_to_json
from pipeline.tasks import Task, planned_task, scene_to_json
from studio.accounts.roles import Role
from studio.sessions.project_work import known_tasks
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.task.proposals import TASK_FIELD
from studio.texts import t, translated
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError
from studio.web.theme import object_colour

ZONE_WORDS = {
    "left_zone": "Left",
    "right_zone": "Right",
    "near_zone": "Front",
    "far_zone": "Rear",
    "middle_zone": "Middle",
}
"""Titles of the zones at the sides of the table."""
MAX_GOALS = 40
"""Goals of one task that are built."""


def endpoint(sessions: SessionRegistry) -> Endpoint:
    """Return the endpoint of TaskBuilder."""
    handlers = {"read": _read, "build": _build, "preview": _preview}
    return Endpoint(handlers, session_context(sessions), roles={"read": Role.VISIT}, long_kinds=("preview",))


def builder_record(session: Session | None) -> dict[str, Any]:
    """Return TaskBuilder's value."""
    scene = _scene(session) if session else None
    if session is None or scene is None:
        return {"token": "", "objects": [], "forms": [], "fills": TASK_FIELD}
    words, table = object_words(session.project), TableTop.from_json(scene)
    twin = session.project.scene()
    ids = {placement.name: placement.segment_id for placement in twin.placements} if twin else {}
    objects = scene_objects(scene)
    return {
        "token": session.token,
        "objects": [_object(one, ids.get(one.name, 0), words, table) for one in objects],
        "table": _on_table(table.polygon, table),
        "axes": [table.right, table.away],
        "forms": [_form(form) for form in goal_forms() if _is_possible(form, objects)],
        "zones": [{"name": name, "words": t(ZONE_WORDS[name])} for name in ZONE_WORDS],
        "containers": [{"name": name, "words": t(name.capitalize())} for name in NEW_CONTAINERS],
        "fills": TASK_FIELD,
        "running": session.replay.follows and session.runner.current is not None,
    }


def _scene(session: Session) -> dict[str, Any] | None:
    """Return the twin as questions about tasks hold it; None before there is one."""
    project = session.project

    def read() -> dict[str, Any] | None:
        if project.scene() is None:
            return None
        return scene_to_json(kit.Scene.load(project.folder), object_notes(project, False, {}))

    return session.cache.get("scene of the task builder", "scene.json", read)


def _object(one: SceneObject, id: int, words: ObjectWords, table: TableTop) -> dict[str, Any]:
    return {
        "id": id,
        "name": one.name,
        "words": words.of(one.name),
        "colour": object_colour(id),
        "parts": [{"name": part.name, "words": part.name.replace("_", " ")} for part in one.parts],
        "place": _on_table(np.asarray(one.position[:2]), table),
    }


def _on_table(xy: np.ndarray, table: TableTop) -> list[Any]:
    """Return world points (..., 2) in metres to the camera's right and away from it."""
    return np.round(xy @ np.array([table.right, table.away]).T, 4).tolist()


def _form(form: GoalForm) -> dict[str, Any]:
    holes = [{"type": hole.type, "index": hole.index} for hole in form.holes]
    goal = {"goal": form.kind, "along": form.along, "new_container": form.new_container}
    return {"key": form.key, "words": t(form.words), "holes": holes, **goal}


def _is_possible(form: GoalForm, objects: tuple[SceneObject, ...]) -> bool:
    """Return whether there are as many objects as the form names, and parts if it names one."""
    types = [hole.type for hole in form.holes]
    needed = 2 if "list" in types else sum(one in ("object", "objects") for one in types)
    return len(objects) >= needed and ("part" not in types or any(one.parts for one in objects))


def _needed_scene(session: Session) -> dict[str, Any]:
    scene = _scene(session)
    if scene is None:
        raise RequestError("There is no twin yet to do a task with; wait until the scene is done.")
    return scene


def _read(session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the goals of the task {text}: of one that is known, else as the offline rules read it."""
    scene, text = _needed_scene(session), _plain(session, request)
    known = task = known_tasks(session).get(text)
    if known is None and text:
        reader = InstructionReader(scene_objects(scene), TableTop.from_json(scene))
        try:
            task = planned_task(reader.read(text).goals, scene, text)
        except UnclearPhrase as unclear:
            return {"goals": [], "unread": translated(object_words(session.project).in_words(str(unclear)))}
    if task is None or not task.planned:
        return {"goals": [], "unread": t("This task's goals cannot be shown here; build it again.") if task else ""}
    return _answer(session, task, scene) | {"is_known": known is not None}


def _build(session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the task of {goals} in words, or in those of {text}; "Generate" with these words gets the goals.

    Raises RequestError.
    """
    task, scene = _built(session, request), _needed_scene(session)
    session.keep_built(task)
    return _answer(session, task, scene)


def _preview(session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return why the robot in use cannot reach {goals}, and the layout in which a dry run ends. Raises StudioError."""
    task, words = _built(session, request), object_words(session.project)
    result = dry_run(task, session.project.folder, session.services.sandbox, _robot(session))
    poses = {name: [*pose.pos, *pose.quat_wxyz] for name, pose in result.poses.items()}
    return {"why": translated(words.in_words(result.reason)), "poses": poses}


def _robot(session: Session) -> str:
    return project_robot(session.project, session.services)


def _built(session: Session, request: Mapping[str, Any]) -> Task:
    scene = _needed_scene(session)
    goals = planned_from_json(request.get("goals") or ())
    objects = {one.name: one for one in scene_objects(scene)}
    if not 0 < len(goals) <= MAX_GOALS or not all(is_fillable(goal, objects) for goal in goals):
        raise RequestError("A goal is not complete; choose its objects again.")
    return planned_task(goals, scene, _plain(session, request))


def _plain(session: Session, request: Mapping[str, Any]) -> str:
    """Return the {text} of a request with present ids and plain names in the place of former and display names."""
    text = session.project.text_in_current_names(str(request.get("text", "")).strip())
    return object_words(session.project).without_display_names(text)


def _answer(session: Session, task: Task, scene: Mapping[str, Any]) -> dict[str, Any]:
    words = object_words(session.project)
    return {
        "goals": planned_to_json(task.planned),
        "text": words.with_display_names(task.instruction),
        "words": words.in_words(task.instruction),
        "why": translated(words.in_words(why_infeasible(task.planned, scene))),
        "unread": "",
    }

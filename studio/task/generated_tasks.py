"""Generated tasks of the Task page: their map, and the work that generates them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.object_words import ObjectWords, object_words
from pipeline.run import allowed_services
from pipeline.task_generation.budget import DEMONSTRATIONS, NOT_ASKED
from studio.accounts.roles import Role, require
from studio.sessions.project_learner import is_installed
from studio.sessions.session import Session
from studio.sessions.work import StoppableSandbox
from studio.task.proposals import TASK_FIELD, goals_in_words
from studio.texts import t, translated
from studio.web.errors import RequestError
from studio.web.jobs import Job

if TYPE_CHECKING:
    from pipeline.task_generation.generate import Generated, GenerationOptions
    from pipeline.task_generation.task_files import TriedTask

MAX_COUNT = 100
"""Tasks of one run of the page."""


def map_record(session: Session | None) -> dict[str, Any]:
    """Return TaskMap's value."""
    if session is None:
        return {"tasks": [], "dropped": [], "running": None, "can_start": False, "can_learn": False, "summary": "",
                "fills": TASK_FIELD}  # fmt: skip
    words, running = object_words(session.project), _running(session)
    tried = session.cache.get("generated tasks", "generated/tasks.jsonl", lambda: _tried(session)) or []
    kept = [one for one in tried if one.state == "kept"]
    scene = session.cache.get("generated tasks' scene", "scene.json", session.project.scene) if kept else None
    there = {p.name for p in scene.placements} if scene else set()
    return {
        "tasks": [_row(one, words, there) for one in kept],
        "dropped": [
            {"words": words.in_words(one.task.instruction), "reason": translated(words.in_words(one.reason))}
            for one in tried
            if one.state != "kept"
        ],
        "running": running
        and {"kept": running.kept, "wanted": running.wanted, "message": words.in_words(running.message)},
        "can_start": running is None and session.project.scene() is not None,
        "can_learn": is_installed(),
        "n": DEMONSTRATIONS,
        "summary": t("{n} task kept|{n} tasks kept", n=len(kept)) if kept else "",
        "fills": TASK_FIELD,
    }


def _tried(session: Session) -> "list[TriedTask]":
    """Return the tasks that the last run tried; none if their file cannot be read."""
    from pipeline.task_generation.task_files import TaskGenerationError, read_tried

    try:
        return read_tried(session.project.folder)
    except TaskGenerationError as error:
        session.log.report_once(error)
        return []


def _row(one: "TriedTask", words: ObjectWords, there: set[str]) -> dict[str, Any]:
    demanded = one.demands
    away = set(one.task.objects) & set(one.brought) - there
    return {
        "id": one.key,
        "words": words.in_words(one.task.instruction),
        "text": words.with_display_names(one.task.instruction),
        "goals": goals_in_words(one.task, words),
        "level": one.level,
        "demands": t(
            "{n} object, {slack} cm to spare|{n} objects, {slack} cm to spare",
            n=demanded.carries,
            slack=f"{100 * demanded.slack:.1f}",
        )
        if demanded
        else "",
        "solved": one.solved,
        "layouts": one.layouts,
        "program": _written_by(one),
        "difficulty": one.difficulty or 0.0,
        "worth": one.worth,
        "worth_layouts": one.worth_layouts,
        "worth_reason": "" if one.worth_reason == NOT_ASKED else translated(one.worth_reason),
        "novelty": one.novelty or 0.0,
        "nearest": words.in_words(one.nearest),
        "brought": [name.replace("_", " ") for name in one.brought],
        "distractors": [name.replace("_", " ") for name in one.distractors],
        "brings": sorted(name.replace("_", " ") for name in away),
    }


def _written_by(one: "TriedTask") -> str:
    """Return who wrote a task's program; empty for one of an earlier version, which kept none."""
    if one.program is None:
        return ""
    if not one.rounds:
        return t("by the rules")
    author = one.program.source.removeprefix("model ")
    return t("by {author}, in {n} round|by {author}, in {n} rounds", author=author, n=one.rounds)


def generate_tasks(session: Session, message: Mapping[str, Any]) -> None:
    """Generate {count} more tasks of the {level}, or of the level that the measured success suggests.

    With {worth} a learner tries each of them, and what it finds too hard or learns at once is not kept.

    Raises RequestError, StudioError.
    """
    require(Role.WORK)
    count, level = message.get("count"), message.get("level")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_COUNT:
        raise RequestError(f"Give a number of tasks from 1 to {MAX_COUNT}.")
    if level not in (None, 1, 2, 3):
        raise RequestError("There is no such level; reload the page.")
    if _running(session) or not session.may_write():
        return
    from pipeline.task_generation.generate import Generated, GenerationOptions

    demonstrations = DEMONSTRATIONS if message.get("worth") is True and is_installed() else 0
    options = GenerationOptions(count, level, demonstrations=demonstrations)
    session.generation = session.make_job("generated tasks", lambda job: _generate(session, options, job))
    session.generation.result = Generated(0, count, "")
    session.generation.start()


def bring_objects(session: Session, message: Mapping[str, Any]) -> None:
    """Bring the library's objects of the generated task {id} into the twin, as one step that can be undone.

    Raises RequestError.
    """
    from pipeline.scene.scene_files import read_scene
    from pipeline.task_generation.task_files import start_folder

    chosen = next((one for one in _tried(session) if one.key == message.get("id")), None)
    scene = session.project.scene()
    if chosen is None or scene is None:
        raise RequestError("That task is no longer there; reload the page.")
    there = {p.name for p in scene.placements}
    start = read_scene(start_folder(session.project.folder, chosen))
    decisions = [
        ("bring", {"asset_id": p.asset_id, "name": p.name, "pos": p.world_from_object.pos.tolist(),
                   "quat_wxyz": p.world_from_object.quat_wxyz.tolist()})
        for p in start.placements if p.name in chosen.brought and p.name in chosen.task.objects and p.name not in there
    ]  # fmt: skip
    if decisions:
        names = " and ".join(data["name"] for _, data in decisions)
        session.decisions.record_all(decisions, f"{names} brought from the library")


def stop_generation(session: Session) -> None:
    """Stop at the task that is being measured; what was measured is kept."""
    if session.generation:
        session.generation.stop()


def _running(session: Session) -> "Generated | None":
    """Return the progress of the generation that runs."""
    job = session.generation
    return job.result if job and job.is_active else None


def _generate(session: Session, options: "GenerationOptions", job: "Job[Generated]") -> None:
    from pipeline.run.generated_tasks import generation_inputs
    from pipeline.task_generation.generate import Generated, generate, run_id
    from pipeline.task_generation.task_files import KEPT, TaskGenerationError, read_tried

    sandbox = StoppableSandbox(session.services.sandbox, job.stop_event)
    services = replace(session.services, sandbox=sandbox, live=session.calls.watch(job.stop_event))  # type: ignore[arg-type]
    inputs = generation_inputs(session.project, allowed_services(session.project, services))
    before = sum(one.state == KEPT for one in read_tried(session.project.folder, run_id(inputs, options)))
    count = options.count
    for step in generate(inputs, replace(options, count=before + count), job.stop_event.is_set):
        job.result = Generated(step.kept - before, count, step.message)
        if step.is_notice:
            session.log.report_once(TaskGenerationError(step.message))
        session.log.mark_changed()

"""Work that a person starts on a project, each kind as a generator of Progress."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pipeline.decisions import Decision
from pipeline.object_words import object_words
from pipeline.project import Project, Stage
from pipeline.router import write_program
from pipeline.run import Progress, Services, find_segments, run_stage, run_stages, tracing_model
from pipeline.scene.fidelity import MIN_COST_CHANGE, ObjectFidelity
from pipeline.scene.placement import SceneError
from pipeline.scene.preview.pose_preview import PosePreview
from pipeline.segmentation import Segment, SegmentationError, encode_rle
from pipeline.segmentation.automatic import assign_ids
from pipeline.segmentation.sam2 import AutomaticSettings
from pipeline.simulation.kit import Scene
from pipeline.tasks import Task, task_to_json
from studio.services.segmenter_catalogue import FALLBACK, title_of
from studio.services.segmenter_choice import FrameSegmenters
from studio.sessions.decision_recorder import next_segment_id
from studio.sessions.event_log import EventLog
from studio.sessions.wording import describe_decision

PREPARED: Stage = "task"
"""The stage that a project is computed to without being asked: tasks are proposed, none is programmed."""


@dataclass(frozen=True)
class Refit:
    """The object of a refit that is about to be computed, and how it agreed before."""

    segment_id: int
    before: ObjectFidelity


class OpenProject(Protocol):
    """What the work needs of the session in which it is done."""

    project: Project
    log: EventLog
    built_tasks: dict[str, Task]

    @property
    def segmenters(self) -> FrameSegmenters: ...


@dataclass(frozen=True)
class EditedRound:
    """A person's edit of a round, to continue from."""

    parent: int
    """Number of the round that was edited."""
    simulation: str
    checks: str
    task_text: str = ""
    """The task in other words, or empty."""


def prepare(session: OpenProject, services: Services, renew: bool = False) -> Iterator[Progress]:
    """Compute what is missing or out of date, up to the proposed tasks; with `renew`, also what another model said."""
    refit = pending_refit(session.project)
    yield from run_stages(session.project, services, PREPARED, renew=renew)
    if refit and (note := undo_if_worse(session.project, refit)):
        session.log.add(note, "bad")
        yield from run_stages(session.project, services, PREPARED)
    if session.segmenters.chosen != FALLBACK:  # encoding a frame takes long; the masks page opens it for a quick one
        session.segmenters.open(session.segmenters.chosen)


def replace_masks(
    session: OpenProject, name: str, settings: AutomaticSettings, services: Services
) -> Iterator[Progress]:
    """Segment the whole frame with the named segmenter and replace every mask; undo restores the former ones."""
    project = session.project
    is_first = project.segments() is None  # the first segmentation was stopped
    yield from run_stages(project, services, "segments", renew=False)
    if not (is_first and name == services.segmenter.name):
        found = yield from find_segments(project, session.segmenters.segmenter(name), settings)
        _record_found(session, name, found)
    yield from prepare(session, services)


def _record_found(session: OpenProject, name: str, found: Sequence[Segment]) -> None:
    project = session.project
    before = project.segments() or ()
    if not found:
        raise SegmentationError(f"{title_of(name)} found nothing on the table; the masks stay as they are.")
    masks = [
        {"id": segment.id, "mask": encode_rle(segment.mask), "score": segment.score, "kind": segment.kind}
        for segment in assign_ids(found, before, next_segment_id(project))
    ]
    project.decide("found", source=name, masks=masks)
    session.log.add(f"{len(masks)} masks found, which replace {len(before)}", "person")


def generate(session: OpenProject, text: str, services: Services) -> Iterator[Progress]:
    """Write a program for the task and let the router repair it, then solve every seed."""
    yield from run_stages(session.project, services, "scene", renew=False)
    yield from _set_task(session, text, services)
    yield from _run_rounds(session, services)


def continue_from(session: OpenProject, edit: EditedRound, services: Services) -> Iterator[Progress]:
    """Continue from a person's edit of a round; the earlier rounds stay."""
    project = session.project
    text = object_words(project).without_display_names(edit.task_text.strip())
    data = {"parent": edit.parent, "simulation": edit.simulation, "checks": edit.checks}
    had_text = next((one.task for one in project.rounds() if one.number == edit.parent), "") or text
    yield from _set_task(session, text, services)
    project.decide("fork", **(_rewritten(session, data, services) if text != had_text else data))
    session.log.add(describe_decision(Decision("fork", data)), "person")
    yield from _run_rounds(session, services)


def continue_with_layout(session: OpenProject, number: int, task: Task, services: Services) -> Iterator[Progress]:
    """Continue from a round with a task whose goal is a layout that a person arranged; the earlier rounds stay."""
    project = session.project
    program = write_program(task, Scene.load(project.folder), tracing_model(project, services))
    project.decide("task", **task_to_json(task))
    project.decide("fork", parent=number, simulation=program.simulation, checks=program.checks)
    session.log.add(f"goal of round {number} arranged by hand", "person")
    yield from _run_rounds(session, services)


def _rewritten(session: OpenProject, data: dict[str, Any], services: Services) -> dict[str, Any]:
    """Return the code for a reworded task: the person's if they changed it too, else newly written code."""
    before = next(one.program for one in session.project.rounds() if one.number == data["parent"])
    unchanged = [data[side].split() == getattr(before, side).split() for side in ("simulation", "checks")]
    task = session.project.task()
    if not all(unchanged) or task is None:
        return data
    program = write_program(task, Scene.load(session.project.folder), tracing_model(session.project, services))
    return data | {"simulation": program.simulation, "checks": program.checks}


def _set_task(session: OpenProject, text: str, services: Services) -> Iterator[Progress]:
    """Make the text the project's task if there is one and it differs from the present task.

    The goals of a built, proposed or generated task are taken over; other words are understood.
    """
    project = session.project
    text, task = project.text_in_current_names(text), project.task()
    plain = object_words(project).without_display_names(text)
    built = session.built_tasks.get(plain)
    if built and (task is None or (task.instruction, task.planned) != (plain, built.planned)):
        project.decide("task", **task_to_json(built))
    elif text and (task is None or task.instruction != plain):
        if known := known_tasks(session).get(plain):
            project.decide("task", **task_to_json(known))
        else:
            yield from run_stage(project, services, "task", text)


def known_tasks(session: OpenProject) -> dict[str, Task]:
    """Return the tasks whose goals are known, by instruction: generated, proposed, the present one, and built ones."""
    project = session.project
    present = [task] if (task := project.task()) else []
    found = {one.instruction: one for one in (*_generated(session), *(project.tasks() or ()), *present)}
    return found | session.built_tasks


def _generated(session: OpenProject) -> list[Task]:
    """Return the kept ones of the generated tasks."""
    from pipeline.task_generation.task_files import KEPT, TaskGenerationError, read_tried

    try:
        return [one.task for one in read_tried(session.project.folder) if one.state == KEPT]
    except TaskGenerationError:
        return []


def _run_rounds(session: OpenProject, services: Services) -> Iterator[Progress]:
    yield from run_stage(session.project, services, "rounds")
    yield from run_stage(session.project, services, "solution")


def with_mode(services: Services, mode: str) -> Services:
    """Return the services with another mode of repair: "route", "repair" or "none"."""
    return replace(services, mode=mode)  # type: ignore[arg-type]


def pending_refit(project: Project) -> Refit | None:
    """Return the refit that a person decided on last, if the twin lacks it still; None for a reset, which is kept."""
    newest = project.next_undo
    if newest is None or newest.kind != "refit" or not {"pos", "free"} & newest.data.keys():
        return None
    before = _fidelity(project, newest.data["id"]) if project.stages()["scene"] == "stale" else None
    return Refit(newest.data["id"], before) if before else None


def undo_if_worse(project: Project, refit: Refit) -> str:
    """Undo a refit that made its object's agreement worse; return a sentence that says so, empty where it is kept.

    Raises ProjectError, StoreError.
    """
    newest, now = project.next_undo, _fidelity(project, refit.segment_id)
    is_newest = newest is not None and newest.kind == "refit" and newest.data["id"] == refit.segment_id
    if now is None or not is_newest or now.cost - refit.before.cost <= MIN_COST_CHANGE:
        return ""
    project.undo()
    name = object_words(project).of(now.name)
    return f"{name} was not fitted again: {_figures(now)} would agree, {_figures(refit.before)} did before"


def _figures(fidelity: ObjectFidelity) -> str:
    depth = "" if fidelity.depth_error is None else f" ({fidelity.depth_error * 100:.1f} cm off in depth)"
    return f"{fidelity.mask_iou:.0%} of the outline{depth}"


def _fidelity(project: Project, id: int) -> ObjectFidelity | None:
    scene, segment = project.scene(), next((one for one in project.segments() or () if one.id == id), None)
    if scene is None or segment is None:
        return None
    preview = PosePreview(project.frame, scene)
    try:
        placement = preview.placement_of(id)
    except SceneError:
        return None
    return preview.fidelity_at(segment, placement.world_from_object, placement.scale)

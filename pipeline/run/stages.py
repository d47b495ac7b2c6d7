"""Runs the stages in order and records how each of them ended."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from pipeline.errors import StudioError
from pipeline.models import StageCancelled
from pipeline.project import STAGES, Project, Stage
from pipeline.run.mask_answers import edit_masks
from pipeline.run.perception_stages import descriptions_stage, frame_stage, matches_stage, segments_stage
from pipeline.run.progress import Progress
from pipeline.run.scene_stage import scene_stage
from pipeline.run.services import (
    Services,
    allowed_services,
    producer_name,
    project_matcher,
    project_robot,
    without_model,
)
from pipeline.run.task_stages import rounds_stage, solution_stage, task_stage
from pipeline.simulation.sandbox.sandbox import RunCancelled
from pipeline.store import StoreError, saving
from pipeline.tasks import TaskError

MANY = 5
"""Number of masks from which on objects are placed by two processes."""


def run_stages(
    project: Project, services: Services, until: Stage = "solution", task_text: str | None = None, renew: bool = True
) -> Iterator[Progress]:
    """Run every stage up to `until` that has not run on the current inputs.

    With `renew`, also those that another model answered.

    The offline rules stand in for a model that the project may not be sent to. Raises the StudioError of the stage that
    failed; the results of the stages before it are saved.
    """
    project.begin_writing()
    project.update_mask_files()
    project.carry_masks_with(getattr(services.segmenter, "carry", None))
    stages = STAGES[: STAGES.index(until) + 1]
    try:
        yield from _run_stages(project, services, stages, task_text, renew)
    finally:
        if services.ahead:
            services.ahead.forget(project)


def _run_stages(
    project: Project, services: Services, stages: Sequence[Stage], task_text: str | None, renew: bool
) -> Iterator[Progress]:
    for stage in stages:
        if stage == "descriptions" and "scene" in stages and services.ahead:
            with suppress(StudioError):  # damaged masks are a failure of the stage that reads them
                if not is_current(project, services, "matches", renew) and _is_worth_it(
                    project, services.ahead.is_warm
                ):
                    services.ahead.open(project)
        if not is_current(project, services, stage, renew) or (stage == "task" and task_text is not None):
            yield from run_stage(project, services, stage, task_text)
            if stage == "descriptions" and (yield from edit_masks(project, services)):
                yield from run_stage(project, services, stage)
            if stage == "rounds" and task_text is None and not project.active_decisions("task"):
                yield from _try_other_tasks(project, services)


def _is_worth_it(project: Project, is_warm: bool) -> bool:
    """Whether a second process should place objects: its start costs as much as placing three, unless it is there."""
    enough = 2 if is_warm else MANY
    return project.scene() is None and not project.views() and len(project.segments() or ()) >= enough


def is_current(project: Project, services: Services, stage: Stage, renew: bool = True) -> bool:
    """Whether the stage has run on the current inputs, with what these services would make its result with.

    Without `renew`, the answers of another model count, too.
    """
    return project.stages()[stage] == "done" and _is_made_with(project, services, stage, renew)


def is_made_with_others(project: Project, services: Services, stage: Stage) -> bool:
    """Whether the stage has run on the current inputs, with other services than these."""
    return project.stages()[stage] == "done" and not _is_made_with(project, services, stage)


def _is_made_with(project: Project, services: Services, stage: Stage, renew: bool = True) -> bool:
    made_with, maker = project.made_with(stage), _maker(project, services, stage)
    if made_with is None or made_with == maker:
        return True
    return not renew and without_model(stage, made_with) == without_model(stage, maker)


def _maker(project: Project, services: Services, stage: Stage) -> str:
    services = allowed_services(project, services)
    return producer_name(stage, services, project_robot(project, services), project_matcher(project, services))


def _try_other_tasks(project: Project, services: Services) -> Iterator[Progress]:
    """Generate rounds for the next proposed tasks while the router gives up or asks."""
    # Proposed tasks that are tried in turn if the user chose none
    for task in (project.tasks() or ())[1:3]:
        best = project.best_round()
        if best is None or best.route not in ("give_up", "ask"):
            return
        yield Progress("task", f"the router gave up; trying another task: {task.instruction}")
        project.save_task(task)
        yield from run_stage(project, services, "rounds")


def run_stage(project: Project, services: Services, stage: Stage, task_text: str | None = None) -> Iterator[Progress]:
    """Run one stage, whatever its state. The stages before it must have run.

    The offline rules stand in for a model that the project may not be sent to.

    Raises the stage's StudioError. If the text of a new task is refused, the previous task stays current.
    """
    project.begin_writing()
    services = allowed_services(project, services)
    start, key, before = time.perf_counter(), project.key(stage), project.stages()[stage]
    made_with = _maker(project, services, stage)
    try:
        with saving("The results of this stage were not saved"):
            if stage == "task":
                yield from task_stage(project, services, task_text)
            else:
                yield from _STAGES[stage](project, services)
    except (RunCancelled, StageCancelled):
        raise  # cancellation by the user is not a failure
    except StudioError as error:
        refused = isinstance(error, TaskError) and task_text is not None and before in ("done", "stale")
        if not refused:
            with suppress(StoreError):  # the first error is the one to show
                project.fail(stage, key, made_with, time.perf_counter() - start, str(error))
            raise
        if (proposed := project.tasks()) and not project.active_decisions("task"):
            project.save_task(proposed[0])
        project.finish(stage, key, made_with, time.perf_counter() - start)
        raise
    project.finish(stage, key, made_with, time.perf_counter() - start)


_STAGES: dict[Stage, Callable[[Project, Services], Iterator[Progress]]] = {
    "frame": frame_stage,
    "segments": segments_stage,
    "descriptions": descriptions_stage,
    "matches": matches_stage,
    "scene": scene_stage,
    "rounds": rounds_stage,
    "solution": solution_stage,
}

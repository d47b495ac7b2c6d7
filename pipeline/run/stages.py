"""Which stages run, in which order, and what becomes of one that cannot be completed."""

import time
from collections.abc import Callable, Iterator

from pipeline.errors import StudioError
from pipeline.models import Stopped
from pipeline.project import STAGES, Project, Stage
from pipeline.run.doing import rounds_stage, solution_stage, task_stage
from pipeline.run.progress import Progress
from pipeline.run.seeing import descriptions_stage, frame_stage, matches_stage, segments_stage
from pipeline.run.services import Services, maker, matcher_of, robot_of
from pipeline.run.standing import scene_stage
from pipeline.simulation.sandbox import Cancelled
from pipeline.store import write_json
from pipeline.tasks import TaskError, task_to_json

PROPOSED = 3
"""Proposed tasks that are tried, one after the other, where nobody chose one."""


def advance(
    project: Project, services: Services, until: Stage = "solution", task_text: str | None = None
) -> Iterator[Progress]:
    """Runs every stage up to `until` that has not run on the present inputs.

    Raises the stage's StudioError where one cannot be completed; the ones before it are kept.
    """
    for stage in STAGES[: STAGES.index(until) + 1]:
        current = project.stages()[stage] == "done" and project.made_with(stage) in (
            None, maker(stage, services, robot_of(project, services), matcher_of(project, services)),
        )  # fmt: skip
        if stage == "task" and task_text is not None:
            current = False
        if not current:
            yield from run_stage(project, services, stage, task_text)
            if stage == "rounds" and task_text is None and not project.decided("task"):
                yield from _try_others(project, services)


def _try_others(project: Project, services: Services) -> Iterator[Progress]:
    """Where the first proposed task was given up and no person chose it: rounds for the next ones."""
    for task in (project.tasks() or ())[1:PROPOSED]:
        best = project.best_round()
        if best is None or best.route not in ("give_up", "ask"):
            return
        yield Progress("task", f"that one is given up; trying another: {task.instruction}")
        write_json(project.folder / "task.json", task_to_json(task))
        yield from run_stage(project, services, "rounds")


def run_stage(project: Project, services: Services, stage: Stage, task_text: str | None = None) -> Iterator[Progress]:
    """Runs one stage whatever its state; the stages before it must have run.

    Where a person's words are refused, the task that was there stays in force.
    """
    start, key, before = time.perf_counter(), project.key(stage), project.stages()[stage]
    made_with = maker(stage, services, robot_of(project, services), matcher_of(project, services))
    try:
        if stage == "task":
            yield from task_stage(project, services, task_text)
        else:
            yield from _RUN[stage](project, services)
    except (Cancelled, Stopped):
        raise  # a person's stop is no failure
    except StudioError as error:
        refused = isinstance(error, TaskError) and task_text is not None and before in ("done", "stale")
        if not refused:
            project.fail(stage, key, made_with, time.perf_counter() - start, str(error))
            raise
        if (proposed := project.tasks()) and not project.decided("task"):
            write_json(project.folder / "task.json", task_to_json(proposed[0]))
        project.finish(stage, key, made_with, time.perf_counter() - start)
        raise
    project.finish(stage, key, made_with, time.perf_counter() - start)


_RUN: dict[Stage, Callable[[Project, Services], Iterator[Progress]]] = {
    "frame": frame_stage,
    "segments": segments_stage,
    "descriptions": descriptions_stage,
    "matches": matches_stage,
    "scene": scene_stage,
    "rounds": rounds_stage,
    "solution": solution_stage,
}

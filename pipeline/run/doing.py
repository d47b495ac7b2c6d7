"""The stages that act: task, rounds, solution."""

from collections.abc import Iterator
from dataclasses import replace

from pipeline import looking
from pipeline.models import label_of, sees
from pipeline.models.asked_by import AskedBy
from pipeline.project import Project
from pipeline.router import route, write_round
from pipeline.run.progress import Progress
from pipeline.run.services import Services, robot_of, traced
from pipeline.simulation import Program, kit
from pipeline.solving import Attempt, solve, write_solution
from pipeline.store import write_json
from pipeline.tasks import Task, TaskError, propose, task_to_json, understand


def task_stage(project: Project, services: Services, text: str | None) -> Iterator[Progress]:
    """Tasks proposed, or a person's words understood. Raises TaskError, ModelError."""
    yield Progress("task", f"proposing tasks ({label_of(services.model)})")
    seen = kit.Scene.load(project.folder)
    model = AskedBy(traced(project, services), "propose_tasks", *looking.marks(project, services.model))
    about = _about(project, sees(services.model))
    proposed = propose(seen, model, about=about)
    write_json(project.folder / "tasks.json", [task_to_json(task) for task in proposed])
    if text is not None:
        task = understand(project.in_present_names(text), seen, model, about)
        project.decide("task", **task_to_json(task))
    elif proposed:
        task = proposed[0]
    else:
        raise TaskError("no task can be proposed for this scene: it has no object that can be moved")
    write_json(project.folder / "task.json", task_to_json(task))
    yield Progress("task", task.instruction, 1, 1, proposed)


def _about(project: Project, marked: bool) -> dict[str, str]:
    """What more is known of each object, by name: its mark in the picture, its caption, the asset it was matched to."""
    assets = {m.segment_id: m.asset_id or "" for m in project.matches() or ()}
    captions = {d.segment_id: d.caption for d in project.descriptions() or ()}
    mark, scene = "(mark {}) " if marked else "", project.scene()
    return {
        p.name: f"{mark.format(p.segment_id)}{captions.get(p.segment_id, '')} {assets.get(p.segment_id, '')}".strip()
        for p in (scene.placements if scene else ())
    }


def rounds_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Programs written, run and repaired until both sides agree."""
    task = _the_task(project)
    earlier = project.rounds()
    forks = project.decided("fork")
    start, parent = None, None
    if forks and forks[-1].at > max((r.at for r in earlier), default=0.0):
        edited = forks[-1].data
        start = project.in_present_program(Program(edited["simulation"], edited["checks"]))
        parent = edited["parent"]
    rounds = route(
        task, project.folder, AskedBy(traced(project, services), "write_program"), services.sandbox, services.mode,
        start=start, parent=parent, first_number=len(earlier),
    )  # fmt: skip
    for one in rounds:
        one = replace(one, task=task.instruction)
        write_round(one, project.folder)
        yield Progress("rounds", f"round {one.number}: {one.reason}", one.number + 1, 0, one)


def _the_task(project: Project) -> Task:
    task = project.task()
    if task is None:
        raise TaskError("there is no task yet; choose a proposed one or write one")
    write_json(project.folder / "task.json", task_to_json(task))
    return task


def solution_stage(project: Project, services: Services) -> Iterator[Progress]:
    """The best program's task done on every seed, and the film of it. Raises TaskError, SandboxError."""
    best = project.best_round()
    if best is None:
        raise TaskError("there is no program to run yet; generate one first")
    total, robot = len(services.seeds), robot_of(project, services)
    program = project.in_present_program(best.program)
    for number, step in enumerate(solve(program, project.folder, services.sandbox, services.seeds, robot), 1):
        if isinstance(step, Attempt):
            word = "solved" if step.solved else step.why or f"reward {step.reward:.2f}"
            yield Progress("solution", f"seed {step.seed}: {word}", number, total, step)
        else:
            for drawn in write_solution(step, project.folder):
                yield Progress("solution", "drawing the film", round(100 * drawn), 100)
            good, share = sum(step.success), f"{step.strict_rate:.0%} of all seeds"
            word = f"{'solved' if step.solved else 'not solved'}: {good} of {total} seeds ({share}; {step.source})"
            yield Progress("solution", word, total, total, step)

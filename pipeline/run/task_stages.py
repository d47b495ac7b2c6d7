"""The task stages: task, rounds, solution."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline.feasibility import best_first, feasible_first, plan_candidates
from pipeline.models import ModelError, StageCancelled, label_of
from pipeline.models.stage_model import StageModel
from pipeline.object_words import object_words
from pipeline.planner import PlannerModel
from pipeline.planner.decomposition import asks_for_push
from pipeline.project import Project
from pipeline.rehearsal import rehearse
from pipeline.router import (
    RouteContext,
    RouteOptions,
    RouteStart,
    changes_told,
    first_failure,
    next_round_number,
    route,
    write_round,
)
from pipeline.run.cut_off import doubtful_objects
from pipeline.run.progress import Progress
from pipeline.run.scene_context import scene_context
from pipeline.run.services import Services, project_robot, tracing_model
from pipeline.run.solved_examples import keep_solution, solved_examples
from pipeline.scene.evidence import summarise
from pipeline.simulation import Program, kit
from pipeline.simulation.graspability import why_not_picked
from pipeline.simulation.robots import robot_kind
from pipeline.solving import Attempt, solve, write_solution
from pipeline.store import write_json
from pipeline.task_generation.candidates import SceneFacts
from pipeline.tasks import Proposals, Task, TaskError, ask_for_proposals, task_to_json, understand_instruction

PROPOSALS = 12
"""Most tasks that are proposed."""


def task_stage(project: Project, services: Services, text: str | None) -> Iterator[Progress]:
    """Understand the user's instruction if there is one, and propose tasks.

    An instruction does not depend on the proposals: without a usable one the stage goes on with a notice. Raises
    TaskError, ModelError.
    """
    scene = kit.Scene.load(project.folder)
    context = scene_context(project, services)
    model, notes = StageModel(tracing_model(project, services), "propose_tasks", context), context.notes
    task, refused = None, None
    if text is not None:
        yield Progress("task", f"understanding the task ({label_of(services.model)})")
        try:
            before = project.task() if project.active_decisions("task") else None
            task = _understood(project, text, lambda text: understand_instruction(text, scene, model, notes, before))
        except TaskError as error:
            refused = error  # the proposals show what would work
    yield Progress("task", f"proposing tasks ({label_of(services.model)})")
    not_picked = why_not_picked(scene, project_robot(project, services))
    for reason in not_picked.values():
        yield Progress("task", f"proposals carry what the robot can pick up: {reason}")
    facts = SceneFacts(notes, not_picked, doubtful_objects(project, scene))
    candidates = yield from _proposals(project, services, model, facts, is_needed=text is None)
    proposed = yield from _chosen(candidates, project, services)
    if refused:
        raise refused
    if task:
        project.decide("task", **task_to_json(task))
    elif proposed:
        task = proposed[0]
    else:
        movable = [one.name for one in scene.objects if not one.fixed]
        raise TaskError(f"no task can be proposed for this scene: {why_no_task(movable, facts.doubtful)}")
    project.save_task(task)
    yield Progress("task", task.instruction, 1, 1, proposed)


def why_no_task(movable: Sequence[str], doubtful: Mapping[str, str]) -> str:
    """Return why nothing can be done with these movable objects; `doubtful` says why no task is about some of them."""
    if not movable:
        return "it has no object that can be moved"
    if all(name in doubtful for name in movable):
        return (
            "all objects that can be moved are cut off or stand beyond the ground's edge "
            f"({doubtful[movable[0]]}); choose a larger ground on the Frame page"
        )
    return (
        "there is no free place; take objects out of the photographed bin or off the table first, or mark those on top "
        "as no objects on the Masks page"
    )


def _understood(project: Project, text: str, understand: Callable[[str], Task]) -> Task:
    """Return the task of a person's sentence, in which objects may have their display names. Raises TaskError."""
    text = project.text_in_current_names(text)
    plain = object_words(project).without_display_names(text)
    try:
        return understand(plain)
    except TaskError as refused:
        if plain == text:
            raise
        try:
            return understand(text)  # a display name may be part of what another object is called
        except TaskError:
            raise refused from None


def _chosen(
    candidates: tuple[Task, ...], project: Project, services: Services
) -> Generator[Progress, None, tuple[Task, ...]]:
    """Return the proposals and save them, that first which an arm in use can do when it is planned and tried."""
    robot, results = project_robot(project, services), []
    for result in plan_candidates(candidates, project.folder, services.sandbox, robot):
        results.append(result)
        if not robot_kind(robot).floats:
            yield Progress("task", f"planned for the robot: {result.task.instruction} {result.reason}".strip())
    best = best_first(results, PROPOSALS)
    chosen = tuple(result.task for result in best)
    if not robot_kind(robot).floats:
        for task in [result.task for result in best if not result.reason]:
            tried = rehearse(task, project.folder, services.sandbox, robot)
            yield Progress("task", f"tried with the robot: {task.instruction} {tried.reason}".strip())
            if tried.solved:
                break
        chosen = feasible_first(chosen, project.folder, robot)
    write_json(project.folder / "tasks.json", [task_to_json(task) for task in chosen])
    return chosen


def _proposals(
    project: Project, services: Services, model: StageModel, facts: SceneFacts, is_needed: bool
) -> Generator[Progress, None, tuple[Task, ...]]:
    """Return candidates for the proposed tasks; report each unusable one with its reason.

    If none of them can be used, the offline rules propose tasks. Raises ModelError if the model fails and proposals
    are needed, StageCancelled.
    """
    scene = kit.Scene.load(project.folder)
    more = not robot_kind(project_robot(project, services)).floats
    try:
        answered = ask_for_proposals(scene, model, PROPOSALS, facts.notes, facts.not_picked, facts.doubtful, more)
        if facts.not_picked and not (answered.tasks or answered.dropped):
            yield Progress("task", "the robot can pick up none of these objects; the tasks are for another robot")
            answered = ask_for_proposals(scene, model, notes=facts.notes, doubtful=facts.doubtful)
    except StageCancelled:
        raise
    except ModelError as error:
        if is_needed:
            raise
        yield Progress("task", f"no proposals: {error}")
        answered = Proposals(project.tasks() or ())
    for one in answered.dropped:
        yield Progress("task", f"proposal left out: {one.task.name}: {one.reason}")
    if answered.dropped and not answered.tasks:
        yield Progress("task", f"no proposal of {model.name} can be used; the offline rules propose tasks instead")
        answered = ask_for_proposals(scene, PlannerModel(), notes=facts.notes, doubtful=facts.doubtful)
    return answered.tasks


def rounds_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Generate, run and repair programs until simulation and checks agree."""
    task = _current_task(project)
    number = next_round_number(project.folder)
    forks = project.active_decisions("fork")
    start = RouteStart(number=number)
    if forks and forks[-1].data["round"] >= number:  # no round was made of it yet
        edited = forks[-1].data
        program = project.program_in_current_names(Program(edited["simulation"], edited["checks"]))
        start = RouteStart(program, edited["parent"], number)
    model, context = _program_model(project, services, task)
    options = RouteOptions(services.mode, context=context, on_rollout=services.on_rollout)
    yield Progress("rounds", "running the edited program" if start.program else "writing the program")
    rounds = route(task, project.folder, model, services.sandbox, options, start)
    for one in rounds:
        one = replace(one, task=task.instruction)
        write_round(one, project.folder)
        yield Progress("rounds", f"round {one.number}: {one.reason}", one.number + 1, 0, one)
        for change in changes_told(one.report):
            yield Progress("rounds", f"changed from the photograph: {change}")


def _program_model(project: Project, services: Services, task: Task) -> tuple[StageModel, RouteContext]:
    """Return the model that writes and repairs programs, and what it gets besides task and scene.

    The offline rules get neither notes nor examples: their programs depend on measurements alone.
    """
    context = scene_context(project, services)
    model = StageModel(tracing_model(project, services), "write_program", context)
    if not model.has_language:
        return model, RouteContext()
    doubtful = doubtful_objects(project, kit.Scene.load(project.folder))
    return model, RouteContext(context.notes, solved_examples(project, services, task), doubtful)


def _current_task(project: Project) -> Task:
    task = project.task()
    if task is None:
        raise TaskError("there is no task yet; choose a proposed one or write one")
    project.save_task(task)
    return task


CARRIED = "the task asks for a push, but the oracle picked things up"


def solution_stage(project: Project, services: Services) -> Iterator[Progress]:
    """Run the oracle on every seed of the best program and render a video. Raises TaskError, SandboxError."""
    best = project.best_round()
    if best is None:
        raise TaskError("there is no program to run yet; generate one first")
    total, robot = len(services.seeds), project_robot(project, services)
    program = project.program_in_current_names(best.program)
    for number, step in enumerate(solve(program, project.folder, services.sandbox, services.seeds, robot), 1):
        if isinstance(step, Attempt):
            outcome = "solved" if step.solved else step.reason or f"reward {step.reward:.2f}"
            yield Progress("solution", f"seed {step.seed}: {outcome}", number, total, step)
        else:
            failed = next((check.message for check in best.report.checks if not check.passed), "")
            picks = step.shown is not None and any(event.get("verb") == "pick" for event in step.shown.events)
            carried = CARRIED if step.solved and picks and asks_for_push(best.task) else ""
            step = replace(step, failed_check=failed or first_failure(best.report) or carried)
            with project.replacing_solution():
                for share in write_solution(step, project.folder, services.camera):
                    yield Progress("solution", "rendering the video", round(100 * share), 100)
            keep_solution(project, services, best, step)
            doubts, evidence = project.doubts(step), project.evidence()
            if evidence:
                yield Progress("solution", summarise(evidence))
            for doubt in doubts:
                yield Progress("solution", f"doubtful: {doubt}")
            outcome = "not solved" if not step.solved else "doubtful" if doubts else "solved"
            counts = f"{sum(step.success)} of {total} seeds ({step.strict_rate:.0%} of all seeds; {step.source})"
            yield Progress("solution", f"{outcome}: {counts}", total, total, step)

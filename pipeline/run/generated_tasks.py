"""What many tasks are generated from: a project, and the services in use (pipeline/task_generation)."""

from pipeline.models.stage_model import StageModel
from pipeline.project import Project
from pipeline.router import RouteContext
from pipeline.router.solved_programs import read_solved
from pipeline.run.cut_off import doubtful_objects
from pipeline.run.scene_context import scene_context
from pipeline.run.services import Services, allowed_services, project_robot, tracing_model
from pipeline.run.solved_examples import solved_examples, solved_folder
from pipeline.simulation import kit
from pipeline.simulation.graspability import why_not_picked
from pipeline.task_generation.candidates import SceneFacts
from pipeline.task_generation.generate import GenerationInputs, SolvedTask
from pipeline.task_generation.programs import ProgramWriter
from pipeline.task_generation.task_files import TaskGenerationError
from pipeline.tasks import Task


def generation_inputs(project: Project, services: Services) -> GenerationInputs:
    """Return what tasks are generated from. Raises TaskGenerationError for a project without anything to move."""
    if project.scene() is None:
        raise TaskGenerationError(
            f"{project.folder} has no twin yet; run grs-studio run FRAME --out {project.folder} --until task first"
        )
    if not movable_objects(project):
        raise TaskGenerationError(f"{project.folder} has no object that can be moved, so no task is about it")
    services = allowed_services(project, services)
    scene, robot = kit.Scene.load(project.folder), project_robot(project, services)
    context = scene_context(project, services)
    traced = tracing_model(project, services)
    model, writer = (StageModel(traced, kind, context) for kind in ("propose_tasks", "write_program"))
    facts = SceneFacts(context.notes, why_not_picked(scene, robot), doubtful_objects(project, scene))
    solved = _solved_tasks(project, services)

    def told(task: Task) -> RouteContext:
        return RouteContext(context.notes, solved_examples(project, services, task), facts.doubtful)

    programs = ProgramWriter(writer, told)
    return GenerationInputs(project.folder, services.library, model, services.sandbox, facts, robot, solved, programs)


def movable_objects(project: Project) -> tuple[str, ...]:
    """Return the names of the photographed objects that can be moved."""
    scene = project.scene()
    return tuple(p.name for p in scene.placements if not p.fixed) if scene else ()


def _solved_tasks(project: Project, services: Services) -> tuple[SolvedTask, ...]:
    """Return the project's own task if it is solved, and those of its workspace."""
    found = []
    task, solution = project.task(), project.solution()
    if task is not None and solution is not None and solution.solved and not solution.failed_check:
        scene = kit.Scene.load(project.folder)
        found.append(SolvedTask(task, {o.name: o.category for o in scene.objects}))
    folder = solved_folder(project, services)
    # Solved tasks of a workspace that new ones are compared with, at most
    for kept in list(read_solved(folder) if folder else ())[:200]:
        found.append(SolvedTask(kept.task, {str(o["name"]): str(o.get("category", "")) for o in kept.objects}))
    return tuple(found)

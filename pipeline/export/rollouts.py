"""Rollouts of a solved project, performed again: a project folder keeps only the one that is shown."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from pipeline.export.export_format import ExportError
from pipeline.project import Project
from pipeline.scene.mjcf.recorded_models import unneeded_files
from pipeline.simulation.kit import Simulation
from pipeline.simulation.recipe import Recipe, replay
from pipeline.simulation.robots import ROBOTS
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.simulation.scene import Scene
from pipeline.solving import Attempt, Solution, solve


@dataclass(frozen=True, eq=False)
class SolvedRollout:
    """The oracle's run on one seed that it solves."""

    seed: int
    record: RunRecord
    simulation: Simulation
    """The layout and its goals, arranged from data in this process."""


def robot_of(solution: Solution) -> str:
    """Return the name of the robot that made a solution."""
    return next((name for name, kind in ROBOTS.items() if kind.source == solution.source), "gripper")


def solved_rollouts(project: Project) -> tuple[str, tuple[SolvedRollout, ...]]:
    """Return the robot's name and a rollout of every solved seed of the solution, performed again in the sandbox.

    Raises ExportError if the project has no solved seed, SandboxError.
    """
    solution, best = project.solution(), project.best_round()
    if solution is None or best is None:
        raise ExportError(f"{project.name} has no solution yet, which this format needs; solve the task first")
    seeds = [seed for seed, success in zip(solution.seeds, solution.success, strict=True) if success]
    if not seeds:
        raise ExportError(f"{project.name} has no solved seed, so there is no demonstration to export")
    program, robot = project.program_in_current_names(best.program), robot_of(solution)
    scene = Scene.load(project.folder)
    rollouts = []
    with Sandbox() as sandbox:
        for step in solve(program, project.folder, sandbox, seeds, robot):
            if isinstance(step, Attempt) and step.solved and isinstance(step.record, RunRecord) and step.record.recipe:
                rollouts.append(SolvedRollout(step.seed, step.record, _arranged(scene, step.record.recipe, step.seed)))
    if not rollouts:
        raise ExportError(f"no seed of {project.name} was solved again; solve the task once more, then export")
    return robot, tuple(rollouts)


def _arranged(scene: Scene, recipe: dict, seed: int) -> Simulation:
    simulation = Simulation(scene, seed)
    replay(simulation, Recipe.model_validate(recipe))
    return simulation


def copy_meshes(project_dir: Path, folder: Path) -> None:
    """Copy the mesh and texture files of the twin to scene/ in a folder."""
    (folder / "scene").mkdir()
    earlier = unneeded_files(project_dir / "scene")
    for file in sorted((project_dir / "scene").iterdir()):
        if file.is_file() and file.suffix != ".xml" and file.name not in earlier:
            shutil.copyfile(file, folder / "scene" / file.name)

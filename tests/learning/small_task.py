"""A task on a small table, with its layouts built in this process."""

import pickle
import zipfile
from pathlib import Path

import pytest
from tabletop import OBJECTS

from pipeline.learning.decomposition import decompose
from pipeline.learning.layouts import Layouts
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from pipeline.simulation.recipe import Recipe, recipe
from pipeline.tasks import Task

FEW = {name: OBJECTS[name] for name in ("red_cube", "blue_cube", "white_bowl")}
SHORT_TRAININGS = {
    "training.ROLLOUT": 16, "training.SEGMENT": 1, "training.CHECKED": 1, "cloning.ROUNDS": 1, "cloning.STEPS": 60,
    "chain.TRAINING_LAYOUTS": range(3), "chain.VALIDATION_LAYOUTS": range(50_000, 50_002), "chain.EXPLORED_ROUNDS": 0,
    "judging.seams.SEAM_LAYOUTS": range(60_000, 60_002), "judging.evaluation.MORE_LAYOUTS": 1.0,
}  # fmt: skip
"""Constants of pipeline/learning: updates of few steps, on few layouts."""


def shorten_trainings(patch: pytest.MonkeyPatch) -> None:
    for name, value in SHORT_TRAININGS.items():
        patch.setattr(f"pipeline.learning.{name}", value)


def recipes(scene: kit.Scene, seeds, *goals, scattered=("red_cube",), zone=None) -> list[Recipe]:
    sims = [kit.Simulation(scene, seed) for seed in seeds]
    for sim in sims:
        if zone:
            sim.add_zone("zone", *zone)
        sim.scatter(*scattered)
        sim.goal(*goals)
    return [recipe(sim) for sim in sims]


def layouts(project: Path, *goals, **more) -> Layouts:
    scene = kit.Scene.load(project)
    return Layouts(scene, lambda seeds: recipes(scene, seeds, *goals, **more))


def task(instruction: str = "Do it.") -> Task:
    return Task("task", instruction, (), ("x",))


def subtasks(made: Layouts, instruction: str = "Do it."):
    return decompose(task(instruction), made, PlannerModel()).subtasks


def settled(made: Layouts, subtask, seeds) -> list[StartState]:
    """Return the states in which a subtask that begins with a reset begins on these layouts."""
    world = SubtaskWorld(made, subtask)
    return [world.settled(layout) for layout in made.get(list(seeds))]


def pushing(project: Path):
    """Return the layouts and subtasks of "push the red cube into the zone"."""
    made = layouts(project, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), (0.16, 0.16)))
    return made, subtasks(made, "Push it.")


def write_bomb(path: Path) -> None:
    """Write a policy whose tensors are pickles that must never be loaded."""
    bomb = type("Bomb", (), {"__reduce__": lambda _: (pytest.fail, ("a pickle was loaded",))})()
    with zipfile.ZipFile(path, "w") as archive:
        for member in ("policy.pth", "policy.optimizer.pth"):
            archive.writestr(member, pickle.dumps(bomb))

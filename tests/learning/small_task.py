"""A task on a small table, with its layouts built in this process."""

from pathlib import Path

import pytest
from tabletop import OBJECTS, write

from pipeline.learning.decomposition import decompose
from pipeline.learning.layouts import Layouts
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from pipeline.simulation.recipe import Recipe, recipe
from pipeline.tasks import Task

FEW = {name: OBJECTS[name] for name in ("red_cube", "blue_cube", "white_bowl")}
SHORT_TRAININGS = {
    "training.ROLLOUT": 16, "training.SEGMENT": 1, "training.CHECKED": 1, "cloning.ROUNDS": 1, "cloning.STEPS": 60,
    "chain.TRAINING_LAYOUTS": range(3), "chain.VALIDATION_LAYOUTS": range(50_000, 50_002), "chain.EXPLORED_ROUNDS": 0,
    "seams.SEAM_LAYOUTS": range(60_000, 60_002), "judging.evaluation.MORE_LAYOUTS": 1.0,
}  # fmt: skip
"""Constants of pipeline/learning: updates of few steps, on few layouts."""


def shorten_trainings(patch: pytest.MonkeyPatch) -> None:
    for name, value in SHORT_TRAININGS.items():
        patch.setattr(f"pipeline.learning.{name}", value)


def table(folder: Path) -> Path:
    return write(folder, objects=FEW)


def layouts(project: Path, *goals, scattered=("red_cube",), zone=None) -> Layouts:
    scene = kit.Scene.load(project)

    def build(seed: int) -> Recipe:
        sim = kit.Simulation(scene, seed)
        if zone:
            sim.add_zone("zone", *zone)
        sim.scatter(*scattered)
        sim.goal(*goals)
        return recipe(sim)

    return Layouts(scene, lambda seeds: [build(seed) for seed in seeds])


def task(instruction: str = "Do it.") -> Task:
    return Task("task", instruction, (), ("x",))


def subtasks(made: Layouts, instruction: str = "Do it."):
    return decompose(task(instruction), made, PlannerModel()).subtasks

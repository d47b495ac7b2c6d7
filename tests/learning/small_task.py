"""A task on a small table, with its layouts built in this process."""

from pathlib import Path

from cabinet import write as write_cabinet
from tabletop import OBJECTS, write

from pipeline.learning.decomposition import decompose
from pipeline.learning.layouts import Layouts
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from pipeline.simulation.recipe import Recipe, recipe
from pipeline.tasks import Task

FEW = {name: OBJECTS[name] for name in ("red_cube", "blue_cube", "white_bowl")}


def table(folder: Path) -> Path:
    return write(folder, objects=FEW)


def furniture(folder: Path) -> Path:
    return write_cabinet(folder)


def layouts(project: Path, *goals, scattered=("red_cube",), zone=None) -> Layouts:
    """Return the layouts of a task with these goals."""
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
    """Return the subtasks of the rules."""
    return decompose(task(instruction), made, PlannerModel()).subtasks

"""Layouts that a task is learned on: drawn by its program, arranged in the sandbox, and put into one compiled world.

Layout 0 is as photographed. All layouts of a task have the same objects, so one model serves them all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pipeline.learning.subtask import LearningError
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.kit import Simulation
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import CompiledWorld
from pipeline.simulation.program import Program
from pipeline.simulation.recipe import Recipe, replay
from pipeline.simulation.robots.robot import Robot
from pipeline.simulation.sandbox.runner import ProgramRunner
from pipeline.simulation.scene import Scene
from pipeline.simulation.state import Zone

BATCH = 24
"""Layouts that one run of the program builds."""

Arrange = Callable[[Sequence[int]], Sequence[Recipe]]
"""Returns the recipes of some seeds, in order. Raises LearningError."""


def arranged_by(program: Program, project_dir: Path, sandbox: ProgramRunner) -> Arrange:
    """Return a function that has a program build layouts in the sandbox."""

    def arrange(seeds: Sequence[int]) -> Sequence[Recipe]:
        recipes, fault = sandbox.arrange(program, project_dir, seeds)
        if fault:
            raise LearningError(f"the task's program does not build layout {seeds[len(recipes)]}: {fault}")
        return recipes

    return arrange


@dataclass(frozen=True, eq=False)
class Layout:
    """One starting arrangement."""

    seed: int
    objects: Mapping[str, Object]
    zones: Mapping[str, Zone]
    stages: tuple[tuple[str, tuple[Goal, ...]], ...]
    """The task's goals, bound to this arrangement."""

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals of all stages and their steps, in order."""
        return tuple(part for _, goals in self.stages for goal in goals for part in dict.fromkeys((goal, *goal.steps)))


class Layouts:
    """The layouts of one task, arranged when first needed."""

    def __init__(self, scene: Scene, arrange: Arrange):
        self._scene, self._arrange = scene, arrange
        self._kept: dict[int, Layout] = {}
        (recipe,) = arrange([0])
        self._recipe = recipe
        self.base = self._layout(recipe)
        """As photographed."""
        self._kept[0] = self.base

    def with_robot(self, robot: Robot) -> "Layouts":
        """Return the same layouts for another robot."""
        return Layouts(replace(self._scene, robot=robot), self._arrange)

    def world(self) -> CompiledWorld:
        """Return a newly compiled world; its bodies stand as in the base layout."""
        return self._simulation(self._recipe).bench()

    def get(self, seeds: Sequence[int]) -> tuple[Layout, ...]:
        """Return the layouts of some seeds, without those that have other objects than the base.

        Raises LearningError if none is left.
        """
        missing = [seed for seed in seeds if seed not in self._kept]
        for first in range(0, len(missing), BATCH):
            batch = missing[first : first + BATCH]
            for seed, recipe in zip(batch, self._arrange(batch), strict=True):
                self._kept[seed] = self._layout(recipe)
        found = tuple(self._kept[seed] for seed in seeds if _has_same_objects(self._kept[seed], self.base))
        if seeds and not found:
            raise LearningError("every layout of this task has other objects; its program has to keep the same ones")
        return found

    def _simulation(self, recipe: Recipe) -> Simulation:
        simulation = Simulation(self._scene, recipe.seed)
        replay(simulation, recipe)
        return simulation

    def _layout(self, recipe: Recipe) -> Layout:
        simulation = self._simulation(recipe)
        objects = {one.name: one for one in simulation.objects}
        return Layout(recipe.seed, objects, simulation.zones, simulation.stages)


def _has_same_objects(one: Layout, other: Layout) -> bool:
    """Whether two layouts differ in places and openings alone."""
    if list(one.objects) != list(other.objects) or set(one.zones) != set(other.zones):
        return False
    if [type(goal) for goal in one.goals] != [type(goal) for goal in other.goals]:
        return False
    return all(np.allclose(o.size, other.objects[name].size, atol=1e-9) for name, o in one.objects.items())

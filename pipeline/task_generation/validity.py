"""Whether a task is worth a robot's time: it does not hold already, doing nothing does not solve it, and a robot can.

All is measured on new layouts, which neither the proposal nor its rehearsal has seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.router import write_program
from pipeline.simulation import kit
from pipeline.simulation.goals.stages import lasting
from pipeline.simulation.physics import Physics, UnstableError
from pipeline.simulation.program import Program
from pipeline.simulation.recipe import Recipe, replay
from pipeline.simulation.sandbox.runner import ProgramRunner
from pipeline.simulation.state import State
from pipeline.solving import Attempt, solve
from pipeline.tasks import Task

PHOTOGRAPHED = 0
"""Seed of the layout of the photograph."""
NEW_LAYOUTS = tuple(range(4001, 4009))
"""Seeds of the layouts on which tasks are measured."""
IDLE_SECONDS = 2.0
"""Simulated time for which a robot that does nothing is watched, after everything has come to rest."""
HALVING_SECONDS = 15.0
"""In which the floating gripper carries about five objects."""
ROBOT_VERBS = frozenset(("pick", "place", "open", "shut", "move aside"))


class Sandbox(ProgramRunner, Protocol):
    """Builds layouts, too."""

    def arrange(self, program: Program, project_dir: Path, seeds: Sequence[int]) -> tuple[Sequence[Recipe], str]:
        """Return the recipes, and why a later layout was not built."""
        ...


@dataclass(frozen=True)
class Validity:
    """What was measured of one task."""

    reason: str
    """Why it is not valid; empty if it is."""
    layouts: int = 0
    """New layouts that were tried."""
    solved: int = 0
    """Those in which the robot reached the goals, and they neither held at the start nor came true by themselves."""
    held: int = 0
    """Those in which they did: they count as not solved."""
    seconds: float = 0.0
    """Mean simulated time of a solved rollout."""
    actions: float = 0.0
    """Mean number of grasps and releases of a solved rollout."""
    program: Program | None = None

    @property
    def success(self) -> float:
        """Share of the layouts that were solved."""
        return self.solved / self.layouts if self.layouts else 0.0

    @property
    def difficulty(self) -> float:
        """In [0, 1]: 1 - success, where success counts half for every HALVING_SECONDS that the robot needs."""
        return 1 - self.success * 0.5 ** (self.seconds / HALVING_SECONDS)


def measure_validity(
    task: Task, folder: Path, sandbox: Sandbox, robot: str = "gripper", seeds: Sequence[int] = NEW_LAYOUTS
) -> Validity:
    """Return what is measured of a task on a start's folder. Raises SandboxError.

    A task is valid if the robot solves at least half of the new layouts, the goals do not hold in the photographed one,
    and do not come true there while the robot does nothing.
    """
    try:
        program = write_program(task, kit.Scene.load(folder), PlannerModel())
    except ModelError as error:
        return Validity(f"no program can be written: {error}")
    recipes, fault = sandbox.arrange(program, folder, (PHOTOGRAPHED, *seeds))
    if fault or not recipes:
        return Validity(f"its program does not build every layout: {fault}")
    try:
        happens = [_happens_without_robot(recipe, folder) for recipe in recipes]
    except (kit.KitError, UnstableError) as error:
        return Validity(f"its layouts cannot be simulated: {error}")
    if happens[0]:
        return Validity(f"{happens[0]} as photographed", len(seeds), program=program)
    counted = [seed for seed, reason in zip(seeds, happens[1:], strict=True) if not reason]
    held, needed = len(seeds) - len(counted), (len(seeds) + 1) // 2
    if len(counted) < needed:
        reason = next(filter(None, happens[1:]))
        return Validity(f"{reason} in {held} of {len(seeds)} layouts", len(seeds), held=held, program=program)
    attempts: list[Attempt] = []
    for attempt in _attempts(program, folder, sandbox, counted, robot):
        attempts.append(attempt)
        if len(counted) - sum(not one.solved for one in attempts) < needed:  # half is out of reach
            break
    return _validity(attempts, len(seeds), held, program)


def _attempts(program: Program, folder: Path, sandbox: Sandbox, seeds: Sequence[int], robot: str) -> Iterator[Attempt]:
    for step in solve(program, folder, sandbox, seeds, robot):
        if isinstance(step, Attempt):
            yield step


def _validity(attempts: Sequence[Attempt], layouts: int, held: int, program: Program) -> Validity:
    solved = [one for one in attempts if one.solved]
    failed = next((one.reason for one in attempts if not one.solved), "")
    records = [one.record for one in solved if one.record is not None and len(one.record.times)]
    seconds = sum(float(one.times[-1]) for one in records) / max(len(records), 1)
    acts = sum(event.get("verb") in ROBOT_VERBS for one in records for event in one.events) / max(len(records), 1)
    enough = 2 * len(solved) >= layouts
    tried = held + len(attempts)
    reason = "" if enough else f"solved in {len(solved)} of {tried} layouts: {failed}"
    return Validity(reason, layouts if enough else tried, len(solved), held, seconds, acts, program)


def _happens_without_robot(recipe: Recipe, folder: Path) -> str:
    """Return how a layout's goals are met without the robot; empty if they are not. Raises KitError, UnstableError."""
    simulation = kit.Simulation(kit.Scene.load(folder), recipe.seed)
    replay(simulation, recipe)
    physics = Physics(simulation.bench())
    if _all_met(physics.state(), simulation.stages):
        return "the goals hold at the start"
    physics.settle()
    physics.advance(round(IDLE_SECONDS / physics.model.opt.timestep))
    return "the goals come true while the robot does nothing" if _all_met(physics.state(), simulation.stages) else ""


def _all_met(state: State, stages: Sequence[tuple[str, tuple[kit.Goal, ...]]]) -> bool:
    """Whether all goals are met that have to be met at the end."""
    return all(goal.met(state) for goal in lasting([goals for _, goals in stages]))

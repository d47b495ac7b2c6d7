"""Whether a task is worth a robot's time: it does not hold already, doing nothing does not solve it, and a robot can.

All is measured on new layouts, which neither the proposal nor its rehearsal has seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.simulation import kit
from pipeline.simulation.goals.stages import lasting
from pipeline.simulation.physics import Physics, UnstableError
from pipeline.simulation.program import Program
from pipeline.simulation.recipe import Recipe, replay
from pipeline.simulation.sandbox.runner import ProgramRunner
from pipeline.simulation.state import State
from pipeline.solving import Attempt, solve
from pipeline.task_generation.task_files import TaskGenerationError

NEW_LAYOUTS = tuple(range(4001, 4009))
"""Seeds of the layouts on which tasks are measured."""
MAX_DRAWN = 12
"""Times as many layouts that are drawn at most, where the goals of some are met without the robot."""
HALVING_SECONDS = 15.0
"""In which the floating gripper carries about five objects."""
ROBOT_VERBS = frozenset(("pick", "place", "hand over", "pass", "open", "shut", "move aside"))


@dataclass(frozen=True)
class Validity:
    """What was measured of one task."""

    reason: str
    """Why it is not valid; empty if it is."""
    layouts: int = 0
    """New layouts that the robot tried; the goals of none are met without it."""
    solved: int = 0
    held: int = 0
    """Further layouts whose goals hold at the start, or come true while the robot does nothing."""
    seconds: float = 0.0
    """Mean simulated time of a solved rollout."""
    actions: float = 0.0
    """Mean number of grasps and releases of a solved rollout."""

    @property
    def success(self) -> float:
        """Share of the layouts that were solved."""
        return self.solved / self.layouts if self.layouts else 0.0

    @property
    def difficulty(self) -> float:
        """In [0, 1]: 1 - success, where success counts half for every HALVING_SECONDS that the robot needs."""
        return 1 - self.success * 0.5 ** (self.seconds / HALVING_SECONDS)


def measure_validity(
    program: Program, folder: Path, sandbox: ProgramRunner, robot: str = "gripper", seeds: Sequence[int] = NEW_LAYOUTS
) -> Validity:
    """Return what is measured of a task by its program, on a start's folder. Raises SandboxError.

    A task is valid if the robot solves at least half of the new layouts, the goals do not hold in the photographed one,
    and do not come true there while the robot does nothing.
    """
    try:
        # Seed of the layout of the photograph
        if held := _happens_by_itself(program, folder, sandbox, (0,))[0]:
            return Validity(f"{held} as photographed")
        counted, happened = _layouts_for_robot(program, folder, sandbox, seeds)
    except (kit.KitError, UnstableError, TaskGenerationError) as error:
        return Validity(f"its layouts cannot be built: {error}")
    held = len(happened)
    if len(counted) < len(seeds):
        reason = happened[0] if happened else "the goals hold at the start"
        return Validity(f"{reason} in {held} of {held + len(counted)} layouts", held=held)
    needed, attempts = (len(seeds) + 1) // 2, []
    for step in solve(program, folder, sandbox, counted, robot):
        attempts += [step] if isinstance(step, Attempt) else []
        if len(counted) - sum(not one.solved for one in attempts) < needed:  # half is out of reach
            break
    return _validity(attempts, len(seeds), held)


def _layouts_for_robot(
    program: Program, folder: Path, sandbox: ProgramRunner, seeds: Sequence[int]
) -> tuple[list[int], list[str]]:
    """Return as many seeds as are asked for, of layouts whose goals are not met without the robot; others follow them.

    Also return why each layout was left out. Fewer seeds where MAX_DRAWN times as many layouts have too few.
    """
    counted: list[int] = []
    happened: list[str] = []
    for batch in range(MAX_DRAWN):
        drawn = [seed + batch * len(seeds) for seed in seeds][: 2 * (len(seeds) - len(counted))]
        for seed, reason in zip(drawn, _happens_by_itself(program, folder, sandbox, drawn), strict=True):
            if reason:
                happened.append(reason)
            elif len(counted) < len(seeds):
                counted.append(seed)
        if len(counted) == len(seeds):
            break
    return counted, happened


def _happens_by_itself(program: Program, folder: Path, sandbox: ProgramRunner, seeds: Sequence[int]) -> list[str]:
    """Return for each layout how its goals are met without the robot; empty where they are not.

    Raises TaskGenerationError for a layout that the program does not build.
    """
    recipes, fault = sandbox.arrange(program, folder, seeds)
    if fault or len(recipes) < len(seeds):
        raise TaskGenerationError(fault or "the program ended early")
    return [happens_without_robot(recipe, folder) for recipe in recipes]


def _validity(attempts: Sequence[Attempt], layouts: int, held: int) -> Validity:
    solved = [one for one in attempts if one.solved]
    failed = next((one.reason for one in attempts if not one.solved), "")
    records = [one.record for one in solved if one.record is not None and len(one.record.times)]
    seconds = sum(float(one.times[-1]) for one in records) / max(len(records), 1)
    acts = sum(event.get("verb") in ROBOT_VERBS for one in records for event in one.events) / max(len(records), 1)
    enough = 2 * len(solved) >= layouts
    reason = "" if enough else f"solved in {len(solved)} of {len(attempts)} layouts: {failed}"
    return Validity(reason, layouts if enough else len(attempts), len(solved), held, seconds, acts)


def happens_without_robot(recipe: Recipe, folder: Path) -> str:
    """Return how a layout's goals are met without the robot; empty if they are not. Raises KitError, UnstableError."""
    simulation = kit.Simulation(kit.Scene.load(folder), recipe.seed)
    replay(simulation, recipe)
    physics = Physics(simulation.bench())
    if _all_met(physics.state(), simulation.stages):
        return "the goals hold at the start"
    physics.settle()
    # Simulated time for which a robot that does nothing is watched, after everything has come to rest
    physics.advance(round(2.0 / physics.model.opt.timestep))
    return "the goals come true while the robot does nothing" if _all_met(physics.state(), simulation.stages) else ""


def _all_met(state: State, stages: Sequence[tuple[str, tuple[kit.Goal, ...]]]) -> bool:
    """Whether all goals are met that have to be met at the end."""
    return all(goal.met(state) for goal in lasting([goals for _, goals in stages]))

"""The worth of a task: how far a learner comes with a small budget.

A task that is mastered at once teaches nothing, and one that never succeeds gives no signal: goals of intermediate
difficulty are worth learning (Florensa et al., ICML 2018). The budget is a few demonstrations of the oracle, which a
policy for each subtask imitates; reinforcement takes minutes a subtask (docs/results/task_generation.md).
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from pipeline.learning.chain import TaskLearner
from pipeline.learning.cloning import clone
from pipeline.learning.decomposition import decompose
from pipeline.learning.demonstrations import Demonstrated, demonstrate
from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.judging.evaluation import UNSEEN, Chain
from pipeline.learning.layouts import Layouts, arranged_by
from pipeline.learning.policy import NETWORK, LearnedPolicy
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import LearningError, Subtask, require_usable
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from pipeline.simulation.physics import UnstableError
from pipeline.simulation.program import Program
from pipeline.simulation.rollout import SOLVED
from pipeline.simulation.sandbox.runner import ProgramRunner
from pipeline.task_generation.budget import LearnerBudget
from pipeline.tasks import Task

LAYOUTS, FEWEST_LAYOUTS = 20, 8
"""Layouts, which no demonstration was given on, that success is measured on; and fewest that say something."""
MAX_DRAWN = 6
"""Times as many layouts that are drawn at most, where the goals of some hold at the start."""


@dataclass(frozen=True)
class Learned:
    """How far the learner came."""

    success: float | None
    """Share of the layouts on which the chain of policies did the whole task; None if it could not be measured."""
    reason: str = ""
    """Why it was not measured."""
    layouts: int = 0
    seconds: float = 0.0
    """Processor time."""


class _Stopped(Exception):
    """The caller wants no result any more."""


class _OverTime(Exception):
    """The budget's time is spent."""


def learn_briefly(
    task: Task, program: Program, start: Path, sandbox: ProgramRunner, budget: LearnerBudget,
    stopped: Callable[[], bool] = lambda: False,
) -> Learned | None:  # fmt: skip
    """Have policies imitate a few demonstrations of a task's subtasks, and play them as a chain; None if stopped.

    Args:
        start: folder of the twin on which the task was proposed.

    Raises SandboxError.
    """
    torch.set_num_threads(1)  # the networks are small: more threads take longer
    begun, solved = time.process_time(), []

    def spent() -> float:
        return time.process_time() - begun

    def check() -> None:
        if stopped():
            raise _Stopped
        if spent() > budget.seconds:
            raise _OverTime

    try:
        for one in _played(_learner(task, program, start, sandbox), budget, check):
            solved.append(one)
    except _Stopped:
        return None
    except _OverTime:
        if len(solved) < FEWEST_LAYOUTS:
            return Learned(None, f"the learner was not ready after {budget.seconds:.0f} s", 0, spent())
    except (LearningError, ModelError, UnstableError) as error:
        return Learned(None, str(error), 0, spent())
    if not solved:
        return Learned(None, "its goals hold at the start of almost every layout", 0, spent())
    return Learned(sum(solved) / len(solved), "", len(solved), spent())


def _played(learner: TaskLearner, budget: LearnerBudget, check: Callable[[], None]) -> Iterator[bool]:
    """Yield for each new layout whether the policies that imitate the demonstrations do the whole task."""
    shown: dict[str, list[Demonstrated]] = {subtask.name: [] for subtask in learner.subtasks}
    starts = _unsolved_starts(learner, 0, budget.demonstrations)
    for one in demonstrate(learner.layouts, learner.subtasks, starts):
        shown[one.subtask].append(one)
        check()
    if missing := next((name for name, own in shown.items() if not own), None):
        raise LearningError(f"no demonstration of the oracle solves {missing}")

    def policy(subtask: Subtask, env: SubtaskEnv) -> LearnedPolicy:
        check()
        torch.manual_seed(budget.seed)
        networks = ActorCriticPolicy(env.observation_space, env.action_space, lambda _: 0.0, **NETWORK)
        clone(networks, shown[subtask.name], budget.seed)
        return LearnedPolicy(networks)

    chain = Chain(learner, policy)
    measured = _unsolved_starts(learner, UNSEEN, LAYOUTS)
    for start in measured if len(measured) >= min(FEWEST_LAYOUTS, LAYOUTS) else ():
        yield chain.play(start).solved
        check()


def _unsolved_starts(learner: TaskLearner, first: int, count: int) -> list[StartState]:
    """Return settled starts of layouts on which the task's goals do not hold yet, drawn from a seed on.

    Fewer than `count` where they hold on most layouts.
    """
    found, world = [], SubtaskWorld(learner.layouts, learner.subtasks[0])
    for batch in range(first, first + MAX_DRAWN * count, count):
        for start in learner.settled(range(batch, batch + count)):
            world.begin(start)
            control = world.control
            control.stages, control.reached = world.layout.stages, 1
            if control.share(control.measure()) <= SOLVED:
                found.append(start)
        if len(found) >= count:
            break
    return found[:count]


def _learner(task: Task, program: Program, start: Path, sandbox: ProgramRunner) -> TaskLearner:
    """Return the learner of a task's subtasks, as the rules split it. Raises LearningError, ModelError."""
    layouts = Layouts(kit.Scene.load(start), arranged_by(program, start, sandbox))
    subtasks = decompose(task, layouts, PlannerModel()).subtasks
    require_usable(subtasks, layouts.base.objects, list(layouts.base.zones))
    return TaskLearner(start, layouts, subtasks)  # nothing is written there

"""The policies of `grs-studio learn`: under the conditions of a variation study, and as motions that are served."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pipeline.closed_loop.episodes import PolicyEpisode, as_episode
from pipeline.closed_loop.failure import failure_class, gaps_between
from pipeline.closed_loop.policy import PolicyError
from pipeline.closed_loop.serving import Motion
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.learning.chain import TaskLearner
from pipeline.learning.episodes import SubtaskEpisode
from pipeline.learning.judging.evaluation import Chain, ChainEpisode
from pipeline.learning.layouts import Layouts, arranged_by
from pipeline.learning.learning_files import FOLDER
from pipeline.learning.subtask import PLAN, LearningError, Subtask, read_subtasks
from pipeline.learning.subtask_world import RATE, SubtaskWorld
from pipeline.project import Project
from pipeline.simulation.controlled_world import ControlledWorld
from pipeline.simulation.kit import Scene
from pipeline.simulation.physics import TIMESTEP, UnstableError
from pipeline.simulation.program import Program
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.variation import Outcome, Perform


def _rollout(played: ChainEpisode, layouts: Layouts) -> RunRecord:
    """Return what the policies did, at the rate at which they act."""
    qpos = np.concatenate([one.qpos for one in played.episodes])
    actions = np.concatenate([np.concatenate([one.actions, one.actions[-1:]]) for one in played.episodes])
    times = np.arange(len(qpos)) * RATE.steps * TIMESTEP
    return RunRecord(times, qpos, actions, xml=layouts.world().xml, seed=played.layout)


def by_learned_policies(project_dir: Path, program: Program, sandbox: Sandbox) -> Perform:
    """Return a function that lets the learned policies of all subtasks, one after the other, try a condition.

    Raises LearningError if the project has none, or if they were learned for another twin.
    """
    play = learned_episodes(project_dir, program, sandbox)

    def perform(id: str, start: Path) -> Outcome:
        done = play(id, start)
        return Outcome(id, done.success, done.share, done.reason, done.rollout)

    return perform


def learned_episodes(project_dir: Path, program: Program, sandbox: Sandbox) -> Callable[[str, Path], PolicyEpisode]:
    """Return a function that plays the learned policies from the start of a condition. Raises LearningError."""
    subtasks = read_subtasks(project_dir / FOLDER / "subtasks.json")
    if subtasks is None:
        raise LearningError(f"{project_dir} has no learned policies; run grs-studio learn {project_dir} first")
    require_policies(subtasks)
    usual = Layouts(Scene.load(project_dir), arranged_by(program, project_dir, sandbox))
    Chain(TaskLearner(project_dir, usual, subtasks))  # reads every policy, so that a missing one is found now

    def play(id: str, start: Path) -> PolicyEpisode:
        recipes, fault = sandbox.arrange(program, start, [0])
        if fault:
            return PolicyEpisode(id, False, 0.0, 0.0, None, fault)
        try:
            layouts = Layouts(Scene.load(start), lambda _: recipes)
            goals = dict(zip(usual.base.goals, layouts.base.goals, strict=True))
            learner = TaskLearner(project_dir, layouts, [one.bound_to(goals) for one in subtasks])
            settled = learner.settled(range(1))
            if not settled:
                return PolicyEpisode(id, False, 0.0, 0.0, None, "the physics of this start is unstable")
            played = Chain(learner).play(settled[0])
        except (LearningError, UnstableError) as error:  # such as a handle that the hand does not get to
            return PolicyEpisode(id, False, 0.0, 0.0, None, str(error))
        failed = subtasks[len(played.episodes) - 1]
        reason = f"{failed.name} failed" if not played.episodes[-1].success else "the goals did not hold at the end"
        rollout = _rollout(played, layouts)
        episode = as_episode(rollout, f"policies under condition {id}", start / "scene")
        wanted = {name for goal in goals.values() for name in goal.carried}
        failure = (
            None
            if played.solved
            else failure_class(episode, wanted, (), gaps_between(layouts.world().model, rollout.qpos))
        )
        return PolicyEpisode(
            id, played.solved, played.share, float(rollout.times[-1]), failure, "" if played.solved else reason, None,
            None, rollout, episode,
        )  # fmt: skip

    return play


def require_policies(subtasks: Sequence[Subtask]) -> None:
    """Raise LearningError if the oracle plans a subtask, since what it does is no policy's success."""
    if planned := [one.name for one in subtasks if one.way == PLAN]:
        raise LearningError(
            f"{', '.join(planned)}: planned by the oracle, not learned; learn with grs-studio learn PROJECT --plan none"
        )


def learned_motions(project_dir: Path, sandbox: Sandbox) -> Callable[[TwinEnv, int], Motion]:
    """Return a function that plays the learned policies on a layout of the twin, and returns the hand's motion.

    Raises LearningError if the project has none. The function raises PolicyError where they fail: no robot gets what
    does not solve the task in the twin.
    """
    project = Project.open(project_dir)
    chosen, subtasks = project.best_round(), read_subtasks(project_dir / FOLDER / "subtasks.json")
    if subtasks is None or chosen is None:
        raise LearningError(f"{project_dir} has no learned policies; run grs-studio learn {project_dir} first")
    require_policies(subtasks)
    program = project.program_in_current_names(chosen.program)
    layouts = Layouts(Scene.load(project_dir), arranged_by(program, project_dir, sandbox))
    learner = TaskLearner(project_dir, layouts, subtasks)
    chain, world = Chain(learner), SubtaskWorld(layouts, subtasks[0])

    def play(env: TwinEnv, layout: int) -> Motion:
        if env.world.suction < 0:
            raise PolicyError("learned policies move the floating gripper, and the solution is of another robot")
        settled = learner.settled(range(layout, layout + 1))
        played = chain.play(settled[0]) if settled else None
        if played is None or not played.solved:
            raise PolicyError(f"the learned policies do not solve layout {layout} in the twin")
        world.begin(settled[0])
        commands = commands_of(world.control, played.episodes)
        return Motion(np.arange(len(commands)) * RATE.steps * TIMESTEP, commands)

    return play


def commands_of(control: ControlledWorld, episodes: Sequence[SubtaskEpisode]) -> np.ndarray:
    """Return the hand's commands at the start and after each action of consecutive episodes, of shape (steps + 1, A).

    Args:
        control: a world at the start of the first episode; it is changed.
        episodes: as they were played.
    """
    commands = [control.data.ctrl.copy()]
    for episode in episodes:
        for qpos, action in zip(episode.qpos[:-1], episode.actions, strict=True):
            control.data.qpos[:] = qpos  # a command is only so far ahead of where the hand was
            end = control.ramp(action)[-1]
            end[control.suction] = control.command(action)[control.suction] > 0.5
            control.data.ctrl[:] = end
            commands.append(end)
    return np.array(commands)

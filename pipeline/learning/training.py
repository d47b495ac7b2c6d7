"""Trains one subtask's policy with PPO, as a generator: stop it by closing it, and call it again to go on.

Every segment of training begins with fresh episodes and a seed that depends on the number of steps alone, so a run that
was killed and resumed from its checkpoint learns exactly what an uninterrupted one does.
"""

import copy
import io
import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from pipeline.learning.cloning import imitate
from pipeline.learning.demonstrations import doubled_steps
from pipeline.learning.environment import VERSION, EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import SubtaskEpisode, play_across, success_rate
from pipeline.learning.judging.rollouts import rollout_of, shown_episodes, write_rollouts
from pipeline.learning.layouts import Layouts
from pipeline.learning.learning_files import CONFIRMED, Spent, SubtaskFolder
from pipeline.learning.parallel_worlds import BatchedEnvs, WarpPhysics, is_gpu_there, new_worlds
from pipeline.learning.policy import NETWORK, LearnedPolicy, read_parameters
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import LEARN, LearningError, Subtask, to_row
from pipeline.learning.subtask_world import RATE
from pipeline.store import digest

ROLLOUT = 128
"""Control steps of each environment between two updates."""
SEGMENT = 4
"""Updates between two evaluations."""
GPU_ENVIRONMENTS = 64
"""Environments that a GPU simulates together."""
RATES, FINE_SUCCESS = (1e-3, 4e-4), 0.75
"""Learning rates: at first, and from that success on, where large steps unlearn as much as they learn."""
CHECKED = 20
"""Training starts on which nothing is demonstrated: a policy that imitates has to reach the target on them, too."""
CLONED_STD = 0.15
"""Standard deviation of the actions with which a policy that imitates goes on exploring."""


@dataclass(frozen=True)
class TrainingOptions:
    """How a policy is trained."""

    steps: int = 80_000
    """Most control steps, of all environments together."""
    seconds: float = float("inf")
    """Most wall-clock time of this call."""
    seed: int = 0
    environments: int = 8
    processes: int = 1
    """With more than one, each environment runs in a process of its own; what is learned is the same."""
    on_gpu: bool = False
    """Whether the worlds are simulated by a GPU, GPU_ENVIRONMENTS at a time; an update sees as many steps as else."""
    target: float = 0.95
    """Success on the validation starts at which training ends."""
    rules: EpisodeRules = field(default_factory=EpisodeRules)


@dataclass(frozen=True, eq=False)
class TrainingProgress:
    """State of a training after some updates."""

    subtask: str
    steps: int
    seconds: float
    """Wall-clock time so far, of all calls."""
    success: float | None = None
    """Share of the validation starts that succeed; None between evaluations."""
    terms: tuple[float, ...] = ()
    """Mean weighted potential of each term at the end of the validation episodes."""
    imitated: int = 0
    """Demonstrations and corrections of the oracle that were imitated so far, while no step was learned yet."""
    finished: bool = False
    """Whether this training will not go on: the target is reached, or its steps are used."""


@dataclass(frozen=True, eq=False)
class TrainingStarts:
    """Where episodes begin."""

    training: Sequence[StartState]
    validation: Sequence[StartState]
    """On layouts that no training episode begins on."""
    demonstrations: int = 0
    """Starts from which the oracle is imitated first; 0 for reinforcement alone."""
    policy: Path | None = None
    """The policy that goes on learning; None for a new one."""
    variants: Sequence[tuple[Layouts, Subtask]] = ()
    """Further variants of the twin in which starts are, numbered from 1, each with its own form of the subtask."""

    def environments(
        self, subtask: Subtask, layouts: Layouts, states: Sequence[StartState], rules: EpisodeRules
    ) -> dict[int, SubtaskEnv]:
        """Return a new environment for each variant that some states are of, by its number."""
        worlds = [(layouts, subtask), *self.variants]
        found = {}
        for number in sorted({one.variant for one in states}):
            mine = [one for one in states if one.variant == number]
            found[number] = SubtaskEnv(*worlds[number], mine, rules)
        return found


def on_this_machine(options: TrainingOptions) -> TrainingOptions:
    """Return options with all processors, or with a GPU where there are few, if MuJoCo Warp is installed."""
    processors = len(os.sched_getaffinity(0))
    # Enough processors from so many processors on, processes are faster than a GPU, because every world is measured on
    # a processor
    on_gpu = processors < 4 and is_gpu_there()
    return replace(options, processes=min(processors, options.environments), on_gpu=on_gpu)


def training_key(subtask: Subtask, starts: TrainingStarts, options: TrainingOptions) -> str:
    """Return a hash of all that a trained policy depends on, except for how long it was trained."""
    states = np.array([one.state for one in (*starts.training, *starts.validation)])
    row = to_row(replace(subtask, way=LEARN)) | {"source": "", "instruction": ""}
    about = [row, asdict(options.rules), options.seed, options.environments, NETWORK, starts.demonstrations, VERSION]
    return digest(about, states)


def train(
    subtask: Subtask, layouts: Layouts, starts: TrainingStarts, folder: SubtaskFolder, options: TrainingOptions
) -> Generator[TrainingProgress]:
    """Train a policy, or go on with it, and yield after each update; the best one so far is kept in the folder.

    Raises LearningError, StoreError, also where the oracle solves none of the starts that it is imitated from. What
    the folder holds of other starts or rewards is kept in a branch.
    """
    torch.set_num_threads(1)  # the networks are small: more threads take longer
    record = folder.take_up(training_key(subtask, starts, options))
    folder.note(subtask)
    if record.is_finished(options.steps):
        yield TrainingProgress(subtask.name, record.steps, record.seconds, record.best, finished=True)
        return
    with closing(_Learner(subtask, layouts, starts, options)) as learner:
        start, start_processor, before = time.monotonic(), time.process_time(), record

        def spent() -> Spent:
            seconds = time.monotonic() - start
            processor = time.process_time() - start_processor + learner.worker_seconds()
            return Spent(learner.steps, before.seconds + seconds, before.processor + processor)

        def evaluated() -> TrainingProgress:
            """Evaluate the policy and save it with its record."""
            nonlocal record
            episodes = learner.evaluate()
            success, mean_return, terms = _summary(episodes)
            now = record.after(spent(), success, options.target)
            is_cloned = bool(starts.demonstrations) and not now.steps
            if is_cloned and now.reached and learner.unshown_success() >= options.target:
                now = replace(now, reached=CONFIRMED)
            point = {
                "steps": now.steps, "seconds": round(now.seconds, 2), "processor": round(now.processor, 2),
                "success": success, "return": round(mean_return, 4), "terms": terms,
            }  # fmt: skip
            point |= {"cloned": learner.shown} if is_cloned else {}
            write_rollouts(folder.rollouts(now.steps), shown_episodes([rollout_of(subtask, one) for one in episodes]))
            folder.save(record, now, point, learner.saved())
            record = now
            finished = record.is_finished(options.steps)
            return TrainingProgress(subtask.name, now.steps, now.seconds, success, terms, finished=finished)

        if record.was_evaluated:
            learner.resume(folder.checkpoint(record.steps), record.steps)
        elif starts.demonstrations:
            for _ in learner.imitate(until=start + options.seconds):
                yield TrainingProgress(subtask.name, 0, spent().seconds, imitated=learner.shown)
            yield evaluated()
        elif starts.policy:
            learner.resume(starts.policy, 0)
            yield evaluated()
        while not record.is_finished(options.steps) and time.monotonic() - start <= options.seconds:
            learner.set_rate(1.0 if starts.policy or starts.demonstrations else record.best)
            for _ in range(SEGMENT):
                learner.update()
                yield TrainingProgress(subtask.name, learner.steps, spent().seconds)
            yield evaluated()


class _Learner:
    """PPO on parallel environments of one subtask."""

    def __init__(self, subtask: Subtask, layouts: Layouts, starts: TrainingStarts, options: TrainingOptions):
        self._options, self._starts, self._segment = options, starts, 0
        self._test_envs = starts.environments(subtask, layouts, starts.validation, options.rules)
        self._envs = side_by_side(subtask, layouts, starts, options)
        steps = ROLLOUT * options.environments // self._envs.num_envs
        self.model = PPO(
            "MlpPolicy", self._envs, n_steps=steps, batch_size=256, n_epochs=10, gamma=options.rules.discount,
            gae_lambda=0.95, learning_rate=RATES[0], ent_coef=0.0, policy_kwargs=dict(NETWORK), seed=options.seed,
            device="cpu",
        )  # fmt: skip
        self._updates = 0
        self._rehearsal = (subtask, layouts)
        self.shown = 0
        """Episodes of the oracle that the policy has imitated: shown from the start, or corrections."""

    @property
    def steps(self) -> int:
        """Control steps so far."""
        return int(self.model.num_timesteps)

    def close(self) -> None:
        """End the environments' processes."""
        self._envs.close()

    def worker_seconds(self) -> float:
        """Return the processor time of the environments' processes so far."""
        workers = self._envs.processes if isinstance(self._envs, SubprocVecEnv) else ()
        return sum(time.clock_gettime(~worker.pid << 3 | 2) for worker in workers)  # clock_getcpuclockid(3)

    def resume(self, checkpoint: Path, steps: int) -> None:
        """Go on from a checkpoint. Raises LearningError."""
        parameters: Any = read_parameters(checkpoint)
        self.model.set_parameters(parameters)
        self.model.num_timesteps = steps

    def saved(self) -> bytes:
        """Return the model as the content of a policy.zip."""
        buffer = io.BytesIO()
        self.model.save(buffer)
        return buffer.getvalue()

    def set_rate(self, success: float) -> None:
        """Set the learning rate that follows from the best success so far."""
        rate = RATES[0] if success < FINE_SUCCESS else RATES[1]
        self.model.lr_schedule = lambda _: rate

    def update(self) -> None:
        """Roll out every environment and improve the policy once."""
        if self._updates % SEGMENT == 0:
            seed = self._options.seed * 1_000_003 + self.steps
            self.model.set_random_seed(seed)
            self._envs.seed(seed)
            self.model._last_obs = None  # begin with new episodes
        self._updates += 1
        self.model.learn(ROLLOUT * self._options.environments, reset_num_timesteps=False)

    def imitate(self, until: float) -> Iterator[None]:
        """Imitate the oracle in rounds until the target or a moment is reached; keep the best.

        Yield after each episode that it shows and each fit. Raises LearningError.
        """
        (subtask, layouts), options, policy = self._rehearsal, self._options, self.model.policy
        starts = [one for one in self._starts.training[: -self._checked] if not one.variant] or self._starts.training
        env = SubtaskEnv(layouts, subtask, starts, doubled_steps(options.rules))
        best, kept, kept_shown = -1.0, {}, 0
        for step in imitate(policy, env, starts, self._starts.demonstrations, options.seed):
            self.shown = step.shown
            yield
            if not step.is_fitted:
                continue
            found = success_rate(self.evaluate()), self.unshown_success()
            if sum(found) >= best:
                best, kept, kept_shown = sum(found), copy.deepcopy(policy.state_dict()), step.shown
            # Rounds of corrections before which imitation only ends if no start at all fails; then the target is
            # enough. A policy with a success of 0.93 passes 0.95 of 20 starts in six of ten cases, and a chain has all
            # of its policies' failures.
            wanted = options.target if step.corrections >= 3 else 1.0
            if time.monotonic() > until or min(found) >= wanted:
                break
        if not kept:
            raise LearningError(f"the oracle's path never solves {subtask.name}; learn it without demonstrations")
        policy.load_state_dict(kept)
        self.shown = kept_shown
        torch.nn.init.constant_(policy.log_std, float(np.log(CLONED_STD)))

    @property
    def _checked(self) -> int:
        """How many starts nothing is demonstrated on: 20 do not tell 0.97, which a long chain needs, from 0.9."""
        wanted = CHECKED if self._options.target <= TrainingOptions.target else 2 * CHECKED
        return max(1, min(wanted, len(self._starts.training) // 2))

    def unshown_success(self) -> float:
        """Return the policy's success on training starts that nothing was demonstrated on."""
        policy: Any = self.model.policy
        starts = self._starts.training[-self._checked :]
        envs = {number: env for number, env in self._test_envs.items() if any(one.variant == number for one in starts)}
        return success_rate(list(play_across(envs, LearnedPolicy(policy), starts)))

    def evaluate(self) -> list[SubtaskEpisode]:
        """Return an episode from every validation start, without exploring."""
        policy: Any = self.model.policy
        return list(play_across(self._test_envs, LearnedPolicy(policy), self._starts.validation))


def side_by_side(subtask: Subtask, layouts: Layouts, starts: TrainingStarts, options: TrainingOptions) -> VecEnv:
    """Return environments that take each step together: in this process, in their own, or on a GPU."""
    if options.on_gpu and not starts.variants:
        worlds = new_worlds(layouts, GPU_ENVIRONMENTS)
        physics = WarpPhysics(worlds.control.model, worlds.count, RATE.steps // RATE.ramp)
        return BatchedEnvs(layouts, subtask, starts.training, options.rules, worlds, physics)
    envs: list[SubtaskEnv] = []
    while len(envs) < options.environments:  # by turns, so that every variant is trained on
        envs += starts.environments(subtask, layouts, starts.training, options.rules).values()
    envs = envs[: options.environments]
    if options.processes > 1:
        return SubprocVecEnv([partial(_in_worker, env) for env in envs], start_method="fork")
    return DummyVecEnv([lambda env=env: env for env in envs])


def _in_worker(env: SubtaskEnv) -> SubtaskEnv:
    """Return an environment in its own process, which gives way to what people wait for, such as the studio's page."""
    # Niceness of the environments' processes
    os.nice(5)
    return env


def _summary(episodes: Sequence[SubtaskEpisode]) -> tuple[float, float, tuple[float, ...]]:
    """Return success, mean return and mean final terms."""
    terms = np.mean([one.terms for one in episodes], axis=0)
    return success_rate(episodes), float(np.mean([one.reward for one in episodes])), tuple(terms.round(4).tolist())

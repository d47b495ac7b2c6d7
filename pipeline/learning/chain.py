"""Learns a task's subtasks in order, each from the end states of the former (Gen2Sim 3.3)."""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import torch

from pipeline.learning.demonstrations import Planned, rules_of
from pipeline.learning.environment import SubtaskEnv
from pipeline.learning.episodes import Acts, SubtaskEpisode, play_across, success_rate
from pipeline.learning.layouts import Layouts
from pipeline.learning.learning_files import FOLDER, SubtaskFolder, subtask_folder
from pipeline.learning.policy import LearnedPolicy
from pipeline.learning.start_states import StartState, read_states, write_states
from pipeline.learning.subtask import LEARN, PLAN, RESET, WHOLE, LearningError, Subtask, Way, whole_task
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.learning.training import TrainingOptions, TrainingProgress, TrainingStarts, train
from pipeline.learning.variants import Variant
from pipeline.simulation.physics import UnstableError

TRAINING_LAYOUTS, VALIDATION_LAYOUTS = range(96), range(50_000, 50_024)
"""Seeds of the layouts that training episodes begin on, and of those that decide when training ends."""
VALIDATED = 20
"""Starts of an evaluation during training."""
END_STATES = 64
"""End states that are looked for, for the next subtask: 40 to imitate, 20 to decide, and some that fail."""
EXPLORED_ROUNDS = 3
"""Rounds of exploring episodes that look for more end states where there are too few."""


Playing = Callable[..., Iterator[SubtaskEpisode]]
"""Called with start states, and whether to explore; yields the episode from each."""


def target_of(count: int) -> float:
    """Return the success at which each of `count` subtasks counts as learned: their chain then reaches 0.85 of all."""
    return max(TrainingOptions.target, 0.85 ** (1 / count))


@dataclass(frozen=True, eq=False)
class SubtaskLearned:
    """A subtask's training has ended, and its end states are kept."""

    subtask: str
    success: float
    """Of the validation starts."""
    end_states: int
    way: Way = LEARN
    by_policy: float | None = None
    """Success of the policy in whose place the oracle plans."""


@dataclass(frozen=True)
class ChainOptions:
    """What is learned, and for how long."""

    training: TrainingOptions
    names: tuple[str, ...] = ()
    """Subtasks to learn; empty for all."""
    seconds: float = float("inf")
    """Most wall-clock time for all of them."""
    from_reset: bool = False
    """Whether every subtask begins on the task's layouts, instead of the former's end states."""
    demonstrations: int = 0
    """Starts of each subtask from which the oracle is imitated first."""
    plans_rest: bool = False
    """Whether the oracle plans a subtask that stays below its target in its share of the time, if it does as well."""


class TaskLearner:
    """Learns the subtasks of one project."""

    def __init__(
        self, project_dir: Path, layouts: Layouts, subtasks: Sequence[Subtask], variants: Sequence[Variant] = ()
    ):
        """Args:
        project_dir: whose learning/ holds what is learned.
        layouts: of the task.
        subtasks: of the task, in order.
        variants: of the twin, that policies are trained on as often as on the twin itself.
        """
        self.layouts, self.subtasks = layouts, tuple(subtasks)
        self.project_dir = Path(project_dir)
        self._worlds = (Variant(layouts, self.subtasks), *variants)
        self._settled: dict[tuple[int, range], tuple[StartState, ...]] = {}

    @property
    def report_file(self) -> Path:
        """learning/report.json."""
        return self.project_dir / FOLDER / "report.json"

    @property
    def whole(self) -> Subtask:
        """The task as one subtask."""
        return whole_task(self.subtasks, [goal for _, goals in self.layouts.base.stages for goal in goals])

    def folder(self, subtask: Subtask) -> SubtaskFolder:
        """Return a subtask's folder."""
        if subtask.name == WHOLE:
            return SubtaskFolder(self.project_dir / FOLDER / WHOLE)
        return subtask_folder(self.project_dir, self.subtasks.index(subtask), subtask)

    def acting(self, subtask: Subtask, env: SubtaskEnv) -> Acts:
        """Return what acts in a subtask's environment: its policy, or the oracle. Raises LearningError without one."""
        return Planned(env) if subtask.way == PLAN else LearnedPolicy.read(self.folder(subtask).policy, env)

    def not_learned(self) -> list[str]:
        """Return the names of the subtasks that need a policy and have none, or one of another reward."""
        needed = [(one, self.folder(one)) for one in self.subtasks if one.way == LEARN]
        return [one.name for one, folder in needed if not (folder.policy.is_file() and folder.is_of(one))]

    def learn(self, options: ChainOptions) -> Generator[TrainingProgress | SubtaskLearned]:
        """Learn the chosen subtasks in order; closing the generator stops, and a later call goes on.

        Raises LearningError, StoreError.
        """
        begun = time.monotonic()
        chosen = self.chosen(options.names)
        for number, subtask in enumerate(chosen):
            left = options.seconds - (time.monotonic() - begun)
            if options.plans_rest:
                left = max(0.0, left / max(1, sum(one.way == LEARN for one in chosen[number:])))
            elif left <= 0:
                return
            yield TrainingProgress(subtask.name, 0, 0.0)  # to draw its layouts takes a while
            starts = self.starts(replace(subtask, start=RESET) if options.from_reset else subtask)
            starts = replace(starts, demonstrations=options.demonstrations)
            if subtask.way == PLAN and subtask.name != WHOLE:
                yield self.keep_end_states(subtask, starts)
                continue
            training = self._options_for(subtask, options)
            training = replace(training, seconds=min(left, training.seconds))
            folder = self.folder(subtask)
            finished = False
            for progress in train(subtask, self.layouts, starts, folder, training):
                finished = progress.finished
                yield progress
            if not (finished or options.plans_rest) and time.monotonic() - begun >= options.seconds:
                return
            if subtask.name == WHOLE:
                continue
            best = self.folder(subtask).training().best
            if options.plans_rest and best < options.training.target:
                planned = replace(subtask, way=PLAN)
                validation = list(self._playing(planned, starts)(starts.validation))
                # The policy's best share was chosen among several on these layouts, the plan's was not
                if 0 < success_rate(validation) >= best:
                    self.plan({subtask.name, *(one.name for one in self.subtasks if one.way == PLAN)})
                    yield replace(self.keep_end_states(planned, starts, validation), by_policy=best)
                    continue
            yield self.keep_end_states(subtask, starts)

    def plan(self, names: Collection[str]) -> None:
        """Let the oracle plan these subtasks, and policies learn the others."""

        def choose(subtasks: Sequence[Subtask]) -> tuple[Subtask, ...]:
            return tuple(replace(one, way=PLAN if one.name in names else LEARN) for one in subtasks)

        self.subtasks = choose(self.subtasks)
        self._worlds = tuple(replace(one, subtasks=choose(one.subtasks)) for one in self._worlds)

    def _options_for(self, subtask: Subtask, chosen: ChainOptions) -> TrainingOptions:
        """Return the options of a subtask; the whole task gets the time and the steps of all its subtasks together.

        Subtasks that learned by imitation alone took no steps: then it imitates alone as well, or, where nothing is
        demonstrated, it gets the steps of one subtask.
        """
        options = chosen.training
        if subtask.name != WHOLE:
            return options
        folders = [self.folder(one) for one in self.subtasks]
        spent = sum(one.training().steps + one.seam.training().steps for one in folders)
        rules = replace(options.rules, steps=options.rules.steps * len(self.subtasks))
        has_budget = all(one.training().was_evaluated for one in folders) and (spent or chosen.demonstrations)
        return replace(options, rules=rules, steps=spent if has_budget else options.steps)

    def chosen(self, names: Sequence[str]) -> tuple[Subtask, ...]:
        """Return the subtasks of these names, all for none. Raises LearningError for an unknown name."""
        known = [*(one.name for one in self.subtasks), WHOLE]
        if unknown := [name for name in names if name not in known]:
            raise LearningError(f"there is no subtask {unknown[0]!r}; there are: {', '.join(known)}")
        chosen = [one for one in self.subtasks if not names or one.name in names]
        return (*chosen, self.whole) if WHOLE in names else tuple(chosen)

    def starts(self, subtask: Subtask) -> TrainingStarts:
        """Return where a subtask begins. Raises LearningError if the former has no end states."""
        if subtask.start == RESET:
            training, validation = self._settled_in_all(TRAINING_LAYOUTS), self._settled_in_all(VALIDATION_LAYOUTS)
        else:
            former = next(one for one in self.subtasks if one.name == subtask.start)
            states = read_states(self.folder(former).end_states)
            training = tuple(one for one in states if one.layout < VALIDATION_LAYOUTS.start)
            validation = tuple(one for one in states if one.layout >= VALIDATION_LAYOUTS.start)
        if not training or not validation:
            raise LearningError(
                f"{subtask.start} never ended well enough for {subtask.name} to begin there; learn {subtask.start} "
                "for more steps, or change its reward"
            )
        variants = [(one.layouts, self._in_variant(subtask, one)) for one in self._worlds[1:]]
        return TrainingStarts(training, validation[:VALIDATED], variants=variants)

    def _in_variant(self, subtask: Subtask, variant: Variant) -> Subtask:
        """Return a variant's own form of a subtask, or of the whole task."""
        if subtask.name == WHOLE:
            return whole_task(variant.subtasks, [goal for _, goals in variant.layouts.base.stages for goal in goals])
        own = next(one for one in variant.subtasks if one.name == subtask.name)
        return replace(own, start=subtask.start)

    def settled(self, seeds: range) -> tuple[StartState, ...]:
        """Return the settled states of some layouts, without those whose physics is unstable."""
        return self._settled_in(0, seeds)

    def _settled_in_all(self, seeds: range) -> tuple[StartState, ...]:
        """Return the settled states of some layouts, each in one of the worlds by turns."""
        count = len(self._worlds)
        by_world = [self._settled_in(number, seeds[number::count]) for number in range(count)]
        return tuple(one for group in zip_longest(*by_world) for one in group if one is not None)

    def _settled_in(self, number: int, seeds: range) -> tuple[StartState, ...]:
        """Return the settled states of some layouts in one of the worlds."""
        if (number, seeds) not in self._settled:
            layouts, subtasks = self._worlds[number].layouts, self._worlds[number].subtasks
            world, states = SubtaskWorld(layouts, subtasks[0]), []
            for layout in layouts.get(list(seeds)):
                try:
                    states.append(replace(world.settled(layout), variant=number))
                except UnstableError:
                    continue
            self._settled[number, seeds] = tuple(states)
        return self._settled[number, seeds]

    def _playing(self, subtask: Subtask, starts: TrainingStarts) -> Playing:
        """Return a function that plays episodes of a subtask. What is left of the oracle's plans serves the next ones.

        Raises LearningError for a subtask without a policy.
        """
        envs = starts.environments(subtask, self.layouts, (*starts.training, *starts.validation), rules_of(subtask))
        policies = {variant: self.acting(subtask, env) for variant, env in envs.items()}

        def play(states: Sequence[StartState], explore: bool = False) -> Iterator[SubtaskEpisode]:
            for variant, env in envs.items():
                acting = policies[variant]
                for episode in play_across({variant: env}, acting, states, explore):
                    if isinstance(acting, Planned):
                        acting.keep_plan(episode)
                    yield episode

        return play

    def keep_end_states(
        self, subtask: Subtask, starts: TrainingStarts, validation: Sequence[SubtaskEpisode] = ()
    ) -> SubtaskLearned:
        """Play a subtask from its starts and keep the states in which it succeeds.

        `validation` are the episodes from the validation starts, where they were played before.
        """
        play, training = self._playing(subtask, starts), starts.training
        validation = validation or list(play(starts.validation))
        if subtask.way == PLAN:
            count = min(len(training), END_STATES)
            training = [training[number * len(training) // count] for number in range(count)]  # over all variants
        kept = [one.end for one in play(training) if one.success]
        with torch.random.fork_rng(devices=()):
            torch.default_generator.manual_seed(0)  # a run that was interrupted explores the same
            for _ in range(EXPLORED_ROUNDS if subtask.way == LEARN else 0):
                if 0 < len(kept) < END_STATES:
                    more = play(training, explore=True)
                    kept += [one.end for one in more if one.success][: END_STATES - len(kept)]
        ends = [*kept, *(one.end for one in validation if one.success)]
        write_states(self.folder(subtask).end_states, ends)
        return SubtaskLearned(subtask.name, success_rate(validation), len(ends), subtask.way)

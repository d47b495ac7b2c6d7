"""Trains a policy on across the seam to the former one, where their chain succeeds less often than it did alone.

A policy is validated where the former one ended while it was trained. When the former one has been trained on since, or
the policy began on the task's own layouts, it meets other states in the chain. It goes on learning there, once.
"""

import shutil
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, replace

from pipeline.learning.chain import VALIDATED, TaskLearner
from pipeline.learning.judging.evaluation import Chain
from pipeline.learning.learning_files import read_curve
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import PLAN, Subtask
from pipeline.learning.training import TrainingOptions, TrainingProgress, TrainingStarts, train
from pipeline.store import write_json
from pipeline.variation import wilson

SEAM_LAYOUTS = range(60_000, 60_060)
"""Seeds of the layouts on which seams are looked at: not those of training, validation or evaluation."""
STEPS = 20_480
"""Most control steps of training across a seam."""


@dataclass(frozen=True, eq=False)
class Seam:
    """How one subtask goes on from the former's policy."""

    subtask: Subtask
    starts: tuple[StartState, ...]
    """Where the former's policy ended and this one began."""
    solved: int
    """In how many of them this one succeeded."""

    def drops_from(self, validation: float) -> bool:
        """Whether success here is lower than that on the validation starts by more than both intervals (Wilson)."""
        # States in which the former policy has to end well for a seam to be judged
        if len(self.starts) < 8:
            return False
        here = wilson(self.solved, len(self.starts))
        return here.value < wilson(round(validation * VALIDATED), VALIDATED).low and here.high < validation


@dataclass(frozen=True)
class SeamTuned:
    """A policy was trained on across its seam; seam.json."""

    subtask: str
    before: float
    """Success on the states kept for validation, of the former's ends, before and after."""
    after: float
    layouts: int
    steps: int
    key: str = ""
    """Of the training that it went on from."""


_Tuned = SeamTuned | None


def tune_seams(learner: TaskLearner, options: TrainingOptions) -> Generator[TrainingProgress | SeamTuned]:
    """Look at every seam of a learned chain in order, and train on across those where it drops.

    Raises LearningError, StoreError. A stopped call goes on where it was.
    """
    if all(one.way == PLAN for one in learner.subtasks[1:]):
        return
    seams = played_seams(learner)
    for number in range(1, len(learner.subtasks)):
        seam = seams[number - 1]
        folder = learner.folder(seam.subtask)
        if seam.subtask.way == PLAN or seam.subtask.start != learner.subtasks[number - 1].name:
            continue
        if not seam.drops_from(folder.training().best):
            continue
        tuned = yield from _tuned(learner, seam, options)
        if tuned is None:
            return
        yield tuned
        if tuned.after > tuned.before:
            learner.keep_end_states(seam.subtask, learner.starts(seam.subtask))
            seams = played_seams(learner)


def played_seams(learner: TaskLearner) -> tuple[Seam, ...]:
    """Play the chain on the layouts of seams; return those between consecutive subtasks, in order."""
    chain = Chain(learner)
    played = [chain.play(start).episodes for start in learner.settled(SEAM_LAYOUTS)]
    found = []
    for number, subtask in enumerate(learner.subtasks[1:], 1):
        begun = [one for one in played if len(one) > number]
        starts = tuple(one[number - 1].end for one in begun)
        found.append(Seam(subtask, starts, sum(one[number].success for one in begun)))
    return tuple(found)


def _tuned(learner: TaskLearner, seam: Seam, options: TrainingOptions) -> Generator[TrainingProgress, None, _Tuned]:
    """Train on from the seam's starts, and keep the policy if it is better on a third of them kept aside.

    Return None if the time was over before.
    """
    folder = learner.folder(seam.subtask)
    inner = folder.seam
    validation = seam.starts[::3][:VALIDATED]
    training = [one for one in seam.starts if one not in validation]
    usual = learner.starts(seam.subtask)
    both = [*usual.training, *_repeated(training, len(usual.training))]
    starts = TrainingStarts(both, validation, policy=folder.policy)
    options = replace(options, steps=min(options.steps, STEPS))
    yield from train(seam.subtask, learner.layouts, starts, inner, options)
    record = inner.training()
    if not record.is_finished(options.steps):
        return None
    before = float(read_curve(inner.curve)[0]["success"])
    if record.best > before:
        shutil.copyfile(inner.policy, folder.policy)
    tuned = SeamTuned(seam.subtask.name, before, record.best, len(validation), record.steps, folder.training().key)
    write_json(folder.seam_file, asdict(tuned))
    return tuned


def _repeated(states: Sequence[StartState], count: int) -> list[StartState]:
    """Return at least so many states, each as often as the others: half of all episodes begin at the seam."""
    return list(states) * max(1, -(-count // max(len(states), 1)))

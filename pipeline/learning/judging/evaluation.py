"""Evaluates policies and their chain on layouts that nothing was trained on, by the physics alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.learning.chain import TaskLearner
from pipeline.learning.demonstrations import Planned, rules_of
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import Acts, SubtaskEpisode, finish, play, success_rate
from pipeline.learning.judging.rollouts import rollout_of, write_rollouts
from pipeline.learning.judging.shortcuts import Shortcut, find_shortcut
from pipeline.learning.policy import LearnedPolicy
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import PLAN, WHOLE, Subtask, to_row
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.learning.variants import Variant
from pipeline.simulation.rollout import SOLVED
from pipeline.store import write_json

UNSEEN = 100_000
"""Seed of the first layout of an evaluation; training and validation use smaller ones."""
SEEDS_APART = 10_000
"""Between the layouts of two evaluation seeds."""
MORE_LAYOUTS = 1.5
"""Factor of layouts that are played at most, so that later subtasks begin as often as the first."""


@dataclass(frozen=True, eq=False)
class ChainEpisode:
    """All subtasks played in order on one layout, until one fails."""

    layout: int
    episodes: tuple[SubtaskEpisode, ...]
    """Of the subtasks that were begun."""
    solved: bool
    """Whether the task's own goals hold at the end, at rest and with nothing held."""
    share: float
    """Of the task's goals met at the end, in [0, 1]."""


class Chain:
    """The policies of consecutive subtasks in one running world."""

    def __init__(self, learner: TaskLearner, policy_of: Callable[[Subtask, SubtaskEnv], Acts] | None = None):
        """`policy_of` returns what acts in a subtask; without it its policy, or the oracle.

        Raises LearningError for a subtask without a policy.
        """
        self._learner = learner
        first = SubtaskWorld(learner.layouts, learner.subtasks[0])
        self._control = first.control
        self._envs, self._policies = [], []
        for number, subtask in enumerate(learner.subtasks):
            world = first if not number else SubtaskWorld(learner.layouts, subtask, self._control)
            start = StartState(0, world.snapshot().state)
            env = SubtaskEnv(learner.layouts, subtask, (start,), rules_of(subtask), world)
            self._envs.append(env)
            self._policies.append((policy_of or learner.acting)(subtask, env))

    def play(self, start: StartState) -> ChainEpisode:
        """Play the subtasks in order from a settled layout."""
        control, episodes, share = self._control, [], 0.0
        (layout,) = self._learner.layouts.get([start.layout])
        control.stages, control.reached = layout.stages, 1
        for number, (env, policy) in enumerate(zip(self._envs, self._policies, strict=True)):
            if number:
                env.world.layout = layout
                episodes.append(finish(env, policy, env.resume()))
            else:
                episodes.append(next(play(env, policy, (start,))))
            if isinstance(policy, Planned):
                policy.keep_plan(episodes[-1])
            share = control.share(control.measure())
            if not episodes[-1].success:
                return ChainEpisode(start.layout, tuple(episodes), False, share)
        return ChainEpisode(start.layout, tuple(episodes), share > SOLVED and control.is_at_rest(), share)


def evaluate(learner: TaskLearner, layouts: int, seed: int = 0) -> Iterator[ChainEpisode]:
    """Play the chain on unseen layouts and yield each result.

    Where the chain breaks off early, further layouts follow, at most half as many again, so that later subtasks are
    measured as often as the first. Raises LearningError for a subtask without a policy.
    """
    chain, first, begun = Chain(learner), UNSEEN + seed * SEEDS_APART, 0
    for number, start in enumerate(learner.settled(range(first, first + round(MORE_LAYOUTS * layouts)))):
        if number >= layouts and begun >= layouts:
            return
        result = chain.play(start)
        begun += len(result.episodes) == len(learner.subtasks)
        yield result


def evaluate_whole(learner: TaskLearner, layouts: int, seed: int = 0) -> list[SubtaskEpisode]:
    """Return the episodes of the policy of the whole task on the same layouts; none where it was not learned."""
    whole = learner.whole
    path = learner.folder(whole).policy
    if not path.is_file():
        return []
    rules = EpisodeRules(steps=EpisodeRules().steps * len(learner.subtasks))
    first = UNSEEN + seed * SEEDS_APART
    starts = learner.settled(range(first, first + round(MORE_LAYOUTS * layouts)))[:layouts]
    env = SubtaskEnv(learner.layouts, whole, starts, rules)
    return list(play(env, LearnedPolicy.read(path, env), starts))


def evaluate_variants(
    learner: TaskLearner, variants: Sequence[Variant], layouts: int, seed: int = 0
) -> list[ChainEpisode]:
    """Return the chain's episodes on unseen layouts of variants that nothing was trained on, as many on each.

    Raises LearningError for a subtask without a policy.
    """
    first, each = UNSEEN + seed * SEEDS_APART, max(1, layouts // max(len(variants), 1))
    found = []
    for variant in variants:
        varied = TaskLearner(learner.project_dir, variant.layouts, variant.subtasks)
        chain = Chain(varied)
        found += [chain.play(start) for start in varied.settled(range(first, first + each))]
    return found


def report(
    learner: TaskLearner,
    results: Sequence[ChainEpisode],
    whole: Sequence[SubtaskEpisode],
    layouts: int,
    shortcuts: Mapping[str, Shortcut],
) -> dict[str, Any]:
    """Return report.json: success of every subtask where it was begun, and of the chain on the first layouts."""
    rows = []
    for number, subtask in enumerate(learner.subtasks):
        episodes = _begun(results, number, layouts)
        trained, found = learner.folder(subtask).training(), shortcuts.get(subtask.name)
        rows.append({
            "name": subtask.name, "success": round(success_rate(episodes), 4), "layouts": len(episodes),
            "steps": trained.steps, "seconds": round(trained.seconds, 1),
            "shortcut": found.text if found else None,
        })  # fmt: skip
        if subtask.way == PLAN:
            rows[-1] |= {"way": PLAN, "steps": 0, "seconds": 0.0}
            continue
        if cloned := learner.folder(subtask).imitated():
            rows[-1]["cloned"] = cloned
        if tuned := learner.folder(subtask).tuned():
            rows[-1]["tuned"] = tuned
    played = results[:layouts]
    solved = sum(one.solved for one in played) / max(len(played), 1)
    chain = {"success": round(solved, 4), "layouts": len(played)}
    alone = {"success": round(success_rate(whole), 4), "layouts": len(whole)} if whole else None
    if alone and (cloned := learner.folder(learner.whole).imitated()):
        alone["cloned"] = cloned
    return {"subtasks": rows, "chain": chain, "whole": alone}


def write_report(
    learner: TaskLearner,
    results: Sequence[ChainEpisode],
    whole: Sequence[SubtaskEpisode],
    layouts: int,
    varied: Sequence[ChainEpisode] = (),
    refused: Shortcut | None = None,
) -> dict[str, Any]:
    """Write report.json and each subtask's evaluation.json; return the report. Raises StoreError.

    Args:
        learner: of the task.
        results: of the chain on unseen layouts.
        whole: episodes of one policy for the whole task; none where there is none.
        layouts: that count, of those that were played.
        varied: the chain's episodes on variants of the twin.
        refused: what the task's own checks refuse, of the last subtask.
    """
    objects = learner.layouts.base.objects
    shortcuts: dict[str, Shortcut] = {}
    for number, subtask in enumerate(learner.subtasks):
        last = refused if number == len(learner.subtasks) - 1 else None
        if seen := find_shortcut(subtask, _begun(results, number, layouts), objects) or last:
            shortcuts[subtask.name] = seen
    if seen := find_shortcut(learner.whole, whole, objects):
        shortcuts[WHOLE] = seen
    found = report(learner, results, whole, layouts, shortcuts)
    if varied:
        share = sum(one.solved for one in varied) / len(varied)
        found["variants"] = {"success": round(share, 4), "layouts": len(varied)}
    for number, (subtask, row) in enumerate(zip(learner.subtasks, found["subtasks"], strict=True)):
        _write_evaluation(learner, subtask, _begun(results, number, layouts), row, shortcuts.get(subtask.name))
    if whole:
        _write_evaluation(learner, learner.whole, whole, {"name": WHOLE, **found["whole"]}, shortcuts.get(WHOLE))
    write_json(learner.report_file, found)
    return found


def write_unfinished(learner: TaskLearner, missing: Sequence[str]) -> None:
    """Write report.json with "missing", the subtasks without a policy: nothing is measured yet. Raises StoreError."""
    write_json(learner.report_file, report(learner, (), (), 0, {}) | {"missing": list(missing)})


def _begun(results: Sequence[ChainEpisode], number: int, layouts: int) -> list[SubtaskEpisode]:
    """Return the episodes of a subtask on the first layouts on which the chain began it."""
    return [one.episodes[number] for one in results if len(one.episodes) > number][:layouts]


def _write_evaluation(
    learner: TaskLearner, subtask: Subtask, episodes: Sequence[SubtaskEpisode], row: dict, found: Shortcut | None
) -> None:
    """Write evaluation.json with failures and shortcut, and the episodes themselves for playback."""
    folder = learner.folder(subtask)
    rollouts = [rollout_of(subtask, one) for one in episodes]
    failed = [
        {"layout": one.layout, "terms": one.potentials[-1].round(4).tolist(), **asdict(one.failure)}
        for one in rollouts
        if one.failure
    ]
    steps = sum(one.steps for one in episodes) / max(len(episodes), 1)
    more = {"processor": round(folder.training().processor, 1), "mean_steps": round(steps, 1), "failed": failed}
    more |= {"shortcut_found": asdict(found) if found else None, "reward": to_row(subtask)["reward"]}
    write_rollouts(folder.evaluation_rollouts, rollouts)
    write_json(folder.evaluation, row | more)

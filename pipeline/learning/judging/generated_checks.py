"""The measurement of all that is learned of a task, and the task's generated checks, run on what the policies did.

Goals count a layout as solved that the checks refuse, where a policy meets the goals otherwise than the task means.
Mutations of the task have tested the checks.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.learning.chain import TaskLearner
from pipeline.learning.judging.evaluation import ChainEpisode, evaluate, evaluate_variants, evaluate_whole, write_report
from pipeline.learning.judging.failures import STEP_S
from pipeline.learning.judging.shortcuts import PUSHED_M, SYSTEMATIC, Shortcut, keep_others_still
from pipeline.learning.subtask import Subtask
from pipeline.learning.variants import Variant
from pipeline.simulation.objects import Object
from pipeline.simulation.program import CheckResult, Program
from pipeline.simulation.run_record import Observed
from pipeline.simulation.sandbox.runner import ProgramRunner

Checked = Sequence[tuple[ChainEpisode, tuple[CheckResult, ...]]]


def run_checks(
    results: Sequence[ChainEpisode], names: Sequence[str], program: Program, project_dir: Path, sandbox: ProgramRunner
) -> Checked:
    """Return the results of a program's checks on the first layouts that the chain solved. Raises SandboxError.

    `names` are those of the world's objects, in the order of the episodes' shifts.
    """
    solved = {one.layout: one for one in results if one.solved}
    # Solved layouts at most on which the checks run; each takes about half a second in the sandbox
    chosen = dict(list(solved.items())[:10])
    if not chosen or not program.checks:
        return ()
    found = sandbox.check_observed(program, project_dir, {seed: observed(one, names) for seed, one in chosen.items()})
    return tuple((chosen[seed], checks) for seed, checks in found.items())


def observed(played: ChainEpisode, names: Sequence[str]) -> Observed:
    """Return a chain's episodes as one run of the task."""
    qpos = np.concatenate([one.qpos for one in played.episodes])
    held = [name for one in played.episodes for name in one.holding]
    grasps = [(k * STEP_S, name) for k, name in enumerate(held) if name and (k == 0 or held[k - 1] != name)]
    if not grasps:
        grasps = list(_pushed(played, names))
    return Observed(np.arange(len(qpos)) * STEP_S, qpos, tuple(grasps))


def _pushed(played: ChainEpisode, names: Sequence[str]) -> list[tuple[float, str]]:
    """Return when each object was first pushed, and its name."""
    found, before = [], 0
    for episode in played.episodes:
        for index, name in enumerate(names):
            # Metres from which an object that the hand never holds counts as taken hold of: it was pushed
            moved = np.flatnonzero(episode.shifts[:, index] >= 0.02)
            if len(moved):
                found.append(((before + int(moved[0])) * STEP_S, name))
        before += len(episode.qpos)
    return sorted(found)


def find_refused(subtask: Subtask, checked: Checked, objects: Mapping[str, Object]) -> Shortcut | None:
    """Return the check that refuses what the chain does in most layouts that count as solved; None if there is none.

    Args:
        subtask: the last one, which ends what is refused.
        checked: as `run_checks` returns it.
        objects: of the world, by name, in the order of the episodes' shifts.
    """
    failed = [(played, one) for played, checks in checked for one in checks if not one.passed]
    counts = Counter(one.name for _, one in failed)
    if not counts or counts.most_common(1)[0][1] < SYSTEMATIC * len(checked):
        return None
    name = counts.most_common(1)[0][0]
    played, check = next(one for one in failed if one[1].name == name)
    episode = played.episodes[-1]
    time = round(min(check.instant or episode.steps * STEP_S, episode.steps * STEP_S), 1)
    reason = check.message.rstrip(".") or check.name
    text = f"At {time:.1f} s it counts as solved, but the check {name} refuses it: {reason}."
    others = [i for i, other in enumerate(objects) if other not in subtask.objects]
    if any(episode.shifts[-1, i] >= PUSHED_M for i in others):
        return Shortcut("refused", played.layout, time, text, *keep_others_still(subtask, objects))
    advice = "Add a success condition that the check asks for, or correct the check on the Task page."
    return Shortcut("refused", played.layout, time, text, advice, ())


def measure(
    learner: TaskLearner,
    layouts: int,
    seed: int,
    variants: Sequence[Variant] = (),
    program: Program | None = None,
    sandbox: ProgramRunner | None = None,
) -> dict[str, Any]:
    """Play all policies on unseen layouts and return report.json, which is written.

    Args:
        learner: of the task.
        layouts: on which success is measured.
        seed: of the layouts.
        variants: of the twin, that nothing was trained on; none to leave them out.
        program: whose checks run on what the chain solved; None to leave them out, as for an arm.
        sandbox: in which they run.

    Raises LearningError for a subtask without a policy, SandboxError, StoreError.
    """
    whole, varied = evaluate_whole(learner, layouts, seed), evaluate_variants(learner, variants, layouts, seed)
    results = list(evaluate(learner, layouts, seed))
    objects = learner.layouts.base.objects
    checked = ()
    if program is not None and sandbox is not None:
        checked = run_checks(results[:layouts], list(objects), program, learner.project_dir, sandbox)
    return write_report(learner, results, whole, layouts, varied, find_refused(learner.subtasks[-1], checked, objects))

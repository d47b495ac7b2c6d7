"""Measures all that is learned of a task, and writes the report: the chain, one policy, variants, and shortcuts."""

from collections.abc import Sequence
from typing import Any

from pipeline.learning.chain import TaskLearner
from pipeline.learning.judging.evaluation import evaluate, evaluate_variants, evaluate_whole, write_report
from pipeline.learning.judging.generated_checks import ChecksObserved, find_refused, run_checks
from pipeline.learning.variants import Variant
from pipeline.simulation.program import Program


def measure(
    learner: TaskLearner,
    layouts: int,
    seed: int,
    variants: Sequence[Variant] = (),
    program: Program | None = None,
    sandbox: ChecksObserved | None = None,
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

"""What each part of the method is worth: the task learned with and without it, over several seeds.

Each variant learns in a folder of its own, learning/ablation/<variant>_<seed>/, with the same number of control steps.
A stopped ablation goes on where it was.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.learning.chain import ChainOptions, TaskLearner
from pipeline.learning.judging.evaluation import evaluate, evaluate_whole
from pipeline.learning.layouts import Layouts
from pipeline.learning.learning_files import FOLDER
from pipeline.learning.subtask import LEARN, WHOLE, LearningError, Subtask
from pipeline.learning.training import TrainingOptions, on_this_machine
from pipeline.store import digest, read_json, write_json
from pipeline.variation import wilson


@dataclass(frozen=True)
class AblationVariant:
    """One way to learn the task."""

    title: str
    decomposed: bool = True
    shaped: bool = True
    demonstrations: int = 0


VARIANTS: Mapping[str, AblationVariant] = {
    "subtasks": AblationVariant("Subtasks"),
    "whole": AblationVariant("Whole task, same steps", decomposed=False),
    "unshaped": AblationVariant("Subtasks, sparse reward", shaped=False),
    "sparse": AblationVariant("Whole task, sparse reward", decomposed=False, shaped=False),
    "demonstrated": AblationVariant("Whole task, demonstrations", decomposed=False, demonstrations=20),
}
SEEDS = 3


@dataclass(frozen=True)
class AblationSize:
    """How much is learned and measured."""

    steps: int = 40_000
    """Control steps of each subtask; the whole task gets as many as all its subtasks together."""
    seeds: int = SEEDS
    layouts: int = 30


def ablate(
    project_dir: Path, layouts: Layouts, subtasks: Sequence[Subtask], options: AblationSize = AblationSize()
) -> Iterator[str]:
    """Learn and measure every variant, yield a line for each, and keep ablation.json up to date.

    Raises LearningError, StoreError.
    """
    folder = Path(project_dir) / FOLDER
    subtasks = [replace(one, way=LEARN) for one in subtasks]
    measured: dict[str, list[dict[str, Any]]] = {name: [] for name in VARIANTS}
    for seed in range(options.seeds):
        for name, variant in VARIANTS.items():
            kept = folder / "ablation" / f"{name}_{seed}"
            learner = TaskLearner(kept, layouts, subtasks)
            row = read_json(kept / "success.json")
            key = digest([options.steps, options.layouts, [repr(one) for one in subtasks]])
            if not isinstance(row, dict) or row.get("key") != key:
                try:
                    row = _measure(learner, variant, seed, options) | {"key": key}
                except LearningError as error:  # nothing to go on from: the next subtask has no start
                    row = {"solved": 0, "layouts": options.layouts, "steps": 0, "note": str(error), "key": key}
                write_json(kept / "success.json", row)
            measured[name].append(row)
            write_json(folder / "ablation.json", table(measured))
            yield f"{variant.title}, seed {seed}: {row['solved']} of {row['layouts']} layouts"


def table(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return {"rows"}: success of each variant over all seeds, with its interval (Wilson, 95 %) and each seed's own."""
    rows = []
    for name, found in measured.items():
        if not found:
            continue
        layouts = sum(one["layouts"] for one in found)
        share = wilson(sum(one["solved"] for one in found), layouts)
        by_seed = [round(one["solved"] / max(one["layouts"], 1), 4) for one in found]
        rows.append({
            "variant": name, "title": VARIANTS[name].title, "success": round(sum(by_seed) / len(by_seed), 4),
            "low": round(share.low, 4), "high": round(share.high, 4), "seeds": by_seed, "layouts": layouts,
            "steps": sum(one["steps"] for one in found) // len(found),
        })  # fmt: skip
    return {"rows": rows}


def _measure(learner: TaskLearner, variant: AblationVariant, seed: int, options: AblationSize) -> dict[str, Any]:
    """Return {solved, layouts, steps} of a variant with one seed."""
    training = on_this_machine(TrainingOptions(steps=options.steps, seed=seed))
    training = replace(training, rules=replace(training.rules, is_shaped=variant.shaped))
    if not variant.decomposed:
        training = replace(training, steps=options.steps * len(learner.subtasks))
    names = () if variant.decomposed else (WHOLE,)
    for _ in learner.learn(ChainOptions(training, names, demonstrations=variant.demonstrations)):
        pass
    if variant.decomposed:
        results = list(evaluate(learner, options.layouts, seed))[: options.layouts]
        solved, count = sum(one.solved for one in results), len(results)
        steps = sum(learner.folder(one).training().steps for one in learner.subtasks)
    else:
        episodes = evaluate_whole(learner, options.layouts, seed)
        solved, count = sum(one.success for one in episodes), len(episodes)
        steps = learner.folder(learner.whole).training().steps
    return {"solved": solved, "layouts": count, "steps": steps}

"""The kept tasks as a set: diversity, coverage, curves of the curriculum; the JSON report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.simulation.goals.spec import goal_specs
from pipeline.task_generation.curriculum import WORTH
from pipeline.task_generation.demands import LEVELS
from pipeline.task_generation.generate import GenerationOptions
from pipeline.task_generation.similarity import mean_distance, profile_of, similarity_matrix, vendi_score
from pipeline.task_generation.task_files import KEPT, REJECTED, REPEATED, UNUSABLE, TriedTask
from pipeline.tasks import task_to_json

SCHEMA = 1


def report(
    project_dir: Path, tried: Sequence[TriedTask], options: GenerationOptions, objects: Sequence[str], seconds: float
) -> dict[str, Any]:
    """Return the report of a run.

    Args:
        objects: names of the photographed objects that can be moved.
        seconds: wall-clock time of the command.
    """
    kept = [one for one in tried if one.state == KEPT][: options.count]
    rejected = [one for one in tried if one.state in (REJECTED, UNUSABLE)]
    repeated = [one for one in tried if one.state == REPEATED]
    matrix = similarity_matrix([profile_of(one.task, dict(one.categories)) for one in kept])
    return {
        "schema": SCHEMA,
        "project": Path(project_dir).resolve().name,
        "count": options.count,
        "level": options.level,
        "seed": options.seed,
        "worth": _worth(tried, options),
        "tasks": [task_row(one) for one in kept],
        "rejected": [dropped_row(one) for one in rejected],
        "repeated": [dropped_row(one) for one in repeated],
        "set": {
            "kept": len(kept),
            "tried": len(tried),
            "valid": sum(one.success >= 0.5 for one in tried if one.state in (KEPT, REJECTED)),
            "mean_distance": round(mean_distance(matrix), 4),
            "vendi_score": round(vendi_score(matrix), 4),
            "levels": {str(level or "unknown"): sum(one.level == level for one in kept) for level in (*LEVELS, None)},
            "coverage": coverage(kept, objects),
        },
        "curriculum": [
            {"level": one.level, "kind": one.task.kind, "success": one.success, "worth": one.worth, "state": one.state}
            for one in tried
            if one.state in (KEPT, REJECTED)
        ],
        "seconds": round(seconds, 1),
    }


def _worth(tried: Sequence[TriedTask], options: GenerationOptions) -> dict[str, Any]:
    """Return the learner's budget, and how the tasks that it tried spread."""
    if not options.demonstrations:
        return {"demonstrations": 0, "reason": "not measured"}
    found = [one.worth for one in tried if one.worth is not None]
    return {
        "demonstrations": options.demonstrations,
        "kept_between": list(WORTH),
        "measured": len(found),
        "too_hard": sum(one < WORTH[0] for one in found),
        "learned_at_once": sum(one > WORTH[1] for one in found),
        "seconds": round(sum(one.worth_seconds for one in tried), 1),
    }


def task_row(one: TriedTask) -> dict[str, Any]:
    """Return a kept task with all that was measured of it."""
    demanded = one.demands
    return {
        "id": one.key,
        **task_to_json(one.task),
        "level": one.level,
        "demands": None if demanded is None else {
            "carries": demanded.carries, "steps": demanded.steps, "slack": demanded.slack,
            "bystanders": demanded.bystanders,
        },
        "start": {"id": one.start, "brought": list(one.brought), "distractors": list(one.distractors)},
        "validity": {
            "layouts": one.layouts, "solved": one.solved, "held_without_robot": one.held, "success": one.success,
            "seconds": one.seconds, "actions": one.actions,
        },
        "worth": one.worth,
        "worth_reason": one.worth_reason,
        "worth_layouts": one.worth_layouts,
        "worth_seconds": one.worth_seconds,
        "difficulty": one.difficulty,
        "novelty": one.novelty,
        "nearest": one.nearest,
        "program": one.program and asdict(one.program),
        "rounds": one.rounds,
    }  # fmt: skip


def dropped_row(one: TriedTask) -> dict[str, Any]:
    """Return a task that was not kept, with the reason."""
    return {
        "id": one.key, "instruction": one.task.instruction, "kind": one.task.kind, "level": one.level,
        "start": one.start, "reason": one.reason, "layouts": one.layouts, "solved": one.solved, "worth": one.worth,
    }  # fmt: skip


def coverage(kept: Sequence[TriedTask], objects: Sequence[str]) -> dict[str, Any]:
    """Return which photographed objects, brought objects and kinds of goals the kept tasks are about."""
    used = Counter(name for one in kept for name in one.task.objects)
    brought = {name for one in kept for name in one.brought if name in one.task.objects}
    kinds = Counter(goal.kind for one in kept for goal in one.task.planned)
    covered = [name for name in objects if used[name]]
    stated = [kind for kind, spec in goal_specs().items() if spec.forms]
    return {
        "objects": {
            "covered": len(covered), "of": len(objects), "unused": [name for name in objects if not used[name]],
            "times": {name: used[name] for name in covered},
        },
        "brought": sorted(brought),
        "goal_kinds": {
            "covered": len(kinds), "of": len(stated), "times": dict(kinds.most_common()),
            "unused": [kind for kind in stated if not kinds[kind]],
        },
    }  # fmt: skip


def summary_lines(data: Mapping[str, Any]) -> list[str]:
    """Return the lines that the command prints."""
    found, objects, kinds = data["set"], data["set"]["coverage"]["objects"], data["set"]["coverage"]["goal_kinds"]
    lines = [
        f"{found['kept']} of {data['count']} tasks kept, {len(data['rejected'])} rejected, "
        f"{len(data['repeated'])} repeats dropped",
        f"mean distance {found['mean_distance']:.2f}, Vendi score {found['vendi_score']:.1f}; "
        f"{objects['covered']} of {objects['of']} objects, {kinds['covered']} of {kinds['of']} kinds of goals",
    ]
    worth = data["worth"]
    if not worth["demonstrations"]:
        lines.append("worth was not measured: --worth lets a learner try each task")
    else:
        lines.append(
            f"worth of {worth['measured']} tasks measured in {worth['seconds']:.0f} s of processor time: "
            f"{worth['too_hard']} too hard to learn, {worth['learned_at_once']} learned at once"
        )
    return lines

"""What the timeline of a round shows: every goal over time, and the quantity that each check measures."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.object_words import ObjectWords
from pipeline.router import Round
from pipeline.router.round_record import check_instant
from pipeline.simulation.program import CheckResult
from pipeline.simulation.run_record import RunRecord
from studio.texts import t
from studio.viewer.timeline_marks import objects_named

TILT_WORDS = ("upright", "turned", "tilt", "rotation", "quat")
MAX_POINTS = 120
IDS = ObjectWords()
"""Words that are the ids themselves."""
Poses = Callable[[str], np.ndarray | None]
"""Returns an object's position and quaternion wxyz at each instant, of shape (T, 7); None if it cannot move."""


def round_measures(
    record: RunRecord, shown: Round | None, names: Sequence[str], poses: Poses, words: ObjectWords = IDS
) -> dict[str, Any]:
    """Return {goals: [{name, objects, met, quantity}], checks: [{name, passed, message, instant, objects, quantity}]}.

    A quantity is {label, unit, times, values, tolerance, above}: numbers over seconds, the bound that is to be met or
    None, and whether it is met above it.
    """
    progress = record.progress
    goals = [
        {
            "name": words.in_words(goal["name"]),
            "objects": list(goal.get("objects", ())),
            "met": goal["met"],
            "quantity": _quantity(words.in_words(goal["name"]), "cm", progress.times, 100 * progress.misses[:, i], 0.0),
        }
        for i, goal in enumerate(record.goals)
        if progress
    ]
    checks = shown.report.checks if shown else ()
    sources = check_sources(shown.program.checks) if shown else {}
    measured = [_check(c, sources.get(c.name, ""), record, names, poses, words) for c in checks]
    return {"goals": goals, "checks": measured}


def check_sources(code: str) -> dict[str, str]:
    """Return the source of each function of checks.py by name; empty for code that cannot be read."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return {}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {function.name: ast.get_source_segment(code, function) or "" for function in functions}


def _check(
    check: CheckResult, source: str, record: RunRecord, names: Sequence[str], poses: Poses, words: ObjectWords
) -> dict[str, Any]:
    named = list(objects_named(f"{source} {check.message}", names))
    return {
        "name": check.name,
        "passed": check.passed,
        "message": words.in_words(check.message),
        "instant": check_instant(check, record),
        "objects": named,
        "quantity": _check_quantity(source, named, record, poses, words),
    }


def _check_quantity(
    source: str, named: list[str], record: RunRecord, poses: Poses, words: ObjectWords
) -> dict[str, Any] | None:
    """Return the quantity that the code of a check is about, as far as its words and objects say."""
    paths = {name: path for name in named if (path := poses(name)) is not None}
    moved = next(iter(paths), "")
    if moved and any(word in source for word in TILT_WORDS):
        return _quantity(t("tilt of {name}", name=words.of(moved)), "°", record.times, _tilt(paths[moved]), None)
    progress = record.progress
    for i, goal in enumerate(record.goals):
        if progress and goal.get("objects") and set(goal["objects"]) <= set(named):
            return _quantity(
                t("short of: {goal}", goal=words.in_words(goal["name"])),
                "cm",
                progress.times,
                100 * progress.misses[:, i],
                0.0,
            )
    if len(paths) > 1:
        (a, first), (b, second), *_ = paths.items()
        distance = 100 * np.linalg.norm(first[:, :3] - second[:, :3], axis=1)
        return _quantity(t("distance of {a} and {b}", a=words.of(a), b=words.of(b)), "cm", record.times, distance, None)
    if moved:
        return _quantity(
            t("height of {name}", name=words.of(moved)), "cm", record.times, 100 * paths[moved][:, 2], None
        )
    if progress and len(record.goals):
        met = 100 * (progress.misses <= 0).mean(1)
        return _quantity(t("goals met"), "%", progress.times, met, 100.0, above=True)
    return None


def _quantity(
    label: str, unit: str, times: np.ndarray, values: np.ndarray, tolerance: float | None, above: bool = False
) -> dict[str, Any]:
    chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), MAX_POINTS)).round().astype(int))
    return {
        "label": label,
        "unit": unit,
        "times": np.asarray(times)[chosen].round(3).tolist(),
        "values": np.asarray(values)[chosen].round(3).tolist(),
        "tolerance": tolerance,
        "above": above,
    }


def _tilt(path: np.ndarray) -> np.ndarray:
    """Return the angle in degrees between an object's axis that was up at first and the vertical, of shape (T,)."""
    w, x, y, z = path[:, 3:].T
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], 1)  # world z in its axes
    return np.degrees(np.arccos(np.clip(up @ up[0], -1, 1)))

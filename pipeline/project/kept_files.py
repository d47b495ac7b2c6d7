"""The files of a project that are kept, with their versions, and what reads the files of earlier versions.

A file's version rises when an older GRS Studio would misread it. The versions of a project stand in its project.json
under "files"; lines of logs, reports and solutions have theirs in the key "schema" too. Files that another tool defines
(COCO, camera.json) and scene.json have none of their own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pipeline import decisions as log
from pipeline.decisions import Decision
from pipeline.router import Round

KEPT_FILES: Mapping[str, int] = {
    "decisions.jsonl": log.SCHEMA,
    "frame/camera.json": 1,
    "segments/coco.json": 1,
    "descriptions.json": 1,
    "matches.json": 1,
    "scene.json": 1,
    "tasks.json": 1,
    "task.json": 1,
    "rounds/report.json": 1,
    "rounds.jsonl": 1,
    "solution.json": 1,
    "trace.jsonl": 1,
}
"""Versions that this GRS Studio writes; it reads these and all earlier ones."""


def newer_file(versions: Mapping[str, Any]) -> tuple[str, Any, int] | None:
    """Return name, version and the newest readable version of a file that is too new to read; None if there is none."""
    for name, readable in KEPT_FILES.items():
        found = versions.get(name, 1)
        if not isinstance(found, int) or found > readable:
            return name, found, readable
    return None


def migrate_decisions(decisions: Sequence[Decision], rounds: Iterable[Round]) -> tuple[Decision, ...]:
    """Return the decisions of a log of any earlier version as they are made today. The log is not rewritten.

    Args:
        rounds: of the project, in order; read only if a decision needs them.
    """
    for migrate in (number_forks,):
        decisions = migrate(decisions, rounds)
    return tuple(decisions)


def number_forks(decisions: Sequence[Decision], rounds: Iterable[Round]) -> Sequence[Decision]:
    """From version 1 to 2: a fork has the number of the round that it became, which only the clock told before."""
    if all(one.kind != "fork" or "round" in one.data for one in decisions):
        return decisions
    finished = list(rounds)
    following = max((one.number for one in finished), default=-1) + 1

    def numbered(fork: Decision) -> Decision:
        number = next((one.number for one in finished if one.finished_at > fork.at), following)
        return replace(fork, data={**fork.data, "round": number})

    return [numbered(one) if one.kind == "fork" and "round" not in one.data else one for one in decisions]


def studio_version() -> str:
    """Return the version of this GRS Studio."""
    try:
        return version("grs-studio")
    except PackageNotFoundError:
        return "unknown"

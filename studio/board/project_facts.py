"""What the board shows of a project, read from the files of its folder."""

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.decisions import DecisionError, active, read_log
from pipeline.project import STAGES, display_names
from pipeline.project.confidence_record import FILE as CONFIDENCE_FILE
from pipeline.project.confidence_record import least_confidence
from pipeline.project.curation import FILE as CURATION_FILE
from pipeline.project.curation import read_curation
from pipeline.store import parse_json

RECORD = "project.json"
FACT_FILES = (
    RECORD, "decisions.jsonl", "rounds.jsonl", "descriptions.json", "matches.json", "scene.json", CONFIDENCE_FILE,
    "task.json", "solution.json", CURATION_FILE,
)  # fmt: skip
"""Files of a project that its facts are read from."""
_UNREADABLE = (
    OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, DecisionError,
)  # fmt: skip
_NAMING = '"display_name"', '"rename"'
"""Kinds of decisions that name an object, as a log has them."""


@dataclass(frozen=True)
class ProjectFacts:
    """One row of the board. What is not known yet is None or empty."""

    title: str
    changed: float
    """When a stage ended or a person decided last, in seconds since 1970."""
    stages: str
    """One letter a stage, in their order: d(one), f(ailed), t(odo)."""
    done: int
    """Number of stages done."""
    state: str
    """"started", "twin", "failed", "unsolved", "doubtful" or "solved"."""
    failed_round: int | None
    """Number of the newest round if it failed; None for a solved project, which an earlier round solved."""
    objects: int | None
    confidence: float | None
    """Least confidence in an object of the twin, in [0, 1]."""
    matched: float | None
    """Share of the objects that an asset of the library was found for, in [0, 1]."""
    task: str
    solved_by: str
    """Who wrote the program, and which robot solved it."""
    seconds: float
    """Of a person's work: the time between decisions, without breaks."""
    verdict: str
    reason: str
    by: str
    """Login of the person with the verdict."""
    tags: str
    """A JSON list."""
    words: str
    """Everything that a search looks at, as `searchable` returns it."""


def stamp(folder: str) -> tuple[str, float] | None:
    """Return a text that changes whenever a file of the facts does, and when the record did; None for no project."""
    parts, changed = [], 0.0
    for name in FACT_FILES:
        try:
            found = os.stat(f"{folder}/{name}")
        except (OSError, ValueError):
            if name == RECORD:
                return None
            parts.append("")
        else:
            parts.append(f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}")
            changed = changed or found.st_mtime
    return hashlib.blake2b(" ".join(parts).encode(), digest_size=12).hexdigest(), changed


def read_facts(folder: Path) -> ProjectFacts | None:
    """Return the facts of a project; None if its record cannot be read. Other damaged files count as missing."""
    try:
        record = parse_json((folder / RECORD).read_text(encoding="utf-8"))
        stages = record["stages"]
        states = [stages.get(stage) for stage in STAGES]
        changed = max(p.stat().st_mtime for p in (folder / RECORD, folder / "decisions.jsonl") if p.exists())
    except _UNREADABLE:
        return None
    curation, newest_round, solution = read_curation(folder), _newest_round(folder), _read(folder / "solution.json")
    task, objects = str(_get(_read(folder / "task.json"), "instruction") or ""), _object_names(folder)
    failed_round = newest_round.get("number") if newest_round.get("clean") is False else None
    solved = states[-1] == "done" and _get(solution, "solved")
    is_doubtful = bool(record.get("doubtful") or _get(solution, "failed_check"))
    title = curation.title or title_of(folder.name)
    names = _display_names(folder / "decisions.jsonl")
    words = (title, folder.name, task, curation.reason, *curation.tags, *(objects or ()), *names)
    return ProjectFacts(
        title=title,
        changed=changed,
        stages="".join({"done": "d", "failed": "f"}.get(str(state), "t") for state in states),
        done=states.count("done"),
        state="doubtful" if solved and is_doubtful else _state(states, solved, failed_round is not None),
        failed_round=failed_round
        if not solved and isinstance(failed_round, int) and abs(failed_round) < 1 << 31
        else None,
        objects=None if objects is None else len(objects),
        confidence=least_confidence(folder),
        matched=_matched_share(folder),
        task=task,
        solved_by=", ".join(_sources(newest_round, solution)) if solved else "",
        seconds=_seconds_of_work(folder),
        verdict=curation.verdict,
        reason=curation.reason,
        by=curation.by,
        tags=json.dumps(curation.tags, ensure_ascii=False),
        words=searchable("\n".join(words)),
    )


def searchable(text: str) -> str:
    """Return a text as searches compare it: in lower case, with straight apostrophes."""
    return text.lower().replace("’", "'")


def title_of(name: str) -> str:
    """Return a folder's name as a title."""
    return name.replace("_", " ").replace("-", " ").capitalize()


def _state(states: list[Any], solved: bool | None, round_failed: bool) -> str:
    if solved:
        return "solved"
    if "failed" in states or round_failed:
        return "failed"
    if states[-1] == "done":
        return "unsolved"
    return "twin" if states[STAGES.index("scene")] == "done" else "started"


def _sources(newest_round: dict[str, Any], solution: Any) -> Iterator[str]:
    for source in (newest_round.get("source"), _get(solution, "source")):
        if source:
            yield str(source)


def _object_names(folder: Path) -> list[str] | None:
    """Return the names of the twin's objects; before there is a twin, of the described objects; None before that."""
    with suppress(*_UNREADABLE):
        return [str(one["name"]) for one in parse_json((folder / "scene.json").read_bytes())["placements"]]
    with suppress(*_UNREADABLE):
        described = parse_json((folder / "descriptions.json").read_bytes())
        return [str(one.get("name", "")) for one in described if one.get("is_object", True)]
    return None


def _display_names(log: Path) -> Iterable[str]:
    """Return what a person calls the objects."""
    with suppress(*_UNREADABLE):
        text = log.read_text(encoding="utf-8", errors="replace")
        if any(kind in text for kind in _NAMING):
            naming = [d for d in active(read_log(log)) if d.kind in ("rename", "display_name")]
            return display_names(naming).values()
    return ()


def _matched_share(folder: Path) -> float | None:
    """Return the share of assets among the twin's objects, before there is a twin among the matches; None for none.

    The twin reconstructs some objects although an asset matched them.
    """
    for name, key in (("scene.json", "placements"), ("matches.json", None)):
        with suppress(*_UNREADABLE):
            values = parse_json((folder / name).read_bytes())
            objects = values[key] if key else values
            return sum(one["asset_id"] is not None for one in objects) / len(objects) if objects else None
    return None


def _newest_round(folder: Path) -> dict[str, Any]:
    with suppress(*_UNREADABLE):
        newest = parse_json((folder / "rounds.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        return newest if isinstance(newest, dict) else {}
    return {}


def _seconds_of_work(folder: Path) -> float:
    """Return the time between decisions that follow each other, breaks left out."""
    gaps = (after - before for before, after in itertools.pairwise(sorted(_decision_times(folder))))
    # Longest gap seconds between two decisions of a person who is at work; a longer one is a break
    return sum(gap for gap in gaps if gap <= 120.0)


def _decision_times(folder: Path) -> Iterator[float]:
    with suppress(OSError):
        for line in (folder / "decisions.jsonl").read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(*_UNREADABLE):
                decision = parse_json(line)
                yield float(decision["at"])


def _read(path: Path) -> Any:
    with suppress(*_UNREADABLE):
        return parse_json(path.read_text(encoding="utf-8"))
    return None


def _get(values: Any, key: str) -> Any:
    return values.get(key) if isinstance(values, dict) else None

"""Rounds as the timeline shows them: their branches, the differences of any two, and the pinned one."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pipeline.object_words import ObjectWords, object_words
from pipeline.router import Round, changes_told
from pipeline.router.judging import SEEDS
from studio.records.text_diff import program_diff
from studio.sessions.session import Session
from studio.task.failure_causes import failure_causes
from studio.task.round_comparison import comparison_record
from studio.texts import translated
from studio.web.errors import RequestError


def timeline_record(session: Session | None) -> dict[str, Any]:
    """Return RoundTimeline's value."""
    if session is None:
        return {}
    rounds = session.cache.get("rounds", "rounds.jsonl", session.project.rounds)
    by_number = {shown.number: shown for shown in rounds}
    words = object_words(session.project)
    best, pinned = session.project.best_round(), session.project.active_decisions("pin")
    return {
        "rounds": [
            _round_record(shown, None if shown.parent is None else by_number.get(shown.parent), words)
            | {"causes": failure_causes(session, shown)}
            for shown in rounds
        ],
        "lanes": branches(rounds, [fork.data["round"] for fork in session.project.active_decisions("fork")]),
        "best": best.number if best else None,
        "pinned": bool(best and pinned and pinned[-1].data["round"] == best.number),
        "comparing": comparison_record(session, by_number),
        "running": bool(session.runner.current and session.runner.current.until == "solution"),
        "replayed_round": session.replay.request.number if session.replay.request else None,
        "arranging": bool(session.replay.request and session.replay.request.arranging),
        "replaying": session.replay.loading,
        "judging": _judging(session, by_number),
        "plays": session.replay.plays,
        "charts": session.charts_rounds,
    }


def _judging(session: Session, by_number: dict[int, Round]) -> dict[str, Any] | None:
    """Return the round that is being judged, with its changes since its parent; None if there is none."""
    running = session.judged_now
    if running is None:
        return None
    parent = None if running.parent is None else by_number.get(running.parent)
    return {
        "number": running.number,
        "parent": running.parent,
        "change": running.change,
        "changes": program_diff(parent.program, running.program) if parent else {},
    }


def set_plays(session: Session, message: Mapping[str, Any]) -> None:
    """Play rounds as they are judged, or show them at the instant that matters: {on}."""
    session.replay.plays = bool(message.get("on"))


def branches(rounds: Sequence[Round], edited: Collection[int] = ()) -> list[list[int]]:
    """Return the numbers of the rounds of each branch, which begins with an edit or continues an earlier round.

    `edited` are the numbers of the rounds that began with an edit.
    """
    numbers: list[list[int]] = []
    for shown in rounds:
        if numbers and shown.parent == numbers[-1][-1] and shown.number not in edited:
            numbers[-1].append(shown.number)
        else:
            numbers.append([shown.number])
    return numbers


def pin(session: Session, message: Mapping[str, Any]) -> None:
    """Take the round {number} as the task's program and solve its seeds; with None, unpin. Raises RequestError."""
    number = message.get("number")
    if number is None:
        session.decisions.record("pin", round=None)
    else:
        find_round(session, number)
        session.pin(int(number))


def find_round(session: Session, number: Any) -> Round:
    """Return the round of that number. Raises RequestError if there is none."""
    found = next((one for one in session.project.rounds() if one.number == number), None)
    if found is None:
        raise RequestError("That round no longer exists; choose another.")
    return found


def _round_record(shown: Round, parent: Round | None, words: ObjectWords) -> dict[str, Any]:
    report = shown.report
    return {
        "number": shown.number,
        "task": words.in_words(shown.task),
        "parent": shown.parent,
        "clean": report.clean,
        "checks": [
            {"name": c.name, "title": words.of_check(c.name), "passed": c.passed}
            | {"message": translated(words.in_words(c.message)), "line": c.line, "instant": c.instant}
            for c in report.checks
        ],
        "mutations": dict(report.evidence.get("noticed") or {}),
        "changed": [translated(words.in_words(one)) for one in changes_told(report)],
        "passed": sum(c.passed for c in report.checks),
        "reward": list(report.reward),
        "layouts": list(SEEDS[1 : len(report.reward)]),
        "crash": report.crash,
        "timed_out": report.timed_out,
        "violation": report.violation,
        "route": shown.route,
        "reason": translated(words.in_words(shown.reason)),
        "confidence": shown.confidence,
        "change": shown.change,
        "seconds": shown.seconds,
        "changes": program_diff(parent.program, shown.program) if parent else {},
        "code": {"simulation.py": shown.program.simulation, "checks.py": shown.program.checks},
    }

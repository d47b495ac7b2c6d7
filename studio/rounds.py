"""Rounds as the timeline shows them: their branches, what changed between any two, which one counts."""

from collections.abc import Sequence
from typing import Any

from pipeline.router import Round
from studio.differences import changes
from studio.session import Session, SessionError


def shown(session: Session | None) -> dict[str, Any]:
    """What the timeline is given; see components.steps.RoundTimeline."""
    if session is None:
        return {}
    rounds = session.kept("rounds", "rounds.jsonl", session.project.rounds)
    known = {one.number: one for one in rounds}
    best, pinned = session.project.best_round(), session.project.decided("pin")
    return {
        "rounds": [_round(one, None if one.parent is None else known.get(one.parent)) for one in rounds],
        "lanes": lanes(rounds, [d.at for d in session.project.decided("fork")]),
        "best": best.number if best else None,
        "pinned": bool(best and pinned and pinned[-1].data["round"] == best.number),
        "comparing": _compared(known, session.comparing),
        "running": bool(session.work and session.work.until == "solution"),
        "playing": session.playing.number if session.playing else None,
        "arranging": bool(session.playing and session.playing.arranging),
        "rolling": session.rolling,
    }


def lanes(rounds: Sequence[Round], forks: Sequence[float] = ()) -> list[list[int]]:
    """Numbers of the rounds of each branch: one begins with a person's edit, or where an earlier round is taken up.

    `forks` are the times of the edits, in seconds since 1970.
    """
    edited = {next((one.number for one in rounds if one.at > at), None) for at in forks}
    found: list[list[int]] = []
    for one in rounds:
        if found and one.parent == found[-1][-1] and one.number not in edited:
            found[-1].append(one.number)
        else:
            found.append([one.number])
    return found


def compare(session: Session, a: Any, b: Any) -> None:
    """Shows what differs between two rounds; nothing where one of them is None."""
    session.comparing = None if a is None or b is None else (int(a), int(b))


def pin(session: Session, number: Any) -> None:
    """Takes that round for the task, and solves its seeds; None lets the last that passed count again."""
    if number is None:
        session.decide("pin", round=None)
    else:
        find(session, number)
        session.pin(int(number))


def find(session: Session, number: Any) -> Round:
    """Raises SessionError."""
    one = next((r for r in session.project.rounds() if r.number == number), None)
    if one is None:
        raise SessionError("That round is not there any more; choose another.")
    return one


def _compared(known: dict[int, Round], pair: tuple[int, int] | None) -> dict[str, Any] | None:
    if pair is None or not all(number in known for number in pair):
        return None
    one, other = (known[number] for number in pair)
    reasons = [f"Round {r.number}: {r.reason}" for r in (one, other) if r.reason]
    return {"a": one.number, "b": other.number, "changes": changes(one.program, other.program), "reasons": reasons}


def _round(one: Round, parent: Round | None) -> dict[str, Any]:
    report = one.report
    return {
        "number": one.number,
        "task": one.task,
        "parent": one.parent,
        "clean": report.clean,
        "checks": [
            {"name": c.name, "passed": c.passed, "message": c.message, "line": c.line, "instant": c.instant}
            for c in report.checks
        ],
        "noticed": dict(report.evidence.get("noticed") or {}),
        "passed": sum(c.passed for c in report.checks),
        "reward": list(report.reward),
        "crash": report.crash,
        "timed_out": report.timed_out,
        "violation": report.violation,
        "route": one.route,
        "reason": one.reason,
        "confidence": one.confidence,
        "change": one.change,
        "seconds": one.seconds,
        "changes": changes(parent.program, one.program) if parent else {},
        "code": {"simulation.py": one.program.simulation, "checks.py": one.program.checks},
    }

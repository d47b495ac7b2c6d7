"""What a good engineer would want to read first: the report of a run in a few plain sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.simulation import Program, Report
from pipeline.simulation.source import line_of

TELLING = "does not hold:"
"""How the message of an assertion without words begins."""


def told(program: Program, report: Report) -> Iterator[str]:
    """A sentence each: the line that broke, goals not met and how near they came, what the oracle tried, what fell."""
    evidence = report.evidence
    for fault in (report.crash, report.violation):
        if fault:
            text = line_of(program, fault)
            yield f"{fault}{f' — the line is: {text}' if text else ''}"
    if stopped := evidence.get("stopped"):
        yield str(stopped)
    if report.reward:
        yield "rewards by layout: " + ", ".join(f"{reward:.2f}" for reward in report.reward)
    yield from (_goal(goal) for goal in evidence.get("goals") or () if not goal.get("met"))
    yield from _oracle(evidence)
    yield from _stability(evidence)
    for check in report.checks:
        if not check.passed:
            yield f"{check.name} fails: {check.message}"


def mute(report: Report) -> bool:
    """Whether the oracle fails and no failed check says why: only that it does not hold."""
    failed = [check for check in report.checks if not check.passed and check.name.startswith("check_")]
    quiet = all(not check.message or check.message.startswith(TELLING) for check in failed)
    return bool(report.reward) and report.reward[0] < 1 and bool(failed) and quiet and not _broken(report)


def partial(report: Report) -> bool:
    """Whether some goals hold and others do not."""
    return bool(report.reward) and 0 < report.reward[0] < 1 and not _broken(report)


def _broken(report: Report) -> bool:
    return bool(report.crash or report.violation or report.timed_out)


def _goal(goal: Mapping[str, Any]) -> str:
    """How far off it is at the end, how near it came, and when."""
    miss, nearest = goal.get("miss"), goal.get("nearest_miss")
    words = f"not met: {goal.get('name')}"
    if isinstance(miss, int | float):
        words += f", {miss * 100:.1f} cm short at the end"
    if isinstance(nearest, int | float) and isinstance(miss, int | float) and nearest < miss - 0.001:
        words += f", {nearest * 100:.1f} cm at best"
    held = [time for time, far in goal.get("over_time") or () if far <= 0]
    return words + (f"; it held at {held[-1]:.1f} s and was lost again" if held else "")


def _oracle(evidence: Mapping[str, Any]) -> Iterator[str]:
    failed = [event for event in evidence.get("events") or () if not event.get("ok")]
    for event in failed[:4]:
        said = event.get("message") or "failed"
        yield f"at {event.get('time') or 0:.1f} s the oracle's {event.get('verb')} of {event.get('object')}: {said}"
    if evidence.get("events") == []:
        yield "the oracle did nothing"


def _stability(evidence: Mapping[str, Any]) -> Iterator[str]:
    if evidence.get("at_rest") is False:
        yield "something still moves at the end"
    for name, far in (evidence.get("moved_before_touch") or {}).items():
        yield f"{name} moved {far * 100:.1f} cm before anything touched it"
    for name, where in (evidence.get("objects") or {}).items():
        if where.get("top", 1) < 0:
            yield f"{name} fell off the table"
        elif where.get("turned", 0) > 0.35:
            yield f"{name} tipped over by {where['turned'] * 57.3:.0f} degrees"
        elif where.get("pushed", 0) > 0.02:
            yield f"{name} was pushed {where['pushed'] * 100:.0f} cm and never picked up"
    if contacts := evidence.get("contacts"):
        yield "at the end these touch: " + ", ".join(f"{a} and {b}" for a, b in contacts)

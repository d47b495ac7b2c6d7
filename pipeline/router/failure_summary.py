"""Summarise the report of a run in a few sentences, for the model that routes and repairs."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.simulation import CheckResult, Program, Report
from pipeline.simulation.program import source_line

FACTS = ("why", "stopped", "rewards_at_start", "measured", "changes", "simulated_seconds")
"""Evidence that goes to a model as it is, where there is any."""
GOAL_FACTS = ("name", "met", "stage", "miss", "nearest_miss")
"""Facts of a goal that is not met."""
BARE_ASSERTION = "does not hold:"
"""Start of the message of an assertion without a message of its own."""


def summarize_failures(program: Program, report: Report) -> Iterator[str]:
    """Yield one sentence per finding: failing line, unmet goals, the oracle's failed actions, what moved or fell."""
    evidence = report.evidence
    for fault in (report.crash, report.violation):
        if fault:
            text = source_line(program, fault)
            yield f"{fault}{f' — the line is: {text}' if text else ''}"
    if stopped := evidence.get("stopped"):
        yield str(stopped)
    if report.evidence.get("unfinished"):
        yield "that layout's physics takes too long, which is no fault of the program"
    if report.reward:
        yield "rewards by layout: " + ", ".join(f"{reward:.2f}" for reward in report.reward)
    yield from (_goal(goal) for goal in evidence.get("goals") or () if not goal.get("met"))
    yield from _oracle(evidence)
    yield from _stability(evidence)


def report_for_model(program: Program, report: Report) -> dict[str, Any]:
    """Return what a model needs of a report to find the fault: sentences, failed checks, and goals that are not met."""
    failed = [check for check in report.checks if not check.passed]
    evidence = {key: report.evidence[key] for key in FACTS if report.evidence.get(key)}
    unmet = [goal for goal in report.evidence.get("goals") or () if not goal.get("met")]
    evidence["goals"] = [{key: goal[key] for key in GOAL_FACTS if key in goal} for goal in unmet]
    if any(re.search("(off|below) the table", check.message) for check in failed):
        objects = report.evidence.get("objects") or {}
        evidence["objects"] = {name: {"top": motion.get("top")} for name, motion in objects.items()}
    faults = {"crash": report.crash, "violation": report.violation, "timed_out": report.timed_out}
    return {
        "reward": list(report.reward),
        **{key: value for key, value in faults.items() if value},
        "summary": [one for one in summarize_failures(program, report) if not _is_told(one, failed, evidence)],
        "checks": [{"name": check.name, "passed": False, "message": check.message} for check in failed],
        "evidence": evidence,
    }


def _is_told(sentence: str, failed: Sequence[CheckResult], evidence: Mapping[str, Any]) -> bool:
    """Whether the failed checks and the other evidence say what a sentence of the summary says."""
    said = " ".join([str(evidence.get("why", "")), *(check.message for check in failed)])
    message = sentence.partition(" of ")[2].partition(": ")[2] if sentence.startswith("at ") else ""
    plain_miss = sentence.startswith("not met: ") and "at best" not in sentence and "it held" not in sentence
    return plain_miss or sentence.startswith("rewards by layout") or bool(message and message in said)


def failed_checks(program: Program, report: Report) -> str:
    """Return checks.py with the first line alone of each check that passed; unchanged if it cannot be read."""
    try:
        tree, lines = ast.parse(program.checks), program.checks.splitlines()
    except (SyntaxError, ValueError):
        return program.checks
    failed = {check.name for check in report.checks if not check.passed}
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("check_") and node.name not in failed:
            lines[node.lineno - 1 : node.end_lineno] = [f"def {node.name}(sim): ...  # passes"]
    return "\n".join(lines)


def fails_silently(report: Report) -> bool:
    """Whether the oracle fails and no failed check has a message that says why."""
    failed = [check for check in report.checks if not check.passed and check.name.startswith("check_")]
    no_message = all(not check.message or check.message.startswith(BARE_ASSERTION) for check in failed)
    return bool(report.reward) and report.reward[0] < 1 and bool(failed) and no_message and not _broken(report)


def partly_solved(report: Report) -> bool:
    """Whether some but not all goals are met."""
    return bool(report.reward) and 0 < report.reward[0] < 1 and not _broken(report)


def _broken(report: Report) -> bool:
    return bool(report.crash or report.violation or report.timed_out)


def _goal(goal: Mapping[str, Any]) -> str:
    """Return by how much a goal was missed at the end and at best, and when it was last met."""
    miss, nearest = goal.get("miss"), goal.get("nearest_miss")
    text = f"not met: {goal.get('name')}"
    if isinstance(miss, int | float):
        text += f", {miss * 100:.1f} cm short at the end"
    if isinstance(nearest, int | float) and isinstance(miss, int | float) and nearest < miss - 0.001:
        text += f", {nearest * 100:.1f} cm at best"
    times_met = [time for time, miss in goal.get("over_time") or () if miss <= 0]
    return text + (f"; it held at {times_met[-1]:.1f} s and was lost again" if times_met else "")


def _oracle(evidence: Mapping[str, Any]) -> Iterator[str]:
    failed = [event for event in evidence.get("events") or () if not event.get("ok")]
    for event in failed[:4]:
        message = event.get("message") or "failed"
        yield f"at {event.get('time') or 0:.1f} s the oracle's {event.get('verb')} of {event.get('object')}: {message}"
    if evidence.get("events") == []:
        yield "the oracle did nothing"


def _stability(evidence: Mapping[str, Any]) -> Iterator[str]:
    for a, b in evidence.get("overlaps") or ():
        yield f"{a} and {b} reach into each other at the start, so that a pick carries both: move one of them first"
    if evidence.get("at_rest") is False:
        yield "something still moves at the end"
    for name, distance in (evidence.get("moved_before_touch") or {}).items():
        yield f"{name} moved {distance * 100:.1f} cm before anything touched it"
    for name, motion in (evidence.get("objects") or {}).items():
        if motion.get("top", 1) < 0:
            yield f"{name} fell off the table"
        elif motion.get("turned", 0) > 0.35:
            yield f"{name} tipped over by {motion['turned'] * 57.3:.0f} degrees"
        elif motion.get("pushed", 0) > 0.02:
            yield f"{name} was pushed {motion['pushed'] * 100:.0f} cm and never picked up"
    if contacts := evidence.get("contacts"):
        yield "objects in contact at the end: " + ", ".join(f"{a} and {b}" for a, b in contacts)

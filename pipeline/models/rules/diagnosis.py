"""Reads what a run showed and says which side is at fault: broken checks first, then silence, then the simulation."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.models.rules import source, writer
from pipeline.models.rules.aims import listed, read

SOLVED = 0.99
WIDEST = {"on": 0.04, "stacked": 0.04, "inside": 0.04, "in_row": 0.06, "in_zone": 0.04, "at": 0.06, "upright": 0.5}
"""The largest tolerance that still means the goal, in metres (radians for upright)."""


@dataclass(frozen=True)
class Fault:
    """What is wrong, on which side, and what shows it."""

    kind: str
    """"unreadable", "crash", "timeout", "wrong_objects", "wrong_goals", "off_table", "lax_goal", "solved_at_start",
    "lax_checks", "silent", "contradiction", "side_effect", "unsolved"."""
    route: Literal["fix_simulation", "fix_checks"]
    reason: str
    confidence: float
    checks: tuple[str, ...] = ()
    """The checks concerned."""


def diagnose(data: Mapping[str, Any]) -> Fault | None:
    """The first fault of a program's report, or None where there is none."""
    report = data["report"]
    failed = [c for c in report["checks"] if not c["passed"]]
    evidence = report.get("evidence") or {}
    for look in (_unreadable, _crashed, _stopped):
        if fault := look(report, failed):
            return fault
    return (
        _wrong_goals(data["simulation"], failed)
        or _at_start(evidence)
        or _unsolved(report, evidence, failed)
        or _unnoticed(failed)
        or _other_task(data, failed)
        or _contradicted(failed)
    )


def _unreadable(report: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Fault | None:
    for side in ("checks", "simulation"):
        found = [c for c in failed if c["name"] == f"guard {side}.py"]
        if found:
            return Fault("unreadable", f"fix_{side}", f"before any run: {found[0]['message']}", 0.95)  # type: ignore[arg-type]
    if report.get("violation"):
        side = "fix_checks" if "checks.py" in report["violation"] else "fix_simulation"
        return Fault("unreadable", side, f"the sandbox refused it: {report['violation']}", 0.8)
    return None


def _crashed(report: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Fault | None:
    crash = report.get("crash")
    if not crash:
        return None
    if crash.startswith("checks.py"):
        names = tuple(c["name"] for c in failed if c["message"] == crash)
        return Fault("crash", "fix_checks", f"a check is broken itself: {crash}", 0.95, names)
    return Fault("crash", "fix_simulation", f"the simulation crashed: {crash}", 0.95)


def _stopped(report: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Fault | None:
    if not report.get("timed_out"):
        return None
    why = str((report.get("evidence") or {}).get("stopped") or "time ran out")
    in_checks = "running check_" in why or "checks.py" in why
    names = tuple(re.findall(r"check_\w+", why))
    return Fault("timeout", "fix_checks" if in_checks else "fix_simulation", why, 0.9, names)


def _wrong_goals(simulation: str, failed: Sequence[Mapping[str, Any]]) -> Fault | None:
    if used := next((c["message"] for c in failed if c["name"] == "meaning objects"), None):
        return Fault("wrong_objects", "fix_simulation", used, 0.9)
    if other := next((c["message"] for c in failed if c["name"] == "meaning task"), None):
        return Fault("wrong_goals", "fix_simulation", other, 0.9)
    if off := next((c["message"] for c in failed if c["name"] == "meaning table"), None):
        return Fault("off_table", "fix_simulation", off, 0.9)
    for call in source.goals(source.parse(simulation) or source.parse("")):  # type: ignore[arg-type]
        tolerance = source.value(source.argument(call, "tolerance"))
        verb = source.verb(call)
        if isinstance(tolerance, int | float) and tolerance > 2 * WIDEST.get(verb, 1e9):
            return Fault(
                "lax_goal", "fix_simulation", f"kit.{verb} with a tolerance of {tolerance} m holds almost anywhere", 0.8
            )
    return None


def _at_start(evidence: Mapping[str, Any]) -> Fault | None:
    start = evidence.get("reward_at_start")
    if start is not None and start > SOLVED:
        return Fault("solved_at_start", "fix_simulation", "the goals hold before anything moved", 0.9)
    return None


def _unsolved(
    report: Mapping[str, Any], evidence: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]
) -> Fault | None:
    rewards = report["reward"]
    if not rewards:
        return None
    if rewards[0] > SOLVED:
        layouts = next((c for c in failed if c["name"] == "meaning layouts"), None)
        return Fault("unsolved", "fix_simulation", layouts["message"], 0.7) if layouts and len(failed) == 1 else None
    why = str(evidence.get("why") or "")
    checks = [c for c in failed if c["name"].startswith("check_")]
    if not checks:
        return Fault(
            "lax_checks", "fix_checks", f"every check passes at reward {rewards[0]:.2f}: none asks for the goals", 0.9
        )
    if not any(_tells(c["message"]) for c in checks):
        reason = f"reward {rewards[0]:.2f} and no check says why: they need diagnostics first"
        return Fault("silent", "fix_checks", reason, 0.75, tuple(c["name"] for c in checks))
    unmet = [str(g.get("name")) for g in evidence.get("goals", []) if not g.get("met")]
    said = why or (f"not met: {listed(unmet)}" if unmet else "nothing says why")
    return Fault("unsolved", "fix_simulation", f"the oracle reaches reward {rewards[0]:.2f}: {said}", 0.8)


def _unnoticed(failed: Sequence[Mapping[str, Any]]) -> Fault | None:
    """Checks that pass although another task was done, or nothing at all."""
    found = [c for c in failed if "every check passes although" in c["message"]]
    if not found or len(found) < len(failed):
        return None
    return Fault("lax_checks", "fix_checks", f"the checks do not ask for the goals: {found[0]['message']}", 0.85)


def _tells(message: str) -> bool:
    """Whether a failed check says more than that it failed."""
    return bool(message) and not message.startswith("does not hold:")


def _other_task(data: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Fault | None:
    """A check that the task's own goals ask for fails, because the simulation's goals are others."""
    meant, aims = read(data["task"].get("goals") or ()), source.aims(data["simulation"])
    if not meant or set(meant) == set(aims):
        return None
    tree = source.parse(data["checks"])
    functions = source.functions(tree) if tree else {}
    for name, text in writer.checks(meant).items():
        wrong = next((c for c in failed if c["name"] == name), None)
        if (
            wrong
            and name not in writer.CHECKS_START
            and ast.get_source_segment(data["checks"], functions[name]) == text.strip()
        ):
            goals = ", ".join(data["task"]["goals"])
            reason = f"the simulation's goals hold but are not the task's ({goals}): {wrong['message']}"
            return Fault("wrong_goals", "fix_simulation", reason, 0.8)
    return None


def _contradicted(failed: Sequence[Mapping[str, Any]]) -> Fault | None:
    if not failed:
        return None
    effects = [c for c in failed if re.search(r"picked nothing up|below the table|off the table", c["message"])]
    if effects and len(effects) == len(failed):
        return Fault("side_effect", "fix_simulation", f"the goals hold, and yet: {effects[0]['message']}", 0.75)
    wrong = [c for c in failed if c not in effects and c["name"].startswith("check_")]
    if not wrong:
        return Fault("unsolved", "fix_simulation", failed[0]["message"], 0.5)
    reason = f"every goal holds at rest, but {wrong[0]['name']} says: {wrong[0]['message']}"
    return Fault("contradiction", "fix_checks", reason, 0.8, tuple(c["name"] for c in wrong))

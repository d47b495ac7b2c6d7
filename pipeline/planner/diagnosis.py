"""Diagnosis of a report: which side of a program is wrong, broken checks first, then the simulation."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.planner import program_source, program_writer
from pipeline.simulation.goals.sentences import stated_goals
from pipeline.simulation.goals.spec import goal_specs, listed
from pipeline.simulation.run_record import SOLVED

JUDGED = {
    "wrong_objects": "meaning objects",
    "wrong_goals": "meaning task",
    "off_table": "meaning table",
    "made_easier": "meaning photograph",
}
"""The judge's checks of a simulation against its task, by kind of diagnosis."""
IN_ANY_ORDER = "check_in_any_order"
"""Start of the names of independent measures that leave the order of a row or a tower open."""


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, on which side, and what shows it."""

    kind: str
    """"unreadable", "crash", "timeout", "wrong_objects", "wrong_goals", "off_table", "made_easier", "lax_goal",
    "solved_at_start", "lax_checks", "silent", "contradiction", "side_effect", "unsolved"."""
    route: Literal["fix_simulation", "fix_checks"]
    reason: str
    confidence: float
    checks: tuple[str, ...] = ()
    """Names of the checks concerned."""


def diagnose(data: Mapping[str, Any]) -> Diagnosis | None:
    """Return the first fault of a program's report, or None where there is none."""
    report = data["report"]
    failed = [c for c in report["checks"] if not c["passed"]]
    evidence = report.get("evidence") or {}
    wrong_goals = _wrong_goals(data["simulation"], failed)
    for look in (_unreadable, _crashed, _timed_out):
        if diagnosis := look(report, failed):
            return wrong_goals or diagnosis if diagnosis.kind == "crash" else diagnosis
    return (
        wrong_goals
        or _at_start(failed)
        or _unsolved(report, evidence, failed)
        or _lax_checks(failed)
        or _other_task(data, failed)
        or _contradicted(evidence, failed)
    )


def is_confirmed(report: Mapping[str, Any]) -> bool:
    """Whether the simulation does what the task asks, measured independently of the program, in every layout."""
    measured, rewards = (report.get("evidence") or {}).get("measured") or {}, report["reward"]
    return bool(measured and rewards) and not any(measured.values()) and min(rewards) > SOLVED


def leaves_the_order_open(report: Mapping[str, Any]) -> bool:
    """Whether the task's words, by which it is measured, give no order of a row or a tower."""
    measured = (report.get("evidence") or {}).get("measured") or {}
    return any(name.startswith(IN_ANY_ORDER) for name in measured)


def _unreadable(report: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    for side in ("checks", "simulation"):
        found = [c for c in failed if c["name"] == f"guard {side}.py"]
        if found:
            return Diagnosis("unreadable", f"fix_{side}", f"before any run: {found[0]['message']}", 0.95)  # type: ignore[arg-type]
    if report.get("violation"):
        side = "fix_checks" if "checks.py" in report["violation"] else "fix_simulation"
        return Diagnosis("unreadable", side, f"the sandbox refused it: {report['violation']}", 0.8)
    return None


def _crashed(report: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    crash = report.get("crash")
    if not crash:
        return None
    if crash.startswith("checks.py"):
        names = tuple(c["name"] for c in failed if c["message"].startswith(crash))
        return Diagnosis("crash", "fix_checks", f"a check is broken itself: {crash}", 0.95, names)
    return Diagnosis("crash", "fix_simulation", f"the simulation crashed: {crash}", 0.95)


def _timed_out(report: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    if not report.get("timed_out"):
        return None
    why = str((report.get("evidence") or {}).get("stopped") or "time ran out")
    in_checks = "running check_" in why or "checks.py" in why
    names = tuple(re.findall(r"check_\w+", why))
    return Diagnosis("timeout", "fix_checks" if in_checks else "fix_simulation", why, 0.9, names)


def _wrong_goals(simulation: str, failed: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    for kind, check in JUDGED.items():
        if found := next((c["message"] for c in failed if c["name"] == check), None):
            easier = "it makes the task easier than photographed: " if kind == "made_easier" else ""
            return Diagnosis(kind, "fix_simulation", easier + found, 0.9)
    for kind, _, tolerance in program_source.tolerances(simulation):
        allowed = goal_specs()[kind].tolerance
        if allowed and allowed.widest and tolerance > 2 * allowed.widest:
            reason = f"kit.{kind} with a tolerance of {tolerance} m holds almost anywhere"
            return Diagnosis("lax_goal", "fix_simulation", reason, 0.8)
    return None


def _at_start(failed: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    if met := next((c["message"] for c in failed if c["name"] == "meaning start"), None):
        return Diagnosis("solved_at_start", "fix_simulation", met, 0.9)
    return None


def _unsolved(
    report: Mapping[str, Any], evidence: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]
) -> Diagnosis | None:
    rewards = report["reward"]
    if not rewards:
        return None
    if rewards[0] > SOLVED:
        layouts = next((c for c in failed if c["name"] == "meaning layouts"), None)
        return (
            Diagnosis("unsolved", "fix_simulation", layouts["message"], 0.7) if layouts and len(failed) == 1 else None
        )
    why = str(evidence.get("why") or "")
    checks = [c for c in failed if c["name"].startswith("check_")]
    if not checks:
        return Diagnosis(
            "lax_checks", "fix_checks", f"every check passes at reward {rewards[0]:.2f}: none asks for the goals", 0.9
        )
    if not any(_is_informative(c["message"]) for c in checks):
        reason = f"reward {rewards[0]:.2f} and no check says why: they need diagnostics first"
        return Diagnosis("silent", "fix_checks", reason, 0.75, tuple(c["name"] for c in checks))
    unmet = [str(g.get("name")) for g in evidence.get("goals", []) if not g.get("met")]
    reason = why or (f"not met: {listed(unmet)}" if unmet else "nothing says why")
    return Diagnosis("unsolved", "fix_simulation", f"the oracle reaches reward {rewards[0]:.2f}: {reason}", 0.8)


def _lax_checks(failed: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    """Find checks that pass although another task was done, or nothing at all."""
    found = [c for c in failed if "every check passes although" in c["message"]]
    if not found or len(found) < len(failed):
        return None
    return Diagnosis("lax_checks", "fix_checks", f"the checks do not ask for the goals: {found[0]['message']}", 0.85)


def _is_informative(message: str) -> bool:
    """Return whether a failed check says more than that it failed."""
    return bool(message) and not message.startswith("does not hold:")


def _other_task(data: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    """Find a check of the task's own goals that fails because the simulation's goals are others."""
    if is_confirmed(data["report"]):
        return None
    wanted, goals = stated_goals(data), program_source.planned_goals(data["simulation"])
    if not wanted or set(wanted) == set(goals):
        return None
    functions = program_source.functions(program_source.parsed(data["checks"]))
    for name, text in program_writer.check_functions(wanted).items():
        wrong = next((c for c in failed if c["name"] == name), None)
        if (
            wrong
            and name not in program_writer.GENERAL_CHECKS
            and ast.get_source_segment(data["checks"], functions[name]) == text.strip()
        ):
            task_goals = ", ".join(data["task"]["goals"])
            reason = f"the simulation's goals hold but are not the task's ({task_goals}): {wrong['message']}"
            return Diagnosis("wrong_goals", "fix_simulation", reason, 0.8)
    return None


def _contradicted(evidence: Mapping[str, Any], failed: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    if not failed:
        return None
    effects = [c for c in failed if re.search(r"picked nothing up|below the table|off the table", c["message"])]
    effects = [c for c in effects if not _is_refuted(c["message"], evidence.get("objects") or {})]
    if effects and len(effects) == len(failed):
        return Diagnosis("side_effect", "fix_simulation", f"the goals hold, and yet: {effects[0]['message']}", 0.75)
    wrong = [c for c in failed if c not in effects and c["name"].startswith("check_")]
    if not wrong:
        return Diagnosis("unsolved", "fix_simulation", failed[0]["message"], 0.5)
    reason = f"every goal holds at rest, but {wrong[0]['name']} says: {wrong[0]['message']}"
    return Diagnosis("contradiction", "fix_checks", reason, 0.8, tuple(c["name"] for c in wrong))


def _is_refuted(message: str, objects: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a message about the photographed layout has an object fall that ends above the table's top."""
    fallen = [name for name in re.findall(r"\w+", message) if name in objects]
    return bool(fallen) and "(layout" not in message and all(objects[name].get("top", -1) > 0 for name in fallen)

"""One round: a program, what running it showed, what is to be done about it; and the same on the disk."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.simulation import CheckResult, Program, Report
from pipeline.store import append_line


@dataclass(frozen=True)
class Round:
    """One program, what running it showed, and what is to be done about it."""

    number: int
    parent: int | None
    """Number of the round whose program this one was made from; None for the first."""
    program: Program
    report: Report
    route: str
    """"fix_simulation", "fix_checks", "done", "give_up", "ask" (a person should decide); empty where the model that had
    to say failed."""
    reason: str
    """Why that route, in a sentence."""
    seconds: float
    """Wall clock: writing, running, deciding."""
    source: str = "rules"
    """Who decided: the model's name."""
    change: str = ""
    """What was changed against the parent, in a sentence."""
    at: float = field(default_factory=time.time)
    """When it was run, in seconds since 1970."""
    task: str = ""
    """The instruction of the task it is for."""
    confidence: float = 1.0
    """How sure whoever decided was of the route, in [0, 1]."""


def merit(report: Report) -> tuple[float, float]:
    """What a round is measured by: its mean reward (-1 where no rollout came to an end), then its share of checks."""
    passed = [check.passed for check in report.checks]
    reward = sum(report.reward) / len(report.reward) if report.reward else -1.0
    return reward, sum(passed) / max(1, len(passed))


def first_failure(report: Report) -> str:
    """In one sentence; empty for a clean report."""
    failed = next((f"{c.name}: {c.message}" for c in report.checks if not c.passed), "")
    timeout = "time ran out" if report.timed_out else ""
    return report.crash or report.violation or timeout or failed or ("" if report.checks else "no check ran")


def report_json(report: Report, done: Round | None = None) -> dict[str, Any]:
    """A report as report.json holds it and `grs-studio check` prints it; with what was decided, of a round."""
    checks = [
        {
            "name": c.name,
            "passed": c.passed,
            "message": c.message,
            "seconds": round(c.seconds, 3),
            "instant": c.instant,
            "line": c.line,
        }
        for c in report.checks
    ]
    said = (
        {"route": done.route, "reason": done.reason, "parent": done.parent}
        if done
        else {"route": "", "reason": "", "parent": None}
    )
    return {
        "checks": checks,
        "reward": list(report.reward),
        "crash": report.crash,
        "timed_out": report.timed_out,
        "violation": report.violation,
        **said,
        "clean": report.clean,
        "evidence": report.evidence,
        "seconds": round(report.seconds, 3),
    }


def write_round(done: Round, project_dir: Path) -> Path:
    """Saves rounds/NNN/ and adds its line to rounds.jsonl; returns the folder."""
    folder = Path(project_dir) / "rounds" / f"{done.number:03d}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "simulation.py").write_text(done.program.simulation, "utf-8")
    (folder / "checks.py").write_text(done.program.checks, "utf-8")
    said = report_json(done.report, done) | {"number": done.number, "round_seconds": round(done.seconds, 3)}
    said |= {"source": done.source, "change": done.change, "at": done.at, "task": done.task}
    said |= {"confidence": round(done.confidence, 3)}
    (folder / "report.json").write_text(json.dumps(said, indent=1, ensure_ascii=False), "utf-8")
    keys = [
        "number", "parent", "route", "reason", "change", "source", "confidence",
        "reward", "clean", "crash", "timed_out", "violation", "at", "task",
    ]  # fmt: skip
    line = {key: said[key] for key in keys}
    line |= {"failed": [c["name"] for c in said["checks"] if not c["passed"]], "seconds": said["round_seconds"]}
    append_line(Path(project_dir) / "rounds.jsonl", line)
    return folder


def read_rounds(project_dir: Path) -> tuple[Round, ...]:
    """All rounds saved in a project, in order; a folder half written is left out."""
    return tuple(r for folder in sorted(Path(project_dir).glob("rounds/[0-9]*")) if (r := _read_round(folder)))


def _read_round(folder: Path) -> Round | None:
    try:
        said = json.loads((folder / "report.json").read_text("utf-8"))
        program = Program((folder / "simulation.py").read_text("utf-8"), (folder / "checks.py").read_text("utf-8"))
        checks = tuple(CheckResult(**check) for check in said["checks"])
        report = Report(
            checks, tuple(said["reward"]), said["crash"], said["timed_out"], said["violation"],
            said.get("evidence") or {}, said.get("seconds", 0.0),
        )  # fmt: skip
        return Round(
            said.get("number", int(folder.name)), said["parent"], program, report, said["route"], said["reason"],
            said.get("round_seconds", 0.0), said.get("source", ""), said.get("change", ""), said.get("at", 0.0),
            said.get("task", ""), said.get("confidence", 1.0),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None

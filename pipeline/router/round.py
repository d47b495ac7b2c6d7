"""One round of the router: a program, its report and the decision; and its files."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.router.round_record import write_record
from pipeline.scene.mjcf.recorded_models import twin_digest
from pipeline.simulation import CheckResult, Program, Report
from pipeline.store import NewerFileError, StoreError, append_lines, read_json, write_json, write_text

SCHEMA = 1
"""Version of report.json and of the lines of rounds.jsonl."""


@dataclass(frozen=True)
class Round:
    """A program, its report, and the decision about what to repair."""

    number: int
    parent: int | None
    """Number of the round whose program was changed into this one; None for the first."""
    program: Program
    report: Report
    route: str
    """"fix_simulation", "fix_checks", "done", "give_up", "ask" (the user should decide); empty if the model failed."""
    reason: str
    """Reason for the route, one sentence."""
    seconds: float
    """Wall-clock time of writing, running and deciding."""
    source: str = "rules"
    """Name of the model that decided."""
    change: str = ""
    """What was changed from the parent, one sentence."""
    finished_at: float = field(default_factory=time.time)
    """Time at which the run finished, in seconds since 1970."""
    task: str = ""
    """Instruction of the task."""
    confidence: float = 1.0
    """The model's confidence in the route, in [0, 1]."""
    twin: str = ""
    """Hash of the twin that it was judged in, `twin_digest`; empty if that is not known."""


def score(report: Report) -> tuple[float, float]:
    """Return a round's rank: mean reward (-1 without a finished rollout), then the share of passed checks."""
    passed = [check.passed for check in report.checks]
    reward = sum(report.reward) / len(report.reward) if report.reward else -1.0
    return reward, sum(passed) / max(1, len(passed))


def first_failure(report: Report) -> str:
    """Return the first failure as one sentence; empty for a clean report."""
    failed = next((f"{c.name}: {c.message}" for c in report.checks if not c.passed), "")
    timeout = str(report.evidence.get("stopped") or "time ran out") if report.timed_out else ""
    return report.crash or report.violation or timeout or failed or ("" if report.checks else "no check ran")


def changes_told(report: Report) -> tuple[str, ...]:
    """Return sentences about what the program changes of the photographed layout; empty for older reports."""
    changes = report.evidence.get("changes")
    return tuple(one for one in changes if isinstance(one, str)) if isinstance(changes, list) else ()


def report_json(report: Report, finished: Round | None = None) -> dict[str, Any]:
    """Return a report in the format of report.json and `grs-studio check`, with the decision if a round is given."""
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
    decision = (
        {"route": finished.route, "reason": finished.reason, "parent": finished.parent}
        if finished
        else {"route": "", "reason": "", "parent": None}
    )
    return {
        "schema": SCHEMA,
        "checks": checks,
        "reward": list(report.reward),
        "crash": report.crash,
        "timed_out": report.timed_out,
        "violation": report.violation,
        **decision,
        "clean": report.clean,
        "evidence": report.evidence,
        "seconds": round(report.seconds, 3),
    }


def write_round(finished: Round, project_dir: Path) -> Path:
    """Save rounds/NNN/, append its line to rounds.jsonl, and return the folder. Raises StoreError.

    report.json comes last: without it the round does not count, and its number is used again.
    """
    folder = Path(project_dir) / "rounds" / f"{finished.number:03d}"
    write_text(folder / "simulation.py", finished.program.simulation)
    write_text(folder / "checks.py", finished.program.checks)
    write_record(folder, finished.report.records)
    data = report_json(finished.report, finished) | {
        "protection": finished.report.protection,
        "number": finished.number,
        "round_seconds": round(finished.seconds, 3),
        "twin": twin_digest(Path(project_dir)),
    }
    data |= {"source": finished.source, "change": finished.change, "at": finished.finished_at, "task": finished.task}
    data |= {"confidence": round(finished.confidence, 3)}
    write_json(folder / "report.json", data)
    keys = [
        "number", "parent", "route", "reason", "change", "source", "confidence",
        "reward", "clean", "crash", "timed_out", "violation", "at", "task",
    ]  # fmt: skip
    line = {"schema": SCHEMA} | {key: data[key] for key in keys}
    line |= {"failed": [c["name"] for c in data["checks"] if not c["passed"]], "seconds": data["round_seconds"]}
    append_lines(Path(project_dir) / "rounds.jsonl", [line])
    return folder


def read_rounds(project_dir: Path) -> tuple[Round, ...]:
    """Return all saved rounds of a project in order; incomplete folders are skipped. Raises NewerFileError."""
    return tuple(r for folder in _round_folders(project_dir) if (r := _read_round(folder)))


def next_round_number(project_dir: Path) -> int:
    """Return the number of the next round: one more than the last that has a report, readable or not."""
    numbers = [int(folder.name) for folder in _round_folders(project_dir) if (folder / "report.json").exists()]
    return max(numbers, default=-1) + 1


def _round_folders(project_dir: Path) -> list[Path]:
    folders = [folder for folder in Path(project_dir).glob("rounds/*") if folder.name.isdecimal()]
    return sorted(folders, key=lambda folder: int(folder.name))


def _read_round(folder: Path) -> Round | None:
    try:
        data = read_json(folder / "report.json", SCHEMA) or {}
        program = Program((folder / "simulation.py").read_text("utf-8"), (folder / "checks.py").read_text("utf-8"))
        checks = tuple(CheckResult(**check) for check in data["checks"])
        report = Report(
            checks, tuple(data["reward"]), data["crash"], data["timed_out"], data["violation"],
            data.get("evidence") or {}, float(data.get("seconds", 0.0)),
            data.get("protection") or {},
        )  # fmt: skip
        return Round(
            int(folder.name), data["parent"], program, report, str(data["route"] or ""), str(data["reason"] or ""),
            float(data.get("round_seconds", 0.0)), str(data.get("source") or ""), str(data.get("change") or ""),
            float(data.get("at", 0.0)), str(data.get("task") or ""), float(data.get("confidence", 1.0)),
            str(data.get("twin") or ""),
        )  # fmt: skip
    except NewerFileError:
        raise
    except (StoreError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None

"""Run, decide which side is at fault, repair it, until simulation and checks agree (GRS, section 3)."""

import ast
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from pipeline.errors import StudioError
from pipeline.models import Model, ModelError, Question
from pipeline.simulation import CheckResult, Program, Report, kit
from pipeline.simulation.guard import guard
from pipeline.simulation.sandbox import Limits
from pipeline.tasks import Task, scene_data, task_to_json

Mode = Literal["route", "repair", "none"]
SEEDS = (0, 1, 2)
"""Layouts that each round is tried on; the checks look at the first, as photographed."""
SOLVED = 0.99
LAX = 0.12
"""Metres of tolerance beyond which no goal means what it says."""


class RouterError(StudioError):
    """A mode that does not exist, or rounds that cannot be read."""


class ProgramAnswer(BaseModel):
    simulation: str
    checks: str


class RouteAnswer(BaseModel):
    route: Literal["fix_simulation", "fix_checks", "give_up"]
    reason: str
    confidence: float = Field(default=0.5, ge=0, le=1)


class SourceAnswer(BaseModel):
    source: str
    reason: str = ""
    """What changed, in a sentence."""


class Runner(Protocol):
    """What runs programs: pipeline.simulation.sandbox.Sandbox."""

    def run(
        self, program: Program, project_dir: Path, seeds: Sequence[int] = ..., checks: bool = ..., limits: Limits = ...
    ) -> tuple[Report, Any]: ...


@dataclass(frozen=True)
class Round:
    """One program, what running it showed, and what is to be done about it."""

    number: int
    parent: int | None
    """Number of the round whose program this one was made from; None for the first."""
    program: Program
    report: Report
    route: str
    """"fix_simulation", "fix_checks", "done", "give_up"; empty where the model that had to say failed."""
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


def write(task: Task, scene: kit.Scene, model: Model) -> Program:
    """A first program for the task. Raises ModelError."""
    data = {"task": task_to_json(task), "scene": scene_data(scene), "kit": kit.__doc__ or ""}
    answer = model.ask(Question("write_program", data, ProgramAnswer, about=task.name))
    return Program(str(getattr(answer, "simulation", "")), str(getattr(answer, "checks", "")))


def route(
    task: Task,
    project_dir: Path,
    model: Model,
    sandbox: Runner,
    mode: Mode = "route",
    start: Program | None = None,
    parent: int | None = None,
    first_number: int = 0,
    most: int = 8,
    limits: Limits | None = None,
) -> Iterator[Round]:
    """Rounds until one is clean, nothing is left to try, or `most` were run.

    `start` is a program to go on from (a person's, made of round `parent`) instead of a new one. Mode "route" lets the
    model choose the side, "repair" always repairs the simulation, "none" runs once. Raises ModelError and SandboxError,
    which never count against a program; a round that was run is yielded before.
    """
    if mode not in ("route", "repair", "none"):
        raise RouterError(f'there is no router mode "{mode}"; there are: route, repair, none')
    began = time.monotonic()
    scene = kit.Scene.load(project_dir)
    program = start or write(task, scene, model)
    seen = _Seen(task, scene, model, mode)
    change = ""
    for number in range(first_number, first_number + most):
        report = judge(program, task, scene, project_dir, sandbox, limits)
        this = Round(number, parent, program, report, "", "", 0.0, model.name, change)
        last = mode == "none" or number == first_number + most - 1
        try:
            this, after = seen.decide(this, last)
        except ModelError as error:
            yield replace(this, reason=f"the model failed: {error}", seconds=time.monotonic() - began)
            raise
        yield replace(this, seconds=time.monotonic() - began)
        if after is None:
            return
        began, (parent, program, change) = time.monotonic(), after


def judge(
    program: Program, task: Task, scene: kit.Scene, project_dir: Path, sandbox: Runner, limits: Limits | None = None
) -> Report:
    """Guard, then sandbox, then whether the program means the task. Raises SandboxError."""
    report = check_program(program, project_dir, sandbox, limits)
    return replace(report, checks=(*report.checks, *_meaning(program, task, scene, report)))


def check_program(program: Program, project_dir: Path, sandbox: Runner, limits: Limits | None = None) -> Report:
    """Guard, then sandbox: what `grs-studio check` prints. Raises SandboxError."""
    if findings := guard(program):
        unreadable = next((f.message for f in findings if "cannot be read" in f.message), None)
        return Report(checks=findings, crash=unreadable, violation=None if unreadable else findings[0].message)
    return sandbox.run(program, project_dir, seeds=SEEDS, limits=limits or Limits(seconds=20.0 * len(SEEDS)))[0]


def _meaning(program: Program, task: Task, scene: kit.Scene, report: Report) -> Iterator[CheckResult]:
    """What no check of the program's own can be trusted with: it is about the task, and solved more than once."""
    if not report.reward:
        return
    told = " ".join(str(goal.get("name")) for goal in report.evidence.get("goals", ()))
    said = set(told.replace(",", " ").replace(":", " ").split())
    missing = [name for name in task.objects if name not in said and not left_out(program, task, name)]
    if told and missing:
        words = f"the task names {', '.join(missing)}, no goal of the simulation does"
        yield CheckResult("meaning objects", False, words)
    if lax := lax_goals(program):
        yield CheckResult("meaning goals", False, lax)
    start = report.evidence.get("reward_at_start")
    if start is not None and start > SOLVED:
        yield CheckResult("meaning start", False, "the goals hold before anything moved")
    solved = sum(reward > SOLVED for reward in report.reward)
    if report.reward and report.reward[0] <= SOLVED:
        yield CheckResult(
            "meaning reward", False, f"the oracle reaches {report.reward[0]:.2f} of 1 on the photographed layout"
        )
    elif report.reward and 2 * solved < len(report.reward):
        yield CheckResult("meaning layouts", False, f"solved in {solved} of {len(report.reward)} layouts")


def lax_goals(program: Program) -> str:
    """Which goal of the simulation has a tolerance so wide that it holds almost anywhere; empty where none has."""
    for node in ast.walk(ast.parse(program.simulation)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr != "upright":
            for said in node.keywords:
                number = said.value.value if isinstance(said.value, ast.Constant) else None
                if said.arg == "tolerance" and isinstance(number, int | float) and number > LAX:
                    return f"kit.{node.func.attr} with a tolerance of {number} m holds almost anywhere"
    return ""


def left_out(program: Program, task: Task, name: str) -> bool:
    """Whether the program leaves the object out on purpose, as it may of a task that no person asked for."""
    return (
        task.source != "human"
        and len(task.objects) > 2
        and f'"{name}"' not in program.simulation.replace(f'remove("{name}")', "")
    )


class _Seen:
    """What was run so far: never the same program twice, and back to the best where a repair made things worse."""

    def __init__(self, task: Task, scene: kit.Scene, model: Model, mode: Mode):
        self.task, self.model, self.mode = task, model, mode
        self.scene = scene_data(scene)
        self.rounds: list[Round] = []

    def decide(self, this: Round, last: bool) -> tuple[Round, tuple[int, Program, str] | None]:
        """The round with its route, and parent, program and change of the next one. Raises ModelError."""
        self.rounds.append(this)
        if this.report.clean:
            return self._ended(this, "done", "every check passes and every goal holds")
        if last:
            words = "repairs are off" if self.mode == "none" else f"{len(self.rounds)} rounds were run"
            return self._ended(this, "give_up", f"{words}: {first_failure(this.report)}")
        base = self._base(this)
        data = self._data(base)
        answer = self._asked(data, this.number)
        if answer.route == "give_up":
            return self._ended(this, "give_up", answer.reason)
        side = "repair_checks" if answer.route == "fix_checks" else "repair_simulation"
        asked = Question(
            side,
            {**data, "reason": answer.reason, "kit": kit.__doc__ or ""},
            SourceAnswer,
            about=f"round {this.number}",
        )
        fixed = self.model.ask(asked)
        source, change = str(getattr(fixed, "source", "")), str(getattr(fixed, "reason", ""))
        program = replace(base.program, **{"checks" if side == "repair_checks" else "simulation": source})
        if any(program == before.program for before in self.rounds):
            return self._ended(this, "give_up", f"{answer.reason} (the repair changes nothing that was not tried)")
        back = f"; back to round {base.number}, which did better" if base is not this else ""
        this = replace(this, route=answer.route, reason=answer.reason + back)
        self.rounds[-1] = this
        return this, (base.number, program, change)

    def _ended(self, this: Round, word: str, reason: str) -> tuple[Round, None]:
        return replace(this, route=word, reason=reason), None

    def _base(self, this: Round) -> Round:
        """The best round so far where this one, made by changing the simulation, is worse; else this one."""
        if len(self.rounds) < 2 or self.rounds[-2].route == "fix_checks":
            return this
        best = max(self.rounds, key=lambda r: merit(r.report))
        return best if merit(best.report) > merit(this.report) else this

    def _asked(self, data: Mapping[str, Any], number: int) -> RouteAnswer:
        if self.mode == "repair":
            failure = data["report"].get("crash") or next(
                (c["message"] for c in data["report"]["checks"] if not c["passed"]), ""
            )
            return RouteAnswer(
                route="fix_simulation", reason=f"only the simulation may be repaired: {failure}", confidence=1
            )
        answer = self.model.ask(Question("route", data, RouteAnswer, about=f"round {number}"))
        if not isinstance(answer, RouteAnswer):
            raise ModelError(f"the model answered with {type(answer).__name__}, not with a route")
        return answer

    def _data(self, base: Round) -> dict[str, Any]:
        history = [
            {
                "round": r.number,
                "from": r.parent,
                "changed": r.change,
                "reward": list(r.report.reward),
                "failed": first_failure(r.report),
            }
            for r in self.rounds
        ]
        return {
            "task": task_to_json(self.task),
            "scene": self.scene,
            "simulation": base.program.simulation,
            "checks": base.program.checks,
            "report": report_json(base.report),
            "history": history,
            "tried": [[r.program.simulation, r.program.checks] for r in self.rounds],
        }


def merit(report: Report) -> float:
    """Its mean reward, whatever the checks say; -1 where no rollout came to an end."""
    return sum(report.reward) / len(report.reward) if report.reward else -1.0


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
    (folder / "report.json").write_text(json.dumps(said, indent=1, ensure_ascii=False), "utf-8")
    keys = [
        "number", "parent", "route", "reason", "change", "source",
        "reward", "clean", "crash", "timed_out", "violation", "at", "task",
    ]  # fmt: skip
    line = {key: said[key] for key in keys}
    line |= {"failed": [c["name"] for c in said["checks"] if not c["passed"]], "seconds": said["round_seconds"]}
    with (Path(project_dir) / "rounds.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(line, ensure_ascii=False) + "\n")
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
            said.get("task", ""),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None

"""Rounds: judge a program, decide which side is at fault, have it repaired, and never go in circles."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from pipeline.errors import StudioError
from pipeline.models import Model, ModelError, Question
from pipeline.router.evidence import mute, partial, told
from pipeline.router.judging import Runner, judge
from pipeline.router.round import Round, first_failure, merit, report_json
from pipeline.simulation import Program, kit
from pipeline.simulation.sandbox import Limits
from pipeline.simulation.source import same
from pipeline.tasks import Task, scene_data, task_to_json

Mode = Literal["route", "repair", "none"]
MODES = ("route", "repair", "none")
UNSURE = 0.3
"""Confidence below which a person is asked instead of another round being spent."""


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
    """Rounds until one is clean, nothing is left to try, a person has to be asked, or `most` were run.

    `start` is a program to go on from (a person's, made of round `parent`) instead of a new one. Mode "route" lets the
    model choose the side, "repair" always repairs the simulation, "none" runs once. Raises ModelError and SandboxError,
    which never count against a program; a round that was run is yielded before.
    """
    if mode not in MODES:
        raise RouterError(f'there is no router mode "{mode}"; there are: {", ".join(MODES)}')
    began = time.monotonic()
    scene = kit.Scene.load(project_dir)
    program = start or write(task, scene, model)
    course = _Course(task, scene, model, mode)
    change = ""
    for number in range(first_number, first_number + most):
        report = judge(program, task, scene, project_dir, sandbox, limits)
        this = Round(number, parent, program, report, "", "", 0.0, model.name, change)
        last = mode == "none" or number == first_number + most - 1
        try:
            this, after = course.decide(this, last)
        except ModelError as error:
            yield replace(this, reason=f"the model failed: {error}", seconds=time.monotonic() - began)
            raise
        yield replace(this, seconds=time.monotonic() - began)
        if after is None:
            return
        began, (parent, program, change) = time.monotonic(), (after.parent, after.program, after.change)


@dataclass(frozen=True)
class _Next:
    """What the next round runs."""

    parent: int
    program: Program
    change: str


class _Course:
    """The rounds so far: never the same program twice, and back to the best where a repair made things worse."""

    def __init__(self, task: Task, scene: kit.Scene, model: Model, mode: Mode):
        self.task, self.model, self.mode = task, model, mode
        self.scene = scene_data(scene)
        self.rounds: list[Round] = []

    def decide(self, this: Round, last: bool) -> tuple[Round, _Next | None]:
        """The round with its route, and what the next one runs. Raises ModelError."""
        self.rounds.append(this)
        if this.report.clean:
            return replace(this, route="done", reason="every check passes and every goal holds"), None
        if last:
            words = "repairs are off" if self.mode == "none" else f"{len(self.rounds)} rounds were run"
            return replace(this, route="give_up", reason=f"{words}: {first_failure(this.report)}"), None
        base = self._base(this)
        answer = self._answer(base)
        this = replace(this, confidence=answer.confidence)
        if answer.route == "give_up":
            return replace(this, route="give_up", reason=answer.reason), None
        if answer.confidence < UNSURE:
            return replace(this, route="ask", reason=_question(answer)), None
        for way in (self._enriching(base, answer), answer):
            if way and (after := self._repaired(base, way)):
                back = f"; back to round {base.number}, which did better" if base.number != this.number else ""
                this = replace(this, route=way.route, reason=way.reason + back)
                self.rounds[-1] = this
                return this, after
        words = f"{answer.reason} (the repair changes nothing that was not tried)"
        return replace(this, route="give_up", reason=words), None

    def _base(self, this: Round) -> Round:
        """The best round so far where this one, made by changing the simulation, is worse; else this one."""
        if len(self.rounds) < 2 or self.rounds[-2].route == "fix_checks":
            return this
        best = max(self.rounds, key=lambda r: merit(r.report)[0])
        return best if merit(best.report)[0] > merit(this.report)[0] else this

    def _answer(self, base: Round) -> RouteAnswer:
        """Which side is to be repaired. Raises ModelError."""
        if self.mode == "repair":
            failure = first_failure(base.report)
            words = f"only the simulation may be repaired: {failure}"
            return RouteAnswer(route="fix_simulation", reason=words, confidence=1)
        answer = self.model.ask(Question("route", self._data(base), RouteAnswer, about=f"round {base.number}"))
        if not isinstance(answer, RouteAnswer):
            raise ModelError(f"the model answered with {type(answer).__name__}, not with a route")
        return answer

    def _enriching(self, base: Round, answer: RouteAnswer) -> RouteAnswer | None:
        """Where a program fails without a word: its checks are made to speak before the simulation is touched, once."""
        enriched = any(r.route == "fix_checks" for r in self.rounds)
        if self.mode == "repair" or answer.route != "fix_simulation" or enriched or not mute(base.report):
            return None
        words = f"no check says why: they need diagnostics before the simulation is touched ({answer.reason})"
        return answer.model_copy(update={"route": "fix_checks", "reason": words})

    def _repaired(self, base: Round, answer: RouteAnswer) -> _Next | None:
        """A program not run before, or None: a model that repeats itself is told so, once."""
        side = "checks" if answer.route == "fix_checks" else "simulation"
        reason = answer.reason
        if side == "simulation" and partial(base.report):
            reason += f"; it is partly solved (reward {base.report.reward[0]:.2f}), so make it simpler, not other"
        for _ in range(2):
            data = {**self._data(base), "reason": reason, "kit": kit.__doc__ or ""}
            fixed = self.model.ask(Question(f"repair_{side}", data, SourceAnswer, about=f"round {base.number}"))
            source, change = str(getattr(fixed, "source", "")), str(getattr(fixed, "reason", ""))
            program = replace(base.program, **{side: source})
            before = next((r for r in self.rounds if same(program, r.program)), None)
            if before is None:
                return _Next(base.number, program, change)
            if self.model.name == "rules":  # by rule the same question has the same answer
                return None
            reason = (
                f"{answer.reason}; your last answer is the program of round {before.number}, which failed: change more"
            )
        return None

    def _data(self, base: Round) -> dict[str, Any]:
        return {
            "task": task_to_json(self.task),
            "scene": self.scene,
            "simulation": base.program.simulation,
            "checks": base.program.checks,
            "report": report_json(base.report) | {"summary": list(told(base.program, base.report))},
            "history": [_history(r) for r in self.rounds],
            "tried": [[r.program.simulation, r.program.checks] for r in self.rounds],
        }


def _history(r: Round) -> Mapping[str, Any]:
    return {
        "round": r.number,
        "from": r.parent,
        "changed": r.change,
        "reward": list(r.report.reward),
        "failed": first_failure(r.report),
    }


def _question(answer: RouteAnswer) -> str:
    side = "the checks" if answer.route == "fix_checks" else "the simulation"
    return (
        f"not sure ({answer.confidence:.0%}) that {side} should change: {answer.reason}. "
        "Edit either side, or the task's words, and go on from here"
    )

"""The router's loop: judge a program, decide which side is at fault, have it repaired, and never repeat a program."""

import re
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from pipeline.errors import StudioError
from pipeline.models import Model, ModelError, Question, has_language
from pipeline.router.failure_summary import failed_checks, fails_silently, partly_solved, report_for_model
from pipeline.router.judging import ProgramRunner, judge
from pipeline.router.round import Round, first_failure, score
from pipeline.simulation import Program, kit
from pipeline.simulation.free_space import overlapping
from pipeline.simulation.goals.sentences import planned_to_json
from pipeline.simulation.program import RULES, same_program
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.sandbox import Limits
from pipeline.tasks import Task, question_task, scene_to_json

Mode = Literal["route", "repair", "none"]
MODES = ("route", "repair", "none")
NO_PLAIN_TEXT = re.compile(r"[\"\\{}\n\r]")
"""Characters with a meaning in a Python string literal or an f-string."""
OWN_TEXTS = ("kit", "examples")
"""Values that no text of the scene or of a person is in."""
UNFINISHED = (
    "{}: the physics of this scene takes too long, which is no fault of the program. "
    "Use fewer objects or goals, or continue from here"
)
MAX_HISTORY = 160
"""Characters of a round's failure in the history of later questions."""
MIN_CONFIDENCE = 0.3
"""Below this confidence the user is asked instead of running another round."""


class RouterError(StudioError):
    """Unknown router mode."""


class ProgramAnswer(BaseModel):
    """Answer to "write_program"."""

    simulation: str
    checks: str


class RouteAnswer(BaseModel):
    """Answer to "route"."""

    route: Literal["fix_simulation", "fix_checks", "give_up"]
    reason: str
    confidence: float = Field(default=0.5, ge=0, le=1)


class SourceAnswer(BaseModel):
    """Answer to "repair_simulation" and "repair_checks"."""

    source: str
    reason: str = ""
    """What was changed, one sentence."""


@dataclass(frozen=True)
class RunningRound:
    """A round that is being judged, with one of its rollouts."""

    number: int
    parent: int | None
    """Number of the round that its program was made from."""
    program: Program
    change: str
    """What was changed from the parent, one sentence."""
    record: RunRecord


@dataclass(frozen=True)
class RouteContext:
    """What the model gets besides task, scene and report."""

    notes: Mapping[str, str] = field(default_factory=dict)
    """A description of each object by name, with its matched asset."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """Solved programs of other scenes as JSON values, nearest first; for the first program only."""
    doubtful: Mapping[str, str] = field(default_factory=dict)
    """Why an object's size is a guess, by its name."""


@dataclass(frozen=True)
class RouteOptions:
    """How the router works."""

    mode: Mode = "route"
    """"route": the model chooses the side; "repair": always the simulation; "none": a single round."""
    max_rounds: int = 8
    limits: Limits | None = None
    """Limits of each run; None for the default."""
    context: RouteContext = field(default_factory=RouteContext)
    on_rollout: Callable[[RunningRound], None] | None = None
    """Called as soon as a layout of a round has been rolled out, from another thread."""

    def watch(self, number: int, parent: int | None, program: Program, change: str) -> Callable[[RunRecord], None]:
        """Return the function that reports the rollouts of a round."""

        def report(record: RunRecord) -> None:
            if self.on_rollout:
                self.on_rollout(RunningRound(number, parent, program, change, record))

        return report


@dataclass(frozen=True)
class RouteStart:
    """Where the router starts."""

    program: Program | None = None
    """Program of the first round, such as a person's edit; None to have one written."""
    parent: int | None = None
    """Number of the round that the program was made from."""
    number: int = 0
    """Number of the first round."""


def write_program(task: Task, scene: kit.Scene, model: Model, context: RouteContext | None = None) -> Program:
    """Have the model write a first program for the task. Raises ModelError."""
    context = context or RouteContext()
    data = {
        "task": question_task(task),
        "planned": planned_to_json(task.planned),
        "scene": _scene_data(scene, context),
        "kit": kit_manual(),
    }
    data["examples"] = list(context.examples)
    answer = model.ask(Question("write_program", data, ProgramAnswer, subject=task.name))
    return Program(str(getattr(answer, "simulation", "")), str(getattr(answer, "checks", "")), _author(model, data))


def route(
    task: Task,
    project_dir: Path,
    model: Model,
    sandbox: ProgramRunner,
    options: RouteOptions | None = None,
    start: RouteStart | None = None,
) -> Iterator[Round]:
    """Yield rounds until one is clean, no repair is left, the user has to decide, or the maximum is reached.

    Raises ModelError and SandboxError, which never count against a program; a round that has run is yielded first.
    """
    options, start = options or RouteOptions(), start or RouteStart()
    mode = options.mode
    if mode not in MODES:
        raise RouterError(f'there is no router mode "{mode}"; choose one of {", ".join(MODES)}')
    start_time = time.monotonic()
    scene = kit.Scene.load(project_dir)
    program, parent = start.program or write_program(task, scene, model, options.context), start.parent
    decider = _Decider(task, scene, model, options)
    change = ""
    for number in range(start.number, start.number + options.max_rounds):
        on_rollout = options.watch(number, parent, program, change)
        report = judge(program, task, scene, project_dir, sandbox, options.limits, on_rollout)
        this = Round(number, parent, program, report, "", "", 0.0, model.name, change)
        is_last = mode == "none" or number == start.number + options.max_rounds - 1
        try:
            this, repair = decider.decide(this, is_last)
        except ModelError as error:
            yield replace(this, reason=f"the model failed: {error}", seconds=time.monotonic() - start_time)
            raise
        yield replace(this, seconds=time.monotonic() - start_time)
        if repair is None:
            return
        start_time, (parent, program, change) = time.monotonic(), (repair.parent, repair.program, repair.change)


@dataclass(frozen=True)
class _Repair:
    """Program of the next round."""

    parent: int
    program: Program
    change: str


class _Decider:
    """Decides on each round: never runs a program twice, and returns to the best round if a repair made it worse."""

    def __init__(self, task: Task, scene: kit.Scene, model: Model, options: RouteOptions):
        self.task, self.model, self.mode = task, model, options.mode
        self.scene = _scene_data(scene, options.context)
        self.rounds: list[Round] = []

    def decide(self, this: Round, is_last: bool) -> tuple[Round, _Repair | None]:
        """Return the round with its route, and the program of the next round if any. Raises ModelError."""
        self.rounds.append(this)
        if this.report.clean:
            return replace(this, route="done", reason="every check passes and every goal is met"), None
        if is_last:
            cause = "repair is off" if self.mode == "none" else f"{len(self.rounds)} rounds were run"
            return replace(this, route="give_up", reason=f"{cause}: {first_failure(this.report)}"), None
        if this.report.timed_out and (unfinished := this.report.evidence.get("unfinished")):
            return replace(this, route="ask", reason=UNFINISHED.format(unfinished[0])), None
        base = self._base(this)
        answer = self._answer(base)
        this = replace(this, confidence=answer.confidence)
        if answer.route == "give_up":
            return replace(this, route="give_up", reason=answer.reason), None
        if answer.confidence < MIN_CONFIDENCE:
            return replace(this, route="ask", reason=_ask_user(answer)), None
        for choice in (self._diagnostics_first(base, answer), answer):
            if choice and (repair := self._repair(base, choice)):
                back = f"; returning to round {base.number}, which was better" if base.number != this.number else ""
                this = replace(this, route=choice.route, reason=choice.reason + back)
                self.rounds[-1] = this
                return this, repair
        return replace(this, route="give_up", reason=f"{answer.reason} (every repair was tried before)"), None

    def _base(self, this: Round) -> Round:
        """Return the best round so far if this one, with a changed simulation, is worse; else this one."""
        if len(self.rounds) < 2 or self.rounds[-2].route == "fix_checks":
            return this
        best = max(self.rounds, key=lambda r: score(r.report)[0])
        return best if score(best.report)[0] > score(this.report)[0] else this

    def _answer(self, base: Round) -> RouteAnswer:
        """Return which side is to be repaired. Raises ModelError."""
        if self.mode == "repair":
            failure = first_failure(base.report)
            reason = f"only the simulation may be repaired: {failure}"
            return RouteAnswer(route="fix_simulation", reason=reason, confidence=1)
        answer = self.model.ask(Question("route", self._data(base), RouteAnswer, subject=f"round {base.number}"))
        if not isinstance(answer, RouteAnswer):
            raise ModelError(f"the model answered with {type(answer).__name__}, not with a route")
        return answer

    def _diagnostics_first(self, base: Round, answer: RouteAnswer) -> RouteAnswer | None:
        """Return the route to the checks if no failed check says why: they get messages first, once."""
        checks_fixed = any(r.route == "fix_checks" for r in self.rounds)
        if self.mode == "repair" or answer.route != "fix_simulation" or checks_fixed or not fails_silently(base.report):
            return None
        reason = f"no check says why: they need diagnostics before the simulation is changed ({answer.reason})"
        return answer.model_copy(update={"route": "fix_checks", "reason": reason})

    def _repair(self, base: Round, answer: RouteAnswer) -> _Repair | None:
        """Return a repaired program that has not run before, or None; a model that repeats one is asked again once."""
        side = "checks" if answer.route == "fix_checks" else "simulation"
        reason = answer.reason
        if side == "simulation" and partly_solved(base.report):
            reason += f"; it is partly solved (reward {base.report.reward[0]:.2f}), so make it simpler, not different"
        author = _author(self.model, self.scene)
        author = base.program.source if author == RULES else author  # the rules repair what others wrote, too
        for _ in range(2):
            data = {**self._data(base), "reason": reason, "kit": kit_manual()}
            repaired = self.model.ask(Question(f"repair_{side}", data, SourceAnswer, subject=f"round {base.number}"))
            source, change = str(getattr(repaired, "source", "")), str(getattr(repaired, "reason", ""))
            program = replace(base.program, **{side: source, "source": author})
            repeated = next((r for r in self.rounds if same_program(program, r.program)), None)
            if repeated is None:
                return _Repair(base.number, program, change)
            if self.model.name == "rules":  # the rules answer the same question in the same way
                return None
            reason = f"{answer.reason}; your answer is the failed program of round {repeated.number}: change more"
        return None

    def _data(self, base: Round) -> dict[str, Any]:
        return {
            "task": question_task(self.task),
            "planned": planned_to_json(self.task.planned),
            "scene": self.scene,
            "simulation": base.program.simulation,
            "checks": base.program.checks,
            "failed_checks": failed_checks(base.program, base.report),
            "report": report_for_model(base.program, base.report),
            "history": [_history(r) for r in self.rounds],
            "tried": [[r.program.simulation, r.program.checks] for r in self.rounds],
        }


def _scene_data(scene: kit.Scene, context: RouteContext) -> dict[str, Any]:
    """Return a scene as questions about programs hold it, with the objects that reach into each other."""
    data = scene_for_program(scene_to_json(scene, context.notes, context.doubtful))
    rows = {row["name"]: row for row in data["objects"]}
    for a, b in overlapping(scene.objects):
        rows[a.name]["overlaps"] = f"{b.name}: a pick would carry both, move one first"
    return data


def scene_for_program(data: dict[str, Any]) -> dict[str, Any]:
    """Return a scene of `scene_to_json` as questions about programs hold it: without what follows from the rest."""
    del data["table"]["bounds"]
    for row in data["objects"]:
        del row["volume"]  # the program reads .volume
        told = {"container": not row["container"], "category": row["category"] == row["shape"]}
        told |= {"asset": f"[library asset {row['asset']}" in row["caption"] or not row["asset"]}
        for name in [name for name, is_told in told.items() if is_told]:
            del row[name]
    return data


def kit_manual() -> str:
    """Return the kit's documentation without the spaces that align it."""
    return re.sub(r"(?<=\S) {3,}", "  ", re.sub(r"(?m)^ {12,}", " " * 8, kit.__doc__ or ""))


def _author(model: Model, data: Any) -> str:
    """Return the source of what a model writes about the data.

    RULES is for our own rules only, whatever another model is called, and only where no text of the data could end the
    string literal that the rules put it in.
    """
    return f"model {model.name}" if has_language(model) or NO_PLAIN_TEXT.search(_texts(data)) else RULES


def _texts(value: Any) -> str:
    """Return every text in JSON values, but the kit's own and that of examples, which the rules do not use."""
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_texts(item)}" for key, item in value.items() if key not in OWN_TEXTS)
    if isinstance(value, list | tuple):
        return " ".join(map(_texts, value))
    return value if isinstance(value, str) else ""


def _history(r: Round) -> Mapping[str, Any]:
    return {
        "round": r.number,
        "from": r.parent,
        "changed": r.change,
        "reward": list(r.report.reward),
        "failed": textwrap.shorten(first_failure(r.report), MAX_HISTORY),
    }


def _ask_user(answer: RouteAnswer) -> str:
    side = "the checks" if answer.route == "fix_checks" else "the simulation"
    return (
        f"not sure ({answer.confidence:.0%}) that {side} should change: {answer.reason}. "
        "Edit the simulation, the checks or the task, and continue from here"
    )

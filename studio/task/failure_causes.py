"""Why a round failed: the most telling facts with their moment, and what to try instead."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.object_words import ObjectWords, object_words
from pipeline.planner.plans import TaskPlan
from pipeline.planner.proposals import alternatives, proposals
from pipeline.rehearsal import read_rehearsal
from pipeline.router import Round
from pipeline.simulation import kit
from pipeline.tasks import Task, scene_to_json
from studio.sessions.project_work import EditedRound
from studio.sessions.session import Session
from studio.texts import t
from studio.web.errors import RequestError

MAX_FACTS, MAX_PLACES = 3, 2
AT_START = "meaning start"
"""Check of the router that fails if the goals hold before anything moved."""
WIDENING = 2.0
"""Factor by which tolerances and zones are widened."""
MAX_TOLERANCE_M = 0.12
"""Beyond this the router refuses a tolerance."""
TIPPED_RAD, PUSHED_M = 0.35, 0.02
NUMBER = r"\d*\.?\d+(?:e-?\d+)?"


def failure_causes(session: Session, shown: Round) -> dict[str, Any] | None:
    """Return {facts: [{text, instant}], remedies: [{kind, title, instruction}]}; None for a round that passed."""
    if shown.report.clean:
        return None
    facts = list({fact["text"]: fact for fact in _facts(shown, object_words(session.project))}.values())[:MAX_FACTS]
    return {"facts": facts, "remedies": list(_remedies(session, shown))}


def try_remedy(session: Session, message: Mapping[str, Any]) -> None:
    """Try a remedy {number, kind, instruction}: widen the round's goals, or generate another task."""
    if message.get("kind") != "widen":
        return session.generate(str(message.get("instruction") or ""), "route")
    shown = next((one for one in session.project.rounds() if one.number == message.get("number")), None)
    if shown is None:
        raise RequestError("That round no longer exists; choose another.")
    edited = widened(shown.program.simulation)
    session.continue_from(EditedRound(shown.number, edited, shown.program.checks, shown.task), "route")
    return None


def widened(simulation: str) -> str:
    """Return simulation.py with larger tolerances and zones; unchanged if it names none."""

    def larger(number: re.Match, limit: float = 9.0) -> str:
        return f"{min(WIDENING * float(number[0]), max(limit, float(number[0]))):.4g}"

    text = re.sub(rf"(?<=tolerance=){NUMBER}", lambda m: larger(m, MAX_TOLERANCE_M), simulation)
    return re.sub(r"(?<=size=)(\([^()]*\)|[\d.]+)", lambda m: re.sub(NUMBER, larger, m[0]), text)


def _facts(shown: Round, words: ObjectWords) -> Iterator[dict[str, Any]]:
    """Yield findings, the most telling first."""
    report, evidence = shown.report, shown.report.evidence
    for title, text in ((t("Refused"), report.violation), (t("Crashed"), report.crash)):
        if text:
            yield _fact(f"{title}: {text}")
    if report.timed_out:
        yield _fact(str(evidence.get("stopped") or t("Timed out")))
    for event in evidence.get("events") or ():
        if not event.get("ok") and event.get("message"):
            gave_up = event.get("verb") == "give up"
            action = t("gave up on") if gave_up else t("could not {verb}", verb=event.get("verb"))
            text = t(
                "The robot {action} {object}: {message}",
                action=action,
                object=words.of(str(event.get("object"))),
                message=_in_words(words, str(event["message"])),
            )
            yield _fact(text, event.get("time"))
    end = evidence.get("simulated_seconds")
    for goal in evidence.get("goals") or ():
        if not goal.get("met"):
            yield _goal_fact(goal, end, words)
    for name, motion in (evidence.get("objects") or {}).items():
        if (motion.get("top") or 1) < 0:
            yield _fact(t("{name} fell off the table", name=words.of(name)), end)
        elif (motion.get("turned") or 0) > TIPPED_RAD:
            yield _fact(
                t("{name} tipped over by {turned}°", name=words.of(name), turned=f"{motion['turned'] * 57.3:.0f}"), end
            )
        elif (motion.get("pushed") or 0) > PUSHED_M:
            yield _fact(
                t(
                    "{name} was pushed {pushed} cm and never picked up",
                    name=words.of(name),
                    pushed=f"{motion['pushed'] * 100:.0f}",
                ),
                end,
            )
    why = str(evidence.get("why") or t("no reason"))
    for check in report.checks:
        if not check.passed and check.message and why not in check.message:
            yield _fact(_in_words(words, check.message), check.instant if check.instant is not None else end)


def _goal_fact(goal: Mapping[str, Any], end: float | None, words: ObjectWords) -> dict[str, Any]:
    name, miss = _in_words(words, str(goal.get("name"))), goal.get("miss")
    held = [time for time, missed in goal.get("over_time") or () if missed is not None and missed <= 0]
    if held:
        return _fact(t("“{name}” held at {held} s and was lost again", name=name, held=f"{held[-1]:.1f}"), held[-1])
    nearest = goal.get("nearest_miss")
    short = t(" by {miss} cm", miss=f"{miss * 100:.1f}") if isinstance(miss, int | float) else ""
    near = isinstance(nearest, int | float) and isinstance(miss, int | float) and nearest < miss - 0.001
    best = t("; it came within {nearest} cm", nearest=f"{nearest * 100:.1f}") if near and nearest is not None else ""
    return _fact(t("“{name}” is missed{short} at the end{best}", name=name, short=short, best=best), end)


def _fact(text: str, instant: float | None = None) -> dict[str, Any]:
    return {"text": text[:1].upper() + text[1:], "instant": instant}


def _remedies(session: Session, shown: Round) -> Iterator[dict[str, str]]:
    if widened(shown.program.simulation) != shown.program.simulation:
        yield {"kind": "widen", "title": t("Widen the goals"), "instruction": ""}
    task, proposed = session.project.task(), [one for one in session.project.tasks() or () if _may_work(session, one)]
    if task is None:
        return
    named = object_words(session.project).with_display_names
    others = [one for one in proposed if one.instruction != shown.task]
    if any(check.name == AT_START and not check.passed for check in shown.report.checks):
        for instruction in _elsewhere(session, task, others):
            yield {"kind": "other place", "title": t("Try another place for it"), "instruction": named(instruction)}
        return
    other = next((one for one in others if one.kind == task.kind and set(one.objects) - set(task.objects)), None)
    if other:
        yield {"kind": "other object", "title": t("Try another object"), "instruction": named(other.instruction)}
    smaller = min(others, key=lambda one: (len(one.objects), len(one.goals), one.difficulty or 0.0), default=None)
    if smaller and smaller is not other and len(smaller.objects) <= max(1, len(task.objects)):
        yield {"kind": "smaller task", "title": t("Try a smaller task"), "instruction": named(smaller.instruction)}


def _elsewhere(session: Session, task: Task, proposed: Sequence[Task]) -> list[str]:
    """Return instructions that move what the task moves to another place: goals that it meets at the start are no task.

    Proposed ones come first.
    """
    moved = task.planned[0].names[0] if task.planned else next(iter(task.objects), "")
    met = {(goal.kind, goal.names) for goal in task.planned}

    def plans() -> tuple[TaskPlan, ...]:
        scene = scene_to_json(kit.Scene.load(session.project.folder))
        return (*proposals(scene), *alternatives(scene))

    others = [one.instruction for one in proposed if one.planned and all(g.carried == (moved,) for g in one.planned)]
    others += [
        plan.instruction
        for plan in session.cache.get("task plans", "scene.json", plans)
        if all(goal.carried == (moved,) and (goal.kind, goal.names) not in met for goal in plan.goals)
    ]
    return list(dict.fromkeys(others))[:MAX_PLACES]


def _may_work(session: Session, task: Task) -> bool:
    """Whether no rehearsal of a proposed task has failed."""
    rehearsal = read_rehearsal(task, session.project.folder)
    return rehearsal is None or rehearsal.solved is True


def _in_words(words: ObjectWords, text: str) -> str:
    return words.in_words(text) if words.plain else text.replace("_", " ")

"""The offline rules: a planner on measured attributes that answers every question of the method. It says so."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.models.model import ModelError, Question
from pipeline.models.rules import mend_checks, mend_simulation, writer
from pipeline.models.rules.aims import Aim, listed, read
from pipeline.models.rules.diagnosis import Fault, diagnose
from pipeline.models.rules.instructions import Instructions
from pipeline.models.rules.plans import Plan, Table, difficulty, why_not
from pipeline.models.rules.proposals import proposals
from pipeline.models.rules.references import Reader, Unclear
from pipeline.models.rules.things import things
from pipeline.models.rules.words import COLOURS, FILLER, SHAPES

LONGEST = 600
"""Letters of an instruction that are read."""
OFFERED = 3
"""How many instructions are offered for one that does not fit."""


class RulesModel:
    """Answers every kind of question by rule, from the question's data alone."""

    name, reads = "rules", False

    def ask(self, question: Question) -> BaseModel:
        """Raises ModelError where the rules have no answer."""
        answer = _ANSWERS.get(question.kind)
        if answer is None:
            raise ModelError(f'the offline rules do not answer "{question.kind}"; they answer: {", ".join(_ANSWERS)}')
        try:
            return question.answer.model_validate(answer(question.data))
        except ValidationError as error:
            raise ModelError(
                f"the offline rules cannot fill {question.answer.__name__}: {error.errors()[0]['msg']}"
            ) from error


def _describe(data: Mapping[str, Any]) -> dict[str, Any]:
    return dict(data["measured"])


def _propose(data: Mapping[str, Any]) -> dict[str, Any]:
    scene = data["scene"]
    best = proposals(scene)[: int(data.get("count", 8))]
    return {"tasks": [plan.answer() | {"difficulty": difficulty(plan.aims, scene)} for plan in best]}


def _understand(data: Mapping[str, Any]) -> dict[str, Any]:
    text, scene = " ".join(str(data["text"]).split()), data["scene"]
    try:
        plan = _plan(text, scene)
        return {"fits": True, "reason": "", **plan.answer(text), "difficulty": difficulty(plan.aims, scene)}
    except Unclear as unclear:
        instead = _with(listed(unclear.meant), text, unclear, scene) if unclear.meant else ""
        either = [words for name in unclear.either if (words := _with(name, text, unclear, scene))]
        works = [] if instead else either or _nearest(text, scene)
        return {"fits": False, "reason": str(unclear), "instead": instead, "works": works[:OFFERED]}


def _nearest(text: str, scene: Mapping[str, Any]) -> list[str]:
    """What could be done here, first what has most words in common with what was asked for."""
    said = set(re.findall(r"[a-z]{3,}", text.lower().replace("_", " "))) - FILLER
    could = [plan.instruction for plan in proposals(scene)]
    return sorted(could, key=lambda one: -len(said & set(re.findall("[a-z]+", one.lower().replace("_", " ")))))


def _with(name: str, text: str, unclear: Unclear, scene: Mapping[str, Any]) -> str:
    """The words with those that fit nothing exchanged for what may be meant; empty where that makes no task."""
    if not unclear.word:
        return ""
    looks = "|".join(map(re.escape, [*COLOURS, *SHAPES]))
    said = rf"\b(?:(?:{looks})\s+)*{re.escape(unclear.word)}\b"
    words = re.sub(said, name, text, flags=re.I)
    try:
        _plan(words, scene)
    except Unclear:
        return ""
    return words if words != text else ""


def _plan(text: str, scene: Mapping[str, Any]) -> Plan:
    if not text:
        raise Unclear("the instruction is empty: say what shall be done with which object")
    if len(text) > LONGEST:
        raise Unclear(
            f"the instruction has {len(text)} letters; the offline rules read at most {LONGEST}: say it shorter"
        )
    table = Table.of(scene)
    plan = Instructions(Reader(things(scene), table.right, table.away), table).read(text)
    reason = why_not(plan.aims, scene)
    if "no free place" in reason and plan.kind == "gather":  # no room for a bin: a marked zone does as well
        zoned = tuple(replace(a, verb="in_zone", names=(a.names[0], "discard_zone"), new=False) for a in plan.aims)
        plan, reason = Plan(plan.kind, zoned), why_not(zoned, scene)
    if reason:
        raise Unclear(reason)
    return plan


def _aims(data: Mapping[str, Any]) -> tuple[Aim, ...]:
    """A task's goals, read as the rules write them, or else its instruction read as a person's words."""
    task, scene = data["task"], data["scene"]
    known = {o["name"] for o in scene["objects"]}
    aims = read(task.get("goals") or ())
    if aims and all(n in known for a in aims for n in a.objects):
        return aims
    try:
        return _plan(task.get("instruction") or "", scene).aims
    except Unclear as unclear:
        raise ModelError(f"the offline rules cannot write a program for this task: {unclear}") from unclear


def _write(data: Mapping[str, Any]) -> dict[str, Any]:
    aims = _aims(data)
    if reason := why_not(aims, data["scene"]):
        raise ModelError(f"the offline rules write no program for this task: {reason}")
    return {
        "simulation": writer.simulation(data["task"]["instruction"], aims, data["scene"]),
        "checks": writer.checks_source(aims),
    }


def _new(data: Mapping[str, Any], fault: Fault, side: str) -> Iterator[tuple[str, str]]:
    """The mends of one side that give a program not run before."""
    simulation, checks = data["simulation"], data["checks"]
    tried = [[simulation, checks], *data.get("tried", ())]
    room = mend_simulation if side == "fix_simulation" else mend_checks
    for text, what in room.mends(data, fault):
        if text.strip() and ([text, checks] if side == "fix_simulation" else [simulation, text]) not in tried:
            yield text, what


def _route(data: Mapping[str, Any]) -> dict[str, Any]:
    fault = diagnose(data)
    if fault is None:
        return {"route": "give_up", "reason": "nothing in the report says what is wrong", "confidence": 0.2}
    other = "fix_checks" if fault.route == "fix_simulation" else "fix_simulation"
    if next(_new(data, fault, fault.route), None):
        return {"route": fault.route, "reason": fault.reason, "confidence": fault.confidence}
    if fault.kind == "silent" and next(_new(data, fault, other), None):
        reason = f"{fault.reason}; the rules have no better checks, so the simulation has to change"
        return {"route": other, "reason": reason, "confidence": 0.4}
    return {"route": "give_up", "reason": f"the rules have nothing left to try: {fault.reason}", "confidence": 0.6}


def _repair(side: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def repair(data: Mapping[str, Any]) -> dict[str, Any]:
        now = data["simulation" if side == "fix_simulation" else "checks"]
        fault = diagnose(data)
        found = next(_new(data, fault, side), None) if fault else None
        text, what = found or (now, "the rules have nothing left to try on this side")
        return {"source": text, "reason": what}

    return repair


_ANSWERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "describe_segment": _describe,
    "propose_tasks": _propose,
    "understand_task": _understand,
    "write_program": _write,
    "route": _route,
    "repair_simulation": _repair("fix_simulation"),
    "repair_checks": _repair("fix_checks"),
}

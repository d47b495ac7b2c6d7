"""The offline planner: answers every question of the method by rules on measured attributes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.models.model import ModelError, Question
from pipeline.planner import program_writer
from pipeline.planner.decomposition import decompose
from pipeline.planner.diagnosis import Diagnosis, diagnose
from pipeline.planner.language.lexicon import UnclearPhrase
from pipeline.planner.language.reader import InstructionReader
from pipeline.planner.language.requests import refusal
from pipeline.planner.language.wording import in_plain_words
from pipeline.planner.offers import offers
from pipeline.planner.plans import TaskPlan, difficulty, why_infeasible
from pipeline.planner.proposals import alternatives, proposals
from pipeline.planner.repairs import repair_checks, repair_simulation
from pipeline.planner.scene_objects import TableTop, scene_objects
from pipeline.simulation.goals.sentences import read_sentences, stated_goals
from pipeline.simulation.goals.spec import PlannedGoal

MAX_LETTERS = 600
"""Longest instruction that is read, in letters."""


class PlannerModel:
    """Answers every kind of question by rule, from the question's data alone."""

    name, has_language = "rules", False

    def ask(self, question: Question) -> BaseModel:
        """Return the answer to a question. Raises ModelError where the rules have none."""
        answer = _ANSWERS.get(question.kind)
        if answer is None:
            raise ModelError(f'the offline rules do not answer "{question.kind}"; they answer: {", ".join(_ANSWERS)}')
        try:
            return question.answer_type.model_validate(answer(question.data))
        except ValidationError as error:
            raise ModelError(
                f"the offline rules cannot fill {question.answer_type.__name__}: {error.errors()[0]['msg']}"
            ) from error


def _describe(data: Mapping[str, Any]) -> dict[str, Any]:
    return dict(data["measured"])


def _propose(data: Mapping[str, Any]) -> dict[str, Any]:
    scene = data["scene"]
    best = proposals(scene)[: int(data.get("count", 8))]
    if data.get("alternatives"):
        best += alternatives(scene)
    return {"tasks": [plan.answer() | {"difficulty": difficulty(plan.goals, scene)} for plan in best]}


def _understand(data: Mapping[str, Any]) -> dict[str, Any]:
    text, scene = str(data["text"]).strip(), data["scene"]
    reader = _reader(scene)
    try:
        plan = _plan(text, scene, reader)
        return {"fits": True, "reason": "", **plan.answer(text), "difficulty": difficulty(plan.goals, scene)}
    except UnclearPhrase as unclear:
        refused = refusal(text) if unclear.is_unread else None
        if refused and not refused.has_offers:
            return {"fits": False, "reason": refused.reason, "instead": "", "works": []}
        before = read_sentences((data.get("before") or {}).get("goals") or ()) or ()
        instead, works, remark = offers(reader, text, unclear, scene, before)
        reason = in_plain_words(
            "; ".join(dict.fromkeys(filter(None, (refused.reason if refused else str(unclear), remark)))), reader.names
        )
        return {"fits": False, "reason": reason, "instead": in_plain_words(instead, reader.names), "works": works}


def _reader(scene: Mapping[str, Any]) -> InstructionReader:
    return InstructionReader(scene_objects(scene), TableTop.from_json(scene))


def _plan(text: str, scene: Mapping[str, Any], reader: InstructionReader) -> TaskPlan:
    """Return the plan of an instruction. Raises UnclearPhrase where it is not understood or not feasible."""
    if not text:
        raise UnclearPhrase("the instruction is empty: say what to do with which object")
    if len(text) > MAX_LETTERS:
        raise UnclearPhrase(
            f"the instruction has {len(text)} letters; the offline rules read at most {MAX_LETTERS}: say it shorter"
        )
    plan = reader.read(text)
    reason = why_infeasible(plan.goals, scene)
    if "no free place" in reason and plan.kind == "gather":  # no room for a bin: a marked zone does as well
        zoned = tuple(
            replace(a, kind="in_zone", names=(a.names[0], "discard_zone"), new_container=False) for a in plan.goals
        )
        plan, reason = TaskPlan(plan.kind, zoned), why_infeasible(zoned, scene)
    if reason:
        raise UnclearPhrase(reason)
    return plan


def _task_goals(data: Mapping[str, Any]) -> tuple[PlannedGoal, ...]:
    """Return a task's goals, read from its sentences, or else from its instruction. Raises ModelError."""
    task, scene = data["task"], data["scene"]
    known = {o["name"] for o in scene["objects"]}
    goals = stated_goals(data)
    if goals and all(n in known for a in goals for n in a.objects):
        return goals
    try:
        return _plan(task.get("instruction") or "", scene, _reader(scene)).goals
    except UnclearPhrase as unclear:
        raise ModelError(f"the offline rules cannot write a program for this task: {unclear}") from unclear


def _write(data: Mapping[str, Any]) -> dict[str, Any]:
    goals = _task_goals(data)
    if reason := why_infeasible(goals, data["scene"]):
        raise ModelError(f"the offline rules write no program for this task: {reason}")
    return {
        "simulation": program_writer.simulation_source(data["task"]["instruction"], goals, data["scene"]),
        "checks": program_writer.checks_source(goals),
    }


def _untried_repairs(data: Mapping[str, Any], diagnosis: Diagnosis, side: str) -> Iterator[tuple[str, str]]:
    """Yield the repairs of one side that give a program which was not run before."""
    simulation, checks = data["simulation"], data["checks"]
    tried = [[simulation, checks], *data.get("tried", ())]
    repairs = repair_simulation if side == "fix_simulation" else repair_checks
    for text, what in repairs(data, diagnosis):
        if text.strip() and ([text, checks] if side == "fix_simulation" else [simulation, text]) not in tried:
            yield text, what


def _route(data: Mapping[str, Any]) -> dict[str, Any]:
    diagnosis = diagnose(data)
    if diagnosis is None:
        return {"route": "give_up", "reason": "nothing in the report says what is wrong", "confidence": 0.2}
    other = "fix_checks" if diagnosis.route == "fix_simulation" else "fix_simulation"
    if next(_untried_repairs(data, diagnosis, diagnosis.route), None):
        return {"route": diagnosis.route, "reason": diagnosis.reason, "confidence": diagnosis.confidence}
    if diagnosis.kind == "silent" and next(_untried_repairs(data, diagnosis, other), None):
        reason = f"{diagnosis.reason}; the rules have no better checks, so the simulation has to change"
        return {"route": other, "reason": reason, "confidence": 0.4}
    return {"route": "give_up", "reason": f"the rules have nothing left to try: {diagnosis.reason}", "confidence": 0.6}


def _repair(side: str) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def repair(data: Mapping[str, Any]) -> dict[str, Any]:
        now = data["simulation" if side == "fix_simulation" else "checks"]
        diagnosis = diagnose(data)
        found = next(_untried_repairs(data, diagnosis, side), None) if diagnosis else None
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
    "decompose_task": decompose,
}

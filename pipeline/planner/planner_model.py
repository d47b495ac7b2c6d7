"""The offline planner: answers every question of the method by rules on measured attributes."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.description.colour_names import COLOUR_WORDS
from pipeline.models.model import ModelError, Question
from pipeline.planner import program_writer, repair_checks, repair_simulation
from pipeline.planner.decomposition import decompose
from pipeline.planner.diagnosis import Diagnosis, diagnose
from pipeline.planner.goals import read_sentences
from pipeline.planner.language.corrections import corrected_plan, correction_offers, is_correction
from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.frames_of_words import named_objects
from pipeline.planner.language.instruction_reader import InstructionReader
from pipeline.planner.language.offers import second_reading
from pipeline.planner.language.wording import in_plain_words
from pipeline.planner.plans import TableTop, TaskPlan, difficulty, why_infeasible
from pipeline.planner.proposals import alternatives, proposals
from pipeline.planner.scene_objects import scene_objects
from pipeline.simulation.goals.spec import PlannedGoal, listed

MAX_LETTERS = 600
"""Longest instruction that is read, in letters."""
MAX_SUGGESTIONS = 3
"""Instructions that are suggested for one that does not fit."""


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
    before = (data.get("before") or {}).get("goals")
    try:
        plan = _plan(text, scene, before)
        answer = plan.answer(plan.instruction or text)
        return {"fits": True, "reason": "", **answer, "difficulty": difficulty(plan.goals, scene)}
    except UnclearPhrase as unclear:
        reader = _reader(scene)
        instead = _with_name(listed(unclear.suggested), text, unclear, scene) if unclear.suggested else ""
        either = [words for name in unclear.alternatives if (words := _with_name(name, text, unclear, scene))]
        earlier = read_sentences(before) if before else None
        second = second_reading(reader, _with_objects(text, earlier or (), reader), scene)
        offered = [*(correction_offers(reader, text, earlier)[:2] if earlier else ()), *second.offers]
        works = [] if instead else list(dict.fromkeys((*either, *offered))) or _nearest(text, scene)
        reason = in_plain_words(_with_remark(str(unclear), second.remark), reader.names)
        return {"fits": False, "reason": reason, "instead": instead, "works": works[:MAX_SUGGESTIONS]}


def _with_objects(text: str, before: Sequence[PlannedGoal], reader: InstructionReader) -> str:
    """Return a text that names no object, after the objects that the task before moves."""
    reader.reset()
    moved = dict.fromkeys(name for goal in before for name in goal.carried if name in reader.names)
    if not moved or named_objects(reader.tokens(text), reader).moved:
        return text
    return f"{listed([f'the {reader.names[name]}' for name in moved])} {text}"


def _with_remark(reason: str, remark: str) -> str:
    """Return a reason with those parts of a remark that it does not contain."""
    quoted = re.findall(r'"([^"]+)"', remark)
    is_said = (
        all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", reason) for word in quoted) if quoted else "only" in reason
    )
    return reason if not remark or is_said else f"{reason}; {remark}"


def _reader(scene: Mapping[str, Any]) -> InstructionReader:
    return InstructionReader(scene_objects(scene), TableTop.from_json(scene))


def _nearest(text: str, scene: Mapping[str, Any]) -> list[str]:
    """Return instructions that are possible here, first those with most words in common with the text."""
    words = set(re.findall(r"[a-z]{3,}", text.lower()))
    possible = [plan.instruction for plan in proposals(scene)]
    return sorted(possible, key=lambda text: -len(words & set(re.findall("[a-z]{3,}", text.lower()))))


def _with_name(name: str, text: str, unclear: UnclearPhrase, scene: Mapping[str, Any]) -> str:
    """Return the text with the unknown words exchanged for a name; empty where that makes no task."""
    if name.endswith("."):  # an instruction in full
        return name
    if not unclear.unknown:
        return ""
    looks = "|".join(map(re.escape, COLOUR_WORDS))
    unknown = rf"\b(?:the\s+|an?\s+)?(?:(?:{looks})\s+)*{re.escape(unclear.unknown)}\b"
    exchanged = re.sub(unknown, name, text, flags=re.I)
    try:
        _plan(exchanged, scene)
    except UnclearPhrase:
        return ""
    return exchanged if exchanged != text else ""


def _plan(text: str, scene: Mapping[str, Any], before: Sequence[str] | None = None) -> TaskPlan:
    """Return the plan of an instruction. Raises UnclearPhrase where it is not understood or not feasible.

    `before` holds the goals of the task that the words may correct or continue.
    """
    if not text:
        raise UnclearPhrase("the instruction is empty: say what to do with which object")
    if len(text) > MAX_LETTERS:
        raise UnclearPhrase(
            f"the instruction has {len(text)} letters; the offline rules read at most {MAX_LETTERS}: say it shorter"
        )
    reader = _reader(scene)
    earlier = read_sentences(before) if before else None
    plan = corrected_plan(reader, text, earlier) if earlier else None
    if plan is None and not earlier and is_correction(reader, text):
        raise UnclearPhrase("there is no task before to correct: say the task in full")
    plan = plan or reader.read(text)
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
    goals = read_sentences(task.get("goals") or ())
    if goals and all(n in known for a in goals for n in a.objects):
        return goals
    try:
        return _plan(task.get("instruction") or "", scene).goals
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
    module = repair_simulation if side == "fix_simulation" else repair_checks
    for text, what in module.repairs(data, diagnosis):
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

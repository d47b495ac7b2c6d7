"""Offers for a sentence that was not understood: feasible instructions about the objects and relations it names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from pipeline.planner.language.coverage import has_content, unknown_words
from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.frames_of_words import (
    PAIR_RELATIONS,
    Goals,
    NamedObjects,
    kinds_named,
    named_objects,
    spans_of,
    suggested_goals,
)
from pipeline.planner.language.instruction_reader import InstructionReader
from pipeline.planner.language.tokens import COMMA, STOP, Token, text_of
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.plans import TaskPlan, why_infeasible
from pipeline.simulation.goals.spec import PlannedGoal

MOST = 3
MAX_WINDOWS = 160
"""Most windows of a clause that are read."""
MAX_ASIDES, MAX_KEPT = 7, 30
"""How many commas a text may have for its parts to be left out in turn; how many of the shortened texts are read."""
MAX_TRIED = 40
"""Most suggestions, best first, that are tested for feasibility."""
BEGINS = ("verbs", "determiners", "scene", "nouns", "colours", "ranks", "class_words", "quantities", "numbers",
          "others", "anything", "soon", "shapes", "materials", "pronouns")  # fmt: skip
ENDS = ("scene", "nouns", "places", "pronouns", "anything", "arrangements", "colours", "class_words", "extremes",
        "table", "place_nouns", "orders", "ranks", "others", "addressee", "mass")  # fmt: skip
CAN = "it only picks objects up, carries them and puts them down"
SIDES = {"left_zone": "left", "right_zone": "right", "near_zone": "near", "far_zone": "far", "middle_zone": "middle"}


@dataclass(frozen=True)
class SecondReading:
    """Offers for a sentence that was not understood."""

    offers: tuple[str, ...]
    """Feasible instructions, best first; each is read as the goals that it was written for."""
    remark: str
    """Sentence about the words that were not understood; empty if there are none."""


@dataclass(frozen=True)
class Candidate:
    """Goals that a text may ask for."""

    goals: Goals
    words: str
    """An instruction that is read as these goals."""
    score: float


def second_reading(reader: InstructionReader, text: str, scene: Mapping[str, Any]) -> SecondReading:
    """Return offers from the longest readable parts of a sentence, and from the objects and relations it names."""
    reader.reset()
    tokens = reader.tokens(text)
    windows = _windows(tokens, reader)
    candidates = [
        *_window_candidates(windows, reader),
        *_without_asides(tokens, reader),
        *_suggested_candidates(tokens, reader),
    ]
    named, kinds = named_objects(tokens, reader), kinds_named(tokens)
    scored = [replace(one, score=one.score + _agreement(one.goals, named, kinds)) for one in candidates]
    found: list[Candidate] = []
    for candidate in sorted(scored, key=lambda one: -one.score)[:MAX_TRIED]:
        if all(set(candidate.goals) != set(one.goals) for one in found) and _is_doable(candidate, reader, scene):
            found.append(candidate)
        if len(found) == MOST:
            break
    return SecondReading(tuple(one.words for one in found), _remark(tokens, reader, bool(windows)))


def _suggested_candidates(tokens: Sequence[Token], reader: InstructionReader) -> Iterator[Candidate]:
    for suggestion in suggested_goals(tokens, reader):
        if isinstance(suggestion.goals, str):
            try:
                yield Candidate(reader.read(suggestion.goals).goals, suggestion.goals, suggestion.weight)
            except UnclearPhrase:
                continue
        elif suggestion.goals:
            words = instruction_of(suggestion.goals, reader.names)
            yield Candidate(suggestion.goals, words, suggestion.weight)


def _agreement(goals: Goals, named: NamedObjects, kinds: Mapping[str, int]) -> float:
    """Return a score: objects and relations that goals share with the text, less those that only the goals name."""
    objects = {name for goal in goals for name in goal.objects}
    moved = {name for goal in goals for name in goal.carried}
    stated = {kind for goal in goals for kind in _kinds_of(goal)}
    score = 2.0 * len(objects & named.moved) - 2.0 * len(objects - named.moved - named.kept)
    score -= 5.0 * len(moved & named.kept)
    for kind in stated:
        score += 1.5 if kind in kinds or kind == "arrangement" else -1.0
    return score - 0.5 * len(set(kinds) - stated)


def _kinds_of(goal: PlannedGoal) -> set[str]:
    """Return the relations or sides of the table that a goal states."""
    if goal.kind == "in_zone":
        return {SIDES.get(goal.names[1], "arrangement")}
    if goal.kind == "inside":
        return {"inside"}
    if goal.kind in ("at", "mirrored"):
        return {"between"}
    return {goal.kind} if goal.kind in PAIR_RELATIONS else {"arrangement"}


def _is_doable(candidate: Candidate, reader: InstructionReader, scene: Mapping[str, Any]) -> bool:
    """Return whether the robot can meet goals, and their instruction is read as these goals."""
    if why_infeasible(candidate.goals, scene):
        return False
    try:
        return set(reader.read(candidate.words).goals) == set(candidate.goals)
    except UnclearPhrase:
        return False


# What was not read


def _remark(tokens: Sequence[Token], reader: InstructionReader, has_task: bool) -> str:
    """Return a sentence about unknown words, absent objects and verbs that the robot cannot do."""
    unknown = unknown_words(tokens)
    named = [t for t in tokens if t.has("known", "nouns", "class_words") and not t.has("scene")]
    absent = [t.text for t in named if not t.has("verbs", "relations", "wishes", "places", "table")
              and not any(span.choices for span in spans_of([t], reader))]  # fmt: skip
    able = ("scene", "verbs", "nouns", "known", "places")
    cannot = [t.text for t in tokens if t.has("impossible") and not t.has(*able)]
    parts = []
    for words, lead in ((unknown, "not understood: "), (absent, "not on this table: ")):
        if words:
            parts.append(lead + ", ".join(f'"{word}"' for word in dict.fromkeys(words)))
    if cannot or not has_task:
        quoted = f' "{cannot[0]}"' if cannot else ""
        parts.append(f"the robot cannot{quoted or ' do that'}: {CAN}")
    return "; ".join(parts)


# Readable parts


def _windows(tokens: Sequence[Token], reader: InstructionReader) -> list[list[Token]]:
    """Return the longest parts of each clause that can be read, in their order, with the words that order them."""
    found: list[list[Token]] = []
    clause: list[Token] = []
    lead: list[Token] = []
    for token in (*tokens, STOP):
        if not token.has("stop", "sequence", "earlier") or token.has("scene"):
            clause.append(token)
            continue
        parts = list(_read_windows(clause, reader, MAX_WINDOWS))
        if parts:
            found += [[*lead, *parts[0]], *parts[1:]]
            lead = []
        clause = []
        lead = [token] if not token.has("stop") else lead
    return found


def _read_windows(tokens: list[Token], reader: InstructionReader, budget: int) -> Iterator[list[Token]]:
    """Yield the readable part of a clause with most content, and such parts of what is before and after it."""
    begins = [i for i, t in enumerate(tokens) if not i or t.has(*BEGINS)]
    ends = [j for j in range(2, len(tokens) + 1) if tokens[j - 1].has(*ENDS) or j == len(tokens)]
    spans = [(i, j) for i in begins for j in ends if j - i >= 2]
    content = [int(_states(t)) for t in tokens]
    spans.sort(key=lambda span: (-sum(content[span[0] : span[1]]), span[1] - span[0]))
    for i, j in spans[:budget]:
        if _readable(tokens[i:j], reader) is None:
            continue
        yield from _read_windows(tokens[:i], reader, budget // 4)
        yield tokens[i:j]
        yield from _read_windows(tokens[j:], reader, budget // 4)
        return


def _readable(tokens: Sequence[Token], reader: InstructionReader) -> TaskPlan | None:
    """Return the plan of the tokens, or None if a content word among them is not understood."""
    saved = reader.saved_state()
    try:
        plan = reader.plan(tokens)
        reader.refuse_unread(tokens, plan)
    except UnclearPhrase:
        reader.restore(saved)
        return None
    return plan


def _window_candidates(windows: Sequence[Sequence[Token]], reader: InstructionReader) -> Iterator[Candidate]:
    """Yield the goals of all readable parts together, then of each."""
    if len(windows) > 1:
        reader.reset()
        joined = [token for window in windows for token in (*window, STOP)]
        if (plan := _readable(joined, reader)) is not None:
            yield Candidate(plan.goals, _words_of(plan.goals, joined, reader), 2.5)
    reader.reset()
    for window in windows:
        if (plan := _readable(window, reader)) is not None:
            yield Candidate(plan.goals, _words_of(plan.goals, window, reader), 1.5)


def _without_asides(tokens: Sequence[Token], reader: InstructionReader) -> Iterator[Candidate]:
    """Yield the goals of a text without some of its parts between commas, or without its unknown words.

    Such a part may change what is asked for, so that these goals are only offered.
    """
    unknown = set(unknown_words(tokens))
    parts = _parts_between_commas([t for t in tokens if t.text not in unknown])
    if len(parts) > MAX_ASIDES + 1:
        return
    weights = [sum(_states(t) for t in part) for part in parts]
    choices = [kept for size in range(1, len(parts) + 1) for kept in combinations(range(len(parts)), size)]
    choices.sort(key=lambda kept: -sum(weights[i] for i in kept))
    for kept in choices[:MAX_KEPT]:
        for joint in (COMMA,), ():
            reader.reset()
            text = [token for i in kept for token in (*joint, *parts[i])]
            if (plan := _readable(text, reader)) is not None:
                share = sum(weights[i] for i in kept) / max(1, sum(weights))
                yield Candidate(plan.goals, _words_of(plan.goals, text, reader), 1.0 + 2.0 * share)
                break


def _parts_between_commas(tokens: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.has("comma", "stop") and not token.has("scene"):
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _states(token: Token) -> bool:
    """Return whether a word names an object, a relation, a place or an order."""
    return has_content(token) or token.has("relations", "places", "exceptions", "arrangements", "orders", "ranks")


def _words_of(goals: Goals, tokens: Sequence[Token], reader: InstructionReader) -> str:
    """Return an instruction for goals; the words themselves for a place that no other words name ("between")."""
    if all(goal.kind != "at" for goal in goals):
        return instruction_of(goals, reader.names)
    text = text_of(tokens).replace(" ;", ".").strip(" .,")
    return f"{text[:1].upper()}{text[1:]}."

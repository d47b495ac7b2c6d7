"""Second reading of words that were not understood: doable instructions about what they name, and what was not read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.planner.language.coverage import has_content, unknown_words
from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.instruction_reader import InstructionReader
from pipeline.planner.language.lexicon import class_members
from pipeline.planner.language.phrase_words import name_words
from pipeline.planner.language.sentence_parts import SIDE_OF_RANK
from pipeline.planner.language.tokens import STOP, Token
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.plans import TaskPlan, why_infeasible
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

MAX_PHRASE = 6
"""Most words of a phrase for one object."""
PAIR_RELATIONS = ("inside", "on", "near", "left_of", "right_of", "behind", "in_front_of", "away")
MOST = 3
MAX_WINDOWS = 160
"""Most windows of a clause that are read."""
BEGINS = ("verbs", "determiners", "scene", "nouns", "colours", "ranks", "class_words", "quantities", "numbers",
          "others", "anything", "soon", "shapes", "materials", "pronouns")  # fmt: skip
ENDS = ("scene", "nouns", "places", "pronouns", "anything", "arrangements", "colours", "class_words", "extremes",
        "table", "place_nouns", "orders", "ranks", "others", "addressee", "mass")  # fmt: skip
CAN = "it only picks objects up, carries them and puts them down"


@dataclass(frozen=True)
class SecondReading:
    """What a sentence that was not understood may ask for."""

    offers: tuple[str, ...]
    """Instructions that are doable and read as they are meant, nearest first."""
    remark: str
    """Sentence about the words that were not read; empty where all were."""


def second_reading(reader: InstructionReader, text: str, scene: Mapping[str, Any]) -> SecondReading:
    """Return what a sentence may ask for, by its longest readable parts, and by the objects and relations it names."""
    reader.reset()
    tokens = reader.tokens(text)
    windows = _windows(tokens, reader)
    found: list[str] = []
    for goals in (*_window_goals(windows, reader), *_slots(tokens, reader)):
        if len(found) == MOST:
            break
        words = _offer(goals, reader, scene)
        if words and words not in found:
            found.append(words)
    return SecondReading(tuple(found), _remark(tokens, reader, bool(windows)))


def _offer(goals: tuple[PlannedGoal, ...], reader: InstructionReader, scene: Mapping[str, Any]) -> str:
    """Return the instruction of goals if it is doable and read as these goals; otherwise an empty text."""
    if not goals or why_infeasible(goals, scene):
        return ""
    words = instruction_of(goals, reader.names)
    try:
        return words if set(reader.read(words).goals) == set(goals) else ""
    except UnclearPhrase:
        return ""


# What was not read


def _remark(tokens: Sequence[Token], reader: InstructionReader, has_task: bool) -> str:
    """Return a sentence about unknown words, absent objects and verbs that the robot cannot do."""
    unknown = unknown_words(tokens)
    named = [t for t in tokens if t.has("known", "nouns", "class_words") and not t.has("scene")]
    absent = [t.text for t in named if not t.has("verbs", "relations", "wishes", "places", "table")
              and not _objects([t], reader)]  # fmt: skip
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
    content = [int(has_content(t) or t.has("relations", "places", "exceptions", "arrangements")) for t in tokens]
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


def _window_goals(windows: Sequence[Sequence[Token]], reader: InstructionReader) -> Iterator[tuple[PlannedGoal, ...]]:
    """Yield the goals of all readable parts together, then of each."""
    if len(windows) > 1:
        reader.reset()
        joined = [token for window in windows for token in (*window, STOP)]
        if (plan := _readable(joined, reader)) is not None:
            yield plan.goals
    reader.reset()
    for window in windows:
        if (plan := _readable(window, reader)) is not None:
            yield plan.goals


# Objects and relations


def _slots(tokens: list[Token], reader: InstructionReader) -> Iterator[tuple[PlannedGoal, ...]]:
    """Yield goals of the objects that a text names: by each relation with its neighbours, then of all pairs."""
    reader.reset()
    spans = list(_named_spans(tokens, reader))
    named = list(dict.fromkeys(o for _, _, objects in spans for o in objects))
    for at, token in enumerate(tokens):
        before = [objects for _, end, objects in spans if end <= at]
        after = [objects for start, _, objects in spans if start > at]
        place = token.value("places") or SIDE_OF_RANK.get(token.value("extremes"), "")
        if token.value("relations") in PAIR_RELATIONS and before and after and len(after[0]) == 1:
            yield tuple(
                g for a in before[-1] if a != after[0][0] for g in _pair(token.value("relations"), a, after[0][0])
            )
        if place in ("left", "right", "near", "far", "middle") and (before or after):
            moved = before[-1] if before else after[0]
            yield tuple(PlannedGoal("in_zone", (a.name, f"{place}_zone")) for a in moved)
    relations = [t.value("relations") for t in tokens if t.value("relations") in PAIR_RELATIONS]
    pairs = [(a, b) for i, a in enumerate(named) for b in named[i + 1 :]]
    for relation in (*dict.fromkeys(relations), "inside", "on", "near"):
        for a, b in pairs:
            yield _pair(relation, a, b)
    yield from _of_one(named, relations, reader)


def _of_one(
    named: Sequence[SceneObject], relations: Sequence[str], reader: InstructionReader
) -> Iterator[tuple[PlannedGoal, ...]]:
    if len(named) != 1:
        return
    (a,) = named
    others = sorted((o for o in reader.objects if o != a), key=lambda b: reader.statements.phrases.start.distance(a, b))
    for relation in dict.fromkeys(relations):
        for b in others:
            yield _pair(relation, a, b)
    for place in ("left", "right", "near"):
        yield (PlannedGoal("in_zone", (a.name, f"{place}_zone")),)


def _pair(relation: str, a: SceneObject, b: SceneObject) -> tuple[PlannedGoal, ...]:
    kind = "inside" if relation == "on" and b.container else relation
    return (PlannedGoal(kind, (a.name, b.name)),)


def _named_spans(tokens: list[Token], reader: InstructionReader) -> Iterator[tuple[int, int, list[SceneObject]]]:
    """Yield start, end and objects of each part of a text that names objects."""
    at = 0
    while at < len(tokens):
        for size in range(min(MAX_PHRASE, len(tokens) - at), 0, -1):
            piece = tokens[at : at + size]
            if _may_name(piece) and (chosen := _objects(piece, reader)):
                yield at, at + size, chosen
                at += size - 1
                break
        at += 1


def _may_name(piece: Sequence[Token]) -> bool:
    named = any(t.has("scene", "nouns", "class_words", "colours") for t in piece)
    joins = ("relations", "comma", "conjunctions", "verbs", "pronouns")
    return named and not any(t.has(*joins) and not t.has("scene") for t in piece)


def _objects(piece: list[Token], reader: InstructionReader) -> list[SceneObject]:
    try:
        return list(reader.statements.phrases.select(piece).objects)
    except UnclearPhrase:
        pass
    member = next((t.text for t in piece if t.text in class_members()), "")
    return [o for o in reader.objects if member and class_members()[member] & name_words(o)]

"""Doable instructions for words that were not understood: about the same objects and relations."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.planner.language.errors import UnclearPhrase
from pipeline.planner.language.instruction_reader import InstructionReader
from pipeline.planner.language.lexicon import class_members
from pipeline.planner.language.noun_phrases import name_words
from pipeline.planner.language.statements import SIDE_OF_RANK
from pipeline.planner.language.tokens import Token
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.plans import why_infeasible
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

MAX_PHRASE = 6
"""Most words of a phrase for one object."""
PAIR_RELATIONS = ("inside", "on", "near", "left_of", "right_of", "behind", "in_front_of", "away")
MOST = 3


def offers(reader: InstructionReader, text: str, scene: Mapping[str, Any]) -> list[str]:
    """Return instructions that are doable, read as they are meant, and about the objects that a text names."""
    reader.reset()
    tokens = reader.tokens(text)
    found: list[str] = []
    for goals in _candidates(tokens, reader):
        words = instruction_of(goals, reader.names)
        if words in found or why_infeasible(goals, scene):
            continue
        try:
            same = set(reader.read(words).goals) == set(goals)
        except UnclearPhrase:
            continue
        if same:
            found.append(words)
        if len(found) == MOST:
            break
    return found


def _candidates(tokens: list[Token], reader: InstructionReader) -> Iterator[tuple[PlannedGoal, ...]]:
    named = _named(tokens, reader)
    relations = [t.value("relations") for t in tokens if t.value("relations") in PAIR_RELATIONS]
    places = [t.value("places") or SIDE_OF_RANK.get(t.value("ranks"), "") for t in tokens if t.has("places")]
    places = [place for place in places if place in ("left", "right", "near", "far", "middle")]
    pairs = [(a, b) for i, a in enumerate(named) for b in named[i + 1 :]]
    for a, b in pairs:
        for relation in dict.fromkeys(relations):
            yield _pair(relation, a, b)
    for a in named:
        for place in dict.fromkeys(places):
            yield (PlannedGoal("in_zone", (a.name, f"{place}_zone")),)
    for a, b in pairs:
        for relation in ("inside", "on", "near"):
            yield _pair(relation, a, b)
    if len(named) == 1:
        (a,) = named
        others = [o for o in reader.objects if o != a]
        for relation in dict.fromkeys(relations):
            for b in sorted(others, key=lambda o: reader.statements.phrases.start.distance(a, o)):
                yield _pair(relation, a, b)
        for place in ("left", "right", "near"):
            yield (PlannedGoal("in_zone", (a.name, f"{place}_zone")),)


def _pair(relation: str, a: SceneObject, b: SceneObject) -> tuple[PlannedGoal, ...]:
    kind = "inside" if relation == "on" and b.container else relation
    return (PlannedGoal(kind, (a.name, b.name)),)


def _named(tokens: list[Token], reader: InstructionReader) -> list[SceneObject]:
    """Return the objects that parts of a text name, in their order."""
    found: list[SceneObject] = []
    at = 0
    while at < len(tokens):
        for size in range(min(MAX_PHRASE, len(tokens) - at), 0, -1):
            piece = tokens[at : at + size]
            if not any(t.has("scene", "nouns", "class_words", "colours") for t in piece):
                continue
            if any(
                t.has("relations", "comma", "conjunctions", "verbs", "pronouns") and not t.has("scene") for t in piece
            ):
                continue
            chosen = _objects(piece, reader)
            if chosen:
                found += [o for o in chosen if o not in found]
                at += size - 1
                break
        at += 1
    return found


def _objects(piece: list[Token], reader: InstructionReader) -> list[SceneObject]:
    try:
        return list(reader.statements.phrases.select(piece).objects)
    except UnclearPhrase:
        pass
    member = next((t.text for t in piece if t.text in class_members()), "")
    return [o for o in reader.objects if member and class_members()[member] & name_words(o)]

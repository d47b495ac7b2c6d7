"""Goals of "make room on the left", "clear the middle of the table"."""

import re
from typing import TYPE_CHECKING

from pipeline.planner.language.errors import UnclearPhrase, UnparsedClause
from pipeline.planner.language.statements.sentence_parts import SIDE_OF_RANK, Sentence
from pipeline.planner.language.tokens import text_of, tokenize
from pipeline.planner.language.wording import instruction_of
from pipeline.planner.proposals import objects_at, objects_in_third
from pipeline.simulation.goals.spec import PlannedGoal

if TYPE_CHECKING:
    from pipeline.planner.language.statements.statement_reader import Goals, StatementReader


def clear(reader: "StatementReader", sentence: "Sentence") -> "Goals | None":
    """Read "make room on the left", "clear the middle of the table"."""
    body = sentence.body
    text = text_of(body)
    named = re.search(r"\bmove (.+?) (?:out|away|off)\b", text)
    before = text[: named.start()] if named else text
    tokens = tokenize(before, reader.phrases.words)
    place = ""
    for t in tokens:
        place = place or t.value("places") or SIDE_OF_RANK.get(t.value("ranks"), "")
        if t.value("relations") == "between":
            place = place or "middle"
    if any(t.has("relations") and t.value("relations") == "out" for t in tokens) or not (
        place or sentence.verb_text.startswith("make")
    ):
        return None
    known = (
        "relations",
        "determiners",
        "places",
        "place_nouns",
        "table",
        "fillers",
        "ranks",
        "comma",
        "pronouns",
        "conjunctions",
    )
    odd = [
        t
        for t in tokens
        if not t.has(*known) and t.text not in ("of", "space", "room", "some", "for", "something", "new")
    ]
    if odd:
        raise UnparsedClause(
            f'"{text_of(odd)}" is not understood here: say which side of the table to clear', text_of(odd)
        )
    if place not in ("left", "right", "near", "far", "middle"):
        place = "middle"
    zone = f"{place}_zone"
    group = (
        reader.phrases.select(tokenize(named[1], reader.phrases.words)).objects
        if named
        else objects_at(place, reader.phrases.start, reader.phrases.kept)
    )
    if not group:
        offers = [instruction_of(goals, reader.phrases.names) for goals in _emptied(place, reader)]
        if offers:
            raise UnclearPhrase(f'there is no room to mark an empty zone ("{text.strip()}")', alternatives=offers)
        raise UnclearPhrase(f'too much stands there to empty it ("{text.strip()}"): name another side of the table')
    return "make_room", [PlannedGoal("outside", (o.name, zone)) for o in group]


def _emptied(place: str, reader: "StatementReader") -> list[list[PlannedGoal]]:
    """Return goals that move what stands on a side of the table to the opposite one."""
    opposite = {"left": "right", "right": "left", "near": "far", "far": "near"}.get(place)
    start = reader.phrases.start
    there = [o for o in objects_in_third(place, start) if o.name not in reader.phrases.kept]
    return [[PlannedGoal("in_zone", (o.name, f"{opposite}_zone")) for o in there]] if opposite and there else []

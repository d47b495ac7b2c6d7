"""Requests that are read in other words: moves by a distance, and unstacking; and what no task can be, with the reason.

"Unstack the red cube" is "put the red cube on the table", if it stands on another object.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.planner.language.lexicon import UnclearPhrase, tables, words_of
from pipeline.planner.language.noun_phrases import NounPhrases
from pipeline.planner.scene_objects import SceneObject, rests_on
from pipeline.simulation.goals.spec import listed

UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0, "inch": 0.0254}
"""Metres of a unit by its key in the lexicon."""
SHORTEST_MOVE_M = 0.06
"""Checks of a place allow 5 cm: after a shorter move an object would have been at its place before."""


class Refusal(NamedTuple):
    """Why words can be no task."""

    reason: str
    has_offers: bool
    """Whether tasks like it can be done."""


def refusal(text: str) -> Refusal | None:
    """Return why no task can be what a text asks for; None where nothing in it says so."""
    for pattern, reason, has_offers in tables()["beyond"]["patterns"]:
        if found := re.search(_filled(pattern), text.lower()):
            return Refusal(reason.replace("{words}", found[0]), has_offers)
    return None


def in_usual_words(text: str, phrases: NounPhrases) -> str:
    """Return an instruction that says the same in words that the reader has; the text itself for all others.

    Raises UnclearPhrase where the objects do not stand as the words say, or the move is too short to be checked.
    """
    plain = " ".join(text.lower().strip(" .!?").split())
    for pattern, rewrite in (
        (tables()["requests"]["move_by"], _moved_by),
        (tables()["requests"]["out"], _taken_out),
        (tables()["requests"]["off"], _taken_off),
        (tables()["requests"]["apart"], _apart),
    ):
        if (found := re.fullmatch(_filled(pattern), plain)) and (said := rewrite(found.groupdict(), phrases)):
            return said
    return text


def _filled(pattern: str) -> str:
    """Return a pattern of the lexicon with its lists of words filled in."""
    lists = {name: "|".join(words_of(text)) for name, text in tables()["distances"].items()}
    lists |= {
        "number": rf"\d+(?:[.,]\d+)?|{lists.pop('numbers')}",
        "unit": "|".join((lists.pop("mm"), lists.pop("cm"), lists.pop("inch"), lists.pop("m"))),
    }
    return re.sub(r"\{(\w+)\}", lambda found: f"(?:{lists[found[1]]})", pattern)


def _objects(text: str, phrases: NounPhrases) -> tuple[SceneObject, ...]:
    """Return the objects that a phrase means; none where it cannot be read."""
    try:
        return phrases.read(text).objects
    except UnclearPhrase:
        return ()


def _moved_by(words: Mapping[str, str], phrases: NounPhrases) -> str:
    moved = _objects(words["moved"], phrases)
    if len(moved) != 1:
        return ""
    metres = _number(words["count"]) * UNITS[_key(words["measure"])]
    if metres < SHORTEST_MOVE_M:
        raise UnclearPhrase(
            f"a place is checked to within 5 cm, so a move of {metres * 100:.3g} cm cannot be told from none: "
            f"say at least {SHORTEST_MOVE_M * 100:.0f} cm"
        )
    right, away = np.asarray(phrases.start.table.right), np.asarray(phrases.start.table.away)
    way = {"left": -right, "right": right, "front": -away, "back": away}[_side(words["way"])]
    x, y = np.asarray(moved[0].position[:2]) + metres * way
    for other in phrases.start.objects:
        apart = float(np.hypot(*np.subtract(other.position[:2], (x, y))))
        if other is not moved[0] and apart < (moved[0].narrow + other.narrow) / 2:
            raise UnclearPhrase(f"{_names([other], phrases)} stands where {_names(moved, phrases)} would come to stand")
    return f"move {moved[0].name} to ({x:.3f}, {y:.3f})"


def _number(text: str) -> float:
    counts = {word: int(number) for number, word in enumerate(words_of(tables()["distances"]["numbers"]))}
    return 0.5 if text in ("half a", "half an") else float(counts.get(text, 0) or text.replace(",", "."))


def _key(unit: str) -> str:
    return next(key for key in UNITS if unit in words_of(tables()["distances"][key]))


def _side(way: str) -> str:
    return next(side for side in ("left", "right", "front", "back") if way in words_of(tables()["distances"][side]))


def _taken_out(words: Mapping[str, str], phrases: NounPhrases) -> str:
    """Return the words for taking things out of the bin whose floor is the table; empty where it is none.

    Raises UnclearPhrase where a named object is not in it, or where the bin's noun may mean an object.
    """
    walls, holder = phrases.start.table.bin, words.get("holder") or words.get("emptied") or ""
    if walls is None or any(phrases.knows(word) for word in holder.split()[1:]):
        return ""
    named = words.get("moved") or words.get("contents") or "everything"
    moved = _objects(named, phrases)
    inside = [o for o in moved if walls.contains(o.position[:2])]
    apart = [o for o in moved if o not in inside]
    if apart and not re.search(r"\b(?:every\w*|all|each)\b", named):
        raise UnclearPhrase(f"{_names(apart, phrases)} is not in the bin")
    return f"put {listed([o.name for o in inside])} into a new tray" if inside else ""


def _taken_off(words: Mapping[str, str], phrases: NounPhrases) -> str:
    moved, below = _objects(words["moved"], phrases), _objects(words["below"], phrases)
    if not moved or not below:
        return ""
    if apart := [o for o in moved if not any(rests_on(o, one) for one in below)]:
        raise UnclearPhrase(f"{_names(apart, phrases)} is not on {_names(below, phrases)}")
    return _on_table(moved)


def _apart(words: Mapping[str, str], phrases: NounPhrases) -> str:
    named = _objects(words["moved"], phrases) if words.get("moved") else phrases.start.objects
    if not named:
        return ""
    stacked = [o for o in named if any(rests_on(o, one) and not one.container for one in phrases.start.objects)]
    if not stacked:
        raise UnclearPhrase(
            f"{_names(named, phrases)} stands on no other object"
            if words.get("moved")
            else "nothing stands on another object here"
        )
    return _on_table(stacked)


def _names(objects: Sequence[SceneObject], phrases: NounPhrases) -> str:
    return listed([f"the {phrases.names[o.name]}" for o in objects])


def _on_table(objects: Sequence[SceneObject]) -> str:
    return f"put {listed([o.name for o in objects])} on the table"

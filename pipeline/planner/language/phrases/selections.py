"""What noun phrases refer to, and what was named before."""

from dataclasses import dataclass

from pipeline.planner.language.tokens import Token
from pipeline.planner.scene_objects import SceneObject

SIDE_OF_RANK = {
    "right_low": "left", "right_high": "right", "right_middle": "middle", "away_low": "near", "away_high": "far",
}  # fmt: skip
"""Side of the table by the rank that picks the outermost object there."""


@dataclass(frozen=True)
class Selection:
    """What a phrase refers to."""

    objects: tuple[SceneObject, ...]
    several: bool
    """The phrase is about a set: a plural, a list or a number."""
    noun: tuple[Token, ...] = ()
    """Words for the kind of object, for "one"."""


@dataclass
class Mentions:
    """What was named before: for "it", "them", "one" and "the other"."""

    last: tuple[SceneObject, ...] = ()
    named: tuple[SceneObject, ...] = ()
    """All objects that were named one by one, latest last."""
    noun: tuple[Token, ...] = ()
    words: frozenset[str] = frozenset()
    """All words that were read as parts of phrases."""
    sides: frozenset[str] = frozenset()
    """Sides of the table that words of phrases name: "left" of "the left mug"."""


@dataclass(frozen=True)
class Modifier:
    """A relation to other objects, or a place, that a phrase adds: "on the plate", "that is not on the left"."""

    relation: str
    """A key of the lexicon's relations; "place" for a side of the table."""
    tokens: tuple[Token, ...]
    negated: bool = False

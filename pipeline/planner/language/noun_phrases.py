"""Objects that a phrase refers to: "the smallest cube", "all red boxes except the left one", "two of the cans"."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.description.colour_names import COLOUR_WORDS
from pipeline.planner.language.lexicon import (
    UnclearPhrase,
    class_members,
    comparatives,
    has_colour,
    is_shade,
    kind_words,
    name_list,
    name_words,
    singular,
    synonyms,
    values,
)
from pipeline.planner.scene_objects import Arrangement, SceneObject, carry_risk
from pipeline.simulation.goals.spec import listed

VISIBLE_RATIO = 1.08
"""Ratio of two measures from which people see the difference."""
EXCEPT = re.compile(r"\b(?:except(?: for)?|but|other than|apart from)\b")
ORDINALS = ("first", "second", "third", "fourth", "fifth")
GENERIC = frozenset({"thing", "object", "item", "one"})
ARTICLES = frozenset({"the", "a", "an", "this", "that", "these", "those", "my", "of"})
QUANTIFIERS = frozenset({"all", "every", "each", "both", "any", "exactly"})
ALL = ("everything", "all")
JOINTS = re.compile(r",? and |, ")


@dataclass(frozen=True)
class Phrase:
    """What a phrase refers to."""

    objects: tuple[SceneObject, ...]
    is_list: bool = False
    """Its objects are named one by one, in an order."""
    is_generic: bool = False
    """It means all objects that are not named otherwise."""


@dataclass
class _Words:
    """The words of one phrase by what they do."""

    nouns: list[str] = field(default_factory=list)
    colours: list[str] = field(default_factory=list)
    ranks: list[str] = field(default_factory=list)
    count: int = 0
    ordinal: int = 0
    every: bool = False
    picks: bool = False
    """Any of them will do."""
    plural: bool = False
    generic: bool = False


@dataclass
class NounPhrases:
    """Reads phrases about one scene; every word of a phrase has to be read."""

    start: Arrangement
    names: dict[str, str] = field(default_factory=dict)
    """Plain name of each object by its name, without "the"."""
    last: tuple[str, ...] = ()
    """The nouns of the phrase before, for "one"."""

    @property
    def loose(self) -> tuple[SceneObject, ...]:
        """The objects that are no furniture."""
        return tuple(o for o in self.start.objects if not o.parts)

    def read(self, text: str) -> Phrase:
        """Return the objects that a text refers to, at least one. Raises UnclearPhrase."""
        base, *excepted = EXCEPT.split(text.strip(" ,"), maxsplit=1)
        parts = [part.strip() for part in JOINTS.split(base.strip(" ,"))]
        words = [self._words(part) for part in parts]
        for one in words[:-1]:  # "the red and blue cubes"
            if not (one.nouns or one.generic):
                one.nouns, one.generic, one.plural = words[-1].nouns, words[-1].generic, words[-1].plural
        found = [self._select(one, part) for one, part in zip(words, parts, strict=True)]
        objects = [o for some in found for o in some]
        if len(set(objects)) < len(objects):
            raise UnclearPhrase(f'"{base.strip()}" names an object twice')
        if excepted:
            left_out = self.read(excepted[0]).objects
            if not (words[0].every or words[0].plural) or not set(left_out) <= set(objects):
                raise UnclearPhrase(f'"{text}" excepts what it does not name')
            objects = [o for o in objects if o not in left_out]
        if not objects:
            raise UnclearPhrase(f'"{text}" leaves nothing')
        single = all(len(some) == 1 for some in found) and not any(one.count for one in words)
        return Phrase(tuple(objects), len(found) > 1 and single, words[0].generic and words[0].every and not excepted)

    def knows(self, word: str) -> bool:
        """Return whether a word can be read in a phrase about this scene."""
        return (
            word in ARTICLES | QUANTIFIERS | {*ALL, *ORDINALS, "from", "except", "but", "other", "than", "apart"}
            or word in COLOUR_WORDS or word in values("ranks") or word in values("numbers") or word.isdigit()
            or singular(word) in GENERIC or bool(self._fitting(word)[1])
        )  # fmt: skip

    def _words(self, text: str) -> _Words:
        """Return the words of one phrase by what they do. Raises UnclearPhrase for a word that does nothing in it."""
        found = _Words()
        tokens = text.split()
        for number, ordinal in enumerate(ORDINALS, 1):  # "second ... from the left"
            if ordinal in tokens and (end := re.search(r" from the (left|right)$", text)):
                tokens = [t for t in text[: end.start()].split() if t != ordinal]
                found.ordinal = number if end[1] == "left" else -number
        if not tokens:
            raise UnclearPhrase("a phrase is missing: name an object")
        for place, token in enumerate(tokens):
            self._read_word(found, token, tokens[place + 1 :], tokens[:place])
        if found.nouns:
            self.last = tuple(found.nouns)
        return found

    def _read_word(self, found: _Words, token: str, rest: Sequence[str], before: Sequence[str]) -> None:
        in_front = all(t in ARTICLES | QUANTIFIERS or t in values("numbers") for t in before)
        number = int(token) if token.isdigit() else int(values("numbers").get(token, 0))
        in_name = any(token in name_list(o) for o in self.start.objects)
        if token in ("the", "of", "this", "that", "my") and in_front:
            found.picks = found.picks or (token == "of" and found.count > 0)
        elif token in ("a", "an") and in_front:
            return
        elif token in ("these", "those") and in_front:
            found.plural = True
        elif token in ALL or (token in QUANTIFIERS and in_front):
            found.every = found.every or token not in ("any", "exactly")
            found.count = 2 if token == "both" else found.count
            found.picks = found.picks or token == "any"
            found.plural = found.plural or token in ("all", "both")
            found.generic = found.generic or token == "everything"
        elif number and in_front and (rest or token != "one"):
            found.count, found.plural = number, number > 1
            found.picks = found.picks or "the" not in before
        elif token in values("ranks") and not in_name:
            found.ranks.append(token)
        elif token in COLOUR_WORDS and not (not rest and any(token == name_list(o)[-1] for o in self.start.objects)):
            found.colours.append(token)
        elif singular(token) in GENERIC and not in_name:
            found.plural = found.plural or token != singular(token)
            found.generic = singular(token) != "one" or not self.last
            found.nouns += self.last if singular(token) == "one" else ()
        elif self._fitting(token)[1]:
            is_name = any(token in name_list(o) for o in self.start.objects)
            found.nouns.append(token)
            found.plural = found.plural or (not is_name and token != singular(token)) or token in values("class_words")
        else:
            raise UnclearPhrase(f'not understood: "{token}"')

    def _fitting(self, word: str) -> tuple[list[SceneObject], list[SceneObject]]:
        """Return the objects that a noun fits best, and all that people may mean by it."""
        one = singular(word)
        if word in values("class_words"):
            members = class_members()[values("class_words")[word]]
            found = [o for o in self.start.objects if members & name_words(o)]
            return found, found
        named = [o for o in self.start.objects if word == o.name]
        named = named or [o for o in self.start.objects if {word, one} & {*name_list(o), *name_words(o)}]
        kind = [o for o in self.start.objects if {word, one} & kind_words(o)]
        alike = [o for o in self.start.objects if synonyms(one) & {*name_words(o), *kind_words(o)}]
        return named or kind or alike, list(dict.fromkeys((*named, *kind, *alike)))

    def _select(self, words: _Words, text: str) -> list[SceneObject]:
        """Return the objects that words fit. Raises UnclearPhrase."""
        if not (words.nouns or words.generic or words.every):
            raise UnclearPhrase(f'"{text}" names no object')
        pool = self._fits(self.loose if words.generic and words.every else self.start.objects, words, 0)
        others = self._fits(self.start.objects, words, 1)
        if not pool:
            raise UnclearPhrase(f"there is no {_bare(text)} here; there are: {listed_names(self.names)}")
        several = words.plural or words.every
        if several and len(pool) == 1 and len(others) > 1:
            raise self._ambiguous(text, others)
        if words.ordinal:
            pool = self.start.ranked(pool, "right")
            if abs(words.ordinal) > len(pool):
                raise UnclearPhrase(f'there are only {len(pool)} of them: "{text}"')
            pool = [pool[words.ordinal - 1 if words.ordinal > 0 else words.ordinal]]
        for rank in words.ranks:
            pool = self._extreme(pool, rank, words.count if several else 1, text)
        if words.count:
            return self._counted(pool, words, text)
        if len(pool) > 1 and not several:
            raise self._ambiguous(text, pool)
        return pool

    def _fits(self, objects: Iterable[SceneObject], words: _Words, loosely: int) -> list[SceneObject]:
        pool = list(objects)
        for noun in words.nouns:
            fitting = self._fitting(noun)[loosely]
            pool = [o for o in pool if o in fitting]
        for colour in words.colours:
            named = [o for o in pool if is_shade(colour) and colour in name_list(o)]
            pool = named or [o for o in pool if has_colour(o, colour)]
        return pool

    def _extreme(self, pool: list[SceneObject], rank: str, count: int, text: str) -> list[SceneObject]:
        """Return the first of a pool by a word such as "smallest"; raises UnclearPhrase where that is not clear."""
        if not count or (rank in comparatives() and len(pool) != 2):
            raise self._ambiguous(text, pool)
        key, end = values("ranks")[rank].split("_")
        ordered = self.start.ranked(pool, key)
        ordered = ordered[::-1] if end == "high" else ordered
        if len(ordered) > count and key not in ("right", "away"):
            ends = [self.start.measure(o, key) for o in ordered[count - 1 : count + 1]]
            if max(ends) < VISIBLE_RATIO * min(ends):
                raise self._ambiguous(text, ordered[count - 1 : count + 1])
        return ordered[:count]

    def _counted(self, pool: list[SceneObject], words: _Words, text: str) -> list[SceneObject]:
        if len(pool) < words.count or (len(pool) > words.count and not words.picks):
            raise UnclearPhrase(f'"{text}": there are {len(pool)} of them, say which: {self._listed(pool)}')
        return sorted(pool, key=carry_risk)[: words.count] if len(pool) > words.count else pool

    def _ambiguous(self, text: str, pool: Sequence[SceneObject]) -> UnclearPhrase:
        called = tuple(f"the {self.names.get(o.name, o.name)}" for o in pool)
        return UnclearPhrase(f'"{text}" may mean {" or ".join(called)}: say which', text, called)

    def _listed(self, objects: Sequence[SceneObject]) -> str:
        return listed([f"the {self.names.get(o.name, o.name)}" for o in objects])


def listed_names(names: dict[str, str]) -> str:
    """Return the plain names of all objects: "the red cube, the blue cube"."""
    return ", ".join(f"the {name}" for name in names.values())


def _bare(text: str) -> str:
    return re.sub(r"^(?:(?:the|a|an|all|every|each|any|my) )+", "", text)

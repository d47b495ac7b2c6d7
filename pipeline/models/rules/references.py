"""Which objects a phrase means: "the smallest cube", "all red boxes except the tall one", "the mustard and the mug"."""

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.models.rules.aims import listed
from pipeline.models.rules.things import Thing
from pipeline.models.rules.words import (
    ANYTHING,
    CLASS_LOOKS,
    CLASS_WORDS,
    CLASSES,
    COLOURS,
    FILLER,
    GRADED,
    LOOKS,
    MANY,
    MASS,
    NUMBERS,
    PRODUCTS,
    RANKS,
    SHAPES,
    alike,
    kin,
    singular,
)


class Unclear(Exception):
    """Words that fit nothing here, or too much; says which, and what would work."""

    def __init__(self, message: str, word: str = "", meant: Sequence[str] = (), either: Sequence[str] = ()):
        super().__init__(message)
        self.word, self.meant, self.either = word, tuple(meant), tuple(either)
        """Words that fit nothing here, the names of what is meant by them, or those that one may be meant of."""


NEARLY = 0.65
"""How much alike two words are spelt, at least, where one may be meant by the other."""


@dataclass
class Reader:
    """Reads phrases about one scene; remembers what was named last, for "it" and "them"."""

    things: tuple[Thing, ...]
    right: tuple[float, float] = (1.0, 0.0)
    away: tuple[float, float] = (0.0, 1.0)
    last: tuple[Thing, ...] = field(default=())

    def read(self, phrase: str) -> tuple[Thing, ...]:
        """The things meant, at least one. Raises Unclear."""
        text = " ".join(re.findall(r"[\w'-]+|,|&", phrase.lower().replace(" as well as ", " and ")))
        if re.fullmatch(r"(it|them|they|those|these|this|that|all of them|both of them)", text) and self.last:
            return self.last
        if re.fullmatch(r"it|them|they|those|these|this|that", text):
            raise Unclear(f'"{text}" may be anything here: say which; {self.there_are()}', text)
        kept, *excepted = re.split(
            r"\b(?:except(?: for)?|but not|other than|apart from|without|but)\b", text, maxsplit=1
        )
        found = self._union(kept)
        out = {t.name for t in self._union(excepted[0])} if excepted else set()
        self.last = tuple(t for t in found if t.name not in out)
        if not self.last:
            raise Unclear(f'"{phrase.strip()}" leaves nothing')
        return self.last

    def _union(self, text: str) -> tuple[Thing, ...]:
        parts = [p.strip() for p in re.split(r",|&|\band\b|\bor\b", text) if p.strip()]
        if not parts:
            raise Unclear("no object is named; " + self.there_are())
        if len(parts) == 1 and len(parts[0].split()) > 1 and all(w in COLOURS for w in parts[0].split()):
            parts = parts[0].split()  # "stack red green blue"
        noun = self.noun(parts[-1])
        found: dict[str, Thing] = {}
        for part in parts:
            words = part.split()
            if not self.noun(part) and part != parts[-1] and noun:  # "the red and blue cubes"
                words.append(noun)
            found |= {t.name: t for t in self._one(words, part)}
        return tuple(found.values())

    def noun(self, phrase: str) -> str:
        """The last word that is no colour, size, number or filler; empty where there is none."""
        light = FILLER | MANY | ANYTHING | set(COLOURS) | set(RANKS) | set(SHAPES) | set(NUMBERS)
        return next((w for w in reversed(phrase.lower().split()) if w not in light and singular(w) not in light), "")

    def _one(self, words: Sequence[str], phrase: str) -> tuple[Thing, ...]:
        joined = "_".join(w for w in words if w not in FILLER)
        exact = next((t for t in self.things if t.name in (joined, *words)), None)
        if exact:
            return (exact,)
        several = bool((MANY | MASS) & set(words)) or any(w != singular(w) and w not in FILLER for w in words)
        pool = list(self.things)
        ranks: list[str] = []
        nouns: list[str] = []
        for word in words:
            bare = singular(word)
            if word in COLOURS and not any(word in tokens(t) - {t.colour} for t in pool if word == "orange"):
                pool = self._keep(pool, lambda t, c=COLOURS[word]: t.colour == c or c in t.name.split("_"), word)
            elif word in SHAPES:
                pool = self._keep(pool, lambda t, shapes=SHAPES[word]: t.shape in shapes, word)
            elif word in RANKS:
                ranks.append(word)
            elif word not in FILLER and word not in MANY and word not in NUMBERS and bare not in ANYTHING:
                nouns.append(word)
        for at, noun in enumerate(nouns):
            pool = self._called(pool, noun, nouns[at:])
        if not (nouns or ranks or several or len(pool) < len(self.things)) and not ANYTHING & {
            singular(w) for w in words
        }:
            raise Unclear(f'"{phrase}" names no object; ' + self.there_are())
        if {"other", "else", "remaining", "rest"} & set(words) and self.last:
            pool = [t for t in pool if t not in self.last]
            several = True
        for word in ranks:
            pool = self._ranked(pool, word, several)
        count = next((NUMBERS[w] for w in words if w in NUMBERS), 0)
        if count and len(pool) < count:
            raise Unclear(f'"{phrase}": only {len(pool)} here: {listed([t.name for t in pool])}')
        if count and not ranks:
            pool = pool[:count]
        if len(pool) > 1 and not several and not count:
            if {"a", "an", "any", "some", "one"} & set(words):
                return tuple(pool[:1])
            names, said = [t.name for t in pool], " ".join(w for w in words if w not in FILLER)
            raise Unclear(f'"{phrase}" may mean {" or ".join(names)}: say which', said, either=names)
        return tuple(pool)

    def _keep(self, pool: list[Thing], fits: Callable[[Thing], bool], word: str) -> list[Thing]:
        kept = [t for t in pool if fits(t)]
        if not kept:
            raise Unclear(f"there is nothing {word} here; " + self.there_are())
        return kept

    def _called(self, pool: list[Thing], noun: str, nouns: Sequence[str]) -> list[Thing]:
        """Those of the pool that go by a noun; `nouns` are it and what follows: "tomato", "soup"."""
        bare = singular(noun)
        klass = CLASS_WORDS.get(bare) or CLASS_WORDS.get(noun)
        members = set(CLASSES[klass].split()) if klass else set()
        members |= set(CLASSES["snack"].split()) if klass == "food" else set()
        readings: list[Callable[[Thing], bool]] = [
            lambda t: bool({noun, bare} & tokens(t)),
            lambda t: bool(members & tokens(t)),
            lambda t: bare == "container" and t.container,
            lambda t: bool(kin(bare) & tokens(t)),
        ]
        for fits in readings:
            if kept := [t for t in pool if fits(t)]:
                return kept
        known = sorted({word for t in pool for word in tokens(t)})
        anagram = [w for w in known if sorted(w) == sorted(bare)]
        if near := anagram or difflib.get_close_matches(bare, known, 1, 0.85):
            return [t for t in pool if near[0] in tokens(t)]
        raise self._asked_back(nouns, pool, CLASS_LOOKS.get(klass or "", set()))

    def _asked_back(self, nouns: Sequence[str], pool: list[Thing], looks: set[str]) -> Unclear:
        """Which things may be meant by words that fit none: what looks like them, else what is spelt like them."""
        noun = nouns[-1]
        bare = singular(noun)
        look = PRODUCTS.get(bare) or PRODUCTS.get(noun)
        meant = [t for t in pool if looks & tokens(t)] or [t for t in pool if look and looks_like(t, *look)]
        if len(meant) < 1 + (noun != bare):
            meant = [t for t in pool if alike(bare) & {t.category, t.shape}] or meant
        spelt = difflib.get_close_matches(bare, [w for t in self.things for w in (t.name, *tokens(t))], 1, NEARLY)
        meant = meant or [t for t in self.things if spelt and spelt[0] in {t.name, *tokens(t)}]
        meant = meant or (pool if len(pool) == 1 < len(self.things) else [])
        plural = noun != bare
        names = [t.name for t in (meant if plural or len(meant) < 4 else meant[:3])]
        hint = (
            f"; did you mean {'all of ' if plural and len(names) > 1 else ''}" + _or(names, plural) + "?"
            if names
            else ""
        )
        one = names if len(names) == 1 or plural else ()
        lacking = " ".join([*nouns[:-1], bare])
        return Unclear(f"there is no {lacking} here; {self.there_are()}{hint}", " ".join(nouns), one, names)

    def _ranked(self, pool: list[Thing], word: str, several: bool) -> list[Thing]:
        key, end = RANKS[word]
        values = sorted(pool, key=lambda t: self.measure(t, key))
        if several and word in GRADED:
            half = len(values) // 2
            return values[-half:] if end else values[:half] if half else values
        return [values[round(end * (len(values) - 1))]]

    def measure(self, thing: Thing, key: str) -> float:
        """Of "volume", "height", "width", "narrow", and "right" or "away" as the camera sees it."""
        if key in ("right", "away"):
            axis = self.right if key == "right" else self.away
            return thing.position[0] * axis[0] + thing.position[1] * axis[1]
        return getattr(thing, key)

    def there_are(self) -> str:
        if not self.things:
            return "no object was found on this table"
        return f"there {'are' if len(self.things) > 1 else 'is'}: " + ", ".join(t.name for t in self.things)


def _or(names: Sequence[str], every: bool) -> str:
    quoted = [f'"{name}"' for name in names]
    return listed(quoted) if every else " or ".join(quoted)


def tokens(thing: Thing) -> set[str]:
    """All words a thing goes by."""
    words = set(
        re.findall(r"[a-z]+", f"{thing.name} {thing.category} {thing.shape} {thing.colour} {thing.about}".lower())
    )
    return words | {singular(w) for w in words}


def looks_like(thing: Thing, colour: str, kind: str) -> bool:
    """Whether words of a colour, or none, and of a kind in LOOKS may mean the thing."""
    return (not colour or thing.colour == colour) and bool(LOOKS[kind] & {thing.category or thing.shape, thing.shape})

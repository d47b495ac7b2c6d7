"""Objects that a phrase refers to: "the smallest cube", "all red boxes except the tall one", "the mug and the can"."""

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipeline.description.colour_names import COLOUR_WORDS
from pipeline.planner.scene_objects import SceneObject
from pipeline.planner.vocabulary import (
    ANYTHING,
    CLASS_LOOKS,
    CLASS_WORDS,
    CLASSES,
    FILLER,
    GRADED,
    LOOKS,
    MASS,
    NUMBERS,
    PLURAL_WORDS,
    PRODUCTS,
    RANKS,
    SHAPES,
    lookalikes,
    singular,
    synonyms,
)
from pipeline.simulation.goals.spec import listed


class UnclearPhrase(Exception):
    """A phrase fits no object, or too many; the message says which, and what would work."""

    def __init__(
        self, message: str, unknown: str = "", suggested: Sequence[str] = (), alternatives: Sequence[str] = ()
    ):
        super().__init__(message)
        self.unknown = unknown
        """Words that fit no object."""
        self.suggested = tuple(suggested)
        """Names of the objects that they probably refer to, all together."""
        self.alternatives = tuple(alternatives)
        """Names of the objects of which they may refer to one."""


MIN_SPELLING_RATIO = 0.65
"""Smallest similarity in spelling (difflib) of words of which one may stand for the other."""


@dataclass
class PhraseReader:
    """Resolves phrases about one scene; remembers what was named last, for "it" and "them"."""

    objects: tuple[SceneObject, ...]
    right: tuple[float, float] = (1.0, 0.0)
    away: tuple[float, float] = (0.0, 1.0)
    last: tuple[SceneObject, ...] = field(default=())

    def read(self, phrase: str) -> tuple[SceneObject, ...]:
        """Return the objects that a phrase refers to, at least one. Raises UnclearPhrase."""
        text = " ".join(re.findall(r"[\w'-]+|,|&", phrase.lower().replace(" as well as ", " and ")))
        if re.fullmatch(r"(it|them|they|those|these|this|that|all of them|both of them)", text) and self.last:
            return self.last
        if re.fullmatch(r"it|them|they|those|these|this|that", text):
            raise UnclearPhrase(f'"{text}" may be anything here: say which; {self.objects_present()}', text)
        chosen, *excepted = re.split(
            r"\b(?:except(?: for)?|but not|other than|apart from|without|but)\b", text, maxsplit=1
        )
        found = self._union(chosen)
        out = {t.name for t in self._union(excepted[0])} if excepted else set()
        self.last = tuple(t for t in found if t.name not in out)
        if not self.last:
            raise UnclearPhrase(f'"{phrase.strip()}" leaves nothing')
        return self.last

    def _union(self, text: str) -> tuple[SceneObject, ...]:
        parts = [p.strip() for p in re.split(r",|&|\band\b|\bor\b", text) if p.strip()]
        if not parts:
            raise UnclearPhrase("no object is named; " + self.objects_present())
        if len(parts) == 1 and len(parts[0].split()) > 1 and all(w in COLOUR_WORDS for w in parts[0].split()):
            parts = parts[0].split()  # "stack red green blue"
        noun = self.noun(parts[-1])
        found: dict[str, SceneObject] = {}
        for part in parts:
            words = part.split()
            if not self.noun(part) and part != parts[-1] and noun:  # "the red and blue cubes"
                words.append(noun)
            found |= {t.name: t for t in self._phrase_objects(words, part)}
        return tuple(found.values())

    def noun(self, phrase: str) -> str:
        """Return the last word that is no colour, size, number or filler; empty where there is none."""
        light = FILLER | PLURAL_WORDS | ANYTHING | set(COLOUR_WORDS) | set(RANKS) | set(SHAPES) | set(NUMBERS)
        return next((w for w in reversed(phrase.lower().split()) if w not in light and singular(w) not in light), "")

    def _phrase_objects(self, words: Sequence[str], phrase: str) -> tuple[SceneObject, ...]:
        joined = "_".join(w for w in words if w not in FILLER)
        exact = next((t for t in self.objects if t.name in (joined, *words)), None)
        if exact:
            return (exact,)
        several = bool((PLURAL_WORDS | MASS) & set(words)) or any(w != singular(w) and w not in FILLER for w in words)
        pool = list(self.objects)
        ranks: list[str] = []
        nouns: list[str] = []
        for word in words:
            bare = singular(word)
            if word in COLOUR_WORDS and not any(word in tokens(t) - {t.colour} for t in pool if word == "orange"):
                pool = self._filtered(
                    pool, lambda t, c=COLOUR_WORDS[word]: t.colour == c or c in t.name.split("_"), word
                )
            elif word in SHAPES:
                pool = self._filtered(pool, lambda t, shapes=SHAPES[word]: t.shape in shapes, word)
            elif word in RANKS:
                ranks.append(word)
            elif word not in FILLER and word not in PLURAL_WORDS and word not in NUMBERS and bare not in ANYTHING:
                nouns.append(word)
        for at, noun in enumerate(nouns):
            pool = self._named(pool, noun, nouns[at:])
        if not (nouns or ranks or several or len(pool) < len(self.objects)) and not ANYTHING & {
            singular(w) for w in words
        }:
            raise UnclearPhrase(f'"{phrase}" names no object; ' + self.objects_present())
        if {"other", "else", "remaining", "rest"} & set(words) and self.last:
            pool = [t for t in pool if t not in self.last]
            several = True
        for word in ranks:
            pool = self._by_rank(pool, word, several)
        count = next((NUMBERS[w] for w in words if w in NUMBERS), 0)
        if count and len(pool) < count:
            raise UnclearPhrase(f'"{phrase}": only {len(pool)} here: {listed([t.name for t in pool])}')
        if count and not ranks:
            pool = pool[:count]
        if len(pool) > 1 and not several and not count:
            if {"a", "an", "any", "some", "one"} & set(words):
                return tuple(pool[:1])
            names, words_left = [t.name for t in pool], " ".join(w for w in words if w not in FILLER)
            raise UnclearPhrase(f'"{phrase}" may mean {" or ".join(names)}: say which', words_left, alternatives=names)
        return tuple(pool)

    def _filtered(self, pool: list[SceneObject], fits: Callable[[SceneObject], bool], word: str) -> list[SceneObject]:
        chosen = [t for t in pool if fits(t)]
        if not chosen:
            raise UnclearPhrase(f"there is nothing {word} here; " + self.objects_present())
        return chosen

    def _named(self, pool: list[SceneObject], noun: str, nouns: Sequence[str]) -> list[SceneObject]:
        """Return those of the pool that a noun fits; `nouns` are it and the words that follow: "tomato", "soup"."""
        bare = singular(noun)
        klass = CLASS_WORDS.get(bare) or CLASS_WORDS.get(noun)
        members = set(CLASSES[klass].split()) if klass else set()
        members |= set(CLASSES["snack"].split()) if klass == "food" else set()
        readings: list[Callable[[SceneObject], bool]] = [
            lambda t: bool({noun, bare} & tokens(t)),
            lambda t: bool(members & tokens(t)),
            lambda t: bare == "container" and t.container,
            lambda t: bool(synonyms(bare) & tokens(t)),
        ]
        for fits in readings:
            if chosen := [t for t in pool if fits(t)]:
                return chosen
        known = sorted({word for t in pool for word in tokens(t)})
        anagram = [w for w in known if sorted(w) == sorted(bare)]
        if near := anagram or difflib.get_close_matches(bare, known, 1, 0.85):
            return [t for t in pool if near[0] in tokens(t)]
        raise self._no_such_object(nouns, pool, CLASS_LOOKS.get(klass or "", set()))

    def _no_such_object(self, nouns: Sequence[str], pool: list[SceneObject], looks: set[str]) -> UnclearPhrase:
        """Return the error for words that fit no object, with suggestions that look alike, or else are spelt alike."""
        noun = nouns[-1]
        bare = singular(noun)
        look = PRODUCTS.get(bare) or PRODUCTS.get(noun)
        suggested = [t for t in pool if looks & tokens(t)] or [t for t in pool if look and looks_like(t, *look)]
        if len(suggested) < 1 + (noun != bare):
            suggested = [t for t in pool if lookalikes(bare) & {t.category, t.shape}] or suggested
        spelling = difflib.get_close_matches(
            bare, [w for t in self.objects for w in (t.name, *tokens(t))], 1, MIN_SPELLING_RATIO
        )
        suggested = suggested or [t for t in self.objects if spelling and spelling[0] in {t.name, *tokens(t)}]
        suggested = suggested or (pool if len(pool) == 1 < len(self.objects) else [])
        plural = noun != bare
        names = [t.name for t in (suggested if plural or len(suggested) < 4 else suggested[:3])]
        hint = (
            f"; did you mean {'all of ' if plural and len(names) > 1 else ''}" + _or(names, plural) + "?"
            if names
            else ""
        )
        one = names if len(names) == 1 or plural else ()
        lacking = " ".join([*nouns[:-1], bare])
        return UnclearPhrase(f"there is no {lacking} here; {self.objects_present()}{hint}", " ".join(nouns), one, names)

    def _by_rank(self, pool: list[SceneObject], word: str, several: bool) -> list[SceneObject]:
        key, end = RANKS[word]
        values = sorted(pool, key=lambda t: self.measure(t, key))
        if several and word in GRADED:
            half = len(values) // 2
            return values[-half:] if end else values[:half] if half else values
        return [values[round(end * (len(values) - 1))]]

    def measure(self, o: SceneObject, key: str) -> float:
        """Return "volume", "height", "width", "narrow", or the position "right" or "away" as the camera sees it."""
        if key in ("right", "away"):
            axis = self.right if key == "right" else self.away
            return o.position[0] * axis[0] + o.position[1] * axis[1]
        return getattr(o, key)

    def objects_present(self) -> str:
        """Return a sentence that lists the objects."""
        if not self.objects:
            return "no object was found on this table"
        return f"there {'are' if len(self.objects) > 1 else 'is'}: " + ", ".join(t.name for t in self.objects)


def _or(names: Sequence[str], every: bool) -> str:
    quoted = [f'"{name}"' for name in names]
    return listed(quoted) if every else " or ".join(quoted)


def tokens(o: SceneObject) -> set[str]:
    """Return all words by which an object may be called."""
    words = set(re.findall(r"[a-z]+", f"{o.name} {o.category} {o.shape} {o.colour} {o.about}".lower()))
    return words | {singular(w) for w in words}


def looks_like(o: SceneObject, colour: str, kind: str) -> bool:
    """Return whether an object looks like a product of a colour, if any, and a kind in LOOKS."""
    return (not colour or o.colour == colour) and bool(LOOKS[kind] & {o.category or o.shape, o.shape})

"""Tokens of an instruction: words and phrases of the lexicon, with misspelt words corrected."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from pipeline.planner.language.lexicon import longest_unit, singular, units

NO_TAGS: Mapping[str, str] = MappingProxyType({})
MIN_CORRECTED = 4
"""Letters from which a word with one wrong letter is corrected."""
SIDE_WORDS = ("left", "back")
CORRECTED_VERBS = ("put", "place", "move", "stack", "build", "swap", "bring", "take", "sort", "group", "push", "open",
                   "close", "gather", "arrange", "align", "switch", "please", "leave", "touch")  # fmt: skip
CORRECTED_TAGS = {"relations", "places", "colours", "determiners", "exceptions", "conditions", "numbers", "ranks",
                  "others", "class_words", "nouns", "anything", "arrangements", "table", "sequence",
                  "materials"}  # fmt: skip
"""Words to which misspelt words are corrected besides those of the scene: other English words may be as they are."""
MIN_TOLERANT_SCENE, MIN_TOLERANT = 6, 8
"""Letters from which two may be wrong: of words for the scene's objects, and of all others."""


@dataclass(frozen=True)
class Token:
    """A word or phrase of the lexicon, or a word that is not in it."""

    text: str
    tags: Mapping[str, str] = field(default_factory=lambda: NO_TAGS)
    """Value by tag, as in `lexicon.units`; {"scene": word} for a word of an object's name."""

    def has(self, *tags: str) -> bool:
        """Return whether the token has one of these tags."""
        return any(tag in self.tags for tag in tags)

    def value(self, tag: str) -> str:
        """Return the value of a tag; empty without it."""
        return self.tags.get(tag, "")


COMMA = Token(",", {"comma": ","})
STOP = Token(";", {"stop": ";"})


def text_of(tokens: Iterable[Token]) -> str:
    """Return tokens as plain text."""
    return " ".join(token.text for token in tokens).replace(" ,", ",")


def tokenize(text: str, scene_words: frozenset[str]) -> list[Token]:
    """Return the tokens of a plain text; `scene_words` are the words of the objects' names."""
    raw = [part for word in re.findall(r"[\w'-]+|[,;&]", text) for part in _parts(word, scene_words)]
    words = [word if word in ",;&" else corrected(word, scene_words) for word in raw]
    tokens: list[Token] = []
    at = 0
    while at < len(words):
        size, tags = _longest(words, at)
        piece = words[at : at + size]
        scene = {"scene": piece[0]} if size == 1 and {piece[0], singular(piece[0])} & scene_words else {}
        if piece == [","]:
            tokens.append(COMMA)
        elif piece == [";"]:
            tokens.append(STOP)
        else:
            tokens.append(Token(" ".join(piece), {**tags, **scene}))
        at += size
    return [_as_noun(tokens, i) if token.text == "rest" else token for i, token in enumerate(tokens)]


def _parts(word: str, scene_words: frozenset[str]) -> list[str]:
    """Return the known words of a compound that nothing is called by: "line-up", or an id that is not in the scene."""
    parts = [part for part in re.split(r"[_-]+", word) if part]
    is_called = word in scene_words or (word,) in units() or word in vocabulary()
    return [word] if is_called or not all(is_known(part, scene_words) for part in parts) else parts


def _as_noun(tokens: Sequence[Token], at: int) -> Token:
    """Return the token "rest" as the others ("the rest at the front", "cup back, rest front") where it is no verb."""
    before = tokens[at - 1] if at else STOP
    after = tokens[at + 1] if at + 1 < len(tokens) else STOP
    is_noun = before.has("determiners") or (before.has("comma", "conjunctions", "stop") and after.has("places", "stop"))
    token = tokens[at]
    return Token(token.text, {"others": token.value("others")}) if is_noun else token


def _longest(words: Sequence[str], at: int) -> tuple[int, Mapping[str, str]]:
    """Return the number of words of the longest phrase that begins here, and its tags."""
    for size in range(min(longest_unit(), len(words) - at), 0, -1):
        piece = tuple(words[at : at + size])
        if piece in units():
            return size, units()[piece]
        if size == 1 and (singular(piece[0]),) in units():
            tags = units()[(singular(piece[0]),)]
            return 1, {tag: value for tag, value in tags.items() if tag in ("nouns", "known", "class_words", "mass")}
    return 1, NO_TAGS


def is_known(word: str, scene_words: frozenset[str]) -> bool:
    """Return whether a word stands in the lexicon or in an object's name."""
    forms = {word, singular(word)}
    return bool(forms & scene_words) or any(form in vocabulary() for form in forms) or word.isdigit() or "_" in word


_vocabulary: set[str] = set()


def vocabulary() -> set[str]:
    """Return every single word of the lexicon, also those of phrases."""
    if not _vocabulary:
        _vocabulary.update(word for unit in units() for word in unit)
    return _vocabulary


@cache
def correctable() -> frozenset[str]:
    """Return the words of the lexicon to which misspelt ones are corrected."""
    return frozenset(
        word for word in vocabulary()
        if word in CORRECTED_VERBS or units().get((word,), {}).keys() & CORRECTED_TAGS
    )  # fmt: skip


def corrected(word: str, scene_words: frozenset[str]) -> str:
    """Return a misspelt word as it was intended; words that are known, or like several others, stay as they are."""
    if is_known(word, scene_words):
        return word
    of_scene = [one for one in scene_words | {f"{w}s" for w in scene_words} if _is_misspelling(word, one, True)]
    if best := sorted(of_scene, key=lambda one: (-_ratio(word, one), one)):
        return best[0]
    near = [one for one in correctable() if _is_misspelling(word, one, False)]
    best = sorted(near, key=lambda one: (-_ratio(word, one), one))
    if best and (len(best) == 1 or _ratio(word, best[0]) > _ratio(word, best[1])):
        return best[0]
    return word


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _is_misspelling(word: str, known: str, is_of_scene: bool) -> bool:
    if len(word) < 3 or abs(len(word) - len(known)) > 2 or "_" in known or "_" in word or len(known) < 3:
        return False
    if sorted(word) == sorted(known):
        return word[0] == known[0]
    if len(word) == 3 and len(known) == 4 and (is_of_scene or known in SIDE_WORDS):
        return known.startswith(word)  # "lef", "bal"
    if len(word) < MIN_CORRECTED or len(known) < MIN_CORRECTED or (word[0] != known[0] and len(known) < 6):
        return False
    if not is_of_scene and word[0] != known[0]:
        return False
    tolerant = min(len(word), len(known)) >= (MIN_TOLERANT_SCENE if is_of_scene else MIN_TOLERANT)
    return edit_distance(word, known) <= (2 if tolerant else 1)


def edit_distance(one: str, other: str) -> int:
    """Return the number of letters to insert, delete, exchange or swap with a neighbour (optimal string alignment)."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]

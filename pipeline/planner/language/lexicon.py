"""What each English word or phrase of an instruction may do in a sentence; lexicon.toml holds the words."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.description.colour_names import COLOUR_WORDS

SINGLE_TAGS = (
    "unsupported_relations", "place_nouns", "table", "groupings", "impossible", "wishes", "fillers", "modals",
    "copulas", "sequence", "beginning", "exceptions", "results", "conjunctions", "relative", "negations", "graded",
    "materials",
    "question_words", "stays", "earlier", "others", "known", "mass", "unmoved", "empty", "addressee", "comparisons",
    "parts", "common",
)  # fmt: skip
"""Tables of the lexicon with one list of words each; the tag of a word is the table's name."""
VALUED_TAGS = (
    "relations", "places", "arrangements", "orders", "reverse", "verbs", "participles", "conditions", "pronouns",
    "determiners", "anything", "quantities", "numbers", "ordinals", "ranks", "class_words", "affordances", "soon",
    "corrections", "extremes",
)  # fmt: skip
"""Tables with several lists of words; a word's tag is the table's name, and its value the name of its list."""


PASSIVE = ("be", "is", "are", "been", "has been", "have been", "was", "were", "being", "get", "gets", "got", "to be")
"""Forms of the passive before a participle."""


@cache
def tables() -> Mapping[str, Any]:
    """Return the tables of lexicon.toml by name."""
    return tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text("utf-8"))


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of one list of the lexicon."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


@cache
def units() -> Mapping[tuple[str, ...], Mapping[str, str]]:
    """Return the tags of every word and phrase, by its words: {("next", "to"): {"relations": "near"}}."""
    found: dict[tuple[str, ...], dict[str, str]] = {}

    def add(phrase: str, tag: str, value: str) -> None:
        found.setdefault(tuple(phrase.split()), {}).setdefault(tag, value)

    for tag in SINGLE_TAGS:
        for word in words_of(tables()[tag]["words"]):
            add(word, tag, word)
    for tag in VALUED_TAGS:
        for value, text in tables()[tag].items():
            for word in words_of(text):
                add(word, tag, value)
                if tag == "verbs":
                    first, *rest = word.split()
                    for form in gerunds(first):
                        add(" ".join([form, *rest]), "gerunds", value)
    for word in words_of(tables()["moved"]["words"]):
        for auxiliary in PASSIVE:
            add(f"{auxiliary} {word}", "copulas", word)
    for word, colour in COLOUR_WORDS.items():
        add(word, "colours", colour)
        add(f"{word}ish", "colours", colour)
        add(f"{word}-coloured", "colours", colour)
    for shade in tables()["shades"]["words"].split(", "):
        for word, colour in COLOUR_WORDS.items():
            add(f"{shade} {word}", "colours", colour)
            add(f"{shade}-{word}", "colours", colour)
    add("reddish", "colours", "red")
    add("bluish", "colours", "blue")
    add("bluish green", "colours", "green")
    add("reddish brown", "colours", "red")
    for word, shapes in tables()["shapes"].items():
        add(word, "shapes", shapes)
    for group in (*synonym_groups(), *lookalike_groups()):
        for word in group:
            if " " not in word or group in synonym_groups():
                add(word, "nouns", word)
    for text in tables()["classes"].values():
        for word in words_of(text):
            add(word, "nouns", word)
    return found


def gerunds(verb: str) -> tuple[str, ...]:
    """Return the forms of a verb that end in -ing."""
    doubled = verb + verb[-1] + "ing" if len(verb) > 2 and verb[-1] not in "aeiouwyk" else verb + "ing"
    return tuple({verb + "ing", verb.removesuffix("e") + "ing", doubled})


@cache
def longest_unit() -> int:
    """Return the number of words of the longest phrase."""
    return max(map(len, units()))


@cache
def synonym_groups() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words_of(group)) for group in tables()["synonyms"]["groups"])


@cache
def lookalike_groups() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words_of(group)) for group in tables()["lookalikes"]["groups"])


@cache
def class_members() -> Mapping[str, frozenset[str]]:
    """Return the words for the members of each class."""
    members = {name: frozenset(words_of(text)) for name, text in tables()["classes"].items()}
    return members | {"food": members["food"] | members["snack"]}


def product_look(word: str) -> tuple[str, str] | None:
    """Return the usual colour (may be empty) and kind (a key of `looks`) of a product, or None."""
    text = tables()["products"].get(word)
    if text is None:
        return None
    colour, kind = text.split()
    return colour.strip("-"), kind


def looks(kind: str) -> frozenset[str]:
    """Return the measured shapes and the categories that a kind of product has."""
    return frozenset(tables()["looks"][kind].split())


def class_looks(name: str) -> frozenset[str]:
    """Return the categories in which members of a class often come."""
    return frozenset(tables()["class_looks"].get(name, "").split())


def singular(word: str) -> str:
    """Return the singular of a word, by its ending."""
    for ending, base in (("ies", "y"), ("boxes", "box"), ("dishes", "dish"), ("glasses", "glass"), ("ves", "fe")):
        if word.endswith(ending) and word not in ("movies", "cookies"):
            return word[: -len(ending)] + base
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def plural(word: str) -> str:
    """Return the plural of a word, by its ending."""
    if word.endswith(("x", "s", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else f"{word}s"


def synonyms(word: str) -> frozenset[str]:
    """Return the words with the same meaning, including the word itself."""
    return frozenset({word}).union(*(group for group in synonym_groups() if word in group))


def lookalikes(word: str) -> frozenset[str]:
    """Return the words for objects that look alike, without the word itself and its synonyms."""
    return frozenset().union(*(group for group in lookalike_groups() if word in group)) - synonyms(word)


@cache
def places() -> Mapping[str, str]:
    """Return the side of the table by each single word for it: {"front": "near"}."""
    return {word: side for side, text in tables()["places"].items() for word in words_of(text) if " " not in word}

"""English words of instructions (lexicon.toml), and the words by which objects are called."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pipeline.description.colour_names import BASIC_COLOURS, COLOUR_WORDS
from pipeline.planner.scene_objects import SceneObject

MEASURED_CAPTION = re.compile(r"^(?:\(mark \d+\) )?[\w -]+, [\d. x]+ cm\b")
"""Caption that only repeats the measured colour, shape and size."""


class UnclearPhrase(Exception):
    """Words cannot be read as a task; the message says which, and what would work."""

    def __init__(self, message: str, phrase: str = "", choices: tuple[str, ...] = (), is_unread: bool = False):
        super().__init__(message)
        self.is_unread = is_unread
        """Whether words have no meaning here, and not just one that cannot be done."""
        self.phrase, self.choices = phrase, choices
        """Words that fit several objects, and a phrase for each of these."""


@cache
def tables() -> Mapping[str, Any]:
    """Return the tables of lexicon.toml by name."""
    return tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text("utf-8"))


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of one list of the lexicon."""
    return tuple(word.strip() for word in re.split("[,;]", text) if word.strip())


@cache
def values(table: str) -> Mapping[str, str]:
    """Return the key of each word of a table: {"front": "near"}."""
    return {word: key for key, text in tables()[table].items() for word in words_of(text)}


@cache
def comparatives() -> frozenset[str]:
    """Return the words that compare two objects, such as "smaller"."""
    return frozenset(word for text in tables()["ranks"].values() for word in words_of(text.partition(";")[2]))


@cache
def class_members() -> Mapping[str, frozenset[str]]:
    """Return the words for the members of each class."""
    members = {name: frozenset(words_of(text)) for name, text in tables()["classes"].items()}
    return members | {"food": members["food"] | members["snack"]}


@cache
def synonyms(word: str) -> frozenset[str]:
    """Return the words with the same meaning, including the word itself."""
    groups = (frozenset(words_of(group)) for group in tables()["synonyms"]["groups"])
    return frozenset({word}).union(*(group for group in groups if word in group))


def singular(word: str) -> str:
    """Return the singular of a word, by its ending."""
    for ending, base in (("ies", "y"), ("boxes", "box"), ("dishes", "dish"), ("glasses", "glass"), ("ves", "fe")):
        if word.endswith(ending):
            return word[: -len(ending)] + base
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def name_list(o: SceneObject) -> list[str]:
    """Return the words of an object's name, without its number."""
    return [word for word in o.name.lower().split("_") if not word.isdigit()]


@lru_cache(maxsize=512)
def name_words(o: SceneObject) -> frozenset[str]:
    """Return the nouns of an object: of its name and of a person's or a model's caption."""
    words = name_list(o)
    if len(words) > 1 and words[0] in COLOUR_WORDS:
        words = words[1:]
    if o.caption and not MEASURED_CAPTION.match(o.caption):
        head = re.split(r"\b(?:in|on|next|behind|with|near|beside|lying|standing)\b", o.caption)[0]
        words += [w for w in re.findall(r"[a-z]+", head) if w not in COLOUR_WORDS]
    return frozenset([*words, *(singular(word) for word in words)])


@lru_cache(maxsize=512)
def kind_words(o: SceneObject) -> frozenset[str]:
    """Return the words for an object's category and measured shape."""
    form = {"sphere": ("ball", "round"), "cylinder": ("round",), "cube": ("square",), "box": ("square",)}.get(
        o.shape, ()
    )
    return frozenset({o.category, o.shape, *form}) - {"", "irregular"}


@lru_cache(maxsize=512)
def loose_words(o: SceneObject) -> frozenset[str]:
    """Return the words that may be meant for an object: also of an asset that was not chosen, and of its class."""
    words = set(re.findall(r"[a-z]+", f"{o.name} {o.caption.rsplit('cm', 1)[-1]} {o.asset}".lower()))
    classes = [key for key, members in class_members().items() if members & name_words(o)]
    words |= {*classes, *(word for key in classes for word in words_of(tables()["class_words"].get(key, "")))}
    return frozenset(words) | {singular(w) for w in words} | kind_words(o)


def has_colour(o: SceneObject, word: str) -> bool:
    """Return whether a colour word fits an object; a shade such as "teal" only by name where its name has it."""
    return word in name_list(o) or o.colour == COLOUR_WORDS[word]


def is_shade(word: str) -> bool:
    """Return whether a colour word is none of the basic colours."""
    return word in COLOUR_WORDS and word not in BASIC_COLOURS

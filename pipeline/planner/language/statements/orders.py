"""Orders of rows and towers in words: "by height", "from big to small", "the smallest on top", "left to right"."""

# ruff: noqa: E501  (a pattern reads best on one line)

import re
from dataclasses import dataclass, field
from functools import cache

from pipeline.planner.language.lexicon import tables, words_of

END = r"bottom|top|left|right|front|back|left end|right end"


@dataclass
class Order:
    """An order that a clause states; empty fields where it states none."""

    key: str = ""
    """"height", "width", "volume", "colour" or "name"."""
    falling: bool | None = None
    """Whether the greatest comes first (at the bottom, on the left, in front)."""
    along: str = ""
    """"right" or "away"."""
    reverse: bool = False
    """Whether the order is stated from right to left, from far to near, or from top to bottom."""
    as_listed: bool = False
    ends: dict[str, str] = field(default_factory=dict)
    """Phrase for the object at the "bottom" or "top" (also of a row: its first and last end)."""

    def __bool__(self) -> bool:
        return bool(self.key or self.falling is not None or self.along or self.as_listed or self.ends)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    ranks = "|".join(sorted((re.escape(w) for w in _rank_words()), key=len, reverse=True))
    keys = "|".join(sorted((re.escape(w) for w in _key_words()), key=len, reverse=True))
    turns = "|".join(words_of(tables()["reverse"]["rising"] + "," + tables()["reverse"]["falling"]))
    lead = r",? ?(?:and )?(?:with )?"
    the = r"(?:the )?"
    return tuple((name, re.compile(text)) for name, text in (
        ("direction", rf"{lead}\b(?:going )?(?:from )?{the}(left|right|front|back|near|far|bottom|top) to {the}(left|right|front|back|near|far|bottom|top)\b"),
        ("listed", r",? ?\b(?:in (?:this|that|the given|exactly this|the following) order|bottom first|in order)\b:?$|\bin this order\b:?|\bbottom first\b"),
        ("top_first", r",? ?\btop first\b"),
        ("turn", rf"{lead}\b(?:in |by )?{the}(?:an? )?({turns})(?: order)?(?: of| by| in)? ?{the}({keys})?\b"),
        ("turned_key", rf"{lead}\b(?:by |in )({keys}),? (?:in )?(?:an? )?({turns})(?: order)?\b"),
        ("range", rf"{lead}\b(?:in order )?(?:from )?{the}({ranks})(?: one)? to {the}({ranks})(?: one)?\b"),
        ("first", rf"{lead}\b(?:starting (?:with|from) |beginning with )?{the}({ranks})(?: one)?(?: comes| goes| is)? (first|last)\b"),
        ("starting", rf"{lead}\b(?:starting (?:with|from)|beginning with|start with) {the}({ranks})(?: one)?\b"),
        ("rank_end", rf"{lead}\b{the}({ranks})(?: \w+)? (?:goes |is |comes |being )?(?:at the|on the|on|to the|in|at) ({END})\b"),
        ("key", rf",? ?\b(?:(?:sorted|ordered|arranged|ranked) )?(?:by|in order of|according to|based on|in|after|with respect to|in the order of) {the}(?:their )?({keys})(?: order)?\b"),
        ("end", rf"(?:, ?(?:and )?(?:with )?|\bwith |\band )((?:the )?[\w ]+?) (?:goes |is |comes |being |one )*(?:at the|on the|on|to the) ({END})\b(?: of (?:it|the \w+))?"),
    ))  # fmt: skip


def _rank_words() -> dict[str, str]:
    found = {}
    for rank, text in tables()["ranks"].items():
        if not rank.startswith(("right", "away")):
            found |= dict.fromkeys(words_of(text), rank)
    return found


def _key_words() -> dict[str, str]:
    return {word: key for key, text in tables()["orders"].items() for word in words_of(text)}


def take_order(text: str) -> tuple[str, Order]:
    """Return a clause without the words for its order, and the order."""
    order = Order()
    for name, pattern in _patterns():
        while (found := pattern.search(text)) and _apply(order, name, found.groups()):
            text = f"{text[: found.start()]} {text[found.end() :]}"
    return " ".join(text.split()).strip(" ,"), order


def _apply(order: Order, name: str, groups: tuple[str | None, ...]) -> bool:
    """Enter what one pattern found. Return whether it was used."""
    first, second = (word or "" for word in (*groups, "", "")[:2])
    ranks, keys = _rank_words(), _key_words()
    if name == "direction":
        if (first, second) in (("bottom", "top"), ("top", "bottom")):
            order.as_listed, order.reverse = True, first == "top"
            return True
        if first == second or order.along:
            return False
        order.along = "right" if first in ("left", "right") else "away"
        order.reverse = first in ("right", "back", "far")
    elif name == "listed":
        order.as_listed = True
    elif name == "top_first":
        order.as_listed, order.reverse = True, True
    elif name in ("turn", "turned_key"):
        turn, key = (first, second) if name == "turn" else (second, first)
        order.key = keys.get(key, order.key)
        order.falling = turn in words_of(tables()["reverse"]["falling"])
    elif name in ("range", "first", "starting"):
        key, end = ranks[first].rsplit("_", 1)
        order.key = order.key or key
        order.falling = (end == "high") != (second == "last")
    elif name == "rank_end":
        key, end = ranks[first].rsplit("_", 1)
        order.key = order.key or key
        order.falling = (end == "high") != (second in ("top", "right", "back", "right end"))
        if second in ("front", "back"):
            order.along = "away"
    elif name == "key":
        order.key = keys[first]
    elif name == "end":
        order.ends["top" if second in ("top", "right", "back", "right end") else "bottom"] = first
    return True

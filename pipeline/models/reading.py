"""JSON out of a model's reply: recovered where its meaning is not in doubt, never guessed where it is.

Recovered: an object in a fence or among words, comments, trailing commas, closing brackets that a cut took off after a
finished value. In doubt, and so refused: two different objects, a key given twice, a value or a list cut short.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

STRING = r'"(?:\\.|[^"\\])*"'
COMMENT = re.compile(rf"({STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
COMMA = re.compile(rf"({STRING})|,(?=\s*[}}\]])", re.DOTALL)
TOKEN = re.compile(rf'{STRING}|//[^\n]*|/\*.*?\*/|[{{}}\[\]]|"', re.DOTALL)
THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
OPENS = re.compile(r'\{\s*(?:"|\}|//|/\*)')
"""How an object begins, as against braces in a sentence."""
LONGEST = 1_000_000
MOST = 20
"""Letters and objects of a reply beyond which it is no answer."""
DEEPEST = 60
"""Brackets inside each other."""


class Unreadable(ValueError):
    """A reply that holds no object whose meaning is clear; says why, for the model that has to answer again."""


def recover(reply: str, fields: tuple[str, ...] = ()) -> dict[str, Any]:
    """The one JSON object of a reply. Raises Unreadable.

    `fields` are all that the answer can have: an object whose end was cut off is taken only where it has them all.
    """
    if len(reply) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST} letters")
    text = THOUGHTS.sub("", well_formed(reply).lstrip("\ufeff"))
    found = list(islice(_objects(text, fields), MOST))
    if not found:
        raise Unreadable("there is no JSON object in it")
    if len(found) == MOST or any(other != found[0] for other in found[1:]):
        raise Unreadable(f"there are {len(found)} different JSON objects in it, where one is wanted")
    return json.loads(well_formed(json.dumps(found[0], ensure_ascii=False)))


def well_formed(text: str) -> str:
    """Text that can be written and sent: the two halves of a letter joined, one alone replaced by U+FFFD.

    JSON's escapes are UTF-16 (RFC 8259, section 7), and a reply may be cut or streamed between the halves.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _objects(text: str, fields: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Every outermost object. Raises Unreadable for one that cannot be read."""
    place = 0
    while start := OPENS.search(text, place):
        end, open_ = _end(text, start.start())
        if end is None:
            yield _closed(text[start.start() :], open_, fields)
            return
        yield _value(text[start.start() : end])
        place = end


def _end(text: str, start: int) -> tuple[int | None, str]:
    """Where the object that begins at `start` ends; None, and the brackets still open, where it does not."""
    open_: list[str] = []
    for token in TOKEN.finditer(text, start):
        mark = token[0]
        if mark in "{[":
            open_.append("}" if mark == "{" else "]")
        elif mark in "}]":
            if not open_ or open_.pop() != mark:
                raise Unreadable("its brackets do not match")
        elif mark == '"':
            raise Unreadable("it is cut short in the middle of a text")
        if not open_ and mark in "}]":
            return token.end(), ""
        if len(open_) > DEEPEST:
            raise Unreadable(f"its brackets are nested deeper than {DEEPEST}")
    return None, "".join(reversed(open_))


def _closed(text: str, open_: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """An object whose last brackets are missing, where nothing else can be."""
    body = _tidy(text).rstrip().removesuffix("```").rstrip()
    if "]" in open_ or body[-1] not in '"}]' or not fields:
        raise Unreadable("it is cut short")
    value = _value(body + open_)
    if missing := [name for name in fields if name not in value]:
        raise Unreadable(f"it is cut short before {', '.join(missing)}")
    return value


def _value(text: str) -> dict[str, Any]:
    try:
        return json.loads(_tidy(text), object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        near = " ".join(error.doc[max(error.pos - 20, 0) : error.pos + 20].split())
        raise Unreadable(f"it is no valid JSON: {error.msg} near {near!r}") from None
    except RecursionError:
        raise Unreadable("it is nested too deep") from None


def _tidy(text: str) -> str:
    """Without comments and trailing commas."""
    return COMMA.sub(r"\1", COMMENT.sub(r"\1", text))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, one in pairs:
        if name in value and value[name] != one:
            raise Unreadable(f'"{name}" is given twice with different values')
        value[name] = one
    return value


def _no_number(said: str) -> float:
    raise Unreadable(f"{said} is no number in JSON")

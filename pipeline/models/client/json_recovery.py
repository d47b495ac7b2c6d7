"""Recover the JSON object from a model's reply, only where its meaning is unambiguous.

Recovered: an object in a code fence or among other text, comments, trailing commas, closing brackets that are missing
after a complete value. Rejected as ambiguous: two different objects, a repeated key with different values, a value or a
list that is cut off, thoughts without an end.
"""

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from pipeline.store import parse_json

STRING = r'"(?:\\.|[^"\\])*"'
COMMENT = re.compile(rf"({STRING})|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
"""An unclosed comment ends with the text: else each "/*" of a long reply would be followed to its end, in vain."""
TRAILING_COMMA = re.compile(rf"({STRING})|,(?=\s*[}}\]])", re.DOTALL)
TOKEN = re.compile(rf'{STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)|[{{}}\[\]]|"', re.DOTALL)
THOUGHT = r"(?:\w{1,10}:)?(?:think|thinking|thought|thoughts|reasoning|reflection|analysis)"
THOUGHT_START = re.compile(
    rf"\s*(?:<{THOUGHT}>|\[{THOUGHT}\]|◁think▷|<\|channel\|>analysis"
    r"|<\|(?:start|begin)_(?:of_)?th\w{3,8}\|>|<\|channel>)",
    re.IGNORECASE,
)
"""Start of a model's thoughts: tags, Magistral's brackets, Kimi's, harmony's channels (gpt-oss), Cohere's, Gemma's."""
THOUGHT_END = re.compile(
    rf"</{THOUGHT}>|\[/{THOUGHT}\]|◁/think▷|<\|channel\|>(?:final|commentary)[^{{}}\n]{{0,80}}?<\|message\|>"
    r"|<\|end_(?:of_)?th\w{3,8}\|>|<channel\|>|assistantfinal(?=\s*[{`])",
    re.IGNORECASE,
)
"""Their end, which may come without a start: chat templates often write that. The last form is harmony's without its
special tokens."""
OBJECT_START = re.compile(r'\{\s*(?:"|\}|//|/\*)')
"""Start of an object; braces in a sentence do not match."""
MAX_REPLY_CHARS = 1_000_000
MAX_OBJECTS = 20
MAX_DEPTH = 60
"""Nested brackets."""


class UnreadableJson(ValueError):
    """A reply without exactly one clear JSON object; the message tells the model why it has to answer again."""


def recover_json(reply: str, fields: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the JSON object of a reply. Raises UnreadableJson.

    `fields` are the names of all fields of the answer: an object whose end is cut off is accepted only if it has them
    all, and an object without one of them does not compete with one that has them all.
    """
    if len(reply) > MAX_REPLY_CHARS:
        raise UnreadableJson(f"it is longer than {MAX_REPLY_CHARS} characters")
    text = _without_thoughts(replace_surrogates(reply).lstrip("\ufeff"))
    objects = list(islice(_objects(text, fields), MAX_OBJECTS))
    if not objects:
        raise UnreadableJson("there is no JSON object in it")
    objects = [value for value in objects if value.keys() >= set(fields)] or objects
    if len(objects) == MAX_OBJECTS or any(other != objects[0] for other in objects[1:]):
        raise UnreadableJson(f"there are {len(objects)} different JSON objects in it; answer with one")
    return parse_json(replace_surrogates(json.dumps(objects[0], ensure_ascii=False)))


def replace_surrogates(text: str) -> str:
    """Return text that can be encoded as UTF-8: surrogate pairs joined, a lone surrogate replaced by U+FFFD.

    JSON escapes are UTF-16 (RFC 8259, section 7), and a reply may be cut or streamed between the two halves of a pair.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _without_thoughts(text: str) -> str:
    """Return what follows the thoughts. An end that no object follows is a text within the object."""
    last_object = max((start.start() for start in OBJECT_START.finditer(text)), default=0)
    ends = [end.end() for end in THOUGHT_END.finditer(text) if end.end() <= last_object]
    if ends:
        return text[ends[-1] :]
    if THOUGHT_START.match(text):
        raise UnreadableJson("its thoughts do not end")
    return text


def _objects(text: str, fields: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield every outermost object. Raises UnreadableJson for one that cannot be parsed."""
    position = 0
    while start := OBJECT_START.search(text, position):
        end, missing_brackets = _end(text, start.start())
        if end is None:
            yield _complete(text[start.start() :], missing_brackets, fields)
            return
        yield _parse(text[start.start() : end])
        position = end


def _end(text: str, start: int) -> tuple[int | None, str]:
    """Return the end of the object that starts at `start`; if it has none, None and the missing closing brackets."""
    expected: list[str] = []
    for token in TOKEN.finditer(text, start):
        bracket = token[0]
        if bracket in "{[":
            expected.append("}" if bracket == "{" else "]")
        elif bracket in "}]":
            if not expected or expected.pop() != bracket:
                raise UnreadableJson("its brackets do not match")
        elif bracket == '"':
            raise UnreadableJson("it is cut off in the middle of a text")
        if not expected and bracket in "}]":
            return token.end(), ""
        if len(expected) > MAX_DEPTH:
            raise UnreadableJson(f"its brackets are nested deeper than {MAX_DEPTH}")
    return None, "".join(reversed(expected))


def _complete(text: str, missing_brackets: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """Parse an object that lacks only its closing brackets. Raises UnreadableJson if more may be missing."""
    body = _strip_extras(text).rstrip().removesuffix("```").rstrip()
    if "]" in missing_brackets or body[-1] not in '"}]' or not fields:
        raise UnreadableJson("it is cut off")
    value = _parse(body + missing_brackets)
    if missing := [name for name in fields if name not in value]:
        raise UnreadableJson(f"it is cut off before {', '.join(missing)}")
    return value


def _parse(text: str) -> dict[str, Any]:
    try:
        return json.loads(  # noqa: TID251
            _strip_extras(text),
            object_pairs_hook=_unique_keys,
            parse_constant=_reject_constant,
            parse_int=_finite_int,
            parse_float=_finite_float,
        )
    except json.JSONDecodeError as error:
        near = " ".join(error.doc[max(error.pos - 20, 0) : error.pos + 20].split())
        raise UnreadableJson(f"it is not valid JSON: {error.msg} near {near!r}") from None
    except RecursionError:
        raise UnreadableJson("it is nested too deeply") from None


def _strip_extras(text: str) -> str:
    """Remove comments and trailing commas."""
    return TRAILING_COMMA.sub(r"\1", COMMENT.sub(r"\1", text))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result and result[name] != value:
            raise UnreadableJson(f'"{name}" occurs twice with different values')
        result[name] = value
    return result


def _finite_int(digits: str) -> int:
    if len(digits) > 300:
        raise UnreadableJson(f"a number in it has {len(digits)} digits")
    return int(digits)


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise UnreadableJson(f"{digits[:20]} is too large a number")
    return value


def _reject_constant(name: str) -> float:
    raise UnreadableJson(f"{name} is not a number in JSON")

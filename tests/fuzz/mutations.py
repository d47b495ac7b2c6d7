"""Mutations of small valid files: bytes are flipped, cut, inserted, repeated and spliced; JSON by its structure."""

import json
import struct
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

NUMBERS = [0, 1, 2, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62]
WORDS = [b"", b"\0", b"\xff\xff", b"nan", b"-1", b"1e308", b"../../x", b"%s", b"<", b'"', b"\n", b"{}", b"[[[[", b"NaN"]
JUNK: list[Any] = [
    None, True, 0, -1, 1, 3.5, 1e308, -1e308, 10**40, float("nan"), float("inf"), "", "x", "\0", "\ud800", "../../x",
    "two\nlines", "a" * 70_000, " " * 70_000, [], {}, [[]], [None], {"": None}, [0] * 50, ["x"] * 3, {"schema": 99},
    [1e400], "1", [[[[[[[]]]]]]],
]  # fmt: skip
Edit = tuple[str, float, int]
KINDS = ["flip", "cut", "insert", "repeat", "splice", "number", "end", "text"]
edit = st.tuples(st.sampled_from(KINDS), st.floats(0, 1, exclude_max=True), st.integers(0, 2**32 - 1))
edits = st.lists(edit, min_size=1, max_size=5)
"""What to do, where in the file as a fraction, and a number that says how."""
json_kinds = st.sampled_from(["replace", "remove", "copy", "rename", "nest", "swap"])
json_edits = st.lists(st.tuples(json_kinds, st.integers(0, 2**16), st.integers(0, 2**16)), min_size=1, max_size=4)


def mutate_bytes(content: bytes, changes: list[Edit]) -> bytes:
    for kind, where, value in changes:
        at, length = int(where * len(content)), 1 + value % 97
        if kind == "flip" and content:
            content = content[:at] + bytes([(content[at] ^ (1 << value % 8))]) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at] + content[at + length :]
        elif kind == "end":
            content = content[:at]
        elif kind == "insert":
            content = content[:at] + value.to_bytes(4, "little") * (1 + value % 3) + content[at:]
        elif kind == "text":
            content = content[:at] + WORDS[value % len(WORDS)] + content[at + value // 64 % 4 :]
        elif kind == "repeat":
            content = content[: at + length] + content[at : at + length] * (value // 97 % 300) + content[at + length :]
        elif kind == "splice":
            source = value % max(1, len(content))
            content = content[:at] + content[source : source + length] + content[at + length :]
        elif kind == "number":
            number = struct.pack("<Q", NUMBERS[value % len(NUMBERS)])[: (1, 2, 4, 8)[value // 16 % 4]]
            number = number[::-1] if value // 64 % 2 else number
            content = content[:at] + number + content[at + len(number) :]
    return content


def mutate_json(text: bytes, changes: list[tuple[str, int, int]]) -> bytes:
    """Return a JSON file, or the lines of one, after some edits of its values."""
    values, end = _parsed(text)
    for kind, where, how in changes:
        places = list(_places(values))
        holder, key = places[where % len(places)]
        if kind == "replace":
            holder[key] = deepcopy(JUNK[how % len(JUNK)])  # a later edit may change what is inside
        elif kind == "remove":
            del holder[key]
        elif kind == "copy":
            other, other_key = places[how % len(places)]
            holder[key] = json.loads(json.dumps(other[other_key]))
        elif kind == "swap":
            other, other_key = places[how % len(places)]
            mine, theirs = json.dumps(holder[key]), json.dumps(other[other_key])
            holder[key], other[other_key] = json.loads(theirs), json.loads(mine)
        elif kind == "rename" and isinstance(holder, dict):
            holder[f"{key}{how % 3}" if how % 2 else ""] = holder.pop(key)
        elif kind == "nest":
            for _ in range(min(how % 2000, 900)):
                holder[key] = [holder[key]]
        if not values:
            break
    return _dumped(values, end)


def replacements(text: bytes) -> int:
    """Return in how many ways one value of a JSON file, or of its lines, can be replaced by one of JUNK."""
    return len(list(_places(_parsed(text)[0]))) * len(JUNK)


def replaced(text: bytes, number: int) -> bytes:
    """Return the file after one of its `replacements`."""
    values, end = _parsed(text)
    holder, key = list(_places(values))[number // len(JUNK)]
    holder[key] = JUNK[number % len(JUNK)]
    return _dumped(values, end)


def is_json(content: bytes) -> bool:
    return content.lstrip()[:1] in (b"{", b"[")


def _parsed(text: bytes) -> tuple[list[Any], str]:
    """Return the values of a JSON file, or of its lines, and what ends each."""
    if b"}\n{" in text:
        return [json.loads(line) for line in text.decode().splitlines()], "\n"
    return [json.loads(text)], ""


def _dumped(values: list[Any], end: str) -> bytes:
    return "".join(json.dumps(value) + end for value in values).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with each of its keys or indices, at most 900 levels deep."""
    stack = [(value, 0)]
    while stack:
        holder, depth = stack.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], (dict, list)) and depth < 900:
                stack.append((holder[key], depth + 1))

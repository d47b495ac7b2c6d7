"""Hashes of values, and values to and from JSON."""

import hashlib
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

HUGE = re.compile(r"[eE]\+?0*[1-9]\d\d|\d{300}")
"""What every number has that is too large for a float."""


def digest(*values: Any) -> str:
    """Return a hash of arrays, bytes and JSON values, 24 hexadecimal digits."""
    return new_hasher(*values).hexdigest()


def new_hasher(*values: Any) -> "hashlib.blake2b":
    """Return the hasher of `digest` after these values."""
    hasher = hashlib.blake2b(digest_size=12)
    for value in values:
        if _is_of_numpy(value, "ndarray"):
            hasher.update(f"{value.dtype}{value.shape}".encode())
            hasher.update(value if value.flags.c_contiguous and value.size else value.tobytes())
        elif isinstance(value, bytes):
            hasher.update(value)
        else:
            hasher.update(json.dumps(value, sort_keys=True, default=json_default).encode())
        hasher.update(b"\0")
    return hasher


def json_default(value: Any) -> Any:
    """Return the JSON value of an array, a numpy number or a path."""
    if _is_of_numpy(value, "ndarray"):
        return value.tolist()
    if _is_of_numpy(value, "generic"):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be saved as JSON")


def _is_of_numpy(value: Any, kind: str) -> bool:
    """Whether a value is of one of numpy's classes, which has been imported then: a command's help needs no numpy."""
    return "numpy" in sys.modules and isinstance(value, getattr(sys.modules["numpy"], kind))


def parse_json(text: str | bytes, finite: bool = True) -> Any:
    """Return the value of a JSON text from outside, whose bytes may begin with a byte order mark.

    Raises ValueError, also for brackets nested too deeply and, if `finite`, for numbers that are not finite.
    """
    text = text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff")
    try:
        number = _finite if finite else float
        parse_float = number if HUGE.search(text) else float  # a call for each number takes four times as long
        return json.loads(text, parse_float=parse_float, parse_constant=number)  # noqa: TID251
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is no finite number")
    return value

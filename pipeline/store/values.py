"""Hashes of values, and values as JSON."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np


def digest(*values: Any) -> str:
    """Return a hash of arrays, bytes and JSON values, 24 hexadecimal digits."""
    return new_hasher(*values).hexdigest()


def new_hasher(*values: Any) -> "hashlib.blake2b":
    """Return the hasher of `digest` after these values."""
    hasher = hashlib.blake2b(digest_size=12)
    for value in values:
        if isinstance(value, np.ndarray):
            hasher.update(f"{value.dtype}{value.shape}".encode())
            hasher.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, bytes):
            hasher.update(value)
        else:
            hasher.update(json.dumps(value, sort_keys=True, default=json_default).encode())
        hasher.update(b"\0")
    return hasher


def json_default(value: Any) -> Any:
    """Return the JSON value of an array, a numpy number or a path."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be saved as JSON")

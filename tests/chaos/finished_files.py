"""What a command made, without what differs between two runs: times, names, and what only saves time."""

import json
from pathlib import Path
from typing import Any

import numpy as np

DIFFERENT = {"at", "created", "id", "name", "seconds", "round_seconds", "total_seconds"}
"""Keys of values that differ between two runs."""
UNCOMPARED = (".writer.lock", "trace.jsonl", "cache/")


def finished_files(folder: Path) -> dict[str, str]:
    """Return the content of each file below a folder as text that two runs have in common, by relative path."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    kept = {name: path for name, path in files.items() if not any(part in name for part in UNCOMPARED)}
    return {name: repr(_content(path)).replace(str(folder), "") for name, path in kept.items()}


def _content(path: Path) -> Any:
    if path.suffix == ".jsonl":
        return [_common(json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    if path.suffix == ".json":
        return _common(json.loads(path.read_text("utf-8")))
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name].tobytes() for name in arrays.files}
    return path.read_bytes()


def _common(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _common(item) for key, item in value.items() if key not in DIFFERENT}
    return [_common(item) for item in value] if isinstance(value, list) else value

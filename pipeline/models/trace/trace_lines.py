"""Lines of trace.jsonl: written so that a crash spoils at most the last, read past those that it spoiled."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.store import append_lines, parse_json

SCHEMA = 1
"""Version of a line, its key "schema"."""
_BEGIN = '{"event": "'
_writing = threading.Lock()


def append_trace_line(path: Path, event: str, attributes: Mapping[str, Any]) -> None:
    """Append one line; an incomplete last line is removed first. Raises StoreError."""
    with _writing:
        path.parent.mkdir(parents=True, exist_ok=True)
        line = {"event": event, "schema": SCHEMA, **attributes}
        append_lines(path, [line], "The record of a question to the model", default=str)


def parse_trace_line(line: str) -> dict[str, Any] | None:
    """Return the attributes of a line; None if there are none.

    Versions before 0.2 appended to a line that a crash had cut off: what follows the cut is complete.
    """
    for start in dict.fromkeys((0, max(0, line.rfind(_BEGIN)))):
        try:
            value = parse_json(line[start:])
        except ValueError:
            continue
        return value if isinstance(value, dict) else None
    return None

"""Answers from a file, which come before those of the rules."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class FileAnswer:
    """One answer of the file."""

    kind: str
    """Kind of question that it answers."""
    answer: Any = None
    """JSON value, or a string to send as it is."""
    contains: str = ""
    """Text that the prompt must contain."""
    error: int = 0
    """HTTP status to fail with instead."""
    times: int | None = 1
    """How often it is given; None for always."""

    def take(self, kind: str, prompt: str) -> bool:
        """Whether this answers the question; counts it as given."""
        if kind != self.kind or self.contains not in prompt or self.times == 0:
            return False
        self.times = None if self.times is None else self.times - 1
        return True


def read_answer_file(path: Path) -> tuple[FileAnswer, ...]:
    """Return the answers of `{"answers": [{"kind", "answer", "contains", "error", "times"}]}`, used in order.

    Raises ValueError for a file of another form.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, Mapping) or not isinstance(data.get("answers"), list):
        raise ValueError(f'{path} takes {{"answers": [{{"kind", "answer"}}]}}')
    return tuple(FileAnswer(**one) for one in data["answers"])

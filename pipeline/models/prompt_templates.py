"""Prompt templates: text files with named holes, prompts/<kind>.md, where {{task}} is replaced by the task.

Values come from photographs, files and users. Each stands inside a fence, which it cannot close.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.models.model import ModelError
from pipeline.store import parse_json

FOLDER = Path(__file__).parent / "prompts"
FENCE_END = re.compile(r"`{3,}|</(?=words|kit)")
"""Marks that close a fence in the prompts."""
ZERO_WIDTH_SPACE = "\u200b"
"""Inserted into such a mark in a value: the mark stays readable but closes nothing."""
LINE = 400
"""Characters of a line of JSON: an object of the table with its sizes and caption mostly fits."""
CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
HOLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True)
class PromptTemplate:
    """Text of one kind of question, with holes."""

    kind: str
    text: str

    @property
    def version(self) -> str:
        """First 12 hex digits of the text's SHA-256; recorded in the trace."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    @property
    def holes(self) -> tuple[str, ...]:
        """Names of the holes, each once."""
        return tuple(dict.fromkeys(HOLE.findall(self.text)))

    def fill(self, data: Mapping[str, Any]) -> str:
        """Return the text with every hole filled: strings as they are, other values as JSON with rounded numbers.

        Holes inside values are not filled. Raises ModelError with the names of missing values.
        """
        if missing := [hole for hole in self.holes if hole not in data]:
            available = ", ".join(sorted(data)) or "none"
            raise ModelError(f"The prompt {self.kind}.md needs {', '.join(missing)}; available values: {available}.")
        return HOLE.sub(lambda hole: _text(data[hole[1]]), self.text)

    def read(self, filled: str) -> dict[str, Any] | None:
        """Return the values in a filled prompt, whatever follows it; None if it is not this prompt.

        Inverse of `fill`, but for digits of numbers. A hole in a fence of JSON gives the JSON value, any other
        a string.
        """
        literals, holes = HOLE.split(self.text)[0::2], HOLE.split(self.text)[1::2]
        literals[-1] = literals[-1].rstrip()
        found = re.match("(.*?)".join(map(re.escape, literals)), filled, re.S)
        if found is None:
            return None
        values = zip(literals, holes, found.groups(), strict=False)
        try:
            return {
                hole: parse_json(value) if before.endswith("```json\n") else _plain(value)
                for before, hole, value in values
            }
        except ValueError:
            return None


def load_prompt(kind: str, override_folder: Path | None = None) -> PromptTemplate:
    """Return the prompt of one kind of question; a file in `override_folder` takes precedence. Raises ModelError."""
    for folder in (override_folder, FOLDER):
        if folder and (file := folder / f"{kind}.md").is_file():
            return PromptTemplate(kind, file.read_text("utf-8"))
    available = ", ".join(sorted(path.stem for path in FOLDER.glob("*.md"))) or "none"
    raise ModelError(f"There is no prompt {kind}.md; available prompts: {available}.")


def _text(value: Any) -> str:
    """Return a value as text that contains neither fence ends nor control characters."""
    if isinstance(value, str):
        return FENCE_END.sub(lambda mark: ZERO_WIDTH_SPACE.join(mark[0]), CONTROL_CHARS.sub("", value))
    return _folded(_rounded(value)).replace("```", r"\u0060\u0060\u0060")


def _folded(value: Any, indent: int = 0) -> str:
    """Return a value as JSON in lines of at most LINE characters where its parts are that short."""
    flat = json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
    if len(flat) + indent <= LINE or not value or not isinstance(value, (Mapping, list, tuple)):
        return flat
    if isinstance(value, Mapping):
        lines = [f"{json.dumps(str(key), ensure_ascii=False)}:{_folded(one, indent + 1)}" for key, one in value.items()]
    else:
        lines = [_folded(one, indent + 1) for one in value]
    start, end = "{}" if isinstance(value, Mapping) else "[]"
    return start + "\n" + ",\n".join(" " * (indent + 1) + line for line in lines) + "\n" + " " * indent + end


def _rounded(value: Any) -> Any:
    """Return JSON values with three digits below 1 and four from 1 on: millimetres on a table."""
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    # Smallest below it a number is a rounding error
    return 0.0 if abs(value) < 1e-6 else float(f"{value:.{3 if abs(value) < 1 else 4}g}")


def _plain(text: str) -> str:
    return text.replace(ZERO_WIDTH_SPACE, "")

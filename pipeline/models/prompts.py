"""Prompts are text files with named holes: prompts/<kind>.md with {{task}} where the task goes.

What fills a hole is data, read off photographs, files and people's words: it stands in a fence that it cannot end.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.models.model import ModelError

FOLDER = Path(__file__).parent / "prompts"
CLOSING = re.compile(r"`{3,}|</(?=words|kit)")
"""What ends a fence of our prompts."""
APART = "\u200b"
"""A space of no width: puts such a mark out of work and leaves it legible."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
HOLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True)
class Prompt:
    kind: str
    text: str

    @property
    def version(self) -> str:
        """Twelve hex digits of the text's hash, so that a trace tells which wording was used."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    @property
    def holes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(HOLE.findall(self.text)))

    def fill(self, data: Mapping[str, Any]) -> str:
        """The text with every hole filled: strings as they are, all else as JSON. Filled once: data is never a prompt.

        Raises ModelError that names the holes nothing was given for.
        """
        if missing := [hole for hole in self.holes if hole not in data]:
            given = ", ".join(sorted(data)) or "nothing"
            raise ModelError(f"The prompt {self.kind}.md has holes for {', '.join(missing)}; given were {given}.")
        return HOLE.sub(lambda hole: _text(data[hole[1]]), self.text)


def load(kind: str, own: Path | None = None) -> Prompt:
    """The prompt of one kind of question; a file of that name in the folder `own` wins. Raises ModelError."""
    places = [folder / f"{kind}.md" for folder in (own, FOLDER) if folder]
    for place in places:
        if place.is_file():
            return Prompt(kind, place.read_text("utf-8"))
    there = ", ".join(sorted(path.stem for path in FOLDER.glob("*.md"))) or "none"
    raise ModelError(f"There is no prompt {kind}.md; there are: {there}.")


def _text(value: Any) -> str:
    """What fills a hole. It can neither end the fence it stands in nor hold terminal codes, whoever wrote it."""
    if isinstance(value, str):
        return CLOSING.sub(lambda mark: APART.join(mark[0]), CONTROL.sub("", value))
    return json.dumps(value, indent=1, ensure_ascii=False, default=str).replace("```", r"\u0060\u0060\u0060")

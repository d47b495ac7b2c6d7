"""How a piece of work on SAM 2's side stands: a value to show."""

from dataclasses import dataclass
from typing import Literal

Word = Literal["missing", "queued", "loading", "encoding", "ready", "stopped", "failed"]


@dataclass(frozen=True)
class State:
    """One word, how far, and one line for a person."""

    word: Word
    """Of a frame: "queued", "loading" (the weights), "encoding", "ready", "failed", "stopped" (a prompt starts anew).
    Of the segmenter: "missing" (package or weights), "ready", "loading", "failed"."""
    share: float = 0.0
    """Done of the step that the word names, in [0, 1]."""
    message: str = ""
    """Empty where the word says it all."""

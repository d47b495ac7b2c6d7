"""The state of SAM 2's background work."""

from dataclasses import dataclass
from typing import Literal

JobStatus = Literal["missing", "queued", "loading", "encoding", "ready", "stopped", "failed"]


@dataclass(frozen=True)
class EncodingState:
    """Status, progress and a message to show."""

    status: JobStatus
    """Of a frame: "queued", "loading" (the weights), "encoding", "ready", "failed", "stopped" (a prompt restarts it).
    Of the segmenter: "missing" (package or weights), "ready", "loading", "failed"."""
    progress: float = 0.0
    """Of the step that `status` names, in [0, 1]."""
    message: str = ""
    """One line; empty if the status needs no explanation."""

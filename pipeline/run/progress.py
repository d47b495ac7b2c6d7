"""Progress of a running stage."""

from dataclasses import dataclass, field
from typing import Any

from pipeline.project import Stage


@dataclass(frozen=True)
class Progress:
    """One step of a stage, with the message to show."""

    stage: Stage
    message: str
    done: int = 0
    total: int = 0
    """Steps in all; 0 if unknown."""
    value: Any = field(default=None, repr=False)
    """What the step finished, if it can be shown: a Description, a Match, a Round ..."""

"""What a stage tells on its way."""

from dataclasses import dataclass, field
from typing import Any

from pipeline.project import Stage


@dataclass(frozen=True)
class Progress:
    """Something happened on the way."""

    stage: Stage
    message: str
    done: int = 0
    of: int = 0
    value: Any = field(default=None, repr=False)
    """What was just finished, where there is something to show: a Description, a Match, a Round ..."""

"""How a recording is presented: marks on its timeline, and the one at which it is held."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HOLD_SECONDS = 2.5
"""Wall-clock time for which a presented recording is held at its mark, which is read in it."""


@dataclass(frozen=True)
class Mark:
    """A mark on the timeline."""

    time: float
    """Seconds."""
    text: str
    kind: str = "event"
    """"event" or "failed"."""
    object: str = ""
    """Name of the object that it is about; empty if it is about none."""
    check: str = ""
    """Name of the failed check that it shows; empty for an action of the oracle."""


@dataclass(frozen=True)
class Presentation:
    """How a recording is presented as it plays."""

    marks: tuple[Mark, ...]
    hold: Mark | None = None
    """The mark at which it is held for HOLD_SECONDS, with the mark's text at its object."""
    plays: bool = True
    """Whether it plays; if not, it stands at the mark to hold at, or at the end."""
    measures: Mapping[str, Any] | None = None
    """What the timeline shows below its marks, as `measures.round_measures` returns it."""
    start: float | None = None
    """Seconds to begin at, as a person asked; None goes on from where it is, unless a person moved it."""

"""RecordedFrame: which frame of which recording a project was made of."""

from pathlib import Path
from typing import NamedTuple


class RecordedFrame(NamedTuple):
    """A frame of a recording that the studio still has."""

    recording: Path
    number: int
    """From 0."""

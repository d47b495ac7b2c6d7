"""What was seen <-> what we own."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """One asset that a segment might be."""

    asset_id: str
    score: float
    """In [0, 1], all matchers together."""
    scores: Mapping[str, float]
    """What each matcher said, in [0, 1]: "size", "shape", "colour", "appearance"."""
    reason: str
    """One sentence for a person."""
    scale: float = 1.0
    """Uniform factor that brings the asset to the measured size, within the limits allowed."""


@dataclass(frozen=True)
class Match:
    segment_id: int
    asset_id: str | None
    """None: nothing in the library fits, the object is reconstructed from the view."""
    scale: float
    reason: str
    candidates: tuple[Candidate, ...]
    """Best first; what the machine would have chosen stays visible whatever a person chose."""
    source: str = "measured"

"""What every segmenter takes and gives."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from pipeline.errors import StudioError
from pipeline.frame import Frame


class SegmentationError(StudioError):
    """Prompts that make no sense, or a segmenter that cannot be had."""


@dataclass(frozen=True, eq=False)
class Segment:
    """One thing's visible pixels."""

    id: int
    """1, 2, ... unique in a frame; the value in segments/masks.png. 0 on an answer to a prompt, until it is kept."""
    mask: np.ndarray
    """Of shape (H, W), bool."""
    score: float = 1.0
    """The segmenter's own estimate of the mask's quality, in [0, 1]."""
    source: str = "depth"
    """Who made it: "depth", "sam2", "human"."""


@dataclass(frozen=True, eq=False)
class Prompt:
    """Clicks and a box on the image, all of one object."""

    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    """Of shape (N, 2), x and y in pixels, in the order they were clicked."""
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    """Of shape (N,): 1 adds, 0 removes."""
    box: np.ndarray | None = None
    """x0, y0, x1, y1 in pixels, or None."""
    mask: np.ndarray | None = None
    """The mask to start from, of shape (H, W), bool: the clicks then correct it. None to start from nothing."""


class View(Protocol):
    """One frame opened by a segmenter: asked any number of times."""

    def automatic(self) -> tuple[Segment, ...]:
        """The objects a person would name, ids 1, 2, ...; masks do not overlap."""
        ...

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Readings of the prompt, best first, at least one; the later a click, the more it counts near itself."""
        ...


class Segmenter(Protocol):
    name: str

    def open(self, frame: Frame) -> View: ...

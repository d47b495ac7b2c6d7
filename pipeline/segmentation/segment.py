"""Prompts, segments, exchanged masks, and the protocols that segmenters implement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, get_args

import numpy as np

from pipeline.errors import StudioError
from pipeline.frame import Frame
from pipeline.store import digest


@dataclass(frozen=True, eq=False)
class NamedMask:
    """One object's mask in an exported or imported file."""

    id: int
    """1, 2, ... unique in a file."""
    name: str
    """The object's name; "" if the file has none."""
    mask: np.ndarray
    """Of shape (H, W), bool."""


class SegmentationError(StudioError):
    """An invalid prompt, or a segmenter that is not available."""


SegmentKind = Literal["object", "robot or hand", "wall or furniture"]
SEGMENT_KINDS: tuple[SegmentKind, ...] = get_args(SegmentKind)


@dataclass(frozen=True, eq=False)
class Segment:
    """The visible pixels of one object."""

    id: int
    """1, 2, ... unique in a frame; the value in segments/masks.png. 0 for the answer to a prompt."""
    mask: np.ndarray
    """Of shape (H, W), bool."""
    score: float = 1.0
    """The segmenter's own estimate of the mask's quality, in [0, 1]."""
    source: str = "depth"
    """The segmenter, or "human": "depth", "sam2", "scripted"."""
    kind: SegmentKind = "object"
    """What the segmenter takes it for. What is no object is left out of the twin until a person says otherwise."""

    @cached_property
    def mask_digest(self) -> str:
        """A hash of the mask, to key what is computed from it: a mask of a megabyte is hashed once."""
        return digest(self.mask.shape, np.packbits(self.mask))


@dataclass(frozen=True, eq=False)
class Prompt:
    """Clicks and a box for one object."""

    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    """Of shape (N, 2), x and y in pixels, in the order they were clicked."""
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    """Of shape (N,): 1 adds, 0 removes."""
    box: np.ndarray | None = None
    """x0, y0, x1, y1 in pixels, or None."""
    mask: np.ndarray | None = None
    """The mask that the clicks correct, of shape (H, W), bool; None without one."""


class View(Protocol):
    """A frame opened by a segmenter, ready for any number of prompts."""

    def automatic(self) -> tuple[Segment, ...]:
        """Return the objects that a person would name, ids 1, 2, ...; masks do not overlap."""
        ...

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Return one or more readings of the prompt, best first. Later clicks take precedence near their position."""
        ...


class Segmenter(Protocol):
    """Opens frames for segmentation."""

    name: str
    """As in the settings and in `Segment.source`."""

    def open(self, frame: Frame) -> View: ...


Carrier = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], list[list[np.ndarray]]]
"""Returns what the second and following pictures (H, W, 3) show of each mask (H, W) of the first one: the method
`carry` of segmenters that follow masks through pictures."""

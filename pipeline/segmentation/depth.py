"""The embedded segmenter: depth finds what stands on the table, colour draws its outline."""

from functools import cached_property
from threading import RLock

import cv2
import numpy as np

from pipeline.frame import Frame, Support, find_support, register
from pipeline.segmentation.edit import SMALLEST_SHARE, divided
from pipeline.segmentation.kinship import presence
from pipeline.segmentation.learned import Learned
from pipeline.segmentation.parts import Parts, taken_apart
from pipeline.segmentation.prompted import Prompted
from pipeline.segmentation.refine import enlarge, refine
from pipeline.segmentation.segment import Prompt, Segment
from pipeline.segmentation.standing import LEAST, heights, standing

THERE = 0.5
"""Mean likelihood of showing a thing at all below which a mask is dropped: shadows, the table's unevenness."""
DOUBTED = 0.5
"""Score of a mask that may hold several things."""


class DepthSegmenter:
    """Needs no weights. Finds what stands on the table; a click reaches anything else."""

    name = "depth"

    def open(self, frame: Frame, support: Support | None = None) -> "DepthView":
        """The frame, ready for any number of questions. Raises SupportError where no table is seen."""
        frame = register(frame)
        return DepthView(frame, support or find_support(frame))


class DepthView:
    """One frame opened by the DepthSegmenter."""

    def __init__(self, frame: Frame, support: Support):
        self.frame, self.support = frame, support
        self._heights = heights(frame, support)
        self._alone = RLock()

    @cached_property
    def _parts(self) -> list[Parts]:
        return [taken_apart(self._heights, mask, self._learned.kin) for mask in standing(self._heights)]

    @cached_property
    def _learned(self) -> Learned:
        return Learned(self._heights)

    @cached_property
    def pieces(self) -> tuple[np.ndarray, ...]:
        """What stands on the table, a mask each of shape (H, W), bool, not overlapping."""
        rough = [thing for parts in self._parts for thing in parts.things if self._there(thing)]
        owner = np.zeros(self._heights.depth.shape, np.uint16)
        for i, mask in enumerate(rough, 1):
            owner[mask & (owner == 0)] = i
        shape = self.frame.depth.shape
        large = cv2.resize(owner, None, fx=self._heights.step, fy=self._heights.step, interpolation=cv2.INTER_NEAREST)
        large = large[: shape[0], : shape[1]]
        taken, fine = np.zeros(shape, bool), []
        for i in range(len(rough), 0, -1):  # small ones first: a large one is hurt less by what it loses
            own = owner == i
            if own.any():
                mask = refine(self._heights, own, (large > 0) & (large != i) | taken)
                taken |= mask
                fine.append(mask)
        return tuple(mask for mask in reversed(fine) if mask.sum() >= 60 * self._heights.step**2)

    def _there(self, mask: np.ndarray) -> bool:
        """Whether a rough mask (h, w) shows a thing, with depth enough to say where it is."""
        seen = bool(np.count_nonzero(mask & self._heights.known) >= LEAST)
        return seen and float(self._presence[mask].mean()) > THERE

    @cached_property
    def _presence(self) -> np.ndarray:
        return presence(self._learned.kin, self._heights.depth.shape)

    def automatic(self) -> tuple[Segment, ...]:
        """What stands on the table, from left to right, ids 1, 2, ...; masks do not overlap."""
        with self._alone:
            pieces = self.pieces
        masks = sorted(pieces, key=lambda mask: float(np.flatnonzero(mask.any(0)).mean()))
        scores = [DOUBTED if len(self._halves(mask)) > 1 else 1.0 for mask in masks]
        return tuple(Segment(i, *one, "depth") for i, one in enumerate(zip(masks, scores, strict=True), 1))

    def parted(self, mask: np.ndarray) -> list[np.ndarray]:
        """What a mask (H, W) may be made of, largest first; itself alone where nothing speaks for several things."""
        with self._alone:
            halves = self._halves(mask)
        return divided(mask, [enlarge(half, mask.shape, self._heights.step) & mask for half in halves])

    def _halves(self, mask: np.ndarray) -> list[np.ndarray]:
        """The fair shares of a mask (H, W) that may be things of their own, at working size (h, w)."""
        h, w = self._heights.depth.shape
        small = mask[:: self._heights.step, :: self._heights.step][:h, :w]
        shares = [half & small for parts in self._parts for half in parts.halves]
        return [one for one in shares if np.count_nonzero(one) > SMALLEST_SHARE * np.count_nonzero(small)]

    def prepare(self) -> None:
        """All that the first click would wait for; may run in the background, after what else is asked."""
        with self._alone:
            self._prompted.prepare()

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Readings of the prompt, best first."""
        with self._alone:
            return self._prompted.segment(prompt)

    @cached_property
    def _prompted(self) -> Prompted:
        fine = [part for parts in self._parts for part in parts.fine]
        return Prompted(self._heights, self.pieces, self._learned, fine)

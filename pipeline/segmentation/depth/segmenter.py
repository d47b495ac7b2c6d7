"""The embedded segmenter: depth finds the objects on the table, colour refines their outlines."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from threading import RLock
from typing import Any

import cv2
import numpy as np

from pipeline.frame import Frame, Support, find_support, register_depth
from pipeline.segmentation.depth.affinity import objectness, other_share
from pipeline.segmentation.depth.click_network import FrameNetworks
from pipeline.segmentation.depth.foreground import is_plausible, merge_foreground
from pipeline.segmentation.depth.grabcut import refine_mask, upsample_mask
from pipeline.segmentation.depth.height_map import height_map
from pipeline.segmentation.depth.instance_split import InstanceParts, split_instances
from pipeline.segmentation.depth.interactive import InteractiveSegmentation
from pipeline.segmentation.depth.object_proposals import MIN_PIXELS, object_proposals
from pipeline.segmentation.edit import MIN_PART_SHARE, divide
from pipeline.segmentation.segment import Prompt, Segment, SegmentKind

MIN_OBJECTNESS = 0.5
"""Mean probability of showing an object at or below which a mask is dropped: shadows, unevenness of the table."""
MIN_OTHER = 0.25
"""Probability against an object from which a mask shows something else: for 7 of 9 robots, hands and persons on drawn
tables, and 2 of 138 objects; on photographs at most 0.1 for objects, but 0.23 for a drill."""


class computed_once(cached_property):
    """A cached_property without the lock that it has in Python 3.11, which the views of all frames would share."""

    def __init__(self, function: Callable[[Any], Any]):
        super().__init__(function)
        self.lock = nullcontext()


class DepthSegmenter:
    """Segments objects on a table without downloaded weights. A click can select anything else."""

    name = "depth"

    def open(self, frame: Frame, support: Support | None = None) -> "DepthView":
        """Open a frame for any number of prompts. Raises SupportError if no table is found."""
        frame = register_depth(frame)
        return DepthView(frame, support or find_support(frame))


class DepthView:
    """One frame opened by the DepthSegmenter."""

    def __init__(self, frame: Frame, support: Support):
        self.frame, self.support = frame, support
        self._height_map = height_map(frame, support)
        self._lock = RLock()

    @computed_once
    def _parts(self) -> list[InstanceParts]:
        regions = merge_foreground(self._height_map, self._proposals, self._objectness)
        return [split_instances(self._height_map, mask, self._networks.affinities) for mask in regions]

    @computed_once
    def _proposals(self) -> list[np.ndarray]:
        return object_proposals(self._height_map)

    @computed_once
    def _networks(self) -> FrameNetworks:
        return FrameNetworks(self._height_map)

    @computed_once
    def objects(self) -> tuple[np.ndarray, ...]:
        """The masks of the objects on the table, of shape (H, W), bool, not overlapping."""
        rough = [mask for parts in self._parts for mask in parts.objects if self._is_present(mask)]
        owner = np.zeros(self._height_map.depth.shape, np.uint16)
        for i, mask in enumerate(rough, 1):
            owner[mask & (owner == 0)] = i
        shape = self.frame.depth.shape
        large = cv2.resize(
            owner, None, fx=self._height_map.step, fy=self._height_map.step, interpolation=cv2.INTER_NEAREST
        )
        large = large[: shape[0], : shape[1]]
        taken, refined = np.zeros(shape, bool), []
        for i in range(len(rough), 0, -1):  # small ones first: a large mask loses a smaller share of itself
            own = owner == i
            if own.any():
                mask = refine_mask(self._height_map, own, (large > 0) & (large != i) | taken)
                taken |= mask
                refined.append(mask)
        return tuple(mask for mask in reversed(refined) if mask.sum() >= 60 * self._height_map.step**2)

    def _is_present(self, mask: np.ndarray) -> bool:
        """Return whether a rough mask (h, w) shows an object and has enough depth to locate it."""
        proposed = max((np.count_nonzero(mask & one) for one in self._proposals), default=0)
        # Share of a mask that one proposal from depth covers, below which it must be plausible without
        if proposed < 0.5 * np.count_nonzero(mask):
            return is_plausible(self._height_map, mask, self._objectness)
        measured = bool(np.count_nonzero(mask & self._height_map.known) >= MIN_PIXELS)
        return measured and float(self._objectness[mask].mean()) > MIN_OBJECTNESS

    @computed_once
    def _objectness(self) -> np.ndarray:
        return objectness(self._networks.affinities, self._height_map.depth.shape)

    def automatic(self) -> tuple[Segment, ...]:
        """Return the objects on the table from left to right, ids 1, 2, ...; masks do not overlap."""
        with self._lock:
            objects = self.objects
        masks = sorted(objects, key=lambda mask: float(np.flatnonzero(mask.any(0)).mean()))
        # Score of a mask that may hold several objects
        scores = [0.5 if len(self._likely_parts(mask)) > 1 else 1.0 for mask in masks]
        return tuple(
            Segment(i, mask, score, "depth", self._kind(mask))
            for i, (mask, score) in enumerate(zip(masks, scores, strict=True), 1)
        )

    def _kind(self, mask: np.ndarray) -> SegmentKind:
        """Return what a mask (H, W) shows, by the network."""
        wall, robot = other_share(self._networks.affinities, self._small(mask))
        if max(wall, robot) < MIN_OTHER:
            return "object"
        return "robot or hand" if robot > wall else "wall or furniture"

    def _small(self, mask: np.ndarray) -> np.ndarray:
        """Return a mask (H, W) at working size (h, w)."""
        h, w = self._height_map.depth.shape
        return mask[:: self._height_map.step, :: self._height_map.step][:h, :w]

    def propose_parts(self, mask: np.ndarray) -> list[np.ndarray]:
        """Return the parts that a mask (H, W) may consist of, largest first; the mask alone if it shows one object."""
        with self._lock:
            parts = self._likely_parts(mask)
        return divide(mask, [upsample_mask(part, mask.shape, self._height_map.step) & mask for part in parts])

    def _likely_parts(self, mask: np.ndarray) -> list[np.ndarray]:
        """Return the large enough parts of a mask (H, W) that may be objects, at working size (h, w)."""
        small = self._small(mask)
        shares = [part & small for parts in self._parts for part in parts.likely_parts]
        return [share for share in shares if np.count_nonzero(share) > MIN_PART_SHARE * np.count_nonzero(small)]

    def prepare(self) -> None:
        """Compute all that the first click would wait for. May run in the background."""
        with self._lock:
            self._interactive.prepare()

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Return readings of the prompt, best first."""
        with self._lock:
            return self._interactive.segment(prompt)

    @computed_once
    def _interactive(self) -> InteractiveSegmentation:
        fine = [part for parts in self._parts for part in parts.fine_parts]
        return InteractiveSegmentation(self._height_map, self.objects, self._networks, fine)

"""Correct a mask with a click: colour and the network propose, click_choice.py chooses."""

from collections.abc import Sequence
from functools import cached_property

import cv2
import numpy as np

from pipeline.segmentation.depth.affinity import objectness
from pipeline.segmentation.depth.click_choice import ChoiceEvidence, choose, measure_proposals
from pipeline.segmentation.depth.click_network import FrameNetworks
from pipeline.segmentation.depth.grabcut import grab_cut, upsample_mask
from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.depth.object_proposals import MIN_PIXELS
from pipeline.segmentation.mask_operations import disc, padded_window, part_at_pixel

Click = tuple[int, int, int]
"""x, y and label (1 adds, 0 removes), in pixels of the frame."""
DISC_RADIUS = 2
"""Pixels at working size around a click that certainly have its label."""
REACH_FACTOR, REACH_RANGE = 3.0, (5, 60)
"""A click changes pixels within this many times its distance from the mask's edge, and within this range in pixels at
working size: a click close to the edge means a small correction."""
SAME_COLOUR = 9.0
"""Distance in 8-bit CIELAB up to which a pixel has the clicked colour."""
MIN_AGREEING_SHARE = 0.75
"""Share of an object or part that the network must agree with before a plus click adds all of it."""
SURE_LOG_ODDS = 1.5
"""Log odds above which the network is sure of a pixel."""
OPPOSITE_CLICK_SHARE = 0.6
"""Share of the distance to the nearest click of the other label within which a click may change pixels."""


class ClickCorrection:
    """Corrects masks on one frame."""

    def __init__(
        self,
        view: HeightMap,
        objects: Sequence[np.ndarray],
        networks: FrameNetworks,
        fine_parts: Sequence[np.ndarray] = (),
    ):
        """`objects` are masks of shape (H, W); `fine_parts` are parts of them at working size (h, w)."""
        self._view, self._objects, self._networks = view, tuple(objects), networks
        self._fine_parts, self._shape = tuple(fine_parts), view.full_rgb.shape[:2]
        self.lab = cv2.cvtColor(cv2.bilateralFilter(view.full_rgb, 5, 20, 3), cv2.COLOR_RGB2LAB)
        """Smoothed colour of the frame in 8-bit CIELAB, of shape (H, W, 3)."""

    def correct(self, mask: np.ndarray, clicks: list[Click]) -> np.ndarray:
        """Return the mask (H, W) after the last of the clicks."""
        x, y, label = clicks[-1]
        if bool(mask[y, x]) == bool(label):
            return mask
        proposals, terms = self.propose(mask, clicks)
        return proposals[choose(terms)]

    def propose(self, mask: np.ndarray, clicks: list[Click]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the corrected masks (H, W) that the last click may mean, by SOURCES, and their terms.

        Each has the clicked pixel as its label says, and keeps the surroundings of clicks of the other label.
        """
        x, y, label = clicks[-1]
        wrong = mask != bool(label)
        radius = DISC_RADIUS * self._view.step
        for px, py, _ in (click for click in clicks[:-1] if bool(click[2]) != bool(label)):
            wrong[max(0, py - radius) : py + radius + 1, max(0, px - radius) : px + radius + 1] = False
        log_odds = self._predict(mask, clicks)
        regions = {"colour": self._coloured_region(mask, wrong, clicks, log_odds)}
        regions |= self._limited_regions(mask, regions["colour"], clicks[-1])
        predicted = self._predicted_regions(log_odds, bool(label))
        proposals: dict[str, np.ndarray] = {}
        for source, region in (regions | predicted).items():
            allowed = region & wrong
            allowed[y, x] = True
            if source in predicted:
                allowed = part_at_pixel(allowed, x, y)
            proposals[source] = mask | allowed if label else mask & ~allowed
        step, (h, w) = self._view.step, self._view.depth.shape
        small = {source: self.at_working_size(one) for source, one in proposals.items()}
        click = min(x // step, w - 1), min(y // step, h - 1), label
        before = self.at_working_size(mask)
        return proposals, measure_proposals(self._evidence, before, click, len(clicks), log_odds, small)

    @cached_property
    def _evidence(self) -> ChoiceEvidence:
        affinities = self._networks.affinities
        shape, lab = self._view.depth.shape, np.ascontiguousarray(self.at_working_size(self.lab))
        objects = [self.at_working_size(one) for one in self._objects]
        return ChoiceEvidence(self._view, lab, affinities, objectness(affinities, shape), objects)

    def _coloured_region(
        self, mask: np.ndarray, wrong: np.ndarray, clicks: list[Click], log_odds: np.ndarray
    ) -> np.ndarray:
        """Return the whole object or part that the last click selects, or the pixels near it of its colour."""
        region = self._whole_region(mask, wrong, clicks, log_odds)
        if region is None:
            x, y, _ = clicks[-1]
            region = np.zeros_like(mask)
            window = window_around(x, y, REACH_RANGE[1] * self._view.step + 2)
            region[window] = self._nearby_region(mask, wrong, clicks, window)
        return region & wrong

    def _limited_regions(self, mask: np.ndarray, coloured: np.ndarray, click: Click) -> dict[str, np.ndarray]:
        """Return smaller regions: the coloured one close to the click, and a disc that reaches almost to the edge."""
        x, y, label = click
        inner = np.pad(mask != bool(label), 1).astype(np.uint8)
        gap, step = float(cv2.distanceTransform(inner, cv2.DIST_L2, 5)[y + 1, x + 1]), self._view.step
        # The smaller of two coloured regions reaches this many times the click's distance from the mask's edge
        near = coloured & disc(mask.shape, x, y, round(1.5 * gap + 2 * step))
        regions = {"disc": disc(mask.shape, x, y, max(2 * step, round(0.9 * gap)))}
        return regions | ({"near": near} if near.sum() < 0.9 * coloured.sum() else {})

    def _predicted_regions(self, log_odds: np.ndarray, add: bool) -> dict[str, np.ndarray]:
        """Return where the network sees the clicked label, at three levels of confidence."""
        h, w = self._shape
        step, signed = self._view.step, log_odds if add else -log_odds
        if step > 1:
            signed = cv2.resize(signed, None, fx=step, fy=step, interpolation=cv2.INTER_LINEAR)[:h, :w]
            signed = np.pad(signed, ((0, h - signed.shape[0]), (0, w - signed.shape[1])), "edge")
        limits = {"network": 0.0, "sure network": SURE_LOG_ODDS, "wide network": -SURE_LOG_ODDS}
        return {source: signed > limit for source, limit in limits.items()}

    def object_at(self, x: int, y: int) -> np.ndarray | None:
        """Return the object (H, W) at a pixel; None if there is none."""
        return next((mask for mask in self._objects if mask[y, x]), None)

    def fine_part_at(self, x: int, y: int) -> np.ndarray | None:
        """Return the fine part at a pixel, at the frame's size (H, W); None if there is none."""
        step = self._view.step
        h, w = self._view.depth.shape
        row, col = min(y // step, h - 1), min(x // step, w - 1)
        small = next((part for part in self._fine_parts if part[row, col]), None)
        if small is None or np.count_nonzero(small) < MIN_PIXELS:
            return None
        window = padded_window(small, 2)
        full_window = tuple(
            slice(axis.start * step, min(axis.stop * step, size))
            for axis, size in zip(window, self._shape, strict=True)
        )
        full = np.zeros(self._shape, bool)
        full[full_window] = upsample_mask(small[window], full[full_window].shape, step)
        return full if full[y, x] else None

    def at_working_size(self, mask: np.ndarray) -> np.ndarray:
        """Return a mask (H, W) at working size (h, w)."""
        h, w = self._view.depth.shape
        return mask[:: self._view.step, :: self._view.step][:h, :w]

    def _whole_region(
        self, mask: np.ndarray, wrong: np.ndarray, clicks: list[Click], log_odds: np.ndarray
    ) -> np.ndarray | None:
        """Return the object or part that the last click selects as a whole; None if it selects only its surroundings.

        The click must be near the centre of the object or part, most of which must be wrong in the mask.
        """
        x, y, label = clicks[-1]
        for region, min_wrong_share in ((self.object_at(x, y), 0.7), (self.fine_part_at(x, y), 0.9)):
            if region is None or np.count_nonzero(region & wrong) <= min_wrong_share * np.count_nonzero(region):
                continue
            # Share of the mask that a minus click can remove at once
            large = np.count_nonzero(region) > 0.6 * np.count_nonzero(mask)
            if (not label and large) or any(region[py, px] and other != label for px, py, other in clicks):
                continue
            window = padded_window(region, 1)
            distance = cv2.distanceTransform(region[window].astype(np.uint8), cv2.DIST_L2, 5)
            if distance[y - window[0].start, x - window[1].start] <= 0.5 * distance.max():
                continue
            if not label:
                return region
            added = self.at_working_size(region & wrong)
            if added.any() and (log_odds[added] > 0).mean() > MIN_AGREEING_SHARE:
                return region
        return None

    def _predict(self, mask: np.ndarray, clicks: list[Click]) -> np.ndarray:
        """Return log odds (h, w) that pixels belong to the object the clicks select, given the mask so far."""
        step = self._view.step
        return self._networks.predict(
            [(x / step, y / step, label) for x, y, label in clicks], self.at_working_size(mask)
        )

    def _nearby_region(
        self, mask: np.ndarray, wrong: np.ndarray, clicks: list[Click], window: tuple[slice, slice]
    ) -> np.ndarray:
        """Return the pixels near the last click that colour connects to it, in a window around it."""
        step, (x, y, label) = self._view.step, clicks[-1]
        cx, cy = x - window[1].start, y - window[0].start
        inner = mask[window]
        gap = float(cv2.distanceTransform((inner != bool(label)).astype(np.uint8), cv2.DIST_L2, 5)[cy, cx])
        opposite = [np.hypot(px - x, py - y) for px, py, other in clicks if other != label]
        limit = min([REACH_RANGE[1] * step, *(OPPOSITE_CLICK_SHARE * distance for distance in opposite)])
        reach = round(np.clip(REACH_FACTOR * gap + 2 * step, REACH_RANGE[0] * step, max(limit, REACH_RANGE[0] * step)))
        near = disc(inner.shape, cx, cy, reach) & wrong[window]
        return self._cut_region(mask, near, clicks[-1], window) | self._similar_region(x, y, near, window)

    def _cut_region(
        self, mask: np.ndarray, changeable: np.ndarray, click: Click, window: tuple[slice, slice]
    ) -> np.ndarray:
        """Return the part of the changeable pixels that GrabCut gives to the click, in the window."""
        step, (x, y, label) = self._view.step, click
        cx, cy = x - window[1].start, y - window[0].start
        trimap = np.where(mask[window], cv2.GC_FGD, cv2.GC_BGD).astype(np.uint8)
        trimap[changeable] = cv2.GC_PR_BGD if label else cv2.GC_PR_FGD
        trimap[disc(trimap.shape, cx, cy, DISC_RADIUS * step)] = cv2.GC_FGD if label else cv2.GC_BGD
        inner = padded_window(changeable, 12 * step) if changeable.any() else window_around(cx, cy, 12 * step)
        result = np.zeros(trimap.shape, bool)
        result[inner] = grab_cut(self._view.full_rgb[window][inner], trimap[inner], 1) == bool(label)
        return part_at_pixel(result & changeable, cx, cy)

    def _similar_region(self, x: int, y: int, changeable: np.ndarray, window: tuple[slice, slice]) -> np.ndarray:
        """Return the changeable pixels connected to the click that have its colour, in the window."""
        patch = self.lab[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].reshape(-1, 3)
        difference = self.lab[window].astype(np.float32) - np.median(patch, 0).astype(np.float32)
        alike = np.einsum("ijk,ijk->ij", difference, difference) < SAME_COLOUR**2
        return part_at_pixel(alike & changeable, x - window[1].start, y - window[0].start)


def window_around(x: int, y: int, reach: int) -> tuple[slice, slice]:
    """Return rows and columns of a square around a pixel; indexing an image cuts it off at the far edges."""
    return slice(max(0, y - reach), y + reach + 1), slice(max(0, x - reach), x + reach + 1)

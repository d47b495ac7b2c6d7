"""Clicks and boxes: the first click takes the thing under it, each later one corrects the mask around itself."""

from collections.abc import Sequence

import cv2
import numpy as np

from pipeline.segmentation.refine import attached, enlarge, grab_cut
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError
from pipeline.segmentation.standing import Heights, crop

DISC = 2
"""Pixels at working size around a click that certainly have its label."""
FAR, REACH = 3.0, (5, 60)
"""A click close to the mask's edge means a small correction: it changes what lies within so many times its distance
from that edge, and within these limits in pixels at working size."""
LIKE = 9.0
"""Distance in 8-bit CIELAB up to which neighbours are of the clicked colour."""
REMEMBERED = 64


class Prompted:
    """Answers prompts on one frame. A prompt that goes on from an earlier one only works its new clicks out."""

    def __init__(self, view: Heights, pieces: Sequence[np.ndarray], shape: tuple[int, int]):
        self._view, self._pieces, self._shape = view, tuple(pieces), shape
        self._lab = cv2.cvtColor(cv2.bilateralFilter(view.rgb, 5, 20, 3), cv2.COLOR_RGB2LAB).astype(np.float32)
        self._answers: dict[bytes, np.ndarray] = {}

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Up to three readings of the prompt, best first. Raises SegmentationError for prompts that make no sense."""
        check_prompt(prompt, self._shape)
        step = self._view.step
        h, w = self._view.depth.shape
        clicks = [
            (min(int(x) // step, w - 1), min(int(y) // step, h - 1), int(label))
            for (x, y), label in zip(prompt.points, prompt.labels, strict=True)
        ]
        if prompt.mask is not None:
            return (self._answer(self._corrected_start(prompt.mask, clicks), prompt.mask),)
        readings = self._first(prompt.box, clicks)
        rest = clicks[1:] if prompt.box is None else clicks
        if rest:
            readings = [self._corrected(readings[0], rest, _key(prompt.box, clicks[: len(clicks) - len(rest)]))]
        return tuple(self._answer(mask, score=1 - 0.15 * i) for i, mask in enumerate(readings))

    def _answer(self, mask: np.ndarray, start: np.ndarray | None = None, score: float = 1.0) -> Segment:
        """At the frame's size; a start mask keeps its exact edge wherever nothing was changed."""
        large = enlarge(mask, self._shape, self._view.step)
        if start is not None:
            small = start[:: self._view.step, :: self._view.step]
            changed = enlarge(
                cv2.dilate((mask != small).astype(np.uint8), np.ones((3, 3))) > 0, self._shape, self._view.step
            )
            large = np.where(changed, large, start)
        return Segment(0, large, score, "depth")

    def _first(self, box: np.ndarray | None, clicks: list[tuple[int, int, int]]) -> list[np.ndarray]:
        key = _key(box, clicks[:1])
        if box is not None:
            return [self._kept(key, lambda: self._boxed(np.asarray(box, float) / self._view.step))]
        x, y, label = clicks[0]
        if label != 1:
            raise SegmentationError("The first click must add (label 1); click the object first, then what is not it.")
        whole = next((piece for piece in self._pieces if piece[y, x]), None)
        if whole is None:
            return [self._kept(key, lambda: self._elsewhere(x, y))]
        part = self._like(x, y, whole, 200)
        readings = [whole]
        if 0.1 * whole.sum() < part.sum() < 0.8 * whole.sum():
            readings.append(part)
        wide = self._with_neighbours(whole)
        return [*readings, wide] if wide.sum() > 1.1 * whole.sum() else readings

    def _corrected_start(self, start: np.ndarray, clicks: list[tuple[int, int, int]]) -> np.ndarray:
        mask = np.ascontiguousarray(start[:: self._view.step, :: self._view.step])
        for i in range(len(clicks)):
            mask = self._correct(mask, clicks[: i + 1])
        return mask

    def _corrected(self, mask: np.ndarray, clicks: list[tuple[int, int, int]], key: bytes) -> np.ndarray:
        for i in range(len(clicks)):
            before, done = mask, clicks[: i + 1]
            mask = self._kept(key + _key(None, done), lambda before=before, done=done: self._correct(before, done))
        return mask

    def _correct(self, mask: np.ndarray, clicks: list[tuple[int, int, int]]) -> np.ndarray:
        """The mask after the last of the clicks: it changes only where the click's own region was wrong."""
        x, y, label = clicks[-1]
        if bool(mask[y, x]) == bool(label):
            return mask
        wrong = mask != bool(label)
        for px, py, _ in (click for click in clicks[:-1] if bool(click[2]) != bool(label)):
            wrong[max(0, py - DISC) : py + DISC + 1, max(0, px - DISC) : px + DISC + 1] = False
        region = self._region(mask, wrong, x, y, bool(label)) & wrong
        region[y, x] = True
        return mask | region if label else mask & ~region

    def _region(self, mask: np.ndarray, wrong: np.ndarray, x: int, y: int, label: bool) -> np.ndarray:
        """What the click speaks for: a thing of its own, else what colour joins to it nearby."""
        own = next((piece for piece in self._pieces if piece[y, x]), None)
        if own is not None and (own & wrong).sum() > 0.7 * own.sum() and own.sum() < mask.sum():
            depth = cv2.distanceTransform(own.astype(np.uint8), cv2.DIST_L2, 5)
            if depth[y, x] > 0.5 * depth.max():
                return own
        gap = float(cv2.distanceTransform((mask != label).astype(np.uint8), cv2.DIST_L2, 5)[y, x])
        reach = round(np.clip(FAR * gap + 2, *REACH))
        near = _disc(mask.shape, x, y, reach)
        cut = self._cut(mask, wrong & near, x, y, label)
        like = self._like(x, y, wrong & near, reach)
        return cut | like

    def _cut(self, mask: np.ndarray, open_to: np.ndarray, x: int, y: int, label: bool) -> np.ndarray:
        window = crop(open_to, 12)
        trimap = np.where(mask[window], cv2.GC_FGD, cv2.GC_BGD).astype(np.uint8)
        probable = cv2.GC_PR_BGD if label else cv2.GC_PR_FGD
        trimap[open_to[window]] = probable
        trimap[_disc(mask.shape, x, y, DISC)[window]] = cv2.GC_FGD if label else cv2.GC_BGD
        result = np.zeros_like(mask)
        result[window] = grab_cut(self._view.rgb[window], trimap, 1) == label
        return _part_at(result & open_to, x, y)

    def _like(self, x: int, y: int, within: np.ndarray, reach: int) -> np.ndarray:
        """Pixels joined to the click by colours like its own."""
        patch = self._lab[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].reshape(-1, 3)
        alike = np.linalg.norm(self._lab - np.median(patch, 0), axis=-1) < LIKE
        return _part_at(alike & within & _disc(within.shape, x, y, reach), x, y)

    def _elsewhere(self, x: int, y: int) -> np.ndarray:
        """The thing at a click where none was found: what depth or, at table height, colour joins to it."""
        view = self._view
        near = _disc(view.depth.shape, x, y, 90)
        if view.above[y, x]:
            close = np.linalg.norm(view.points - view.points[y, x], axis=-1) < 0.25
            rough = _part_at(view.above & ~view.steep & close & near, x, y)
        else:
            rough = self._like(x, y, near & ~view.above, 90)
        rough |= _disc(rough.shape, x, y, DISC)
        trimap = np.where(rough, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
        around = cv2.dilate(rough.astype(np.uint8), np.ones((17, 17), np.uint8)) > 0
        trimap[~around] = cv2.GC_BGD
        trimap[_disc(rough.shape, x, y, DISC)] = cv2.GC_FGD
        window = crop(around, 8)
        result = np.zeros_like(rough)
        result[window] = grab_cut(view.rgb[window], trimap[window])
        return _part_at(result, x, y)

    def _boxed(self, box: np.ndarray) -> np.ndarray:
        """The thing in a box: the piece that fills it best, else what stands out from the box's surroundings."""
        shape = self._view.depth.shape
        inside = np.zeros(shape, bool)
        x0, y0, x1, y1 = np.rint(box).astype(int)
        inside[y0 : max(y1, y0 + 2), x0 : max(x1, x0 + 2)] = True
        fits = [(_box_overlap(piece, inside), i) for i, piece in enumerate(self._pieces)]
        best, index = max(fits, default=(0.0, -1))
        if best > 0.6:
            return self._pieces[index] & (cv2.dilate(inside.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0)
        rough = inside & self._view.above
        trimap = np.full(shape, cv2.GC_BGD, np.uint8)
        trimap[inside] = cv2.GC_PR_BGD if rough.sum() > 30 else cv2.GC_PR_FGD
        trimap[rough] = cv2.GC_PR_FGD
        window = crop(inside, 12)
        result = np.zeros(shape, bool)
        result[window] = grab_cut(self._view.rgb[window], trimap[window])
        result = attached(result, inside) if result.any() else result
        return result if result.any() else inside

    def _with_neighbours(self, whole: np.ndarray) -> np.ndarray:
        around = cv2.dilate(whole.astype(np.uint8), np.ones((7, 7), np.uint8)) > 0
        touching = [piece for piece in self._pieces if (piece & around).any()]
        return np.logical_or.reduce([whole, *touching])

    def _kept(self, key: bytes, work) -> np.ndarray:
        if key not in self._answers:
            if len(self._answers) >= REMEMBERED:
                self._answers.pop(next(iter(self._answers)))
            self._answers[key] = work()
        return self._answers[key]


def check_prompt(prompt: Prompt, shape: tuple[int, int]) -> None:
    """Raise SegmentationError, in one line, for a prompt that no segmenter could answer on an image (H, W)."""
    height, width = shape
    points, labels = np.asarray(prompt.points, float), np.asarray(prompt.labels)
    if points.ndim != 2 or points.shape[1] != 2 or labels.shape != points.shape[:1]:
        raise SegmentationError(
            f"Points of shape {points.shape} and labels of shape {labels.shape} do not go together."
        )
    if not len(points) and prompt.box is None and prompt.mask is None:
        raise SegmentationError("An empty prompt: give a point, a box or a mask to start from.")
    outside = ~((points >= 0) & (points < [width, height])).all(1)  # true for NaN as well
    if outside.any():
        x, y = points[outside][0]
        raise SegmentationError(f"Point {x:g}, {y:g} lies outside the {width} x {height} image.")
    if not np.isin(labels, (0, 1)).all():
        raise SegmentationError(f"Labels are 1 (plus) and 0 (minus), not {sorted(set(labels.tolist()) - {0, 1})}.")
    if prompt.box is not None:
        box = np.asarray(prompt.box, float)
        if box.shape != (4,) or not (0 <= box[0] < box[2] <= width and 0 <= box[1] < box[3] <= height):
            raise SegmentationError(f"The box must be x0 < x1 and y0 < y1 inside the {width} x {height} image.")
    if prompt.mask is not None and prompt.mask.shape != shape:
        raise SegmentationError(f"The mask to start from is {prompt.mask.shape[::-1]} pixels, the image {shape[::-1]}.")


def _key(box: np.ndarray | None, clicks: list[tuple[int, int, int]]) -> bytes:
    return (b"" if box is None else np.asarray(box, float).tobytes()) + np.array(clicks, np.int32).tobytes() + b"|"


def _disc(shape: tuple[int, ...], x: int, y: int, radius: int) -> np.ndarray:
    return cv2.circle(np.zeros(shape, np.uint8), (x, y), radius, 1, -1) > 0


def _part_at(mask: np.ndarray, x: int, y: int) -> np.ndarray:
    """The connected part of a mask that holds the pixel; empty where the mask does not."""
    _, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)
    return labels == labels[y, x] if mask[y, x] else np.zeros_like(mask)


def _box_overlap(mask: np.ndarray, inside: np.ndarray) -> float:
    rows, cols = crop(mask, 0) if mask.any() else (slice(0, 0), slice(0, 0))
    own = np.zeros_like(inside)
    own[rows, cols] = True
    return float((own & inside).sum() / max(1, (own | inside).sum()))

"""Clicks and boxes: the first click takes the thing under it, each later one corrects the mask around itself."""

from collections.abc import Callable, Sequence

import cv2
import numpy as np

from pipeline.segmentation.learned import Learned, confirms, part_at
from pipeline.segmentation.refine import attached, enlarge, grab_cut, refine
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError
from pipeline.segmentation.standing import LEAST, Heights, crop

DISC = 2
"""Pixels at working size around a click that certainly have its label."""
FAR, REACH = 3.0, (5, 60)
"""A click close to the mask's edge means a small correction: it changes what lies within so many times its distance
from that edge, and within these limits in pixels at working size."""
LIKE = 9.0
"""Distance in 8-bit CIELAB up to which neighbours are of the clicked colour."""
MOST = 0.6
"""Share of the mask that a minus click can take away at once."""
AGREED = 0.75
"""Share of a part that the network must agree with before a later plus takes it whole."""
UNDIVIDED = 0.8
"""Share of a thing from which its largest part is the whole of it: nothing speaks for taking it apart."""
WAY = 0.6
"""Share of the way to the nearest click of the other kind that a click may change."""
REMEMBERED = 64


class Prompted:
    """Answers prompts on one frame. A prompt that goes on from an earlier one only works its new clicks out."""

    def __init__(self, view: Heights, pieces: Sequence[np.ndarray], learned: Learned, fine: Sequence[np.ndarray] = ()):
        """`pieces` are the things found, of shape (H, W); `fine` what they may be made of, of working size (h, w)."""
        self._fine, self._learned = tuple(fine), learned
        self._view, self._pieces, self._shape = view, tuple(pieces), view.picture.shape[:2]
        self._lab = cv2.cvtColor(cv2.bilateralFilter(view.picture, 5, 20, 3), cv2.COLOR_RGB2LAB)
        self._answers: dict[bytes, list[np.ndarray]] = {}

    def prepare(self) -> None:
        """Lets the network see the frame, which the first click would wait for."""
        h, w = self._view.depth.shape
        self._learned.guess([(w / 2, h / 2, 1)])

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Up to three readings of the prompt, best first. Raises SegmentationError for prompts that make no sense."""
        check_prompt(prompt, self._shape)
        clicks = [(int(x), int(y), int(label)) for (x, y), label in zip(prompt.points, prompt.labels, strict=True)]
        if prompt.mask is not None:
            mask = prompt.mask
            for i in range(len(clicks)):
                mask = self._correct(mask, clicks[: i + 1])
            return (Segment(0, mask),)
        told = 1 if prompt.box is None else 0
        readings = self._kept(_key(prompt.box, clicks[:told]), lambda: self._first(prompt.box, clicks))
        for i in range(told, len(clicks)):
            before, done = readings[0], clicks[: i + 1]
            key = _key(prompt.box, done)
            readings = self._kept(key, lambda before=before, done=done: [self._correct(before, done)])
        return tuple(Segment(0, mask, 1 - 0.15 * i) for i, mask in enumerate(readings))

    def _first(self, box: np.ndarray | None, clicks: list[tuple[int, int, int]]) -> list[np.ndarray]:
        if box is not None:
            return [self._boxed(np.asarray(box, float))]
        x, y, label = clicks[0]
        if label != 1:
            raise SegmentationError("The first click must add (label 1); click the object first, then what is not it.")
        whole = next((piece for piece in self._pieces if piece[y, x]), None)
        if whole is None:
            return [self._elsewhere(x, y)]
        part = self._part(x, y)
        if part is not None and np.count_nonzero(part & whole) > UNDIVIDED * np.count_nonzero(whole):
            return self._readings(whole, whole)
        drawn, fits = self._guessed(x, y, whole)
        return self._readings(whole if fits else drawn, drawn if fits else whole)

    def _readings(self, best: np.ndarray, other: np.ndarray) -> list[np.ndarray]:
        """The best, and what else the click may mean where that is clearly another thing."""
        readings = [best]
        for mask in (other, self._with_neighbours(best)):
            if all(_overlap(mask, one) < 0.85 for one in readings):
                readings.append(mask)
        return readings

    def _guessed(self, x: int, y: int, whole: np.ndarray) -> tuple[np.ndarray, bool]:
        """What the network takes a first click to mean, and whether the whole piece is that as well."""
        step = self._view.step
        odds = self._learned.guess([(x / step, y / step, 1)])
        h, w = odds.shape
        rough = part_at(odds > 0, min(x // step, w - 1), min(y // step, h - 1))
        large = np.count_nonzero(rough) > LEAST
        drawn = refine(self._view, rough, np.zeros(self._shape, bool)) if large else self._enlarged(rough)
        return drawn | _disc(self._shape, x, y, step), confirms(odds, self._small(whole), rough)

    def _enlarged(self, mask: np.ndarray) -> np.ndarray:
        return enlarge(mask, self._shape, self._view.step)

    def _correct(self, mask: np.ndarray, clicks: list[tuple[int, int, int]]) -> np.ndarray:
        """The mask after the last of the clicks: it changes only where the click's own region was wrong."""
        x, y, label = clicks[-1]
        if bool(mask[y, x]) == bool(label):
            return mask
        wrong = mask != bool(label)
        disc = DISC * self._view.step
        for px, py, _ in (click for click in clicks[:-1] if bool(click[2]) != bool(label)):
            wrong[max(0, py - disc) : py + disc + 1, max(0, px - disc) : px + disc + 1] = False
        region = self._own(mask, wrong, clicks)
        if region is None:
            region = np.zeros_like(mask)
            window = _around(self._shape, x, y, REACH[1] * self._view.step + 2)
            region[window] = self._region(mask, wrong, clicks, window)
        region &= wrong
        region[y, x] = True
        return mask | region if label else mask & ~region

    def _own(self, mask: np.ndarray, wrong: np.ndarray, clicks: list[tuple[int, int, int]]) -> np.ndarray | None:
        """What the click speaks for as a whole: a thing of its own, or a part of one, clicked in its middle."""
        x, y, label = clicks[-1]
        whole = next((piece for piece in self._pieces if piece[y, x]), None)
        agreed = None
        for own, least in ((whole, 0.7), (self._part(x, y), 0.9)):
            if own is None or np.count_nonzero(own & wrong) <= least * np.count_nonzero(own):
                continue
            large = np.count_nonzero(own) > MOST * np.count_nonzero(mask)
            if (not label and large) or any(own[q, p] and one != label for p, q, one in clicks):
                continue
            window = crop(own, 1)
            depth = cv2.distanceTransform(own[window].astype(np.uint8), cv2.DIST_L2, 5)
            if depth[y - window[0].start, x - window[1].start] <= 0.5 * depth.max():
                continue
            if not label:
                return own
            agreed = self._agreed(mask, clicks) if agreed is None else agreed
            small = self._small(own & wrong)
            if small.any() and (agreed[small] > 0).mean() > AGREED:
                return own
        return None

    def _agreed(self, mask: np.ndarray, clicks: list[tuple[int, int, int]]) -> np.ndarray:
        """Log odds (h, w) that pixels belong to what the clicks mean, the mask being what it was before."""
        step = self._view.step
        return self._learned.guess([(x / step, y / step, label) for x, y, label in clicks], self._small(mask))

    def _small(self, mask: np.ndarray) -> np.ndarray:
        """A mask (H, W) at working size (h, w)."""
        h, w = self._view.depth.shape
        return mask[:: self._view.step, :: self._view.step][:h, :w]

    def _part(self, x: int, y: int) -> np.ndarray | None:
        step = self._view.step
        h, w = self._view.depth.shape
        row, col = min(y // step, h - 1), min(x // step, w - 1)
        small = next((part for part in self._fine if part[row, col]), None)
        if small is None or np.count_nonzero(small) < LEAST:
            return None
        window = crop(small, 2)
        fine = tuple(
            slice(one.start * step, min(one.stop * step, most)) for one, most in zip(window, self._shape, strict=True)
        )
        large = np.zeros(self._shape, bool)
        large[fine] = enlarge(small[window], large[fine].shape, step)
        return large if large[y, x] else None

    def _region(
        self, mask: np.ndarray, wrong: np.ndarray, clicks: list[tuple[int, int, int]], window: tuple[slice, slice]
    ) -> np.ndarray:
        """What colour joins to the newest click nearby, in a window around it."""
        step, (x, y, label) = self._view.step, clicks[-1]
        cx, cy = x - window[1].start, y - window[0].start
        inner = mask[window]
        gap = float(cv2.distanceTransform((inner != bool(label)).astype(np.uint8), cv2.DIST_L2, 5)[cy, cx])
        others = [np.hypot(px - x, py - y) for px, py, one in clicks if one != label]
        most = min([REACH[1] * step, *(WAY * other for other in others)])
        reach = round(np.clip(FAR * gap + 2 * step, REACH[0] * step, max(most, REACH[0] * step)))
        near = _disc(inner.shape, cx, cy, reach) & wrong[window]
        return self._cut(mask, near, x, y, bool(label), window) | self._like(x, y, near, window)

    def _cut(
        self, mask: np.ndarray, open_to: np.ndarray, x: int, y: int, label: bool, window: tuple[slice, slice]
    ) -> np.ndarray:
        step = self._view.step
        cx, cy = x - window[1].start, y - window[0].start
        trimap = np.where(mask[window], cv2.GC_FGD, cv2.GC_BGD).astype(np.uint8)
        trimap[open_to] = cv2.GC_PR_BGD if label else cv2.GC_PR_FGD
        trimap[_disc(trimap.shape, cx, cy, DISC * step)] = cv2.GC_FGD if label else cv2.GC_BGD
        inner = crop(open_to, 12 * step) if open_to.any() else _around(trimap.shape, cx, cy, 12 * step)
        result = np.zeros(trimap.shape, bool)
        result[inner] = grab_cut(self._view.picture[window][inner], trimap[inner], 1) == label
        return part_at(result & open_to, cx, cy)

    def _like(self, x: int, y: int, within: np.ndarray, window: tuple[slice, slice]) -> np.ndarray:
        """Pixels of `within` joined to the click by colours like its own, in the window; within may be larger."""
        within = within if within.shape == self._lab[window].shape[:2] else within[window]
        patch = self._lab[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].reshape(-1, 3)
        difference = self._lab[window].astype(np.float32) - np.median(patch, 0).astype(np.float32)
        alike = np.einsum("ijk,ijk->ij", difference, difference) < LIKE**2
        return part_at(alike & within, x - window[1].start, y - window[0].start)

    def _elsewhere(self, x: int, y: int) -> np.ndarray:
        """The thing at a click where none was found: what depth or, at table height, colour joins to it."""
        view, step = self._view, self._view.step
        x, y = min(x // step, view.depth.shape[1] - 1), min(y // step, view.depth.shape[0] - 1)
        near = _disc(view.depth.shape, x, y, 90)
        if view.above[y, x]:
            close = np.linalg.norm(view.points - view.points[y, x], axis=-1) < 0.25
            rough = part_at(view.above & ~view.steep & close & near, x, y)
        else:
            lab = np.ascontiguousarray(self._lab[::step, ::step]).astype(np.float32)
            patch = lab[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].reshape(-1, 3)
            alike = np.linalg.norm(lab - np.median(patch, 0), axis=-1) < LIKE
            rough = part_at(alike & near & ~view.above, x, y)
        rough |= _disc(rough.shape, x, y, DISC)
        trimap = np.where(rough, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
        around = cv2.dilate(rough.astype(np.uint8), np.ones((17, 17), np.uint8)) > 0
        trimap[~around] = cv2.GC_BGD
        trimap[_disc(rough.shape, x, y, DISC)] = cv2.GC_FGD
        window = crop(around, 8)
        result = np.zeros_like(rough)
        result[window] = grab_cut(view.rgb[window], trimap[window])
        return enlarge(part_at(result, x, y), self._shape, step)

    def _boxed(self, box: np.ndarray) -> np.ndarray:
        """The thing in a box: of the piece, the network's guess and what stands out in colour, what fills it best."""
        inside = np.zeros(self._shape, bool)
        x0, y0, x1, y1 = np.rint(box).astype(int)
        inside[y0 : max(y1, y0 + 2), x0 : max(x1, x0 + 2)] = True
        near = cv2.dilate(inside.astype(np.uint8), np.ones((8 * self._view.step + 1,) * 2, np.uint8)) > 0
        piece = max(
            (one & near for one in self._pieces), key=lambda one: _box_overlap(one, inside), default=inside & False
        )
        if _box_overlap(piece, inside) > 0.85:
            return piece
        guess = self._guessed_in(inside) & near
        best = max((piece & near, guess), key=lambda one: _box_overlap(one, inside))
        return best if _box_overlap(best, inside) > 0.6 and best.any() else self._standing_out(inside)

    def _guessed_in(self, inside: np.ndarray) -> np.ndarray:
        """What the network takes a box, given as the mask to correct, to hold."""
        rows, cols = crop(inside, 0)
        step, small = self._view.step, self._small(inside)
        middle = ((cols.start + cols.stop) / 2 / step, (rows.start + rows.stop) / 2 / step, 1)
        rough = (self._learned.guess([middle], small) > 0) & small
        return refine(self._view, rough, ~inside) if np.count_nonzero(rough) > LEAST else self._enlarged(rough)

    def _standing_out(self, inside: np.ndarray) -> np.ndarray:
        """What differs in colour from the surroundings of a box (H, W), what stands above the table first."""
        step = self._view.step
        rough = inside & self._enlarged(self._view.above)
        trimap = np.full(self._shape, cv2.GC_BGD, np.uint8)
        trimap[inside] = cv2.GC_PR_BGD if rough.sum() > 30 else cv2.GC_PR_FGD
        trimap[rough] = cv2.GC_PR_FGD
        window = crop(inside, 12 * step)
        result = np.zeros(self._shape, bool)
        result[window] = grab_cut(self._view.picture[window], trimap[window])
        result = attached(result, inside) if result.any() else result
        return result if result.any() else inside

    def _with_neighbours(self, whole: np.ndarray) -> np.ndarray:
        reach = 3 * self._view.step
        window = crop(whole, reach)
        around = cv2.dilate(whole[window].astype(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8)) > 0
        touching = [piece for piece in self._pieces if (piece[window] & around).any()]
        return np.logical_or.reduce([whole, *touching])

    def _kept(self, key: bytes, work: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
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


def _around(shape: tuple[int, ...], x: int, y: int, reach: int) -> tuple[slice, slice]:
    return slice(max(0, y - reach), y + reach + 1), slice(max(0, x - reach), x + reach + 1)


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.count_nonzero(a & b) / max(1, np.count_nonzero(a | b)))


def _box_overlap(mask: np.ndarray, inside: np.ndarray) -> float:
    rows, cols = crop(mask, 0) if mask.any() else (slice(0, 0), slice(0, 0))
    own = np.zeros_like(inside)
    own[rows, cols] = True
    return float((own & inside).sum() / max(1, (own | inside).sum()))

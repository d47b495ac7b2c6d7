"""Answer clicks and boxes: the first click selects the object under it, each later one corrects the mask."""

from collections.abc import Callable, Sequence

import cv2
import numpy as np

from pipeline.segmentation.depth.click_correction import DISC_RADIUS, SAME_COLOUR, Click, ClickCorrection
from pipeline.segmentation.depth.click_network import FrameNetworks, network_agrees
from pipeline.segmentation.depth.grabcut import attached_parts, grab_cut, refine_mask, upsample_mask
from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.depth.object_proposals import MIN_PIXELS
from pipeline.segmentation.mask_operations import disc, iou, padded_window, part_at_pixel
from pipeline.segmentation.prompts import check_prompt
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError

MAX_CACHED_ANSWERS = 64


class InteractiveSegmentation:
    """Answers prompts on one frame. A prompt that continues an earlier one only evaluates its new clicks."""

    def __init__(
        self,
        view: HeightMap,
        objects: Sequence[np.ndarray],
        networks: FrameNetworks,
        fine_parts: Sequence[np.ndarray] = (),
    ):
        """`objects` are masks of shape (H, W); `fine_parts` are parts of them at working size (h, w)."""
        self._view, self._objects, self._networks = view, tuple(objects), networks
        self._shape = view.full_rgb.shape[:2]
        self.correction = ClickCorrection(view, objects, networks, fine_parts)
        self._answers: dict[bytes, list[np.ndarray]] = {}

    def prepare(self) -> None:
        """Run the networks on the frame, which the first click would otherwise wait for."""
        h, w = self._view.depth.shape
        self._networks.predict([(w / 2, h / 2, 1)])

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Return up to three readings of the prompt, best first. Raises SegmentationError for an invalid prompt."""
        check_prompt(prompt, self._shape)
        clicks = [(int(x), int(y), int(label)) for (x, y), label in zip(prompt.points, prompt.labels, strict=True)]
        if prompt.mask is not None:
            mask = prompt.mask
            for i in range(len(clicks)):
                mask = self.correction.correct(mask, clicks[: i + 1])
            return (Segment(0, mask),)
        used = 1 if prompt.box is None else 0
        readings = self._cached(_key(prompt.box, clicks[:used]), lambda: self._first_readings(prompt.box, clicks))
        for i in range(used, len(clicks)):
            before, so_far = readings[0], clicks[: i + 1]
            readings = self._cached(
                _key(prompt.box, so_far),
                lambda before=before, so_far=so_far: [self.correction.correct(before, so_far)],
            )
        return tuple(Segment(0, mask, 1 - 0.15 * i) for i, mask in enumerate(readings))

    def _first_readings(self, box: np.ndarray | None, clicks: list[Click]) -> list[np.ndarray]:
        """Return readings of a box, or of the first click: the object at it, and the mask that the network predicts."""
        if box is not None:
            return [self._object_in_box(np.asarray(box, float))]
        x, y, label = clicks[0]
        if label != 1:
            raise SegmentationError("The first click must add (label 1); click the object first, then what is not it.")
        found = self.correction.object_at(x, y)
        if found is None:
            found = self._region_without_object(x, y)
        elif self._is_undivided(found, self.correction.fine_part_at(x, y)):
            return self._distinct_readings(found, found)
        predicted, agrees = self._predict_mask(x, y, found)
        return self._distinct_readings(found if agrees else predicted, predicted if agrees else found)

    def _is_undivided(self, found: np.ndarray, part: np.ndarray | None) -> bool:
        """Return whether the fine part under a click covers most of the object (H, W) found there."""
        # Share of an object above which its largest part counts as the whole object
        return part is not None and bool(np.count_nonzero(part & found) > 0.8 * np.count_nonzero(found))

    def _distinct_readings(self, best: np.ndarray, other: np.ndarray) -> list[np.ndarray]:
        """Return the best reading, then the other and the best with its neighbours, if they differ clearly."""
        readings = [best]
        for mask in (other, self._with_neighbours(best)):
            # IoU from which two readings of a click are the same
            if all(iou(mask, reading) < 0.85 for reading in readings):
                readings.append(mask)
        return readings

    def _predict_mask(self, x: int, y: int, found: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the network's mask for a first click, and whether the network agrees with the object found."""
        step = self._view.step
        odds = self._networks.predict([(x / step, y / step, 1)])
        h, w = odds.shape
        rough = part_at_pixel(odds > 0, min(x // step, w - 1), min(y // step, h - 1))
        large = np.count_nonzero(rough) > MIN_PIXELS
        mask = refine_mask(self._view, rough, np.zeros(self._shape, bool)) if large else self._at_full_size(rough)
        agrees = network_agrees(odds, self.correction.at_working_size(found), rough)
        return mask | disc(self._shape, x, y, step), agrees

    def _at_full_size(self, mask: np.ndarray) -> np.ndarray:
        return upsample_mask(mask, self._shape, self._view.step)

    def _region_without_object(self, x: int, y: int) -> np.ndarray:
        """Return the region at a click without an object: connected by depth or, at table height, by colour."""
        view, step = self._view, self._view.step
        x, y = min(x // step, view.depth.shape[1] - 1), min(y // step, view.depth.shape[0] - 1)
        near = disc(view.depth.shape, x, y, 90)
        if view.above[y, x]:
            close = np.linalg.norm(view.points - view.points[y, x], axis=-1) < 0.25
            rough = part_at_pixel(view.above & ~view.flying & close & near, x, y)
        else:
            lab = np.ascontiguousarray(self.correction.lab[::step, ::step]).astype(np.float32)
            patch = lab[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].reshape(-1, 3)
            alike = np.linalg.norm(lab - np.median(patch, 0), axis=-1) < SAME_COLOUR
            rough = part_at_pixel(alike & near & ~view.above, x, y)
        rough |= disc(rough.shape, x, y, DISC_RADIUS)
        trimap = np.where(rough, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
        around = cv2.dilate(rough.astype(np.uint8), np.ones((17, 17), np.uint8)) > 0
        trimap[~around] = cv2.GC_BGD
        trimap[disc(rough.shape, x, y, DISC_RADIUS)] = cv2.GC_FGD
        window = padded_window(around, 8)
        result = np.zeros_like(rough)
        result[window] = grab_cut(view.rgb[window], trimap[window])
        return upsample_mask(part_at_pixel(result, x, y), self._shape, step)

    def _object_in_box(self, box: np.ndarray) -> np.ndarray:
        """Return the mask that fills a box best: an object, the network's mask, or what differs in colour."""
        inside = np.zeros(self._shape, bool)
        x0, y0, x1, y1 = np.rint(box).astype(int)
        inside[y0 : max(y1, y0 + 2), x0 : max(x1, x0 + 2)] = True
        near = cv2.dilate(inside.astype(np.uint8), np.ones((8 * self._view.step + 1,) * 2, np.uint8)) > 0
        found = max(
            (mask & near for mask in self._objects), key=lambda mask: _box_iou(mask, inside), default=inside & False
        )
        if _box_iou(found, inside) > 0.85:
            return found
        predicted = self._predict_in_box(inside) & near
        best = max((found & near, predicted), key=lambda mask: _box_iou(mask, inside))
        return best if _box_iou(best, inside) > 0.6 and best.any() else self._salient_in_box(inside)

    def _predict_in_box(self, inside: np.ndarray) -> np.ndarray:
        """Return the network's mask for a box, given to it as the mask to correct."""
        rows, cols = padded_window(inside, 0)
        step, small = self._view.step, self.correction.at_working_size(inside)
        centre = ((cols.start + cols.stop) / 2 / step, (rows.start + rows.stop) / 2 / step, 1)
        rough = (self._networks.predict([centre], small) > 0) & small
        return (
            refine_mask(self._view, rough, ~inside)
            if np.count_nonzero(rough) > MIN_PIXELS
            else self._at_full_size(rough)
        )

    def _salient_in_box(self, inside: np.ndarray) -> np.ndarray:
        """Return what differs in colour from the surroundings of a box (H, W), from what stands above the table."""
        step = self._view.step
        rough = inside & self._at_full_size(self._view.above)
        trimap = np.full(self._shape, cv2.GC_BGD, np.uint8)
        trimap[inside] = cv2.GC_PR_BGD if rough.sum() > 30 else cv2.GC_PR_FGD
        trimap[rough] = cv2.GC_PR_FGD
        window = padded_window(inside, 12 * step)
        result = np.zeros(self._shape, bool)
        result[window] = grab_cut(self._view.full_rgb[window], trimap[window])
        result = attached_parts(result, inside) if result.any() else result
        return result if result.any() else inside

    def _with_neighbours(self, mask: np.ndarray) -> np.ndarray:
        """Return a mask with all objects that touch it."""
        reach = 3 * self._view.step
        window = padded_window(mask, reach)
        around = cv2.dilate(mask[window].astype(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8)) > 0
        touching = [other for other in self._objects if (other[window] & around).any()]
        return np.logical_or.reduce([mask, *touching])

    def _cached(self, key: bytes, compute: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
        if key not in self._answers:
            if len(self._answers) >= MAX_CACHED_ANSWERS:
                self._answers.pop(next(iter(self._answers)))
            self._answers[key] = compute()
        return self._answers[key]


def _key(box: np.ndarray | None, clicks: list[Click]) -> bytes:
    return (b"" if box is None else np.asarray(box, float).tobytes()) + np.array(clicks, np.int32).tobytes() + b"|"


def _box_iou(mask: np.ndarray, inside: np.ndarray) -> float:
    """Return the IoU of a mask's bounding box with a filled box."""
    filled = np.zeros_like(inside)
    filled[padded_window(mask, 0)] = True
    return iou(filled, inside)

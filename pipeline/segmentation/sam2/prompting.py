"""Prompt SAM 2 with clicks, boxes and masks: three readings of a first click, then one correction per click."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

from pipeline.segmentation.mask_operations import disc, iou, part_at_pixel
from pipeline.segmentation.sam2.device_queue import ComputeDevice
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError

REACH_FACTOR, REACH_RANGE = 3.0, (0.008, 0.1)
"""A click changes pixels within this many times its distance from the mask's edge, and within this range in shares of
the image's width: a click close to the edge means a small correction."""


@dataclass(frozen=True, eq=False)
class MaskCandidate:
    """One of SAM 2's answers."""

    bits: np.ndarray
    """The mask, packed eight pixels to a byte, uint8."""
    shape: tuple[int, int]
    quality: float
    """SAM 2's prediction of its IoU, in [0, 1]."""
    logits: np.ndarray
    """The decoder's input for a prompt that continues this one, of shape (1, 256, 256), float32."""

    @property
    def mask(self) -> np.ndarray:
        """Of shape (H, W), bool."""
        return np.unpackbits(self.bits, count=self.shape[0] * self.shape[1]).reshape(self.shape).astype(bool)


class Sam2Prompting:
    """Answers prompts on one image. The same prompt always gets the same answer, whatever came before."""

    def __init__(self, device: ComputeDevice):
        self._device = device
        self._answers = OrderedDict[bytes, tuple[MaskCandidate, ...]]()
        self._logits = OrderedDict[bytes, np.ndarray]()

    def segment(self, predictor: Any, prompt: Prompt) -> tuple[Segment, ...]:
        """Return three readings of a first click, else one, best first. Raises SegmentationError."""
        candidates = self._candidates(predictor, prompt)
        return tuple(Segment(0, candidate.mask, candidate.quality, "sam2") for candidate in candidates)

    def _candidates(self, predictor: Any, prompt: Prompt) -> tuple[MaskCandidate, ...]:
        key = _key(prompt)
        candidates = self._answers.get(key)
        if candidates is None:
            candidates = self._answer(predictor, prompt)
            _store(self._answers, key, candidates)
            for candidate in candidates:
                _store(self._logits, candidate.bits.tobytes(), candidate.logits)
        return candidates

    def _answer(self, predictor: Any, prompt: Prompt) -> tuple[MaskCandidate, ...]:
        count = len(prompt.points)
        if prompt.mask is not None and count == 0:
            return self._predict(predictor, prompt, self._logits_for(prompt.mask, predictor))
        if prompt.mask is not None and count == 1:
            return (self._correct(predictor, prompt, prompt.mask, self._logits_for(prompt.mask, predictor)),)
        if prompt.mask is None and count == (0 if prompt.box is not None else 1):
            if count and not prompt.labels[0]:
                raise SegmentationError("The first click must add (label 1); click the object first, then what is not.")
            return self._predict(predictor, prompt)
        earlier = replace(prompt, points=prompt.points[:-1], labels=prompt.labels[:-1])
        start = self._candidates(predictor, earlier)[0]
        return (self._correct(predictor, prompt, start.mask, start.logits),)

    def _correct(self, predictor: Any, prompt: Prompt, start: np.ndarray, logits: np.ndarray) -> MaskCandidate:
        """Return the start mask with the changes of SAM 2's answer near the newest click."""
        (x, y), label = prompt.points[-1], int(prompt.labels[-1])
        answer = self._predict(predictor, prompt, logits)[0]
        mask = correct_locally(start, answer.mask, (x, y, label))
        # IoU of SAM 2's answer with the corrected mask above which the next prompt starts from its logits, not the mask
        logits = answer.logits if iou(mask, answer.mask) > 0.9 else _as_logits(mask, predictor)
        return replace(answer, bits=np.packbits(mask), logits=logits)

    def _predict(self, predictor: Any, prompt: Prompt, logits: np.ndarray | None = None) -> tuple[MaskCandidate, ...]:
        single = len(prompt.points) == 1 and prompt.box is None and logits is None
        with self._device.turn():
            masks, scores, low = predictor.predict(
                point_coords=np.asarray(prompt.points, np.float32) if len(prompt.points) else None,
                point_labels=np.asarray(prompt.labels, np.int32) if len(prompt.points) else None,
                box=None if prompt.box is None else np.asarray(prompt.box, np.float32),
                mask_input=logits,
                multimask_output=single,
            )
        quality = np.clip(np.nan_to_num(scores), 0, 1)
        return tuple(
            MaskCandidate(np.packbits(masks[i] > 0), masks[i].shape, float(quality[i]), low[i][None])
            for i in np.argsort(-quality)
        )

    def _logits_for(self, mask: np.ndarray, predictor: Any) -> np.ndarray:
        """Return SAM 2's logits if the mask is one of its answers, else logits made from the mask."""
        known = self._logits.get(np.packbits(mask).tobytes())
        return _as_logits(mask, predictor) if known is None else known


def _as_logits(mask: np.ndarray, predictor: Any) -> np.ndarray:
    """Return a mask (H, W) as the decoder's input, of shape (1, 256, 256), confident on both sides of its edge."""
    side = 4 * predictor.model.sam_image_embedding_size
    small = cv2.resize(mask.astype(np.float32), (side, side), interpolation=cv2.INTER_AREA)
    return (20 * small - 10)[None].astype(np.float32)


def _key(prompt: Prompt) -> bytes:
    parts = [np.asarray(prompt.points, float), np.asarray(prompt.labels, int)]
    parts += [] if prompt.box is None else [np.asarray(prompt.box, float)]
    mask = b"" if prompt.mask is None else np.packbits(prompt.mask).tobytes()
    return b"|".join([*(part.tobytes() for part in parts), mask])


def _store(cache: OrderedDict[bytes, Any], key: bytes, value: Any) -> None:
    cache[key] = value
    # Answers kept for the clicks that continue them, of up to 1.1 MB each at 1280x720
    while len(cache) > 32:
        cache.popitem(last=False)


def correct_locally(before: np.ndarray, after: np.ndarray, click: tuple[float, float, int]) -> np.ndarray:
    """Return `before` with the changes in `after` near the newest click (x, y, label); masks (H, W), bool.

    A click on a pixel that already has its label changes nothing; any other click's pixel gets its label.
    """
    x, y, label = int(click[0]), int(click[1]), bool(click[2])
    if before[y, x] == label:
        return before
    wrong = before != label
    width = before.shape[1]
    gap = float(cv2.distanceTransform(wrong.astype(np.uint8), cv2.DIST_L2, 5)[y, x])
    reach = round(np.clip(REACH_FACTOR * gap, REACH_RANGE[0] * width, REACH_RANGE[1] * width))
    # Share of the image's width around a click that certainly has its label
    certain = disc(before.shape, x, y, max(1, round(0.003 * width))) & wrong
    changed = (after == label) & wrong & disc(before.shape, x, y, reach) | certain
    region = part_at_pixel(changed, x, y)
    return before | region if label else before & ~region

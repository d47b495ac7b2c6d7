"""Clicks, boxes and masks put to SAM 2: three readings of a single click, then corrections one click at a time."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

from pipeline.segmentation.sam2.device import Device
from pipeline.segmentation.sam2.local import local
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError

REMEMBERED = 32
"""Answers kept for the clicks that go on from them: at 1280x720 up to 1.1 MB each."""
AGREES = 0.9
"""IoU of SAM 2's own answer with what was kept of it, above which its logits go on; else the kept mask does."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One of SAM 2's answers."""

    bits: np.ndarray
    """The mask, packed eight pixels to a byte, uint8."""
    shape: tuple[int, int]
    quality: float
    """SAM 2's prediction of its IoU, in [0, 1]."""
    logits: np.ndarray
    """What the decoder takes to go on from here, of shape (1, 256, 256), float32."""

    @property
    def mask(self) -> np.ndarray:
        """Of shape (H, W), bool."""
        return np.unpackbits(self.bits, count=self.shape[0] * self.shape[1]).reshape(self.shape).astype(bool)


class Prompting:
    """Answers on one picture. The same prompt always gets the same answer, whatever was asked before."""

    def __init__(self, device: Device):
        self._device = device
        self._answers = OrderedDict[bytes, tuple[Reading, ...]]()
        self._logits = OrderedDict[bytes, np.ndarray]()

    def segment(self, predictor: Any, prompt: Prompt) -> tuple[Segment, ...]:
        """Best first: three readings of a first click, else one. Raises SegmentationError for a first minus click."""
        readings = self._readings(predictor, prompt)
        return tuple(Segment(0, reading.mask, reading.quality, "sam2") for reading in readings)

    def _readings(self, predictor: Any, prompt: Prompt) -> tuple[Reading, ...]:
        key = _key(prompt)
        found = self._answers.get(key)
        if found is None:
            found = self._asked(predictor, prompt)
            _keep(self._answers, key, found)
            for reading in found:
                _keep(self._logits, reading.bits.tobytes(), reading.logits)
        return found

    def _asked(self, predictor: Any, prompt: Prompt) -> tuple[Reading, ...]:
        count = len(prompt.points)
        if prompt.mask is not None and count == 0:
            return self._predicted(predictor, prompt, self._logits_of(prompt.mask, predictor))
        if prompt.mask is not None and count == 1:
            return (self._corrected(predictor, prompt, prompt.mask, self._logits_of(prompt.mask, predictor)),)
        if prompt.mask is None and count == (0 if prompt.box is not None else 1):
            if count and not prompt.labels[0]:
                raise SegmentationError("The first click must add (label 1); click the object first, then what is not.")
            return self._predicted(predictor, prompt)
        earlier = replace(prompt, points=prompt.points[:-1], labels=prompt.labels[:-1])
        start = self._readings(predictor, earlier)[0]
        return (self._corrected(predictor, prompt, start.mask, start.logits),)

    def _corrected(self, predictor: Any, prompt: Prompt, start: np.ndarray, logits: np.ndarray) -> Reading:
        """The start with what the newest click changes near itself."""
        (x, y), label = prompt.points[-1], int(prompt.labels[-1])
        answer = self._predicted(predictor, prompt, logits)[0]
        mask, whole = local(start, answer.mask, (x, y, label)), answer.mask
        on = answer.logits if _overlap(mask, whole) > AGREES else as_logits(mask, predictor)
        return replace(answer, bits=np.packbits(mask), logits=on)

    def _predicted(self, predictor: Any, prompt: Prompt, logits: np.ndarray | None = None) -> tuple[Reading, ...]:
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
            Reading(np.packbits(masks[i] > 0), masks[i].shape, float(quality[i]), low[i][None])
            for i in np.argsort(-quality)
        )

    def _logits_of(self, mask: np.ndarray, predictor: Any) -> np.ndarray:
        """SAM 2's own where the mask is one of its answers."""
        known = self._logits.get(np.packbits(mask).tobytes())
        return as_logits(mask, predictor) if known is None else known


def as_logits(mask: np.ndarray, predictor: Any) -> np.ndarray:
    """A mask (H, W) as the decoder's input, of shape (1, 256, 256): confident on both sides of its edge."""
    side = 4 * predictor.model.sam_image_embedding_size
    small = cv2.resize(mask.astype(np.float32), (side, side), interpolation=cv2.INTER_AREA)
    return (20 * small - 10)[None].astype(np.float32)


def _key(prompt: Prompt) -> bytes:
    parts = [np.asarray(prompt.points, float), np.asarray(prompt.labels, int)]
    parts += [] if prompt.box is None else [np.asarray(prompt.box, float)]
    mask = b"" if prompt.mask is None else np.packbits(prompt.mask).tobytes()
    return b"|".join([*(part.tobytes() for part in parts), mask])


def _keep(store: OrderedDict[bytes, Any], key: bytes, value: Any) -> None:
    store[key] = value
    while len(store) > REMEMBERED:
        store.popitem(last=False)


def _overlap(one: np.ndarray, other: np.ndarray) -> float:
    return float((one & other).sum() / max(1, (one | other).sum()))

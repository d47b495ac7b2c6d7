"""A segmenter that returns given masks, for tests and demonstrations."""

from collections.abc import Sequence

import numpy as np

from pipeline.frame import Frame
from pipeline.segmentation.prompts import check_prompt
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError


class ScriptedSegmenter:
    """Returns masks given in advance, with the source "scripted"."""

    name = "scripted"

    def __init__(self, masks: Sequence[np.ndarray]):
        self._masks = tuple(np.asarray(mask, bool) for mask in masks)

    def open(self, frame: Frame) -> "ScriptedView":
        """Open a frame. Raises SegmentationError if the masks do not have its size."""
        if any(mask.shape != frame.depth.shape for mask in self._masks):
            raise SegmentationError(
                f"The script's masks are not {frame.depth.shape[1]} x {frame.depth.shape[0]} pixels."
            )
        return ScriptedView(self._masks, frame.depth.shape)


class ScriptedView:
    """The given masks. A prompt selects the mask with most pixels under its plus clicks and its box."""

    def __init__(self, masks: tuple[np.ndarray, ...], shape: tuple[int, int]):
        self._masks, self._shape = masks, shape

    def automatic(self) -> tuple[Segment, ...]:
        return tuple(Segment(i, mask, 1.0, "scripted") for i, mask in enumerate(self._masks, 1))

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Return the mask that the prompt selects. Raises SegmentationError if there is none."""
        check_prompt(prompt, self._shape)
        prompted = np.zeros(self._shape, bool)
        if prompt.box is not None:
            x0, y0, x1, y1 = np.asarray(prompt.box).astype(int)
            prompted[y0 : y1 + 1, x0 : x1 + 1] = True
        for (x, y), label in zip(prompt.points, prompt.labels, strict=True):
            prompted[int(y), int(x)] |= bool(label)
        counts = [np.count_nonzero(mask & prompted) for mask in self._masks]
        if not counts or not max(counts):
            raise SegmentationError("The script has no mask there.")
        return (Segment(0, self._masks[int(np.argmax(counts))], 1.0, "scripted"),)

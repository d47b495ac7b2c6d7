"""A segmenter that answers with masks it was given: for tests and demonstrations."""

from collections.abc import Sequence

import numpy as np

from pipeline.frame import Frame
from pipeline.segmentation.prompted import check_prompt
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError


class ScriptedSegmenter:
    """Knows the answers beforehand, and says so in `source`."""

    name = "scripted"

    def __init__(self, masks: Sequence[np.ndarray]):
        self._masks = tuple(np.asarray(mask, bool) for mask in masks)

    @staticmethod
    def of_labels(labels: np.ndarray) -> "ScriptedSegmenter":
        """From a label image (H, W), 0 background."""
        return ScriptedSegmenter([labels == label for label in np.unique(labels) if label])

    def open(self, frame: Frame) -> "ScriptedView":
        """The masks, as a view. Raises SegmentationError where they are not the frame's size."""
        if any(mask.shape != frame.depth.shape for mask in self._masks):
            raise SegmentationError(
                f"The script's masks are not {frame.depth.shape[1]} x {frame.depth.shape[0]} pixels."
            )
        return ScriptedView(self._masks, frame.depth.shape)


class ScriptedView:
    """The given masks; a prompt gets the one under its first plus click, or the one that fills its box best."""

    def __init__(self, masks: tuple[np.ndarray, ...], shape: tuple[int, int]):
        self._masks, self._shape = masks, shape

    def automatic(self) -> tuple[Segment, ...]:
        return tuple(Segment(i, mask, 1.0, "scripted") for i, mask in enumerate(self._masks, 1))

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Raises SegmentationError where no mask was written for the prompt."""
        check_prompt(prompt, self._shape)
        wanted = np.zeros(self._shape, bool)
        if prompt.box is not None:
            x0, y0, x1, y1 = np.asarray(prompt.box).astype(int)
            wanted[y0 : y1 + 1, x0 : x1 + 1] = True
        for (x, y), label in zip(prompt.points, prompt.labels, strict=True):
            wanted[int(y), int(x)] |= bool(label)
        shares = [np.count_nonzero(mask & wanted) for mask in self._masks]
        if not shares or not max(shares):
            raise SegmentationError("The script has no mask there.")
        return (Segment(0, self._masks[int(np.argmax(shares))], 1.0, "scripted"),)

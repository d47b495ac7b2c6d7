"""SAM 2 (Ravi et al., 2024) as a segmenter: frames are encoded in the background, prompts wait for their frame."""

import os
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import numpy as np

from pipeline.frame import Frame
from pipeline.segmentation.prompts import check_prompt
from pipeline.segmentation.sam2.automatic_masks import AutomaticSettings, ScoredMasks, generate_masks
from pipeline.segmentation.sam2.device_queue import EncodingState
from pipeline.segmentation.sam2.device_queue import get_device as device_named
from pipeline.segmentation.sam2.encoding import EncodingCache, FrameEncoding, image_key
from pipeline.segmentation.sam2.mask_filter import clean_masks
from pipeline.segmentation.sam2.network import TRAINED_SIDE, Sam2Network
from pipeline.segmentation.sam2.prompting import Sam2Prompting
from pipeline.segmentation.sam2.video import carry_masks
from pipeline.segmentation.sam2.weights import TINY, find_checkpoint
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError

T = TypeVar("T")
DEFAULT = AutomaticSettings()


class Sam2Segmenter:
    """One checkpoint on one device. The constructor only checks that all is installed; the first frame loads it."""

    name = "sam2"

    def __init__(
        self,
        checkpoint: str | None = None,
        device: str | None = None,
        # Encoded frames in memory, of 17 MB each at full size, for every size of network
        capacity: int = 6,
        side: int = TRAINED_SIDE,
        automatic: AutomaticSettings = DEFAULT,
    ):
        """`checkpoint` is a .pt file, or the hub name of downloaded weights (default GRS_SAM2, else SAM 2.1 tiny);
        `device` is cpu, cuda, mps or auto (default GRS_SAM2_DEVICE, else cpu).

        `capacity` frames stay encoded. Images are resized to `side` pixels: 512 is several times faster than the 1024
        of the training, and coarser. `automatic` are the settings of masks without prompts. Raises SegmentationError:
        what is missing, and how to get it.
        """
        if side < 256 or side % 256:
            raise SegmentationError(f"SAM 2 cannot run on images of {side} pixels: choose 256, 512, 768 or 1024.")
        checkpoint = os.environ.get("GRS_SAM2", TINY) if checkpoint is None else checkpoint
        device = os.environ.get("GRS_SAM2_DEVICE", "cpu") if device is None else device
        path, compute_device = find_checkpoint(checkpoint), device_named(device)
        self.checkpoint, self.device, self._automatic = checkpoint, compute_device.name, automatic
        self._path, self._side = path, side
        self._encodings = EncodingCache(
            lambda: Sam2Network(path, compute_device.name, side), path.name, compute_device, capacity
        )

    @property
    def state(self) -> EncodingState:
        """The network's state: "ready", "loading" or "failed", with a message."""
        return self._encodings.state

    def open(self, frame: Frame) -> "Sam2View":
        """Open a frame without waiting. It is encoded in the background unless the same image is in memory."""
        return Sam2View(self._encodings, frame, self._automatic)

    def carry(self, pictures: Sequence[np.ndarray], masks: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        """Return what the second and following pictures (H, W, 3), uint8, show of each mask (H, W) of the first one.

        Takes some seconds a picture on a processor. Raises SegmentationError.
        """
        return carry_masks(self._path, self.device, self._side, pictures, masks)

    def forget(self) -> None:
        """Free the memory of all encoded frames. Their views encode them again for the next prompt."""
        self._encodings.forget()


class Sam2View:
    """One frame, encoded or being encoded. May be used from any thread."""

    def __init__(self, encodings: EncodingCache, frame: Frame, automatic: AutomaticSettings = DEFAULT):
        self.frame, self._encodings, self._key, self._automatic = frame, encodings, image_key(frame.rgb), automatic
        self._prompting, self._cancelled = Sam2Prompting(encodings.device), False
        self._encoding = self._start()

    @property
    def state(self) -> EncodingState:
        """The encoding's state. If it is "stopped", the next prompt encodes the frame."""
        return self._encoding.state

    def wait(self, timeout: float | None = None) -> EncodingState:
        """Wait until the frame is ready, failed or stopped, at most `timeout` seconds; return the state."""
        self._encoding.wait(timeout)
        return self.state

    def cancel(self) -> None:
        """Stop the encoding, unless another view needs the same image. The next prompt restarts it."""
        self._cancelled = True
        self._encoding.unwatch(id(self))

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Return three readings of a single click, else one, best first by predicted quality. Waits for the encoding.

        Later clicks, and clicks on a prompt's mask, change the mask near themselves only. Raises SegmentationError.
        """
        check_prompt(prompt, self.frame.rgb.shape[:2])
        return self._with_predictor(lambda predictor: self._prompting.segment(predictor, prompt))

    def automatic(self, settings: AutomaticSettings | None = None) -> tuple[Segment, ...]:
        """Return all objects that SAM 2 finds, from left to right; masks do not overlap. Waits for the encoding."""
        steps = self.automatic_steps(settings)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    def automatic_steps(self, settings: AutomaticSettings | None = None) -> Generator[float, None, tuple[Segment, ...]]:
        """Yield the progress of `automatic` in [0, 1]; return its segments. Closing it, or `cancel`, stops it."""
        settings = settings or self._automatic
        generator = self._with_predictor(
            lambda predictor: generate_masks(predictor, self.frame.rgb, settings, self._encodings.device)
        )
        masks: ScoredMasks = []
        while True:
            try:
                progress = next(generator)
            except StopIteration as end:
                masks = end.value
                break
            if self._cancelled:
                raise SegmentationError("SAM 2 was stopped before it had segmented the whole image; run it again.")
            yield progress
        return clean_masks(self.frame, masks, settings.keep_all)

    def _with_predictor(self, function: Callable[[Any], T]) -> T:
        """Call a function with the predictor once the frame is encoded. Raises SegmentationError if that fails."""
        self._cancelled = False
        while True:
            self._encoding = self._start()
            self._encoding.wait()
            predictor = self._encoding.predictor
            if predictor is not None:
                return function(predictor)
            if self._encoding.state.status == "failed":
                raise SegmentationError(self._encoding.state.message)
            if self._cancelled:
                raise SegmentationError("Encoding of the frame was stopped; click again to restart it.")

    def _start(self) -> FrameEncoding:
        return self._encodings.get(self.frame.rgb, self._key, id(self))

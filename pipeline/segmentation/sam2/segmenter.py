"""SAM 2 (Ravi et al., 2024) as a segmenter: frames encode in the background, prompts wait for theirs."""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from pipeline.frame import Frame
from pipeline.segmentation.prompted import check_prompt
from pipeline.segmentation.sam2.cleaning import cleaned
from pipeline.segmentation.sam2.device import device as device_named
from pipeline.segmentation.sam2.encoding import Encoding, Encodings, picture_key
from pipeline.segmentation.sam2.everything import Everything, Masks, everything
from pipeline.segmentation.sam2.network import SIDE, Network
from pipeline.segmentation.sam2.prompting import Prompting
from pipeline.segmentation.sam2.state import State
from pipeline.segmentation.sam2.weights import find
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError

T = TypeVar("T")
KEPT = 6
"""Frames kept encoded: 17 MB each at full size, whichever network."""


class Sam2Segmenter:
    """One checkpoint on one device. Making it only looks whether all is there; the first frame loads the network."""

    name = "sam2"

    def __init__(self, checkpoint: str, device: str = "cpu", keep: int = KEPT, side: int = SIDE):
        """A local .pt file, or the hub name of weights that are on this machine; device cpu, cuda, mps or auto.

        `keep` frames stay encoded. `side` is the size the network sees the picture at: 512 is several times faster
        than the 1024 it was trained for, and coarser. Raises SegmentationError: what is missing, how to get it.
        """
        if side < 256 or side % 256:
            raise SegmentationError(f"SAM 2 cannot see pictures at {side} pixels: give 256, 512, 768 or 1024.")
        path, where = find(checkpoint), device_named(device)
        self.checkpoint, self.device = checkpoint, where.name
        self._encodings = Encodings(lambda: Network(path, where.name, side), path.name, where, keep)

    @property
    def state(self) -> State:
        """ "ready", "loading" or "failed" with one line."""
        return self._encodings.state

    def open(self, frame: Frame) -> "Sam2View":
        """Returns at once; the frame encodes in the background unless the same picture was encoded before."""
        return Sam2View(self._encodings, frame)

    def forget(self) -> None:
        """Free the memory of all encoded frames. Their views encode again when asked."""
        self._encodings.forget()


class Sam2View:
    """One frame, encoded or about to be. Any thread may ask."""

    def __init__(self, encodings: Encodings, frame: Frame):
        self.frame, self._encodings, self._key = frame, encodings, picture_key(frame.rgb)
        self._prompting, self._left = Prompting(encodings.device), False
        self._encoding = self._begun()

    @property
    def state(self) -> State:
        """queued, loading, encoding (with share), ready; failed, with one line; stopped: the next prompt encodes."""
        return self._encoding.state

    def wait(self, timeout: float | None = None) -> State:
        """The state once it is ready, failed or stopped, or after so many seconds."""
        self._encoding.wait(timeout)
        return self.state

    def cancel(self) -> None:
        """Stop the work, unless another view wants the same picture. Who waits is told; the next prompt starts anew."""
        self._left = True
        self._encoding.leave(id(self))

    def segment(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Readings best first, scored by predicted quality: three of a single click, else one. Waits for the encoding.

        A later click, and a click on a given mask, changes the mask near itself only. Raises SegmentationError.
        """
        check_prompt(prompt, self.frame.rgb.shape[:2])
        return self._asked(lambda predictor: self._prompting.segment(predictor, prompt))

    def automatic(self, settings: Everything | None = None) -> tuple[Segment, ...]:
        """The things SAM 2 finds by itself, from left to right; masks do not overlap. Waits for all of it."""
        finding = self.finding(settings)
        while True:
            try:
                next(finding)
            except StopIteration as end:
                return end.value

    def finding(self, settings: Everything | None = None) -> Generator[float, None, tuple[Segment, ...]]:
        """`automatic` in steps: yields the share done, returns the segments. Closing it, or `cancel`, stops it."""
        settings = settings or Everything()
        work = self._asked(lambda predictor: everything(predictor, self.frame.rgb, settings, self._encodings.device))
        found: Masks = []
        while True:
            try:
                share = next(work)
            except StopIteration as end:
                found = end.value
                break
            if self._left:
                raise SegmentationError("SAM 2 was stopped before it had looked everywhere; run it again.")
            yield share
        return cleaned(self.frame, found, settings.keep_all)

    def _asked(self, question: Callable[[Any], T]) -> T:
        """The question put to the encoded frame. Raises SegmentationError where encoding failed or was stopped."""
        self._left = False
        while True:
            self._encoding = self._begun()
            self._encoding.wait()
            predictor = self._encoding.predictor
            if predictor is not None:
                return question(predictor)
            if self._encoding.state.word == "failed":
                raise SegmentationError(self._encoding.state.message)
            if self._left:
                raise SegmentationError("Encoding of the frame was stopped; ask again to go on.")

    def _begun(self) -> Encoding:
        return self._encodings.of(self.frame.rgb, self._key, id(self))

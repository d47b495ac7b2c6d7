"""Encode frames in the background, and cache the latest ones."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.segmentation.sam2.device_queue import ComputeDevice, EncodingState
from pipeline.segmentation.sam2.network import Sam2Network
from pipeline.segmentation.sam2.weights import first_line
from pipeline.segmentation.segment import SegmentationError


class EncodingStopped(Exception):
    """No view needs the frame any more."""


class FrameEncoding:
    """The encoding of one image: queued, loading, encoding, ready; or failed, or stopped."""

    def __init__(self, rgb: np.ndarray, device: ComputeDevice):
        self._rgb, self._device = rgb, device
        self.state = EncodingState("queued", 0.0, "waiting for frames before it")
        self.predictor: Any = None
        """SAM2ImagePredictor with the image set; None until it is ready."""
        self._watchers: set[int] = set()
        self._finished = threading.Event()

    @property
    def ended(self) -> bool:
        """Whether it failed or was stopped."""
        return self.state.status in ("failed", "stopped")

    def watch(self, watcher: int) -> None:
        """Register a view that needs the encoding."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: int) -> None:
        """Remove a view. Without views the encoding stops within one block of the encoder."""
        self._watchers.discard(watcher)
        if not self._watchers and self.state.status == "queued":
            self._finish(EncodingState("stopped", 0.0, "stopped before it started"))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is ready, failed or stopped; return False after `timeout` seconds."""
        return self._finished.wait(timeout)

    def run(self, network: Callable[[], Sam2Network]) -> None:
        """Encode the image. Errors are not raised but stored in `state`."""
        if self.ended:
            return
        try:
            self.state = EncodingState("loading", 0.0, "loading the weights")
            loaded = network()
            self._check(0.0)
            with self._device.turn():
                self.predictor = loaded.encode(self._rgb, self._report_progress)
            self._finish(EncodingState("ready", 1.0))
        except EncodingStopped:
            self._finish(EncodingState("stopped", self.state.progress, "stopped; a click encodes the frame again"))
        except SegmentationError as error:
            self._finish(EncodingState("failed", 0.0, str(error)))
        except Exception as error:  # out of memory, mostly
            message = (
                f"SAM 2 could not encode the frame on {self._device.name} ({first_line(error)}); try another device."
            )
            self._finish(EncodingState("failed", 0.0, message))

    def forget(self) -> None:
        """Free the memory of the encoding."""
        self.predictor = None
        self._finish(EncodingState("stopped", 0.0, "removed to save memory; a click encodes the frame again"))

    def _report_progress(self, progress: float) -> None:
        self._check(progress)
        self._device.yield_turn()

    def _check(self, progress: float) -> None:
        if not self._watchers or not threading.main_thread().is_alive():  # the program is ending
            raise EncodingStopped
        self.state = EncodingState("encoding", progress)

    def _finish(self, state: EncodingState) -> None:
        self.state = state
        self._finished.set()


class EncodingCache:
    """The encodings of one network: each image is encoded once, the latest ones stay in memory."""

    def __init__(self, load: Callable[[], Sam2Network], name: str, device: ComputeDevice, capacity: int):
        """`load` reads the network from the checkpoint `name` and moves it to the device."""
        self._load, self._name, self.device, self._capacity = load, name, device, max(1, capacity)
        self._lock, self._encodings = threading.Lock(), OrderedDict[bytes, FrameEncoding]()
        self._network: Sam2Network | None = None
        self.state = EncodingState("ready", 0.0, f"{name}; the first frame loads it")

    def get(self, rgb: np.ndarray, key: bytes, watcher: int) -> FrameEncoding:
        """Return the image's encoding for a view, started if it is not cached."""
        with self._lock:
            encoding = self._encodings.pop(key, None)
            is_new = encoding is None or encoding.ended
            encoding = FrameEncoding(rgb, self.device) if encoding is None or encoding.ended else encoding
            encoding.watch(watcher)
            self._encodings[key] = encoding
        if is_new:
            self.device.submit(lambda: self._run(encoding))
        return encoding

    def network(self) -> Sam2Network:
        """Return the network, loaded on first use. Called by one job at a time. Raises SegmentationError."""
        if self._network is None:
            self.state = EncodingState("loading", 0.0, f"loading {self._name}")
            try:
                self._network = self._load()
            except SegmentationError as error:
                self.state = EncodingState("failed", 0.0, str(error))
                raise
            self.state = EncodingState("ready", 1.0, f"{self._name} on {self.device.name}")
        return self._network

    def forget(self) -> None:
        """Free the memory of all finished encodings."""
        self._trim(0)

    def _run(self, encoding: FrameEncoding) -> None:
        encoding.run(self.network)
        self._trim(self._capacity)

    def _trim(self, capacity: int) -> None:
        with self._lock:
            for key in [key for key, encoding in self._encodings.items() if encoding.ended]:
                self._encodings.pop(key)
            ready = [key for key, encoding in self._encodings.items() if encoding.predictor is not None]
            for key in ready[: max(0, len(ready) - capacity)]:
                self._encodings.pop(key).forget()


def image_key(rgb: np.ndarray) -> bytes:
    """Return a hash of an image (H, W, 3)."""
    return hashlib.blake2b(
        np.ascontiguousarray(rgb).data, digest_size=16, salt=str(rgb.shape[:2]).encode()[:16]
    ).digest()

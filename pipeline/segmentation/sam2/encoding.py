"""Frames on their way through the image encoder, in the background, and the few that are kept encoded."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.segmentation.sam2.device import Device
from pipeline.segmentation.sam2.network import Network
from pipeline.segmentation.sam2.state import State
from pipeline.segmentation.sam2.weights import one_line
from pipeline.segmentation.segment import SegmentationError


class Stopped(Exception):
    """Nobody wants the frame any longer."""


class Encoding:
    """One picture's way: queued, loading, encoding, ready; or failed, or stopped."""

    def __init__(self, rgb: np.ndarray, device: Device):
        self._rgb, self._device = rgb, device
        self.state = State("queued", 0.0, "waiting for frames before it")
        self.predictor: Any = None
        """The package's predictor with the picture set, once ready."""
        self._watchers: set[int] = set()
        self._over = threading.Event()

    @property
    def over(self) -> bool:
        """Neither ready nor on its way."""
        return self.state.word in ("failed", "stopped")

    def watch(self, who: int) -> None:
        self._watchers.add(who)

    def leave(self, who: int) -> None:
        """It stops, within one block of the encoder, once all who watched have left."""
        self._watchers.discard(who)
        if not self._watchers and self.state.word == "queued":
            self._end(State("stopped", 0.0, "stopped before it began"))

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is ready, failed or stopped; False when the seconds ran out first."""
        return self._over.wait(timeout)

    def run(self, network: Callable[[], Network]) -> None:
        """The work itself. Raises nothing: `state` tells."""
        if self.over:
            return
        try:
            self.state = State("loading", 0.0, "reading the weights")
            loaded = network()
            self._check(0.0)
            with self._device.turn():
                self.predictor = loaded.encode(self._rgb, self._between)
            self._end(State("ready", 1.0))
        except Stopped:
            self._end(State("stopped", self.state.share, "stopped; a click encodes the frame again"))
        except SegmentationError as error:
            self._end(State("failed", 0.0, str(error)))
        except Exception as error:  # out of memory, mostly
            told = f"SAM 2 could not encode the frame on {self._device.name} ({one_line(error)}); try another device."
            self._end(State("failed", 0.0, told))

    def forget(self) -> None:
        """Free its memory."""
        self.predictor = None
        self._end(State("stopped", 0.0, "set aside to bound memory; a click encodes the frame again"))

    def _between(self, share: float) -> None:
        self._check(share)
        self._device.give_way()

    def _check(self, share: float) -> None:
        if not self._watchers or not threading.main_thread().is_alive():  # the program ends: do not hold it up
            raise Stopped
        self.state = State("encoding", share)

    def _end(self, state: State) -> None:
        self.state = state
        self._over.set()


class Encodings:
    """The frames of one network: each encoded once, the latest few kept."""

    def __init__(self, load: Callable[[], Network], name: str, device: Device, keep: int):
        """`load` reads the network that `name` stands for, on the device."""
        self._load, self._name, self.device, self._keep = load, name, device, max(1, keep)
        self._lock, self._kept = threading.Lock(), OrderedDict[bytes, Encoding]()
        self._network: Network | None = None
        self.state = State("ready", 0.0, f"{name}; the first frame loads it")

    def of(self, rgb: np.ndarray, key: bytes, who: int) -> Encoding:
        """The picture's encoding, found or begun, on behalf of `who`."""
        with self._lock:
            encoding = self._kept.pop(key, None)
            new = encoding is None or encoding.over
            encoding = Encoding(rgb, self.device) if encoding is None or encoding.over else encoding
            encoding.watch(who)
            self._kept[key] = encoding
        if new:
            self.device.submit(lambda: self._run(encoding))
        return encoding

    def network(self) -> Network:
        """Loaded on first use; called by one job of the device at a time. Raises SegmentationError."""
        if self._network is None:
            self.state = State("loading", 0.0, f"reading {self._name}")
            try:
                self._network = self._load()
            except SegmentationError as error:
                self.state = State("failed", 0.0, str(error))
                raise
            self.state = State("ready", 1.0, f"{self._name} on {self.device.name}")
        return self._network

    def forget(self) -> None:
        """Free what no one is waiting for."""
        self._trim(0)

    def _run(self, encoding: Encoding) -> None:
        encoding.run(self.network)
        self._trim(self._keep)

    def _trim(self, keep: int) -> None:
        with self._lock:
            for key in [key for key, encoding in self._kept.items() if encoding.over]:
                self._kept.pop(key)
            ready = [key for key, encoding in self._kept.items() if encoding.predictor is not None]
            for key in ready[: max(0, len(ready) - keep)]:
                self._kept.pop(key).forget()


def picture_key(rgb: np.ndarray) -> bytes:
    """Equal for equal pictures (H, W, 3)."""
    return hashlib.blake2b(
        np.ascontiguousarray(rgb).data, digest_size=16, salt=str(rgb.shape[:2]).encode()[:16]
    ).digest()

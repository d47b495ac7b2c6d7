"""Share one compute device: frames are encoded one after the other, and prompts run in between."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Condition, Lock, Thread
from typing import Literal

from pipeline.segmentation.segment import SegmentationError

JobStatus = Literal["missing", "queued", "loading", "encoding", "ready", "stopped", "failed"]


@dataclass(frozen=True)
class EncodingState:
    """Status, progress and a message to show."""

    status: JobStatus
    """Of a frame: "queued", "loading" (the weights), "encoding", "ready", "failed", "stopped" (a prompt restarts it).
    Of the segmenter: "missing" (package or weights), "ready", "loading", "failed"."""
    progress: float = 0.0
    """Of the step that `status` names, in [0, 1]."""
    message: str = ""
    """One line; empty if the status needs no explanation."""


class ComputeDevice:
    """A device used by one computation at a time, in the order of their requests."""

    def __init__(self, name: str):
        self.name = name
        self._condition, self._waiting = Condition(), deque[object]()
        self._lock, self._jobs, self._busy = Lock(), deque[Callable[[], None]](), False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the device, and hold it within the context."""
        self._acquire()
        try:
            yield
        finally:
            self._release()

    def yield_turn(self) -> None:
        """Let waiting computations go first; called by the holder during long work."""
        with self._condition:
            is_only = len(self._waiting) == 1
        if not is_only:
            self._release()
            self._acquire()

    def submit(self, job: Callable[[], None]) -> None:
        """Run a job in the background, after the jobs submitted before it. Jobs must handle their errors."""
        with self._lock:
            self._jobs.append(job)
            if not self._busy:
                self._busy = True
                Thread(target=self._work, name=f"sam2 on {self.name}").start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._busy = False
                    return
                job = self._jobs.popleft()
            job()

    def _acquire(self) -> None:
        ticket = object()
        with self._condition:
            self._waiting.append(ticket)
            self._condition.wait_for(lambda: self._waiting[0] is ticket)

    def _release(self) -> None:
        with self._condition:
            self._waiting.popleft()
            self._condition.notify_all()


@cache
def _device(name: str) -> ComputeDevice:
    return ComputeDevice(name)


def get_device(name: str) -> ComputeDevice:
    """Return the one ComputeDevice of a name: "cpu", "cuda", "cuda:1", "mps", or "auto" for the fastest available.

    Raises SegmentationError if this machine does not have it. torch is not imported for "cpu".
    """
    if name == "cpu":
        return _device("cpu")
    try:
        import torch
    except ImportError:
        raise SegmentationError(f"SAM 2 on '{name}' needs torch: run make setup without LIGHT=1.") from None
    counts = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    if name == "auto":
        return _device(next(kind for kind, count in counts.items() if count))
    kind, _, number = name.partition(":")
    if kind not in counts or (number and not number.isdigit()) or int(number or 0) >= counts[kind]:
        available = ", ".join(kind for kind, count in counts.items() if count)
        raise SegmentationError(f"There is no device '{name}' here: SAM 2 can run on {available}; or choose auto.")
    return _device(f"{kind}:{int(number or 0)}" if kind == "cuda" else kind)

"""One device's time, shared fairly: frames are encoded one after another, and clicks get in between."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Condition, Lock, Thread

from pipeline.segmentation.segment import SegmentationError


class Device:
    """Whoever computes holds the device's turn; turns are given in the order they were asked for."""

    def __init__(self, name: str):
        self.name = name
        self._condition, self._asked = Condition(), deque[object]()
        self._lock, self._jobs, self._busy = Lock(), deque[Callable[[], None]](), False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn, and hold it."""
        self._ask()
        try:
            yield
        finally:
            self._leave()

    def give_way(self) -> None:
        """Called by who holds the turn, in the middle of long work: those who wait go first."""
        with self._condition:
            alone = len(self._asked) == 1
        if not alone:
            self._leave()
            self._ask()

    def submit(self, job: Callable[[], None]) -> None:
        """Run a job in the background, after those submitted before it. A job handles its own errors."""
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

    def _ask(self) -> None:
        ticket = object()
        with self._condition:
            self._asked.append(ticket)
            self._condition.wait_for(lambda: self._asked[0] is ticket)

    def _leave(self) -> None:
        with self._condition:
            self._asked.popleft()
            self._condition.notify_all()


@cache
def _device(name: str) -> Device:
    return Device(name)


def device(name: str) -> Device:
    """The one Device of that name: "cpu", "cuda", "cuda:1", "mps", or "auto" for the fastest there is.

    Raises SegmentationError where this machine has none. "cpu" is answered without importing torch.
    """
    if name == "cpu":
        return _device("cpu")
    try:
        import torch
    except ImportError:
        raise SegmentationError(f"SAM 2 on '{name}' needs torch: run make setup without LIGHT=1.") from None
    there = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    if name == "auto":
        return _device(next(kind for kind, count in there.items() if count))
    kind, _, number = name.partition(":")
    if kind not in there or (number and not number.isdigit()) or int(number or 0) >= there[kind]:
        has = ", ".join(kind for kind, count in there.items() if count)
        raise SegmentationError(f"There is no device '{name}' here: SAM 2 can run on {has}; or say auto.")
    return _device(f"{kind}:{int(number or 0)}" if kind == "cuda" else kind)

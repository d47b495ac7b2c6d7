"""A view's automatic masks step by step, to be shown and stopped; numbers for masks that replace others."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pipeline.segmentation.segment import Segment, View

SAME = 0.5
"""IoU from which two masks are of the same thing."""
OFTEN = 0.25
"""Seconds between two looks at how far the encoding is."""


@dataclass(frozen=True)
class Step:
    """What is being done, and how much of it is, of 100; of 0 where that is not known."""

    said: str
    done: int = 0
    of: int = 0


@runtime_checkable
class Stepwise(Protocol):
    """A view whose work takes long enough to be watched and stopped, as SAM 2's does."""

    def wait(self, timeout: float | None = None) -> Any: ...
    def finding(self, settings: Any = None) -> Generator[float, None, tuple[Segment, ...]]: ...
    def cancel(self) -> None: ...


def finding(view: View, settings: Any = None) -> Generator[Step, None, tuple[Segment, ...]]:
    """`view.automatic()` in steps; returns the segments. Closing it stops the work. Raises SegmentationError."""
    if not isinstance(view, Stepwise):
        yield Step("looking for what stands on the table")
        return view.automatic()
    try:
        while (state := view.wait(OFTEN)).word in ("queued", "loading", "encoding"):
            yield Step(_words(state.word), round(100 * state.share), 100)
        work = view.finding(settings)
        while True:
            try:
                share = next(work)
            except StopIteration as end:
                return end.value
            yield Step("looking everywhere in the picture", round(100 * share), 100)
    except GeneratorExit:
        view.cancel()
        raise


def _words(word: str) -> str:
    return {"queued": "waiting for other frames", "loading": "reading the weights"}.get(word, "encoding the frame")


def renumbered(found: Iterable[Segment], before: Sequence[Segment], first: int) -> tuple[Segment, ...]:
    """The same thing keeps the number it had, and so its name; new things get numbers from `first` on."""
    left, result = {one.id: one.mask for one in before}, []
    for segment in sorted(found, key=lambda one: -int(one.mask.sum())):
        overlaps = {id: _overlap(segment.mask, mask) for id, mask in left.items()}
        id = max(overlaps, key=lambda one: overlaps[one], default=0)
        if overlaps.get(id, 0) < SAME:
            id, first = first, first + 1
        left.pop(id, None)
        result.append(replace(segment, id=id))
    return tuple(sorted(result, key=lambda one: one.id))


def _overlap(one: np.ndarray, other: np.ndarray) -> float:
    return np.count_nonzero(one & other) / max(1, np.count_nonzero(one | other))

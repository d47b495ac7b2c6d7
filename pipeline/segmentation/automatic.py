"""Run automatic segmentation with progress and cancellation, and assign ids to the new masks."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from pipeline.segmentation.mask_operations import iou
from pipeline.segmentation.segment import Segment, View


@dataclass(frozen=True)
class MaskProgress:
    """The current step, and how much of it is done."""

    message: str
    done: int = 0
    total: int = 0
    """100, or 0 if the progress is not known."""


@runtime_checkable
class ProgressView(Protocol):
    """A view that reports progress and can be cancelled, such as SAM 2's."""

    def wait(self, timeout: float | None = None) -> Any: ...
    def automatic_steps(self, settings: Any = None) -> Generator[float, None, tuple[Segment, ...]]: ...
    def cancel(self) -> None: ...


def automatic_steps(view: View, settings: Any = None) -> Generator[MaskProgress, None, tuple[Segment, ...]]:
    """Yield the progress of `view.automatic()` and return its segments. Closing the generator cancels the work.

    Raises SegmentationError.
    """
    if not isinstance(view, ProgressView):
        yield MaskProgress("finding the objects on the table")
        return view.automatic()
    try:
        # Poll interval between two reports on the progress of encoding
        while (state := view.wait(0.25)).status in ("queued", "loading", "encoding"):
            yield MaskProgress(_message(state.status), round(100 * state.progress), 100)
        work = view.automatic_steps(settings)
        while True:
            try:
                fraction = next(work)
            except StopIteration as end:
                return end.value
            yield MaskProgress("segmenting the whole image", round(100 * fraction), 100)
    except GeneratorExit:
        view.cancel()
        raise


def _message(status: str) -> str:
    return {"queued": "waiting for other frames", "loading": "loading the weights"}.get(status, "encoding the frame")


def assign_ids(segments: Iterable[Segment], previous: Sequence[Segment], first_new: int) -> tuple[Segment, ...]:
    """Give each segment the id of the previous segment of the same object, so that it keeps its name.

    Segments of new objects get ids from `first_new` on.
    """
    remaining, result = {segment.id: segment.mask for segment in previous}, []
    for segment in sorted(segments, key=lambda segment: -int(segment.mask.sum())):
        overlaps = {id: iou(segment.mask, mask) for id, mask in remaining.items()}
        id = max(overlaps, key=lambda id: overlaps[id], default=0)
        # IoU from which two masks show the same object
        if overlaps.get(id, 0) < 0.5:
            id, first_new = first_new, first_new + 1
        remaining.pop(id, None)
        result.append(replace(segment, id=id))
    return tuple(sorted(result, key=lambda segment: segment.id))

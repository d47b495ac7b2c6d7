"""Automatic segmentation in steps: progress, cancellation, and ids that stay with their objects."""

from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.segmentation import ScriptedSegmenter, Segment, SegmentationError
from pipeline.segmentation.automatic import assign_ids, automatic_steps

FRAME = Frame(np.zeros((8, 8, 3), np.uint8), np.ones((8, 8), np.float32), Intrinsics(8, 8, 8, 8, 4, 4))


def square(row: int, column: int, side: int = 3) -> np.ndarray:
    mask = np.zeros((8, 8), bool)
    mask[row : row + side, column : column + side] = True
    return mask


def drain(steps) -> tuple[list, tuple[Segment, ...]]:
    progress = []
    while True:
        try:
            progress.append(next(steps))
        except StopIteration as end:
            return progress, end.value


class SlowView:
    """A view like SAM 2's: it encodes the frame, then segments it in steps."""

    def __init__(self, fails: bool = False):
        self.statuses = iter(["queued", "loading", "encoding", "ready"])
        self.cancelled, self.fails, self.settings = False, fails, None

    def wait(self, timeout=None):
        return SimpleNamespace(status=next(self.statuses), progress=0.5)

    def automatic_steps(self, settings=None):
        self.settings = settings
        if self.fails:
            raise SegmentationError("no weights")
        yield 0.5
        yield 1.0
        return (Segment(1, square(0, 0)),)

    def cancel(self):
        self.cancelled = True


def test_a_view_reports_its_progress_or_takes_one_step_and_its_errors_are_raised():
    progress, segments = drain(automatic_steps(ScriptedSegmenter([square(0, 0)]).open(FRAME)))
    assert len(progress) == 1 and [segment.id for segment in segments] == [1]
    view = SlowView()
    progress, segments = drain(automatic_steps(view, "settings"))
    assert [step.done for step in progress] == [50, 50, 50, 50, 100] and all(step.total == 100 for step in progress)
    assert len({step.message for step in progress}) == 4 and len(segments) == 1 and view.settings == "settings"
    with pytest.raises(SegmentationError, match="no weights"):
        drain(automatic_steps(SlowView(fails=True)))


@pytest.mark.parametrize("steps", [1, 3, 4])
def test_closing_the_generator_cancels_the_work(steps: int):
    view = SlowView()
    work = automatic_steps(view)
    for _ in range(steps):
        next(work)
    work.close()
    assert view.cancelled


def test_known_objects_keep_their_ids_no_segment_is_lost_and_no_id_is_given_twice():
    before = [Segment(3, square(0, 0)), Segment(7, square(4, 4))]
    segments = [Segment(1, square(4, 4, 4)), Segment(2, square(0, 5)), Segment(3, square(0, 0))]
    now = {segment.id: segment.mask for segment in assign_ids(segments, before, first_new=8)}
    assert now.keys() == {3, 7, 8}
    assert (now[7] == square(4, 4, 4)).all() and (now[3] == square(0, 0)).all() and (now[8] == square(0, 5)).all()
    before = [Segment(i, square(0, 0)) for i in (1, 2)]
    segments = [Segment(i, square(0, 0)) for i in (1, 2, 3)]
    assert sorted(segment.id for segment in assign_ids(segments, before, first_new=3)) == [1, 2, 3]

"""Finding step by step: it can be shown, it can be stopped, and the same things keep their numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.segmentation import ScriptedSegmenter, Segment, SegmentationError
from pipeline.segmentation.finding import finding, renumbered

FRAME = Frame(np.zeros((8, 8, 3), np.uint8), np.ones((8, 8), np.float32), Intrinsics(8, 8, 8, 8, 4, 4))


def square(row: int, column: int, side: int = 3) -> np.ndarray:
    mask = np.zeros((8, 8), bool)
    mask[row : row + side, column : column + side] = True
    return mask


def run(steps) -> tuple[list, tuple[Segment, ...]]:
    said = []
    while True:
        try:
            said.append(next(steps))
        except StopIteration as end:
            return said, end.value


class Slow:
    """A view as SAM 2's: it encodes, then finds in shares."""

    def __init__(self, fails: bool = False):
        self.words = iter(["queued", "loading", "encoding", "ready"])
        self.cancelled, self.fails, self.settings = False, fails, None

    def wait(self, timeout=None):
        return SimpleNamespace(word=next(self.words), share=0.5)

    def finding(self, settings=None):
        self.settings = settings
        if self.fails:
            raise SegmentationError("no weights")
        yield 0.5
        yield 1.0
        return (Segment(1, square(0, 0)),)

    def cancel(self):
        self.cancelled = True


def test_a_quick_view_is_asked_at_once():
    view = ScriptedSegmenter([square(0, 0)]).open(FRAME)
    said, found = run(finding(view))
    assert len(said) == 1 and [one.id for one in found] == [1]


def test_a_slow_one_tells_how_far_it_is():
    view = Slow()
    said, found = run(finding(view, "settings"))
    assert [one.done for one in said] == [50, 50, 50, 50, 100] and all(one.of == 100 for one in said)
    assert len({one.said for one in said}) == 4 and len(found) == 1 and view.settings == "settings"


@pytest.mark.parametrize("steps", [1, 3, 4])
def test_closing_it_stops_the_work(steps: int):
    view = Slow()
    work = finding(view)
    for _ in range(steps):
        next(work)
    work.close()
    assert view.cancelled


def test_what_went_wrong_is_said():
    with pytest.raises(SegmentationError, match="no weights"):
        run(finding(Slow(fails=True)))


def test_the_same_thing_keeps_its_number_and_new_ones_get_new_numbers():
    before = [Segment(3, square(0, 0)), Segment(7, square(4, 4))]
    found = [Segment(1, square(4, 4, 4)), Segment(2, square(0, 5)), Segment(3, square(0, 0))]
    now = {one.id: one.mask for one in renumbered(found, before, first=8)}
    assert now.keys() == {3, 7, 8}
    assert (now[7] == square(4, 4, 4)).all() and (now[3] == square(0, 0)).all() and (now[8] == square(0, 5)).all()


def test_nothing_is_lost_and_no_number_is_given_twice():
    before = [Segment(i, square(0, 0)) for i in (1, 2)]
    found = [Segment(i, square(0, 0)) for i in (1, 2, 3)]
    assert sorted(one.id for one in renumbered(found, before, first=3)) == [1, 2, 3]

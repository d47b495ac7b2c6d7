"""What is computed of a frame is computed once for it, whoever asks, and anew for another frame."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.frame.once_per_frame import once_per_frame

FRAME = Frame(np.zeros((4, 6, 3), np.uint8), np.ones((4, 6), np.float32), Intrinsics(6, 4, 5, 5, 3, 2))


def test_threads_that_ask_together_share_one_result():
    computed: list[Frame] = []
    together = threading.Barrier(4, timeout=60)

    @once_per_frame
    def measure(frame: Frame) -> object:
        computed.append(frame)
        return object()

    def ask(frame: Frame) -> object:
        together.wait()
        return measure(frame)

    frame = replace(FRAME)
    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(ask, [frame] * 4))) == 1
    assert computed == [frame] and measure(replace(frame)) is not measure(frame)


def test_an_error_is_not_kept():
    answers = iter([ValueError("no table"), "found"])

    @once_per_frame
    def measure(frame: Frame) -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    frame = replace(FRAME)
    with pytest.raises(ValueError, match="no table"):
        measure(frame)
    assert measure(frame) == measure(frame) == "found"

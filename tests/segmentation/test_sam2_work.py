"""Who computes when: frames in the background, clicks in between, memory bounded. No network, no torch: a fake one."""

import threading
import time

import numpy as np
import pytest

from pipeline.segmentation.sam2.device import Device
from pipeline.segmentation.sam2.encoding import Encodings, picture_key
from pipeline.segmentation.segment import SegmentationError

LONG = 20.0
"""Seconds after which a test that waits has failed."""


class Fake:
    """Stands in for Network: encodes in steps until its gate is opened, and writes down what it did."""

    def __init__(self):
        self.gate, self.begun, self.encoded = threading.Event(), threading.Event(), []
        self.gate.set()
        self.error: Exception | None = None

    def encode(self, rgb, between):
        until = time.monotonic() + LONG
        between(0.0)
        self.begun.set()
        while not self.gate.is_set() and time.monotonic() < until:
            between(0.5)
            time.sleep(0.001)
        if self.error:
            raise self.error
        self.encoded.append(int(rgb[0, 0, 0]))
        return f"predictor of {rgb[0, 0, 0]}"


def picture(number: int) -> np.ndarray:
    return np.full((4, 5, 3), number, np.uint8)


@pytest.fixture
def fake():
    fake = Fake()
    yield fake
    fake.gate.set()  # no thread outlives its test


@pytest.fixture
def encodings(fake):
    return Encodings(lambda: fake, "fake.pt", Device("test"), keep=2)


def begun(encodings, number, who=1):
    return encodings.of(picture(number), picture_key(picture(number)), who)


def settled(encodings, number, who=1):
    encoding = begun(encodings, number, who)
    assert encoding.wait(LONG)
    return encoding


def test_turns_come_in_the_order_they_were_asked_for():
    device, order, threads = Device("test"), [], []

    def ask(number):
        with device.turn():
            order.append(number)

    with device.turn():
        for number in range(8):
            threads.append(threading.Thread(target=ask, args=(number,)))
            threads[-1].start()
            while len(device._asked) < number + 2:
                time.sleep(0.001)
    for thread in threads:
        thread.join(LONG)
    assert order == list(range(8))


def test_a_click_is_answered_while_another_frame_encodes_on_the_same_device(fake, encodings):
    fake.gate.clear()
    encoding = begun(encodings, 1)
    assert fake.begun.wait(LONG)
    with encodings.device.turn():
        assert encoding.state.word == "encoding"
    fake.gate.set()
    assert encoding.wait(LONG) and encoding.state.word == "ready"


def test_a_frame_encodes_while_another_device_is_busy(fake, encodings):
    with Device("other").turn():
        assert settled(encodings, 1).state.word == "ready"


def test_equal_pictures_are_encoded_once_whoever_asks(fake, encodings):
    first = settled(encodings, 1, who=1)
    assert settled(encodings, 1, who=2) is first and fake.encoded == [1]
    assert picture_key(picture(1)) != picture_key(picture(2))
    assert picture_key(picture(1)) != picture_key(picture(1).reshape(5, 4, 3))


def test_frames_encode_in_the_order_they_were_opened_and_say_how_far_they_are(fake, encodings):
    assert encodings.state.word == "ready" and "fake.pt" in encodings.state.message
    fake.gate.clear()
    all_three = [begun(encodings, number) for number in (1, 2, 3)]
    assert fake.begun.wait(LONG)
    assert [encoding.state.word for encoding in all_three] == ["encoding", "queued", "queued"]
    fake.gate.set()
    assert all(encoding.wait(LONG) for encoding in all_three) and fake.encoded == [1, 2, 3]


def test_only_the_latest_few_frames_stay_encoded_and_the_others_come_back_when_asked(fake, encodings):
    older = [settled(encodings, number) for number in (1, 2, 3, 4)]
    while older[1].predictor is not None:
        time.sleep(0.001)
    assert [encoding.predictor is not None for encoding in older] == [False, False, True, True]
    assert older[0].state.word == "stopped" and "memory" in older[0].state.message
    again = settled(encodings, 1)
    assert again.predictor == "predictor of 1" and fake.encoded == [1, 2, 3, 4, 1]
    encodings.forget()
    assert again.predictor is None


def test_a_frame_nobody_wants_any_longer_stops_in_the_queue_and_in_the_middle(fake, encodings):
    fake.gate.clear()
    running, waiting, wanted = (begun(encodings, number) for number in (1, 2, 3))
    assert fake.begun.wait(LONG)
    waiting.leave(1)
    assert waiting.state.word == "stopped"
    running.leave(1)
    assert running.wait(LONG) and running.state.word == "stopped" and "click" in running.state.message
    fake.gate.set()
    assert wanted.wait(LONG) and wanted.state.word == "ready" and fake.encoded == [3]
    assert settled(encodings, 1).state.word == "ready"


def test_a_frame_that_someone_else_wants_goes_on(fake, encodings):
    fake.gate.clear()
    encoding = begun(encodings, 1, who=1)
    begun(encodings, 1, who=2)
    assert fake.begun.wait(LONG)
    encoding.leave(1)
    fake.gate.set()
    assert encoding.wait(LONG) and encoding.state.word == "ready"


@pytest.mark.parametrize("error", [MemoryError("out of memory\nby much"), SegmentationError("no such layers")])
def test_a_failed_frame_says_why_in_one_line_and_may_be_tried_again(fake, encodings, error):
    fake.error = error
    encoding = settled(encodings, 1)
    assert encoding.state.word == "failed" and str(error).split("\n")[0] in encoding.state.message
    assert "\n" not in encoding.state.message
    fake.error = None
    assert settled(encodings, 1).state.word == "ready"


def test_weights_that_cannot_be_read_fail_the_frame_and_the_segmenter():
    def load():
        raise SegmentationError("sam2.pt is not one of SAM 2's architectures.")

    encodings = Encodings(load, "sam2.pt", Device("test"), keep=2)
    assert settled(encodings, 1).state.word == "failed"
    assert encodings.state.word == "failed" and "architectures" in encodings.state.message

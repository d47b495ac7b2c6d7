"""Encoding in the background, with clicks in between and bounded memory, on a fake network without torch."""

import threading
import time

import numpy as np
import pytest

from pipeline.segmentation.sam2.device_queue import ComputeDevice
from pipeline.segmentation.sam2.encoding import EncodingCache, image_key
from pipeline.segmentation.segment import SegmentationError

TIMEOUT_S = 20.0


class FakeNetwork:
    """A Sam2Network that encodes until its gate is opened, and records what it encoded."""

    def __init__(self):
        self.gate, self.started, self.encoded = threading.Event(), threading.Event(), []
        self.gate.set()
        self.error: Exception | None = None

    def encode(self, rgb, on_progress):
        deadline = time.monotonic() + TIMEOUT_S
        on_progress(0.0)
        self.started.set()
        while not self.gate.is_set() and time.monotonic() < deadline:
            on_progress(0.5)
            time.sleep(0.001)
        if self.error:
            raise self.error
        self.encoded.append(int(rgb[0, 0, 0]))
        return f"predictor of {rgb[0, 0, 0]}"


def image(number: int) -> np.ndarray:
    return np.full((4, 5, 3), number, np.uint8)


@pytest.fixture
def fake():
    fake = FakeNetwork()
    yield fake
    fake.gate.set()  # no thread outlives its test


@pytest.fixture
def encodings(fake):
    return EncodingCache(lambda: fake, "fake.pt", ComputeDevice("test"), capacity=2)


def start(encodings, number, watcher=1):
    return encodings.get(image(number), image_key(image(number)), watcher)


def finish(encodings, number, watcher=1):
    encoding = start(encodings, number, watcher)
    assert encoding.wait(TIMEOUT_S)
    return encoding


def test_the_device_serves_requests_in_their_order_and_unreadable_weights_fail_the_frame():
    device, order, threads = ComputeDevice("test"), [], []

    def take_turn(number):
        with device.turn():
            order.append(number)

    with device.turn():
        for number in range(8):
            threads.append(threading.Thread(target=take_turn, args=(number,)))
            threads[-1].start()
            while len(device._waiting) < number + 2:
                time.sleep(0.001)
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert order == list(range(8))

    def load():
        raise SegmentationError("sam2.pt is not one of SAM 2's architectures.")

    encodings = EncodingCache(load, "sam2.pt", ComputeDevice("test"), capacity=2)
    assert finish(encodings, 1).state.status == "failed"
    assert encodings.state.status == "failed" and "architectures" in encodings.state.message


def test_a_prompt_runs_while_another_frame_is_encoded_on_the_same_device(fake, encodings):
    fake.gate.clear()
    encoding = start(encodings, 1)
    assert fake.started.wait(TIMEOUT_S)
    with encodings.device.turn():
        assert encoding.state.status == "encoding"
    fake.gate.set()
    assert encoding.wait(TIMEOUT_S) and encoding.state.status == "ready"


def test_equal_images_are_encoded_once_for_all_views_also_while_another_device_is_busy(fake, encodings):
    with ComputeDevice("other").turn():
        assert finish(encodings, 1).state.status == "ready"
    first = finish(encodings, 1, watcher=1)
    assert finish(encodings, 1, watcher=2) is first and fake.encoded == [1]
    assert image_key(image(1)) != image_key(image(2))
    assert image_key(image(1)) != image_key(image(1).reshape(5, 4, 3))


def test_frames_are_encoded_in_the_order_of_opening_and_report_their_state(fake, encodings):
    assert encodings.state.status == "ready" and "fake.pt" in encodings.state.message
    fake.gate.clear()
    all_three = [start(encodings, number) for number in (1, 2, 3)]
    assert fake.started.wait(TIMEOUT_S)
    assert [encoding.state.status for encoding in all_three] == ["encoding", "queued", "queued"]
    fake.gate.set()
    assert all(encoding.wait(TIMEOUT_S) for encoding in all_three) and fake.encoded == [1, 2, 3]


def test_only_the_latest_frames_stay_encoded_and_others_are_encoded_again(fake, encodings):
    older = [finish(encodings, number) for number in (1, 2, 3, 4)]
    while older[1].predictor is not None:
        time.sleep(0.001)
    assert [encoding.predictor is not None for encoding in older] == [False, False, True, True]
    assert older[0].state.status == "stopped" and "memory" in older[0].state.message
    repeated = finish(encodings, 1)
    assert repeated.predictor == "predictor of 1" and fake.encoded == [1, 2, 3, 4, 1]
    encodings.forget()
    assert repeated.predictor is None


def test_a_frame_without_views_stops_in_the_queue_and_while_encoding(fake, encodings):
    fake.gate.clear()
    running, waiting, wanted = (start(encodings, number) for number in (1, 2, 3))
    assert fake.started.wait(TIMEOUT_S)
    waiting.unwatch(1)
    assert waiting.state.status == "stopped"
    running.unwatch(1)
    assert running.wait(TIMEOUT_S) and running.state.status == "stopped" and "click" in running.state.message
    fake.gate.set()
    assert wanted.wait(TIMEOUT_S) and wanted.state.status == "ready" and fake.encoded == [3]
    assert finish(encodings, 1).state.status == "ready"


def test_a_frame_with_another_view_is_not_stopped(fake, encodings):
    fake.gate.clear()
    encoding = start(encodings, 1, watcher=1)
    start(encodings, 1, watcher=2)
    assert fake.started.wait(TIMEOUT_S)
    encoding.unwatch(1)
    fake.gate.set()
    assert encoding.wait(TIMEOUT_S) and encoding.state.status == "ready"


@pytest.mark.parametrize("error", [MemoryError("out of memory\nby much"), SegmentationError("no such layers")])
def test_a_failed_frame_gives_the_reason_in_one_line_and_can_be_retried(fake, encodings, error):
    fake.error = error
    encoding = finish(encodings, 1)
    assert encoding.state.status == "failed" and str(error).split("\n")[0] in encoding.state.message
    assert "\n" not in encoding.state.message
    fake.error = None
    assert finish(encodings, 1).state.status == "ready"

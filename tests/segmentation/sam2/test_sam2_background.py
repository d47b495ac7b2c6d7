"""Without torch: weights are reported at once without a connection; encoding in the background, clicks in between."""

import socket
import threading
import time
import zipfile
from unittest.mock import Mock

import numpy as np
import pytest
from huggingface_hub import constants

from pipeline.segmentation import Sam2Segmenter, SegmentationError
from pipeline.segmentation.sam2 import HUB_FILES, weights, weights_state
from pipeline.segmentation.sam2.device_queue import ComputeDevice
from pipeline.segmentation.sam2.encoding import EncodingCache, image_key
from pipeline.segmentation.sam2.network import architecture

TIMEOUT_S = 120.0


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


def test_equal_images_are_encoded_once_for_all_views_and_only_the_latest_stay_encoded(fake, encodings):
    with ComputeDevice("other").turn():
        assert finish(encodings, 1).state.status == "ready"
    first = finish(encodings, 1, watcher=1)
    assert finish(encodings, 1, watcher=2) is first and fake.encoded == [1]
    assert image_key(image(1)) != image_key(image(2))
    assert image_key(image(1)) != image_key(image(1).reshape(5, 4, 3))
    older = [finish(encodings, number) for number in (1, 2, 3, 4)]
    while older[1].predictor is not None:
        time.sleep(0.001)
    assert [encoding.predictor is not None for encoding in older] == [False, False, True, True]
    assert older[0].state.status == "stopped" and "memory" in older[0].state.message
    repeated = finish(encodings, 1)
    assert repeated.predictor == "predictor of 1" and fake.encoded == [1, 2, 3, 4, 1]
    encodings.forget()
    assert repeated.predictor is None


def test_frames_are_encoded_in_the_order_of_opening_report_their_state_and_leave_room_for_prompts(fake, encodings):
    assert encodings.state.status == "ready" and "fake.pt" in encodings.state.message
    fake.gate.clear()
    all_three = [start(encodings, number) for number in (1, 2, 3)]
    assert fake.started.wait(TIMEOUT_S)
    assert [encoding.state.status for encoding in all_three] == ["encoding", "queued", "queued"]
    fake.gate.set()
    assert all(encoding.wait(TIMEOUT_S) for encoding in all_three) and fake.encoded == [1, 2, 3]
    fake.gate.clear()
    fake.started.clear()
    encoding = start(encodings, 4)
    assert fake.started.wait(TIMEOUT_S)
    with encodings.device.turn():
        assert encoding.state.status == "encoding"
    fake.gate.set()
    assert encoding.wait(TIMEOUT_S) and encoding.state.status == "ready"


def test_a_frame_without_views_stops_and_one_with_another_view_does_not(fake, encodings):
    fake.gate.clear()
    running, waiting, wanted = (start(encodings, number) for number in (1, 2, 3))
    assert fake.started.wait(TIMEOUT_S)
    start(encodings, 3, watcher=2)
    wanted.unwatch(1)
    waiting.unwatch(1)
    assert waiting.state.status == "stopped"
    running.unwatch(1)
    assert running.wait(TIMEOUT_S) and running.state.status == "stopped" and "click" in running.state.message
    fake.gate.set()
    assert wanted.wait(TIMEOUT_S) and wanted.state.status == "ready" and fake.encoded == [3]
    assert finish(encodings, 1).state.status == "ready"


@pytest.mark.parametrize("error", [MemoryError("out of memory\nby much"), SegmentationError("no such layers")])
def test_a_failed_frame_gives_the_reason_in_one_line_and_can_be_retried(fake, encodings, error):
    fake.error = error
    encoding = finish(encodings, 1)
    assert encoding.state.status == "failed" and str(error).split("\n")[0] in encoding.state.message
    assert "\n" not in encoding.state.message
    fake.error = None
    assert finish(encodings, 1).state.status == "ready"


LAYER = "image_encoder.trunk.patch_embed.proj.weight"


@pytest.fixture(autouse=True)
def installed_but_offline(monkeypatch, tmp_path):
    """Pretend that torch and sam2 are installed; empty the cache and refuse connections."""
    monkeypatch.setattr(weights, "find_spec", lambda name: object())
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    connect = Mock(side_effect=ConnectionRefusedError("no network here"))
    monkeypatch.setattr(socket.socket, "connect", connect)
    return connect


def write_checkpoint(path, index: bytes) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", index)
        archive.writestr("archive/data/0", b"\0" * 4000)
    return str(path)


@pytest.mark.parametrize("name", HUB_FILES)
def test_a_hub_name_is_only_searched_on_this_machine(name, installed_but_offline):
    state = weights_state(name)
    assert state.status == "missing" and f"hf download {name} {HUB_FILES[name]}" in state.message
    assert "\n" not in state.message
    with pytest.raises(SegmentationError, match="weights not found"):
        Sam2Segmenter(name)
    assert not installed_but_offline.called, "a connection was tried"


def test_downloaded_weights_are_found_a_light_set_up_and_other_checkpoints_or_sizes_reported(tmp_path, monkeypatch):
    name = "facebook/sam2.1-hiera-base-plus"
    home = tmp_path / "hub" / f"models--{name.replace('/', '--')}"
    (home / "snapshots" / "abc").mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("abc")
    write_checkpoint(home / "snapshots" / "abc" / HUB_FILES[name], LAYER.encode())
    assert weights_state(name).status == "ready"
    with pytest.raises(SegmentationError, match="holds no SAM 2 network"):
        Sam2Segmenter(write_checkpoint(tmp_path / "other.pt", b"resnet.conv1.weight"))
    (tmp_path / "text.pt").write_text("not weights")
    with pytest.raises(SegmentationError, match="another kind of file"):
        Sam2Segmenter(str(tmp_path / "text.pt"))
    with pytest.raises(SegmentationError, match="256, 512"):
        Sam2Segmenter(checkpoint := write_checkpoint(tmp_path / "sam2.pt", LAYER.encode()), side=300)
    content = (tmp_path / "sam2.pt").read_bytes()
    for share in (0.0, 0.1, 0.5, 0.97):
        (tmp_path / "sam2.pt").write_bytes(content[: int(share * len(content))])
        with pytest.raises(SegmentationError, match=r"\A.*sam2\.pt is not a complete.*\Z"):
            Sam2Segmenter(checkpoint)
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    assert "not installed" in weights_state("facebook/sam2.1-hiera-tiny").message
    with pytest.raises(SegmentationError, match="make setup"):
        Sam2Segmenter("facebook/sam2.1-hiera-tiny")


@pytest.mark.parametrize("checkpoint", ["", "/nowhere/sam2.pt", "facebook/sam3", "someone/else"])
def test_an_unknown_checkpoint_gives_the_names_that_can_be_used(checkpoint):
    assert "facebook/sam2.1-hiera-" in weights_state(checkpoint).message
    with pytest.raises(SegmentationError, match=r"facebook/sam2\.1-hiera-"):
        Sam2Segmenter(checkpoint)


@pytest.mark.parametrize("device", ["warp", "cuda:99", "cuda:x"])
def test_an_unavailable_device_gives_the_devices_that_can_be_used(tmp_path, device):
    pytest.importorskip("torch", reason="LIGHT set-up: torch is not installed")
    checkpoint = write_checkpoint(tmp_path / "sam2.pt", LAYER.encode())
    with pytest.raises(SegmentationError, match=r"no device .*cpu"):
        Sam2Segmenter(checkpoint, device=device)


@pytest.mark.parametrize("newer", [True, False])
@pytest.mark.parametrize(("width", "blocks", "size"), [(96, 12, "t"), (96, 16, "s"), (112, 24, "b+"), (144, 48, "l")])
def test_the_architecture_is_derived_from_the_layers(width, blocks, size, newer):
    layers: dict = {LAYER: Mock(shape=(width, 3, 7, 7)), f"image_encoder.trunk.blocks.{blocks - 1}.norm1.weight": None}
    if newer:
        layers |= {"obj_ptr_tpos_proj.weight": None, "no_obj_embed_spatial": None}
    assert architecture(layers, "x").endswith(f"sam2.1_hiera_{size}.yaml" if newer else f"sam2_hiera_{size}.yaml")
    with pytest.raises(SegmentationError, match="not one of SAM 2's"):
        architecture(layers | {LAYER: Mock(shape=(50, 3, 7, 7))}, "x")

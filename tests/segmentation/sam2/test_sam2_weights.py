"""Installed and missing weights: reported at once, in one line, without a connection."""

import socket
import zipfile

import pytest
from huggingface_hub import constants

from pipeline.segmentation import Sam2Segmenter, SegmentationError
from pipeline.segmentation.sam2 import HUB_FILES, weights, weights_state
from pipeline.segmentation.sam2.network import architecture

LAYER = "image_encoder.trunk.patch_embed.proj.weight"


@pytest.fixture(autouse=True)
def installed_but_offline(monkeypatch, tmp_path):
    """Pretend that torch and sam2 are installed; empty the cache and refuse connections."""
    monkeypatch.setattr(weights, "find_spec", lambda name: object())
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    addresses = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: addresses.append(address) or _refuse())
    return addresses


def _refuse():
    raise ConnectionRefusedError("no network here")


def is_one_line(text: str) -> bool:
    return bool(text) and "\n" not in text


def write_checkpoint(path, index: bytes) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", index)
        archive.writestr("archive/data/0", b"\0" * 4000)
    return str(path)


@pytest.mark.parametrize("name", HUB_FILES)
def test_a_hub_name_is_only_searched_on_this_machine(name, installed_but_offline):
    state = weights_state(name)
    assert state.status == "missing" and f"hf download {name} {HUB_FILES[name]}" in state.message
    assert is_one_line(state.message)
    with pytest.raises(SegmentationError, match="weights not found"):
        Sam2Segmenter(name)
    assert not installed_but_offline, "a connection was tried"


def test_the_downloaded_weights_of_a_hub_name_are_found(tmp_path):
    name = "facebook/sam2.1-hiera-base-plus"
    home = tmp_path / "hub" / f"models--{name.replace('/', '--')}"
    (home / "snapshots" / "abc").mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("abc")
    write_checkpoint(home / "snapshots" / "abc" / HUB_FILES[name], LAYER.encode())
    assert weights_state(name).status == "ready"


@pytest.mark.parametrize("checkpoint", ["", "/nowhere/sam2.pt", "facebook/sam3", "someone/else"])
def test_an_unknown_checkpoint_gives_the_names_that_can_be_used(checkpoint):
    assert "facebook/sam2.1-hiera-" in weights_state(checkpoint).message
    with pytest.raises(SegmentationError, match=r"facebook/sam2\.1-hiera-"):
        Sam2Segmenter(checkpoint)


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 0.97])
def test_a_truncated_checkpoint_is_refused(tmp_path, fraction):
    content = (tmp_path / "sam2.pt", write_checkpoint(tmp_path / "sam2.pt", LAYER.encode()))[0].read_bytes()
    (tmp_path / "sam2.pt").write_bytes(content[: int(fraction * len(content))])
    with pytest.raises(SegmentationError, match=r"sam2\.pt is not a complete") as caught:
        Sam2Segmenter(str(tmp_path / "sam2.pt"))
    assert is_one_line(str(caught.value))


def test_a_light_set_up_is_reported_first_then_other_checkpoints_and_image_sizes(tmp_path, monkeypatch):
    with pytest.raises(SegmentationError, match="holds no SAM 2 network"):
        Sam2Segmenter(write_checkpoint(tmp_path / "other.pt", b"resnet.conv1.weight"))
    (tmp_path / "text.pt").write_text("not weights")
    with pytest.raises(SegmentationError, match="another kind of file"):
        Sam2Segmenter(str(tmp_path / "text.pt"))
    with pytest.raises(SegmentationError, match="256, 512"):
        Sam2Segmenter(write_checkpoint(tmp_path / "sam2.pt", LAYER.encode()), side=300)
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    assert "not installed" in weights_state("facebook/sam2.1-hiera-tiny").message
    with pytest.raises(SegmentationError, match="make setup"):
        Sam2Segmenter("facebook/sam2.1-hiera-tiny")


@pytest.mark.parametrize("device", ["warp", "cuda:99", "cuda:x"])
def test_an_unavailable_device_gives_the_devices_that_can_be_used(tmp_path, device):
    pytest.importorskip("torch", reason="LIGHT set-up: torch is not installed")
    checkpoint = write_checkpoint(tmp_path / "sam2.pt", LAYER.encode())
    with pytest.raises(SegmentationError, match=r"no device .*cpu"):
        Sam2Segmenter(checkpoint, device=device)


class Layer:
    def __init__(self, width):
        self.shape = (width, 3, 7, 7)


@pytest.mark.parametrize("newer", [True, False])
@pytest.mark.parametrize(("width", "blocks", "size"), [(96, 12, "t"), (96, 16, "s"), (112, 24, "b+"), (144, 48, "l")])
def test_the_architecture_is_derived_from_the_layers(width, blocks, size, newer):
    layers: dict = {LAYER: Layer(width), f"image_encoder.trunk.blocks.{blocks - 1}.norm1.weight": None}
    if newer:
        layers |= {"obj_ptr_tpos_proj.weight": None, "no_obj_embed_spatial": None}
    assert architecture(layers, "x").endswith(f"sam2.1_hiera_{size}.yaml" if newer else f"sam2_hiera_{size}.yaml")
    with pytest.raises(SegmentationError, match="not one of SAM 2's"):
        architecture(layers | {LAYER: Layer(50)}, "x")

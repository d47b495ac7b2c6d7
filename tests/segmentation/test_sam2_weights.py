"""Weights that are there or not: said at once, in one line, without a connection."""

import socket
import zipfile

import pytest
from huggingface_hub import constants

from pipeline.segmentation import Sam2Segmenter, SegmentationError
from pipeline.segmentation.sam2 import HUB, available, fetch, weights
from pipeline.segmentation.sam2.network import architecture

LAYER = "image_encoder.trunk.patch_embed.proj.weight"


@pytest.fixture(autouse=True)
def installed_but_offline(monkeypatch, tmp_path):
    """As if torch and sam2 were there, with an empty cache and no network at all."""
    monkeypatch.setattr(weights, "find_spec", lambda name: object())
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    asked = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: asked.append(address) or _refuse())
    return asked


def _refuse():
    raise ConnectionRefusedError("no network here")


def one_line(text: str) -> bool:
    return bool(text) and "\n" not in text


def written(path, index: bytes) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", index)
        archive.writestr("archive/data/0", b"\0" * 4000)
    return str(path)


@pytest.mark.parametrize("name", HUB)
def test_a_hub_name_is_looked_up_on_this_machine_only(name, installed_but_offline):
    state = available(name)
    assert state.word == "missing" and f"hf download {name} {HUB[name]}" in state.message and one_line(state.message)
    with pytest.raises(SegmentationError, match="weights not found"):
        Sam2Segmenter(name)
    assert not installed_but_offline, "a connection was tried"


def test_a_hub_name_that_was_fetched_before_is_found(tmp_path):
    name = "facebook/sam2.1-hiera-base-plus"
    home = tmp_path / "hub" / f"models--{name.replace('/', '--')}"
    (home / "snapshots" / "abc").mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("abc")
    written(home / "snapshots" / "abc" / HUB[name], LAYER.encode())
    assert available(name).word == "ready"
    assert fetch(name).name == HUB[name], "what is there is not fetched again"


def test_fetching_without_a_network_says_so(installed_but_offline):
    with pytest.raises(SegmentationError, match="could not be fetched") as caught:
        fetch("facebook/sam2.1-hiera-tiny", timeout=1)
    assert one_line(str(caught.value)) and "sam2.1_hiera_tiny.pt" in str(caught.value)
    assert len(installed_but_offline) < 4, "it keeps trying"


@pytest.mark.parametrize("checkpoint", ["", "/nowhere/sam2.pt", "facebook/sam3", "someone/else"])
def test_a_name_that_leads_nowhere_is_answered_with_names_that_do(checkpoint):
    assert "facebook/sam2.1-hiera-" in available(checkpoint).message
    with pytest.raises(SegmentationError, match=r"facebook/sam2\.1-hiera-"):
        Sam2Segmenter(checkpoint)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.97])
def test_a_checkpoint_that_was_cut_is_no_checkpoint(tmp_path, share):
    whole = (tmp_path / "sam2.pt", written(tmp_path / "sam2.pt", LAYER.encode()))[0].read_bytes()
    (tmp_path / "sam2.pt").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(SegmentationError, match=r"sam2\.pt is not a whole") as caught:
        Sam2Segmenter(str(tmp_path / "sam2.pt"))
    assert one_line(str(caught.value))


def test_another_networks_checkpoint_and_a_text_are_told_apart_from_sam_2(tmp_path):
    with pytest.raises(SegmentationError, match="holds no SAM 2 network"):
        Sam2Segmenter(written(tmp_path / "other.pt", b"resnet.conv1.weight"))
    (tmp_path / "text.pt").write_text("not weights")
    with pytest.raises(SegmentationError, match="another kind of file"):
        Sam2Segmenter(str(tmp_path / "text.pt"))


def test_a_light_set_up_says_what_is_missing_before_anything_else(monkeypatch):
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    assert "not installed" in available("facebook/sam2.1-hiera-tiny").message
    with pytest.raises(SegmentationError, match="make setup"):
        Sam2Segmenter("facebook/sam2.1-hiera-tiny")


@pytest.mark.parametrize("device", ["warp", "cuda:99", "cuda:x"])
def test_a_device_that_is_not_there_is_answered_with_those_that_are(tmp_path, device):
    pytest.importorskip("torch", reason="LIGHT set-up: torch is not installed")
    checkpoint = written(tmp_path / "sam2.pt", LAYER.encode())
    with pytest.raises(SegmentationError, match=r"no device .*cpu"):
        Sam2Segmenter(checkpoint, device=device)


def test_pictures_of_no_size_are_refused(tmp_path):
    with pytest.raises(SegmentationError, match="256, 512"):
        Sam2Segmenter(written(tmp_path / "sam2.pt", LAYER.encode()), side=300)


class Layer:
    def __init__(self, width):
        self.shape = (width, 3, 7, 7)


@pytest.mark.parametrize("newer", [True, False])
@pytest.mark.parametrize(("width", "blocks", "size"), [(96, 12, "t"), (96, 16, "s"), (112, 24, "b+"), (144, 48, "l")])
def test_the_architecture_is_read_off_the_layers(width, blocks, size, newer):
    layers: dict = {LAYER: Layer(width), f"image_encoder.trunk.blocks.{blocks - 1}.norm1.weight": None}
    if newer:
        layers |= {"obj_ptr_tpos_proj.weight": None, "no_obj_embed_spatial": None}
    assert architecture(layers, "x").endswith(f"sam2.1_hiera_{size}.yaml" if newer else f"sam2_hiera_{size}.yaml")
    with pytest.raises(SegmentationError, match="not one of SAM 2's"):
        architecture(layers | {LAYER: Layer(50)}, "x")

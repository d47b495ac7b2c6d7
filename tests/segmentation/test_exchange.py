"""Masks exported and imported again are the same; invalid files are refused in one line."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from pipeline.segmentation import SegmentationError, encode_rle
from pipeline.segmentation.exchange import MaskFormat, read_masks, write_masks
from pipeline.segmentation.label_studio import decode_brush, encode_brush
from pipeline.segmentation.named_mask import NamedMask

FORMATS: tuple[MaskFormat, ...] = ("coco", "cvat", "label-studio", "labels", "images")
SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=24)
LABELS = SHAPES.flatmap(lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 4))).filter(lambda a: a.any())


def objects(labels: np.ndarray) -> tuple[NamedMask, ...]:
    return tuple(NamedMask(int(i) * 3, f"object {i}", labels == i) for i in np.unique(labels) if i)


@pytest.mark.parametrize("form", FORMATS)
@given(labels=LABELS)
@settings(max_examples=30, deadline=None)
def test_exported_masks_are_imported_unchanged(form: MaskFormat, labels: np.ndarray):
    sent = objects(labels)
    name, data = write_masks(form, sent, labels.shape)
    back = read_masks(data, labels.shape)
    assert [item.id for item in back] == [item.id for item in sent], name
    assert all((a.mask == b.mask).all() for a, b in zip(back, sent, strict=True))
    if form != "labels":
        assert [item.name.replace("_", " ") for item in back] == [item.name for item in sent]


@given(SHAPES.flatmap(lambda shape: arrays(bool, shape)))
@settings(deadline=None)
def test_brush_masks_are_decoded_unchanged(mask: np.ndarray):
    assert (decode_brush(encode_brush(mask), mask.shape) == mask).all()


def test_long_brush_runs_and_literal_runs_of_the_web_editor_are_read():
    mask = np.zeros((400, 300), bool)
    mask[300:] = True
    assert (decode_brush(encode_brush(mask), mask.shape) == mask).all()
    words = [0, 0, 0, 255, 9, 9, 9, 0]
    bits = f"{8:032b}{7:05b}" + "".join(f"{size - 1:04b}" for size in (3, 4, 8, 16))
    bits += f"0{0:02b}{7:03b}" + "".join(f"{word:08b}" for word in words)
    data = [int(bits.ljust(-(-len(bits) // 8) * 8, "0")[i : i + 8], 2) for i in range(0, len(bits), 8)]
    assert decode_brush(data, (1, 2)).tolist() == [[True, False]]


def test_the_packing_starts_like_that_of_label_studios_converter():
    """Count 20, then 57, 27: words of 8 bits, lengths of 3, 4, 8 and 16 (the head of the example in its tests)."""
    assert encode_brush(np.ones((1, 5), bool))[:6] == [0, 0, 0, 20, 57, 27]


def test_an_export_for_cvat_has_its_layout_and_its_polygons_and_coloured_labels_become_objects():
    square = {
        "images": [{"id": 7, "width": 10, "height": 8, "file_name": "a.png"}],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "segmentation": [[2, 3, 6, 3, 6, 7, 2, 7]]}],
    }
    (cup,) = read_masks(json.dumps(square).encode(), (8, 10))
    expected = np.zeros((8, 10), bool)
    expected[3:7, 2:6] = True
    assert cup.name == "cup" and np.count_nonzero(cup.mask ^ expected) <= 9
    picture = np.zeros((6, 6, 3), np.uint8)
    picture[:2], picture[4:] = (255, 0, 0), (0, 0, 255)
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    blue, red = read_masks(buffer.getvalue(), (6, 6))
    assert (blue.id, red.id) == (1, 2) and blue.mask[4:].all() and red.mask[:2].all()
    _, data = write_masks("cvat", [NamedMask(1, "mug", np.eye(4, dtype=bool))], (4, 4), "colour.png")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["annotations/instances_default.json"]
        coco = json.loads(archive.read("annotations/instances_default.json"))
    assert coco["images"][0]["file_name"] == "colour.png"
    assert coco["annotations"][0]["segmentation"] == encode_rle(np.eye(4, dtype=bool))
    assert coco["annotations"][0]["iscrowd"] == 1


@pytest.mark.parametrize("form", FORMATS)
def test_masks_of_another_size_are_refused(form: MaskFormat):
    masks = [NamedMask(1, "a", np.ones((6, 8), bool)), NamedMask(2, "b", np.eye(6, 8, dtype=bool))]
    _, data = write_masks(form, masks, (6, 8))
    with pytest.raises(SegmentationError, match=r"8 x 6|48 pixels"):
        read_masks(data, (12, 16))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"{}",
        b"[]",
        b"PK\x03\x04broken",
        b"\x89PNG\r\n\x1a\nbroken",
        b'{"images": [], "annotations": []}',
        b'{"images": 3, "annotations": 4}',
        b'[{"annotations": [{"result": [{"value": {"rle": [1]}}]}]}]',
        b'[{"annotations": [{"result": [{"value": {"rle": [1, 2]}, "original_width": 8, "original_height": 6}]}]}]',
    ],
)
def test_files_without_masks_are_refused_in_one_line(data: bytes):
    with pytest.raises(SegmentationError) as caught:
        read_masks(data, (6, 8))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 320

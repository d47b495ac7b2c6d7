"""Masks that leave and come back are the same; what does not fit is refused in one line."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from pipeline.segmentation import SegmentationError, rle
from pipeline.segmentation.exchange import Form, Named, read, uncompressed, write
from pipeline.segmentation.label_studio import packed, unpacked

FORMS: tuple[Form, ...] = ("coco", "cvat", "label-studio", "labels", "images")
SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=24)
LABELS = SHAPES.flatmap(lambda shape: arrays(np.uint8, shape, elements=st.integers(0, 4))).filter(lambda a: a.any())


def objects(labels: np.ndarray) -> tuple[Named, ...]:
    return tuple(Named(int(i) * 3, f"thing {i}", labels == i) for i in np.unique(labels) if i)


@pytest.mark.parametrize("form", FORMS)
@given(labels=LABELS)
@settings(max_examples=30, deadline=None)
def test_what_is_written_is_read_back(form: Form, labels: np.ndarray):
    sent = objects(labels)
    name, data = write(form, sent, labels.shape)
    back = read(data, labels.shape)
    assert [one.id for one in back] == [one.id for one in sent], name
    assert all((one.mask == other.mask).all() for one, other in zip(back, sent, strict=True))
    if form != "labels":
        assert [one.name.replace("_", " ") for one in back] == [one.name for one in sent]


@given(SHAPES.flatmap(lambda shape: arrays(bool, shape)))
@settings(deadline=None)
def test_brush_runs_of_any_mask_come_back(mask: np.ndarray):
    assert (unpacked(packed(mask), mask.shape) == mask).all()


def test_brush_runs_longer_than_their_largest_size_come_back():
    mask = np.zeros((400, 300), bool)
    mask[300:] = True
    assert (unpacked(packed(mask), mask.shape) == mask).all()


def test_the_packing_begins_as_label_studios_converter_has_it():
    """Count 20, then 57, 27: words of 8 bits, lengths of 3, 4, 8 and 16 (the head of the example in its tests)."""
    assert packed(np.ones((1, 5), bool))[:6] == [0, 0, 0, 20, 57, 27]


def test_literal_runs_as_the_web_editor_writes_them_are_read():
    """0, which length size, length - 1, then so many words."""
    words = [0, 0, 0, 255, 9, 9, 9, 0]
    bits = f"{8:032b}{7:05b}" + "".join(f"{size - 1:04b}" for size in (3, 4, 8, 16))
    bits += f"0{0:02b}{7:03b}" + "".join(f"{word:08b}" for word in words)
    data = [int(bits.ljust(-(-len(bits) // 8) * 8, "0")[i : i + 8], 2) for i in range(0, len(bits), 8)]
    assert unpacked(data, (1, 2)).tolist() == [[True, False]]


def compressed(counts: list[int]) -> str:
    """rleToString of COCO's maskApi.c."""
    text = ""
    for i, count in enumerate(counts):
        x = count - (counts[i - 2] if i > 2 else 0)
        while True:
            bits, x = x & 31, x >> 5
            more = x != (-1 if bits & 16 else 0)
            text += chr((bits | 32 if more else bits) + 48)
            if not more:
                break
    return text


@given(st.lists(st.integers(0, 2_000_000), max_size=12))
def test_compressed_run_lengths_are_cocos(counts: list[int]):
    assert compressed([2, 3, 1, 1]) == "231N"
    assert uncompressed(compressed(counts)) == counts


def test_polygons_of_cvat_fill_what_they_enclose():
    square = {
        "images": [{"id": 7, "width": 10, "height": 8, "file_name": "a.png"}],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "segmentation": [[2, 3, 6, 3, 6, 7, 2, 7]]}],
    }
    (cup,) = read(json.dumps(square).encode(), (8, 10))
    wanted = np.zeros((8, 10), bool)
    wanted[3:7, 2:6] = True
    assert cup.name == "cup" and np.count_nonzero(cup.mask ^ wanted) <= 9


def test_cvat_gets_the_layout_that_it_reads():
    _, data = write("cvat", [Named(1, "mug", np.eye(4, dtype=bool))], (4, 4), "colour.png")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["annotations/instances_default.json"]
        told = json.loads(archive.read("annotations/instances_default.json"))
    assert told["images"][0]["file_name"] == "colour.png"
    assert told["annotations"][0]["segmentation"] == rle(np.eye(4, dtype=bool))
    assert told["annotations"][0]["iscrowd"] == 1


def test_coloured_labels_become_objects():
    picture = np.zeros((6, 6, 3), np.uint8)
    picture[:2], picture[4:] = (255, 0, 0), (0, 0, 255)
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG")
    blue, red = read(buffer.getvalue(), (6, 6))
    assert (blue.id, red.id) == (1, 2) and blue.mask[4:].all() and red.mask[:2].all()


@pytest.mark.parametrize("form", FORMS)
def test_masks_of_another_size_are_refused(form: Form):
    _, data = write(form, [Named(1, "a", np.ones((6, 8), bool)), Named(2, "b", np.eye(6, 8, dtype=bool))], (6, 8))
    with pytest.raises(SegmentationError, match=r"8 x 6|48 pixels"):
        read(data, (12, 16))


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
def test_what_holds_no_masks_is_refused_in_one_line(data: bytes):
    with pytest.raises(SegmentationError) as told:
        read(data, (6, 8))
    assert "\n" not in str(told.value) and len(str(told.value)) < 320

"""Masks and prompts as files."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

from pipeline.segmentation import (
    ScriptedSegmenter,
    Segment,
    SegmentationError,
    merge,
    read_prompts,
    read_segments,
    rle,
    split,
    unrle,
    write_segments,
)
from tests.frame.rendered import render


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=9)))
@settings(deadline=None)
def test_run_lengths_give_the_mask_back(mask):
    runs = rle(mask)
    assert np.array_equal(unrle(runs), mask) and sum(runs["counts"]) == mask.size and runs["size"] == list(mask.shape)


def test_run_lengths_go_down_the_columns_and_start_with_background():
    assert rle(np.array([[1, 0], [1, 1]], bool))["counts"] == [0, 2, 1, 1]


def test_run_lengths_that_do_not_fit_are_refused():
    with pytest.raises(SegmentationError, match="do not fill"):
        unrle({"size": [2, 2], "counts": [1, 2]})


def test_segments_written_read_back_the_same(tmp_path):
    labels = np.zeros((20, 30), int)
    labels[2:9, 3:12], labels[10:15, 20:29] = 1, 2
    segments = [Segment(i, labels == i, 0.5, "human") for i in (1, 2)]
    write_segments(segments, labels.shape, tmp_path)
    again = read_segments(tmp_path)
    assert [(s.id, s.score, s.source) for s in again] == [(1, 0.5, "human"), (2, 0.5, "human")]
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(segments, again, strict=True))
    picture = np.array(Image.open(tmp_path / "masks.png"))
    assert picture.dtype == np.uint16 and np.array_equal(picture, labels)
    note = json.loads((tmp_path / "coco.json").read_text())["annotations"][0]
    assert note["bbox"] == [3, 2, 9, 7] and note["area"] == 63


@given(st.text(max_size=30))
@settings(deadline=None, max_examples=30)
def test_any_text_is_no_segments(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("s")
    (folder / "coco.json").write_text(text, encoding="utf-8")
    with pytest.raises(SegmentationError):
        read_segments(folder)


@pytest.fixture(scope="module")
def frame():
    return render(width=160).frame


def prompts(tmp_path, frame, text):
    file = tmp_path / "prompts.json"
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    return read_prompts(file, frame)


def test_prompts_are_read_by_id(tmp_path, frame):
    objects = [{"id": 4, "points": [[10, 20, 1], [30.5, 40, 0]], "box": None}, {"id": 2, "box": [1, 2, 30, 40]}]
    found = prompts(tmp_path, frame, {"objects": objects})
    assert list(found) == [4, 2]
    assert found[4].points.tolist() == [[10, 20], [30.5, 40]] and found[4].labels.tolist() == [1, 0]
    assert found[2].box is not None and found[2].box.tolist() == [1, 2, 30, 40]


@pytest.mark.parametrize(
    "text, told",
    [
        ("{", "not JSON"),
        ([], "no objects"),
        ({"objects": []}, "no objects"),
        ({"objects": [3]}, "id is None"),
        ({"objects": [{"id": 0}]}, "id is 0"),
        ({"objects": [{"id": 1}]}, "object 1: An empty prompt"),
        ({"objects": [{"id": 1, "points": [[5, 5, 1]]}, {"id": 1, "points": [[5, 5, 1]]}]}, "given twice"),
        ({"objects": [{"id": 1, "points": [[500, 5, 1]]}]}, "object 1: Point 500, 5 lies outside"),
        ({"objects": [{"id": 1, "points": [[5, 5, 7]]}]}, "Labels are 1"),
        ({"objects": [{"id": 1, "points": [[5, 5]]}]}, "points should be"),
        ({"objects": [{"id": 1, "points": "here"}]}, "points should be"),
        ({"objects": [{"id": 1, "points": [[5, 5, 0]]}]}, "must be a plus"),
        ({"objects": [{"id": 1, "box": [1, 2]}]}, "box should be"),
        ({"objects": [{"id": 1, "box": [9, 9, 3, 3]}]}, "x0 < x1"),
    ],
)
def test_wrong_prompts_are_said_in_one_line(tmp_path, frame, text, told):
    with pytest.raises(SegmentationError, match=told) as caught:
        prompts(tmp_path, frame, text)
    assert "\n" not in str(caught.value)


def test_merging_what_was_split_gives_it_back():
    mask = np.zeros((60, 100), bool)
    mask[10:50, 5:45] = mask[10:50, 55:95] = mask[28:32, 40:60] = True
    parts = split(Segment(3, mask), first_id=7)
    assert [part.id for part in parts] == [3, 7]
    assert not (parts[0].mask & parts[1].mask).any()
    assert np.array_equal(merge(parts).mask, mask) and merge(parts).id == 3


def test_what_has_no_neck_is_not_split():
    mask = np.zeros((40, 40), bool)
    mask[5:35, 5:35] = True
    with pytest.raises(SegmentationError, match="no neck"):
        split(Segment(1, mask), first_id=2)
    with pytest.raises(SegmentationError, match="two segments or more"):
        merge([Segment(1, mask)])


def test_the_scripted_segmenter_gives_what_it_was_given(frame):
    labels = np.zeros(frame.depth.shape, int)
    labels[10:30, 10:30], labels[50:70, 50:70] = 1, 2
    view = ScriptedSegmenter.of_labels(labels).open(frame)
    assert [int(segment.mask.sum()) for segment in view.automatic()] == [400, 400]

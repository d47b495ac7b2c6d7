"""Prompts read from a file."""

import json

import pytest

from pipeline.segmentation import SegmentationError, read_prompts
from tests.frame.rendered import render


@pytest.fixture(scope="module")
def frame():
    return render(width=160).frame


def prompts(tmp_path, frame, text):
    file = tmp_path / "prompts.json"
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    return read_prompts(file, frame)


def test_prompts_are_read_by_id(tmp_path, frame):
    objects = [{"id": 4, "points": [[10, 20, 1], [30.5, 40, 0]], "box": None}, {"id": 2, "box": [1, 2, 30, 40]}]
    by_id = prompts(tmp_path, frame, {"objects": objects})
    assert list(by_id) == [4, 2]
    assert by_id[4].points.tolist() == [[10, 20], [30.5, 40]] and by_id[4].labels.tolist() == [1, 0]
    assert by_id[2].box is not None and by_id[2].box.tolist() == [1, 2, 30, 40]


@pytest.mark.parametrize(
    "text, message",
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
def test_invalid_prompts_are_refused_in_one_line(tmp_path, frame, text, message):
    with pytest.raises(SegmentationError, match=message) as caught:
        prompts(tmp_path, frame, text)
    assert "\n" not in str(caught.value)

"""Clicks and boxes in a browser's request."""

import pytest
from offline_studio import FRAME

from pipeline.segmentation import SegmentationError
from studio.masks.prompt_requests import parse_prompt


@pytest.mark.parametrize(
    "request_",
    [
        {"points": [[1, 2]], "labels": []},
        {"points": [[70, 2]], "labels": [1]},
        {"points": [[float("nan"), 2]], "labels": [1]},
        {"points": "here", "labels": [1]},
        {"points": [[1, 2]] * 300, "labels": [1] * 300},
        {"rle": {"size": [4, 4], "counts": [16]}},
    ],
)
def test_clicks_that_make_no_sense_are_refused_in_one_line(request_: dict):
    with pytest.raises(SegmentationError) as error:
        parse_prompt(request_, FRAME)
    assert "\n" not in str(error.value)


def test_clicks_arrive_as_they_were_made():
    prompt = parse_prompt({"points": [[3.5, 4], [10, 11]], "labels": [1, 0], "box": [1, 2, 30, 31]}, FRAME)
    assert prompt.points.tolist() == [[3.5, 4], [10, 11]] and prompt.labels.tolist() == [1, 0]
    assert prompt.box is not None and prompt.box.tolist() == [1, 2, 30, 31]

"""A mask that holds one thing standing on another is noticed; one thing of one colour, or with a cap, is not."""

from dataclasses import replace

import pytest
import scene_making as make

from pipeline.description import describe
from pipeline.description.stacked import step_height
from pipeline.segmentation import Segment

RED, BLUE = (200, 40, 40), (40, 70, 190)


def seen(folder, upper, lower):
    """A box on a wider one, each of its colour, photographed, and one mask over both."""
    table = make.scene(
        make.thing(make.box(folder, (0.12, 0.11, 0.06)), "lower", number=1, rgb=lower, yaw=0.4),
        make.thing(make.box(folder, (0.05, 0.05, 0.07)), "upper", number=2, rgb=upper, bottom=0.06, yaw=0.9),
    )
    frame, support, segments = make.photograph(table)
    return frame, support, segments, Segment(1, segments[0].mask | segments[1].mask)


def test_one_thing_on_another_is_noticed_and_asked_about(tmp_path):
    frame, support, _, both = seen(tmp_path, RED, BLUE)
    height = step_height(frame, support, both.mask)
    assert height == pytest.approx(0.06, abs=0.004)
    said = " ".join(describe(frame, support, both).warnings)
    assert "It seems to be two things, one on the other from 6 cm up: split its mask?" in said


@pytest.mark.parametrize("which", [0, 1])
def test_each_of_the_two_alone_is_one_thing(tmp_path, which):
    frame, support, segments, _ = seen(tmp_path, RED, BLUE)
    assert step_height(frame, support, segments[which].mask) is None


def test_a_step_within_one_colour_is_one_thing(tmp_path):
    frame, support, _, both = seen(tmp_path, RED, RED)
    assert step_height(frame, support, both.mask) is None


def test_two_colours_without_a_step_are_one_thing(tmp_path):
    frame, support, segments = make.photograph(make.scene(make.thing(make.box(tmp_path, (0.06, 0.06, 0.14)), yaw=0.5)))
    rows = segments[0].mask.nonzero()[0]
    rgb = frame.rgb.copy()
    rgb[: int(rows.mean())][segments[0].mask[: int(rows.mean())]] = RED
    assert step_height(replace(frame, rgb=rgb), support, segments[0].mask) is None

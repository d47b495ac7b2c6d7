"""A mask that holds one object on another is flagged; a single object is not."""

from dataclasses import replace

import drawn_scene as make
import pytest

from pipeline.description import describe
from pipeline.description.stacked_objects import stacking_height
from pipeline.segmentation import Segment

RED, BLUE = (200, 40, 40), (40, 70, 190)


def photograph_stack(folder, upper, lower):
    table = make.scene(
        make.placement(make.box(folder, (0.12, 0.11, 0.06)), "lower", number=1, rgb=lower, yaw=0.4),
        make.placement(make.box(folder, (0.05, 0.05, 0.07)), "upper", number=2, rgb=upper, bottom=0.06, yaw=0.9),
    )
    frame, support, segments = make.photograph(table)
    return frame, support, segments, Segment(1, segments[0].mask | segments[1].mask)


def test_one_object_on_another_in_one_mask_is_flagged(tmp_path):
    frame, support, _, both = photograph_stack(tmp_path, RED, BLUE)
    assert stacking_height(frame, support, both.mask) == pytest.approx(0.06, abs=0.004)
    warnings = " ".join(describe(frame, support, both).warnings)
    assert "It may be two objects, one on the other from 6 cm up: split its mask?" in warnings


@pytest.mark.parametrize("which", [0, 1])
def test_each_of_the_two_alone_is_one_object(tmp_path, which):
    frame, support, segments, _ = photograph_stack(tmp_path, RED, BLUE)
    assert stacking_height(frame, support, segments[which].mask) is None


def test_a_step_within_one_colour_is_one_object(tmp_path):
    frame, support, _, both = photograph_stack(tmp_path, RED, RED)
    assert stacking_height(frame, support, both.mask) is None


def test_two_colours_without_a_step_are_one_object(tmp_path):
    frame, support, segments = make.photograph(
        make.scene(make.placement(make.box(tmp_path, (0.06, 0.06, 0.14)), yaw=0.5))
    )
    rows = segments[0].mask.nonzero()[0]
    rgb = frame.rgb.copy()
    rgb[: int(rows.mean())][segments[0].mask[: int(rows.mean())]] = RED
    assert stacking_height(replace(frame, rgb=rgb), support, segments[0].mask) is None

"""Measured descriptions of rendered objects of known size, shape and colour."""

import cv2
import numpy as np
import pytest

from pipeline.description import DescriptionError, describe_all, from_json, to_json
from pipeline.description.colour import name_colour
from pipeline.description.hidden_middle import find_ends
from pipeline.frame import find_support
from pipeline.segmentation import Segment
from tests.frame.rendered import render

SIZES = {"red_box": (0.08, 0.06, 0.12), "blue_cylinder": (0.07, 0.07, 0.1)}
SIZES |= {"green_ball": (0.08, 0.08, 0.08), "yellow_cube": (0.06, 0.06, 0.06)}


def describe_labels(scene):
    segments = [Segment(i, mask) for i, mask in enumerate(scene.labels.values(), 1)]
    return describe_all(scene.frame, find_support(scene.frame), segments)


def test_objects_have_names_captions_and_sizes_stand_on_the_table_and_are_read_unchanged():
    table = describe_labels(render(width=640))
    assert [item.name for item in table] == list(SIZES)
    assert all(item.is_object and item.source == "measured" for item in table)
    for item in table:
        assert np.allclose(np.sort(item.attributes.size[:2]), np.sort(SIZES[item.name][:2]), atol=0.006), item.caption
        assert abs(item.attributes.size[2] - SIZES[item.name][2]) < 0.005, item.caption
        assert abs(item.attributes.centre[2] - item.attributes.size[2] / 2) < 1e-6
    assert table[1].caption == "blue cylinder, 7 x 7 x 10 cm"
    for before, after in zip(table, from_json(to_json(table)), strict=True):
        assert (before.name, before.caption, before.warnings) == (after.name, after.caption, after.warnings)
        assert np.allclose(before.attributes.size, after.attributes.size, atol=1e-4)
    with pytest.raises(DescriptionError):
        from_json('[{"name": "x"}]')


def test_two_equal_objects_get_two_names_one_without_depth_is_estimated_and_a_non_object_has_a_reason():
    boxes = """<geom name="red_box" type="box" size=".04 .02 .03" pos="-.12 0 .03"/>
               <geom name="blue_cylinder" type="box" size=".04 .02 .03" pos=".12 0 .03"/>"""
    scene = render(boxes, width=640)
    scene.frame.rgb[scene.labels["blue_cylinder"]] = (190, 30, 35)
    assert [item.name for item in describe_labels(scene)] == ["red_box", "red_box_2"]
    scene = render(width=640)
    frame, mask = scene.frame, scene.labels["yellow_cube"]
    frame.depth[mask] = 0
    (item,) = describe_all(frame, find_support(frame), [Segment(1, mask)])
    assert "No depth" in item.warnings[0] and 0.03 < item.attributes.size.max() < 0.12
    scene = render("", width=320)
    masks = [np.zeros(scene.frame.depth.shape, bool) for _ in range(2)]
    masks[0][150:180, 100:140], masks[1][:60, :] = True, True
    support = find_support(scene.frame)
    flat, wall = describe_all(scene.frame, support, [Segment(i, mask) for i, mask in enumerate(masks, 1)])
    assert not flat.is_object and "above the table" in flat.warnings[0]
    assert not wall.is_object and "too large" in wall.warnings[0]


def test_what_the_segmenter_takes_for_a_robot_or_a_wall_is_no_object_and_says_so():
    scene = render(width=320)
    mask, support = scene.labels["red_box"], find_support(scene.frame)
    for kind, word in (("robot or hand", "a hand"), ("wall or furniture", "a wall")):
        (described,) = describe_all(scene.frame, support, [Segment(1, mask, kind=kind)])
        assert not described.is_object and word in described.warnings[0]
    assert describe_all(scene.frame, support, [Segment(1, mask)])[0].is_object


@pytest.mark.parametrize("front", ["", '<geom name="green_sphere" type="box" size=".02 .02 .11" pos="0 -.06 .11"/>'])
def test_two_masks_of_a_box_whose_middle_is_hidden_are_its_ends_and_two_boxes_are_not(front):
    long = '<geom name="red_box" type="box" size=".12 .03 .05" pos="0 .05 .05"/>'
    scene = render(long + front, width=640)
    count, labels = cv2.connectedComponents(scene.labels["red_box"].astype(np.uint8))
    masks = [labels == i for i in range(1, count) if (labels == i).sum() > 200]
    masks += [scene.labels["green_sphere"]] if front else []
    segments = [Segment(i, mask) for i, mask in enumerate(masks, 1)]
    found = find_ends(scene.frame, find_support(scene.frame), segments)
    assert {frozenset(pair) for pair in found.items()} == ({frozenset((1, 2))} if front else set())
    two = """<geom name="red_box" type="box" size=".05 .03 .05" pos="-.08 .05 .05"/>
             <geom name="blue_cylinder" type="box" size=".05 .05 .035" pos=".08 .06 .035"/>"""
    scene = render(two + front, width=640)
    segments = [Segment(i, mask) for i, mask in enumerate(scene.labels.values(), 1)]
    assert not find_ends(scene.frame, find_support(scene.frame), segments)


COLOURS = {
    "red": [(200, 30, 30), (110, 15, 20)],
    "orange": [(240, 140, 30)],
    "yellow": [(235, 205, 40)],
    "green": [(40, 140, 60), (30, 130, 120)],
    "blue": [(30, 60, 170), (60, 150, 220), (0, 0, 255)],
    "purple": [(120, 50, 150)],
    "pink": [(245, 150, 180)],
    "brown": [(120, 75, 40)],
    "black": [(15, 15, 17)],
    "grey": [(128, 128, 126)],
    "white": [(240, 240, 236)],
}


@pytest.mark.parametrize("name", COLOURS)
def test_colours_are_named_as_people_name_them_also_under_a_highlight(name):
    for rgb in COLOURS[name]:
        assert name_colour(np.full((50, 3), rgb, np.uint8))[0] == name, rgb
    assert name_colour(np.array([(190, 30, 30)] * 60 + [(255, 250, 250)] * 40, np.uint8))[0] == "red"


WHOLES = {
    "an L of two boxes": (
        'type="box" size=".06 .02 .02" pos="0 0 .02"', 'type="box" size=".02 .04 .02" pos=".04 .06 .02"', "object",
    ),
    "a bottle": (
        'type="cylinder" size=".04 .05" pos="0 0 .05"', 'type="cylinder" size=".014 .03" pos="0 0 .13"', "object",
    ),
    "a box with its lid": (
        'type="box" size=".05 .04 .05" pos="0 0 .05"', 'type="box" size=".05 .04 .01" pos="0 0 .11"', "box",
    ),
}  # fmt: skip


@pytest.mark.parametrize("front", ["", '<geom name="green_ball" type="box" size=".02 .02 .05" pos="-.05 -.12 .05"/>'])
@pytest.mark.parametrize("whole", WHOLES)
def test_an_object_is_called_by_a_shape_only_if_its_outline_is_that_also_where_another_hides_a_part(whole, front):
    first, second, noun = WHOLES[whole]
    scene = render(f'<geom name="red_box" {first}/><geom name="blue_cylinder" {second}/>{front}', width=640)
    mask = scene.labels["red_box"] | scene.labels["blue_cylinder"]
    scene.frame.rgb[mask] = (190, 30, 35)
    (item,) = describe_all(scene.frame, find_support(scene.frame), [Segment(1, mask)])
    assert item.name == f"red_{noun}"

"""The depth filter of SAM 2's automatic masks, and local corrections by a click, on masks of known content."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bench.sam2_like import draw_masks
from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import transform
from pipeline.segmentation.mask_operations import iou
from pipeline.segmentation.sam2.automatic_masks import without_duplicates
from pipeline.segmentation.sam2.local_correction import correct_locally
from pipeline.segmentation.sam2.mask_filter import clean_masks
from tests.frame.rendered import Rendered, render

CARTON = '<geom name="red_box" type="box" size=".05 .04 .07" pos="0 0 .07" euler="0 0 30"/>'
TWO = """<geom name="red_box" type="box" size=".03 .03 .03" pos="-.031 0 .03"/>
<geom name="blue_cylinder" type="box" size=".03 .03 .03" pos=".031 0 .03"/>"""


@pytest.fixture(scope="module")
def scene() -> Rendered:
    return render()


def matches(a: np.ndarray, b: np.ndarray) -> bool:
    return (a & b).sum() > 0.9 * (a | b).sum()


@pytest.mark.parametrize("include_parts", [True, False])
def test_table_floor_and_wall_are_dropped(scene, include_parts):
    truth = list(scene.labels.values())
    background, columns = ~np.logical_or.reduce(truth), np.arange(320) // 80
    strips = [background & (columns == i) for i in range(4)]
    masks = [(mask, 0.95) for mask in strips] + [(mask, 0.9) for mask in truth]
    segments = clean_masks(scene.frame, masks, include_parts)
    assert len(segments) == len(truth) and all(segment.source == "sam2" for segment in segments)
    assert all(any(matches(segment.mask, mask) for mask in truth) for segment in segments)
    assert [segment.id for segment in segments] == list(range(1, len(truth) + 1))


@pytest.mark.parametrize("side", [-1, 1])
def test_a_soft_shadow_beside_an_object_is_dropped_and_the_objects_stay(scene, side):
    truth = scene.labels
    free, rgb, masks = ~np.logical_or.reduce(list(truth.values())), scene.frame.rgb, list(truth.values())
    for name in ("red_box", "blue_cylinder"):
        shift = side * int(0.8 * np.ptp(np.nonzero(truth[name])[1]))
        shadow = np.roll(truth[name], (4, shift), (0, 1)) & free
        light = 1 - 0.45 * cv2.GaussianBlur(shadow.astype(np.float32), (0, 0), 3)[..., None]
        rgb = np.where(free[..., None], rgb * light, rgb).astype(np.uint8)
        masks.append(shadow)
    segments = clean_masks(replace(scene.frame, rgb=rgb), [(mask, 0.9) for mask in masks])
    assert len(segments) == len(truth)
    assert all(any(matches(segment.mask, mask) for mask in truth.values()) for segment in segments)


def test_a_robot_arm_is_dropped_and_a_mask_without_depth_kept_if_the_table_surrounds_it(scene):
    table = render(CARTON + '<geom name="arm" type="capsule" size=".03" fromto="0 .1 .2 0 -.1 .9"/>')
    segments = clean_masks(table.frame, [(mask, 0.9) for mask in table.labels.values()])
    assert len(segments) == 1 and matches(segments[0].mask, table.labels["red_box"])
    depth = scene.frame.depth.copy()
    depth[scene.labels["green_sphere"]] = 0
    glass = Frame(scene.frame.rgb, depth, scene.frame.intrinsics)
    assert len(clean_masks(glass, [(scene.labels["green_sphere"], 0.8)])) == 1


@pytest.mark.parametrize(("z", "stays"), [(0.17, True), (0.26, False)])
def test_an_object_on_a_tall_carton_stays_and_one_in_the_air_is_dropped(z, stays):
    scene = render(CARTON + f'<geom name="blue_cylinder" type="cylinder" size=".025 .03" pos="0 0 {z}"/>')
    segments = clean_masks(scene.frame, [(mask, 0.9) for mask in scene.labels.values()])
    assert len(segments) == (2 if stays else 1)


@pytest.mark.parametrize("include_parts", [True, False])
def test_cleaned_masks_do_not_overlap(scene, include_parts):
    random = np.random.default_rng(0)
    rows, cols = np.indices(scene.frame.depth.shape)
    places = random.uniform((60, 60, 8), (260, 200, 40), (40, 3))
    discs = [(cols - x) ** 2 + (rows - y) ** 2 < r**2 for x, y, r in places]
    segments = clean_masks(scene.frame, [(disc, random.uniform()) for disc in discs], include_parts)
    assert segments and np.sum([segment.mask for segment in segments], axis=0).max() == 1


@pytest.mark.parametrize("turn", [15, 45])
def test_faces_of_one_carton_are_joined_unless_parts_are_included(turn):
    scene = render(CARTON.replace("0 0 30", f"0 0 {turn}"))
    carton, rotation = scene.labels["red_box"], Rotation.from_euler("z", turn, degrees=True).as_matrix()
    own = np.nan_to_num(transform(scene.world_from_camera, scene.frame.points) - [0, 0, 0.07]) @ rotation
    nearest = np.argmin(abs(abs(own) - [0.05, 0.04, 0.07]), axis=-1)
    faces = [(carton & (nearest == axis), 0.8 + axis / 20) for axis in range(3)]
    faces = [(mask, score) for mask, score in faces if mask.sum() > 100]
    joined = clean_masks(scene.frame, faces)
    assert len(joined) == 1 and matches(joined[0].mask, carton) and joined[0].score == min(score for _, score in faces)
    assert len(clean_masks(scene.frame, faces, include_parts=True)) == len(faces) >= 2


def test_touching_objects_stay_separate_also_where_a_mask_holds_both():
    scene = render(TWO)
    assert len(clean_masks(scene.frame, [(mask, 0.9) for mask in scene.labels.values()])) == 2
    left, right = scene.labels.values()
    segments = clean_masks(scene.frame, [(left | right, 0.95), (left, 0.8), (right, 0.8)])
    assert len(segments) == 2 and matches(segments[0].mask, left) and matches(segments[1].mask, right)
    grown = cv2.dilate(right.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    segments = clean_masks(scene.frame, [(left | right, 0.95), (left, 0.8), (grown, 0.7)])
    assert len(segments) == 2 and matches(segments[0].mask, left)


def test_a_label_is_joined_to_its_object_unless_parts_are_included_and_is_no_duplicate_of_it(scene):
    cylinder = scene.labels["blue_cylinder"]
    rows = np.indices(cylinder.shape)[0]
    label = cylinder & (abs(rows - rows[cylinder].mean()) < 6)
    both = [(label, 0.95), (cylinder, 0.8)]
    assert [matches(segment.mask, cylinder) for segment in clean_masks(scene.frame, both)] == [True]
    segments = clean_masks(scene.frame, both, include_parts=True)
    assert len(segments) == 2 and any(matches(segment.mask, label) for segment in segments)
    can = scene.labels["blue_cylinder"]
    ring = can & ~(cv2.erode(can.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0)
    assert len(without_duplicates([(ring, 0.9), (can, 0.8)], 0.7)) == 2
    assert [score for _, score in without_duplicates([(can, 0.8), (can, 0.9)], 0.7)] == [0.9]


def test_drawn_answers_hold_every_object_and_without_a_table_masks_are_only_separated(scene):
    first, again = (draw_masks(scene.frame.rgb, scene.labels, "blocks", 3) for _ in range(2))
    assert len(first) == len(again) and all((a[0] == b[0]).all() for a, b in zip(first, again, strict=True))
    segments = clean_masks(scene.frame, first)
    assert min([max(iou(one.mask, mask) for one in segments) for mask in scene.labels.values()]) > 0.5
    empty = Frame(np.zeros((60, 80, 3), np.uint8), np.zeros((60, 80), np.float32), Intrinsics(80, 60, 80, 80, 40, 30))
    left = np.arange(80) < 15
    masks = [(np.tile(left, (60, 1)), 0.9), (np.tile(~left & (np.arange(80) < 30), (60, 1)), 0.8)]
    segments = clean_masks(empty, masks)
    assert len(segments) == 2


@pytest.mark.parametrize("label", [0, 1])
def test_a_click_on_a_mask_changes_only_connected_pixels_near_it(label):
    before = np.zeros((120, 160), bool)
    before[40:80, 40:80] = True
    after = np.zeros_like(before)
    after[40:80, 60:100] = True  # an answer that moves the whole mask
    click = (82.0, 60.0, 1) if label else (57.0, 60.0, 0)
    mask = correct_locally(before, after, click)
    changed = mask != before
    assert mask[60, int(click[0])] == bool(label) and changed.any()
    assert not (changed & (before == bool(label))).any(), "a plus click takes nothing away, a minus click adds nothing"
    rows, cols = np.nonzero(changed)
    assert np.hypot(rows - click[1], cols - click[0]).max() <= 0.1 * 160 + 1


def test_a_click_on_a_pixel_with_its_label_changes_nothing():
    before = np.zeros((50, 50), bool)
    before[10:30, 10:30] = True
    assert correct_locally(before, ~before, (20, 20, 1)) is before
    assert correct_locally(before, ~before, (40, 40, 0)) is before

"""What depth makes of SAM 2's automatic masks, on masks that are known to be of this and that."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import transform
from pipeline.segmentation.sam2.cleaning import cleaned
from pipeline.segmentation.sam2.local import local
from tests.frame.rendered import Rendered, render

CARTON = '<geom name="red_box" type="box" size=".05 .04 .07" pos="0 0 .07" euler="0 0 30"/>'
TWO = """<geom name="red_box" type="box" size=".03 .03 .03" pos="-.031 0 .03"/>
<geom name="blue_cylinder" type="box" size=".03 .03 .03" pos=".031 0 .03"/>"""


@pytest.fixture(scope="module")
def seen() -> Rendered:
    return render()


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return (one & other).sum() > 0.9 * (one | other).sum()


@pytest.mark.parametrize("keep_all", [True, False])
def test_table_floor_and_wall_are_left_out(seen, keep_all):
    truth = list(seen.labels.values())
    background = ~np.logical_or.reduce(truth)
    columns = np.arange(320) // 80
    strips = [background & (columns == i) for i in range(4)]
    kept = cleaned(seen.frame, [(mask, 0.95) for mask in strips] + [(mask, 0.9) for mask in truth], keep_all)
    assert len(kept) == len(truth) and all(segment.source == "sam2" for segment in kept)
    assert all(any(same(segment.mask, mask) for mask in truth) for segment in kept)
    assert [segment.id for segment in kept] == list(range(1, len(truth) + 1))


def test_a_robots_arm_that_comes_down_into_the_picture_is_left_out():
    arm = '<geom name="arm" type="capsule" size=".03" fromto="0 .1 .2 0 -.1 .9"/>'
    seen = render(CARTON + arm)
    kept = cleaned(seen.frame, [(mask, 0.9) for mask in seen.labels.values()])
    assert len(kept) == 1 and same(kept[0].mask, seen.labels["red_box"])


@pytest.mark.parametrize(("z", "stays"), [(0.17, True), (0.26, False)])
def test_what_stands_on_a_tall_carton_stays_and_what_hangs_above_the_table_goes(z, stays):
    seen = render(CARTON + f'<geom name="blue_cylinder" type="cylinder" size=".025 .03" pos="0 0 {z}"/>')
    kept = cleaned(seen.frame, [(mask, 0.9) for mask in seen.labels.values()])
    assert len(kept) == (2 if stays else 1)


def test_what_depth_does_not_see_is_a_thing_where_the_table_is_around_it(seen):
    depth = seen.frame.depth.copy()
    depth[seen.labels["green_sphere"]] = 0
    glass = Frame(seen.frame.rgb, depth, seen.frame.intrinsics)
    assert len(cleaned(glass, [(seen.labels["green_sphere"], 0.8)])) == 1


@pytest.mark.parametrize("keep_all", [True, False])
def test_kept_masks_never_overlap(seen, keep_all):
    random = np.random.default_rng(0)
    rows, cols = np.indices(seen.frame.depth.shape)
    places = random.uniform((60, 60, 8), (260, 200, 40), (40, 3))
    discs = [(cols - x) ** 2 + (rows - y) ** 2 < r**2 for x, y, r in places]
    kept = cleaned(seen.frame, [(disc, random.uniform()) for disc in discs], keep_all)
    assert kept and np.sum([segment.mask for segment in kept], axis=0).max() == 1


@pytest.mark.parametrize("turn", [15, 45])
def test_faces_of_one_carton_come_together_unless_all_are_to_be_kept(turn):
    seen = render(CARTON.replace("0 0 30", f"0 0 {turn}"))
    whole, spin = seen.labels["red_box"], Rotation.from_euler("z", turn, degrees=True).as_matrix()
    own = np.nan_to_num(transform(seen.world_from_camera, seen.frame.points) - [0, 0, 0.07]) @ spin
    nearest = np.argmin(abs(abs(own) - [0.05, 0.04, 0.07]), axis=-1)
    faces = [(whole & (nearest == axis), 0.8 + axis / 20) for axis in range(3)]
    faces = [(mask, score) for mask, score in faces if mask.sum() > 100]
    one = cleaned(seen.frame, faces)
    assert len(one) == 1 and same(one[0].mask, whole) and one[0].score == min(score for _, score in faces)
    assert len(cleaned(seen.frame, faces, keep_all=True)) == len(faces) >= 2


def test_touching_things_of_different_colours_stay_apart():
    seen = render(TWO)
    assert len(cleaned(seen.frame, [(mask, 0.9) for mask in seen.labels.values()])) == 2


def test_a_label_on_a_thing_gives_way_to_the_thing_unless_all_are_to_be_kept(seen):
    whole = seen.labels["blue_cylinder"]
    rows = np.indices(whole.shape)[0]
    label = whole & (abs(rows - rows[whole].mean()) < 6)
    both = [(label, 0.95), (whole, 0.8)]
    assert [same(segment.mask, whole) for segment in cleaned(seen.frame, both)] == [True]
    kept = cleaned(seen.frame, both, keep_all=True)
    assert len(kept) == 2 and any(same(segment.mask, label) for segment in kept)


def test_a_mask_of_two_things_side_by_side_gives_way_to_the_two():
    seen = render(TWO)
    one, other = seen.labels.values()
    kept = cleaned(seen.frame, [(one | other, 0.95), (one, 0.8), (other, 0.8)])
    assert len(kept) == 2 and same(kept[0].mask, one) and same(kept[1].mask, other)


def test_without_a_table_masks_are_kept_apart_and_that_is_all():
    empty = Frame(np.zeros((60, 80, 3), np.uint8), np.zeros((60, 80), np.float32), Intrinsics(80, 60, 80, 80, 40, 30))
    left = np.arange(80) < 15
    kept = cleaned(empty, [(np.tile(left, (60, 1)), 0.9), (np.tile(~left & (np.arange(80) < 30), (60, 1)), 0.8)])
    assert len(kept) == 2


@pytest.mark.parametrize("label", [0, 1])
def test_a_click_on_a_mask_changes_what_joins_to_it_and_no_more(label):
    before = np.zeros((120, 160), bool)
    before[40:80, 40:80] = True
    after = np.zeros_like(before)
    after[40:80, 60:100] = True  # an answer that moves the whole mask
    click = (82.0, 60.0, 1) if label else (57.0, 60.0, 0)
    mask = local(before, after, click)
    changed = mask != before
    assert mask[60, int(click[0])] == bool(label) and changed.any()
    assert not (changed & (before == bool(label))).any(), "a plus click takes nothing away, a minus click adds nothing"
    rows, cols = np.nonzero(changed)
    assert np.hypot(rows - click[1], cols - click[0]).max() <= 0.1 * 160 + 1


def test_a_click_that_is_right_already_changes_nothing():
    before = np.zeros((50, 50), bool)
    before[10:30, 10:30] = True
    assert local(before, ~before, (20, 20, 1)) is before and local(before, ~before, (40, 40, 0)) is before

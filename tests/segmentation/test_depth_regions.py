"""Regions without height, and the faces of one wall: what is added, extended, joined, or left as it is."""

import numpy as np

from pipeline.segmentation.depth.foreground import is_plausible, merge_foreground
from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.depth.instance_split import merge_vertically, share_wall

H, W, METRES_PER_PIXEL = 120, 160, 0.005


def seen_from_above(rgb: np.ndarray, height: np.ndarray | None = None) -> HeightMap:
    """Return a table seen from 0.8 m above, with colours (H, W, 3) and heights (H, W) in metres."""
    z = np.zeros((H, W), np.float32) if height is None else height.astype(np.float32)
    rows, cols = np.indices((H, W), dtype=np.float32)
    points = np.dstack([cols * METRES_PER_PIXEL, rows * METRES_PER_PIXEL, z])
    corners = np.array([[0, 0], [W, 0], [W, H], [0, H]]) * METRES_PER_PIXEL
    return HeightMap(rgb, points, 0.8 - z, 1, 200.0, corners, rgb, np.array([1.0, 0, 0]))


def plain(colour: tuple[int, ...] = (200, 200, 200)) -> np.ndarray:
    return np.broadcast_to(np.array(colour, np.uint8), (H, W, 3)).copy()


def square(top: int, left: int, side: int) -> np.ndarray:
    mask = np.zeros((H, W), bool)
    mask[top : top + side, left : left + side] = True
    return mask


DISC = square(40, 60, 24)


def test_a_flat_sheet_is_added_a_part_extended_by_the_rest_and_a_square_of_a_chequered_ground_is_not():
    rgb = plain()
    rgb[DISC] = (20, 120, 40)
    view, probability = seen_from_above(rgb), np.where(DISC, 0.95, 0.02)
    (region,) = merge_foreground(view, [], probability)
    assert np.count_nonzero(region & DISC) > 0.95 * np.count_nonzero(region | DISC)
    assert is_plausible(view, region, probability)
    rgb, (rows, cols) = plain(), np.indices((H, W))
    rgb[(rows // 20 + cols // 20) % 2 == 0] = (90, 50, 20)
    assert not is_plausible(seen_from_above(rgb), square(40, 60, 20), np.full((H, W), 0.99))
    view = seen_from_above(plain(), np.where(DISC, 0.05, 0))
    for probability in (np.where(DISC, 0.95, 0.02), np.full((H, W), 0.02)):
        assert merge_foreground(view, [DISC], probability) == [DISC]
    half = DISC & (np.indices((H, W))[1] < 72)
    (region,) = merge_foreground(seen_from_above(plain()), [half], np.where(DISC, 0.95, 0.02))
    assert np.count_nonzero(region & DISC) > 0.95 * np.count_nonzero(region | DISC)


def test_what_is_improbable_too_wide_or_a_wall_is_not_plausible():
    wide, wall, sure = np.zeros((H, W), bool), np.zeros((H, W)), np.full((H, W), 0.95)
    wide[40:60, 2:-2] = True
    wall[DISC], wall[30:40, 60:84] = 0.4, 0.7
    for mask, height, probability in ((DISC, None, np.full((H, W), 0.6)), (wide, None, sure), (DISC, wall, sure)):
        rgb = plain()
        rgb[mask] = (20, 120, 40)
        assert not is_plausible(seen_from_above(rgb, height), mask, probability)


ROWS, COLUMNS = 60, 80
HALF = ROWS // 2


def cylinder_wall(radius_above, radius_below, noise=0.0005):
    """Return a cylinder 12 cm tall, viewed from one side; its two halves may differ in radius (m)."""
    angle, height = np.meshgrid(np.linspace(np.pi, 2 * np.pi, COLUMNS), np.linspace(0.12, 0, ROWS))
    radius = np.where(np.arange(ROWS)[:, None] < HALF, radius_above, radius_below)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], -1)
    points += np.random.default_rng(0).normal(0, noise, points.shape)
    blank = np.zeros((ROWS, COLUMNS, 3), np.uint8)
    square, depth = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]), np.ones((ROWS, COLUMNS))
    return HeightMap(blank, points.astype(np.float32), depth, 1, 500.0, square, blank, np.array([1.0, 0, 0]))


UPPER = np.repeat(np.arange(ROWS)[:, None] < HALF, COLUMNS, axis=1)


def test_a_can_in_two_colours_is_one_object_and_cans_of_two_sizes_or_masks_apart_are_two():
    for radius in (0.02, 0.035, 0.06):
        for pair in ((UPPER, ~UPPER), (~UPPER, UPPER)):
            assert share_wall(cylinder_wall(radius, radius), *pair)
        (merged,) = merge_vertically(cylinder_wall(radius, radius), [UPPER, ~UPPER])
        assert merged.all()
    for above, below in ((0.03, 0.04), (0.045, 0.035), (0.02, 0.06)):
        masks = merge_vertically(cylinder_wall(above, below), [UPPER, ~UPPER])
        assert len(masks) == 2 and not (masks[0] & masks[1]).any()
    view, far = cylinder_wall(0.03, 0.03), ~UPPER
    far[: HALF + 10] = False
    view.depth[:] = 0
    assert not share_wall(view, UPPER, ~UPPER)
    assert not share_wall(cylinder_wall(0.03, 0.03), UPPER, far)

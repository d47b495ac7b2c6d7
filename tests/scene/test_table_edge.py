"""The table of the twin ends where the photograph shows its edge, and still carries what stands there."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.geometry import planar_rotation, transform
from pipeline.scene import scene_files
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.table_edge import LEAST_MARGIN_M, least_rectangle, seen_margins
from pipeline.scene.placement import TABLE_MARGIN_M, SceneError

TABLE_RGB, OTHER_RGB = (150, 120, 90), (20, 60, 200)
NEAR_EDGE_Y = -0.2


@pytest.fixture
def edge():
    """Return a frame that shows a table whose outline ends at NEAR_EDGE_Y, its support, and what lies past it."""
    scene = make.scene()
    frame, support, _ = make.photograph(scene)
    k = frame.intrinsics
    rows, columns = np.indices(frame.depth.shape)
    rays = np.stack([(columns - k.cx) / k.fx, (rows - k.cy) / k.fy, np.ones(rows.shape)], -1)
    y = transform(scene.world_from_camera, rays * frame.depth[..., None])[..., 1]
    table = support.inliers & (y > NEAR_EDGE_Y) & (y < 0.4)
    rgb = np.where(table[..., None], TABLE_RGB, OTHER_RGB).astype(np.uint8)
    outline = make.TABLE.clip([-0.2, NEAR_EDGE_Y], [0.2, 0.4])
    return replace(frame, rgb=rgb), replace(support, polygon=outline, inliers=table), y < NEAR_EDGE_Y


def near_margin(frame, support):
    """Return the margin at the side that faces the camera."""
    sides = least_rectangle(support.polygon).axes[[0, 0, 1, 1]] * [[-1], [1], [-1], [1]]
    return seen_margins(frame, support)[int(sides[:, 1].argmin())]


def test_a_side_past_which_the_photograph_shows_the_floor_has_no_margin(edge):
    frame, support, past = edge
    for gap in (0.0, 0.04):
        floor = np.where(past, frame.depth * 1.5, frame.depth)
        shifted = replace(support, polygon=support.polygon + np.where(support.polygon == NEAR_EDGE_Y, gap, 0))
        margin = near_margin(replace(frame, depth=floor), shifted)
        assert margin == pytest.approx(max(LEAST_MARGIN_M, gap), abs=0.011)


def test_without_depth_colours_that_are_not_the_tables_tell_its_edge_and_the_tables_own_do_not(edge):
    frame, support, past = edge
    blind = replace(frame, depth=np.where(past, 0, frame.depth).astype(np.float32))
    assert near_margin(blind, support) == LEAST_MARGIN_M
    alike = np.where(past[..., None], TABLE_RGB, blind.rgb).astype(np.uint8)
    assert near_margin(replace(blind, rgb=alike), support) == TABLE_MARGIN_M


def test_where_the_table_goes_on_is_hidden_or_is_not_photographed_it_has_its_margin(edge):
    frame, support, past = edge
    assert near_margin(frame, support) == TABLE_MARGIN_M
    hidden = np.where(past, 0.6 * frame.depth, frame.depth)
    assert near_margin(replace(frame, depth=hidden), support) == TABLE_MARGIN_M
    outside = replace(support, polygon=support.polygon - [0, 5])
    assert seen_margins(frame, outside) == (TABLE_MARGIN_M,) * 4


def test_the_slab_ends_with_its_margins_and_carries_what_stands_at_the_edge(tmp_path):
    scene = replace(make.scene(), table_margins=(0.01, 0.1, 0.02, 0.05))
    seen, slab = least_rectangle(make.TABLE), builder.table_slab(scene)
    middle = (slab.centre - seen.centre) @ seen.axes.T
    low, high = slab.half - middle - seen.half, slab.half + middle - seen.half
    assert (low[0], high[0], low[1], high[1]) == pytest.approx(scene.table_margins)
    for at in ((0.52, 0.0), (-0.5, 0.41), (0.9, 0.7)):
        p = make.placement(make.box(tmp_path), at=at)
        centre, half, yaw = builder.table_slab(replace(scene, placements=(p,)))
        assert (np.abs((p.footprint - centre) @ planar_rotation(-yaw).T) <= half).all()


def test_margins_are_kept_and_bad_ones_are_refused(tmp_path):
    scene = replace(make.scene(), table_margins=(0.01, 0.1, 0.02, 0.05))
    scene_files.write_scene(scene, tmp_path)
    assert scene_files.read_scene(tmp_path).table_margins == scene.table_margins
    text = (tmp_path / "scene.json").read_text()
    start = text.index('"table_margins"')
    for bad in ("[0.1, 0.1, 0.1]", "[0.1, 0.1, 0.1, -3]", '"wide"'):
        end = text.index("]", start) + 1
        (tmp_path / "scene.json").write_text(text[:start] + f'"table_margins": {bad}' + text[end:])
        with pytest.raises(SceneError, match="damaged"):
            scene_files.read_scene(tmp_path)

"""Gaussian splats read from any format are the same splats; they stand where the photograph's depth or a box says."""

import drawn_scene as make
import numpy as np
import pytest
from scipy.spatial import cKDTree
from written_splats import to_spz

from pipeline.geometry import transform
from pipeline.scene.splats.place_splats import outside_the_table, place_before_camera, place_in_object
from pipeline.scene.splats.read_splats import SplatError, read_splats
from pipeline.scene.splats.splat_cloud import make_splats, quaternions, to_ply, transformed

RANDOM = np.random.default_rng(5)
SPLATS = make_splats(
    RANDOM.normal(size=(300, 3)), RANDOM.uniform(0.01, 0.1, (300, 3)), RANDOM.uniform(0.2, 0.9, (300, 4)),
    RANDOM.normal(size=(300, 4)),
)  # fmt: skip


@pytest.mark.parametrize("suffix, write", [(".ply", to_ply), (".spz", to_spz), (".splat", lambda s: s.tobytes())])
def test_splats_are_read_back_from_every_format_and_a_damaged_file_is_refused_in_one_line(suffix, write, tmp_path):
    file, content = tmp_path / f"a{suffix}", write(SPLATS)
    file.write_bytes(content)
    found = read_splats(file)
    distance, at = cKDTree(found["position"]).query(SPLATS["position"])
    assert len(found) == len(SPLATS) and distance.max() < 1e-3
    np.testing.assert_allclose(found["scale"][at], SPLATS["scale"], rtol=0.04)
    assert np.abs(found["rgba"][at].astype(int) - SPLATS["rgba"]).max() <= 2
    assert np.abs((quaternions(found)[at] * quaternions(SPLATS)).sum(1)).min() > 0.99
    for damaged in (content[: len(content) // 2 + 1], b"ply\nx", b"", content[:30] + b"\xff" * 90):
        file.write_bytes(damaged)
        with pytest.raises(SplatError, match=rf"^a\{suffix} [^\n]*$"):
            read_splats(file)


def test_a_background_gets_the_scale_of_the_depth_and_an_object_its_box_and_what_the_twin_draws_is_left_out(tmp_path):
    placed = make.placement(make.box(tmp_path, (0.1, 0.06, 0.2)), "box", (0.1, 0.2))
    scene = make.scene(placed)
    observation, _ = make.observe(scene)
    frame = observation.frame
    v, u = np.nonzero(frame.depth > 0)
    points, ones = frame.points[v, u] / 2.5, np.ones((len(v), 4))
    flipped = make_splats(points * [1, -1, -1], ones[:, :3] * 1e-3, ones, ones)
    place = place_before_camera(flipped, observation)
    assert "2.5 times" in place.source and "100% agree" in place.source
    world = transformed(flipped, place.matrix)
    inside = outside_the_table(world, scene)
    truth = transform(observation.support.world_from_camera, frame.points[v, u].astype(float))
    assert cKDTree(truth).query(world["position"])[0].max() < 1e-3 and not inside.all()
    lifted = transformed(world, np.vstack([np.eye(4)[:2], [[0, 0, 1, 3.0]], np.eye(4)[3:]]))
    assert outside_the_table(lifted, scene).all(), "high over the table"
    corners = RANDOM.uniform(-0.5, 0.5, (5000, 3)) * placed.size
    lying = make_splats(
        (corners * 7 + 1)[:, [0, 2, 1]] * [1, -1, 1], np.full((5000, 3), 0.01), np.ones((5000, 4)), np.ones((5000, 4))
    )
    found = transformed(lying, place_in_object(lying, placed).matrix)["position"]
    np.testing.assert_allclose(np.ptp(found, axis=0), placed.size, rtol=0.1)
    assert np.abs(found.mean(0)).max() < 0.01
    with pytest.raises(SplatError, match="no splat lies in the photograph"):
        place_before_camera(transformed(flipped, np.diag([1.0, 1, 1, 1]) + np.eye(4, k=3) * 1e4), observation)

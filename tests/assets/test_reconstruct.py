"""What no asset fits is made from the view: closed, of the measured size, where it was seen, in its own colours."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh

from pipeline.assets import AssetError, load_mesh
from pipeline.assets.library import OWN, read_asset
from pipeline.assets.reconstruct import PROVENANCE, WAYS, reconstruct
from pipeline.assets.views import look, rotations
from pipeline.description import Attributes, Description, describe
from pipeline.frame import find_support, load
from pipeline.segmentation import Segment
from pipeline.segmentation.files import unrle

SCENE = Path(__file__).resolve().parents[2] / "sample_scenes" / "kitchen"
MEASURED = [way for way in WAYS if way != "provider"]


@pytest.fixture(scope="module")
def seen():
    """A sample scene's frame, its table, and its objects with their true masks."""
    frame = load(SCENE)
    objects = json.loads((SCENE / "expected.json").read_text())["objects"]
    return frame, find_support(frame), [(Segment(k + 1, unrle(o["mask"])), o) for k, o in enumerate(objects)]


def described(segment, thing, shape="box", yaw=0.0):
    """A description with the truth's box, which stands on the table."""
    size = np.array(thing["size"], float)
    centre = np.array([*thing["world_from_object"]["pos"][:2], size[2] / 2])
    about = Attributes("red", (180, 60, 50), shape, size, yaw, centre, 0.001)
    return Description(segment.id, True, f"red_{shape}", f"a red {shape}", about)


@pytest.mark.parametrize("way", MEASURED)
def test_it_is_closed_stands_on_the_table_and_is_about_as_large_as_what_was_seen(seen, way, tmp_path):
    frame, support, things = seen
    for segment, _ in things[:3] if way == "best" else things[1:2]:
        measured = describe(frame, support, segment)
        made = reconstruct(frame, support, segment, measured, tmp_path, way)
        asset, mesh = made.asset, load_mesh(made.asset)
        assert asset.id == f"view_{segment.id}" and asset.provenance.startswith(PROVENANCE) and asset.licence == ""
        assert made.way == way or way == "best"
        assert 0 < len(mesh.faces) <= 4000
        solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
        solid.merge_vertices(merge_tex=True, merge_norm=True)
        assert solid.is_watertight and solid.volume > 0
        np.testing.assert_allclose(mesh.bounds.sum(axis=0), 0, atol=1e-4)
        box = made.world_from_object
        assert box.pos[2] - asset.size[2] / 2 == pytest.approx(0, abs=2e-3)
        assert np.linalg.norm(box.pos[:2] - measured.attributes.centre[:2]) < 0.3 * max(asset.size[:2])
        for file in asset.collision:
            piece = trimesh.load_mesh(file)
            assert piece.volume > 0.98 * piece.convex_hull.volume


def test_what_camera_saw_is_told_from_what_is_guessed(seen, tmp_path):
    frame, support, things = seen
    made = reconstruct(frame, support, things[0][0], described(*things[0]), tmp_path)
    assert 0.1 < made.seen < 0.7
    assert f"{made.seen:.0%} of its surface was seen, the rest is guessed" in made.asset.provenance


def test_its_texture_is_the_photograph_where_it_was_seen(seen, tmp_path):
    frame, support, things = seen
    for segment, thing in things[:3]:
        made = reconstruct(frame, support, segment, describe(frame, support, segment), tmp_path, "box")
        own = frame.rgb[segment.mask].mean(axis=0)
        towards = support.world_from_camera[:3, 3] - made.world_from_object.pos
        azimuth = np.degrees(np.arctan2(*(made.world_from_object.rotation.T @ towards)[[1, 0]]))
        views = look(made.asset, rotations(np.array([azimuth]), np.array([40.0])), 48)
        pictured = np.mean([rgb[mask].mean(axis=0) for rgb, mask in zip(views.rgb, views.masks, strict=True)], axis=0)
        assert np.abs(own / own.sum() - pictured / pictured.sum()).max() < 0.12, thing["name"]


def test_it_can_be_read_again_like_any_asset_and_is_found_again_while_nothing_changed(seen, tmp_path):
    frame, support, things = seen
    made = reconstruct(frame, support, things[0][0], described(*things[0]), tmp_path, "layered")
    again = read_asset(made.asset.mesh.parent)
    assert again.id == made.asset.id and again.digest == made.asset.digest and len(again.collision) > 1
    stamp = made.asset.mesh.stat().st_mtime_ns
    same = reconstruct(frame, support, things[0][0], described(*things[0]), tmp_path, "layered")
    assert same.asset.mesh.stat().st_mtime_ns == stamp
    assert np.array_equal(same.world_from_object.matrix, made.world_from_object.matrix)
    other = reconstruct(frame, support, things[0][0], described(*things[0]), tmp_path, "box")
    assert other.way == "box" and other.asset.digest != made.asset.digest


def test_a_thing_without_any_depth_still_gets_a_body(seen, tmp_path):
    frame, support, things = seen
    blind = replace(frame, depth=np.zeros_like(frame.depth))
    made = reconstruct(blind, support, things[0][0], described(*things[0], "irregular"), tmp_path)
    np.testing.assert_allclose(made.asset.size, things[0][1]["size"], atol=1e-3)


def test_a_way_that_is_none_is_refused_by_name(seen, tmp_path):
    frame, support, things = seen
    with pytest.raises(AssetError, match="the ways are best, box"):
        reconstruct(frame, support, things[0][0], described(*things[0]), tmp_path, "magic")


def test_a_bowls_wall_is_about_as_thick_as_it_is(seen, tmp_path):
    frame, support, things = seen
    segment = next(segment for segment, thing in things if thing["asset_id"] == "teal_bowl")
    made = reconstruct(frame, support, segment, describe(frame, support, segment), tmp_path).asset
    made_of, true = (
        sum(trimesh.load_mesh(piece).convex_hull.volume for piece in asset.collision)
        for asset in (made, read_asset(OWN / "teal_bowl"))
    )
    assert made_of == pytest.approx(true, rel=0.2)

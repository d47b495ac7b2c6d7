"""What no asset fits is made from the view: closed, of the measured size, where it was seen, in its own colours."""

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh

from pipeline.assets import load_mesh
from pipeline.assets.library import read_asset
from pipeline.assets.reconstruct import PROVENANCE, reconstruct
from pipeline.assets.views import look, rotations
from pipeline.description import Attributes, Description
from pipeline.frame import find_support, load
from pipeline.segmentation import Segment
from pipeline.segmentation.files import unrle

SCENE = Path(__file__).resolve().parents[2] / "sample_scenes" / "kitchen"
SHAPES = ["box", "cube", "cylinder", "sphere", "bowl", "irregular"]


@pytest.fixture(scope="module")
def seen():
    """A sample scene's frame, its table, and its objects with their true masks."""
    frame = load(SCENE)
    objects = json.loads((SCENE / "expected.json").read_text())["objects"]
    return frame, find_support(frame), [(Segment(k + 1, unrle(o["mask"])), o) for k, o in enumerate(objects)]


def described(segment, thing, shape, yaw=0.0):
    """A description with the truth's box, which stands on the table."""
    size = np.array(thing["size"], float)
    centre = np.array([*thing["world_from_object"]["pos"][:2], size[2] / 2])
    about = Attributes("red", (180, 60, 50), shape, size, yaw, centre, 0.001)
    return Description(segment.id, True, f"red_{shape}", f"a red {shape}", about)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_closed_stands_on_the_table_and_has_the_measured_size(seen, shape, tmp_path):
    frame, support, things = seen
    for segment, thing in things:
        description = described(segment, thing, shape, yaw=0.4)
        made = reconstruct(frame, support, segment, description, tmp_path)
        asset, mesh = made.asset, load_mesh(made.asset)
        assert asset.id == f"view_{segment.id}" and asset.provenance == PROVENANCE and asset.licence == ""
        assert asset.container == (shape == "bowl") and 0 < len(mesh.faces) <= 3000
        solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
        solid.merge_vertices(merge_tex=True, merge_norm=True)
        assert solid.is_watertight and solid.volume > 0
        np.testing.assert_allclose(mesh.bounds.sum(axis=0), 0, atol=1e-4)
        box = made.world_from_object
        if shape != "sphere":
            assert asset.size[2] == pytest.approx(description.attributes.size[2], abs=2e-4)
        assert box.pos[2] - asset.size[2] / 2 == pytest.approx(0, abs=2e-3)
        assert np.linalg.norm(box.pos[:2] - description.attributes.centre[:2]) < 0.6 * max(asset.size[:2]) + 0.01
        for file in asset.collision:
            piece = trimesh.load_mesh(file)
            assert piece.volume > 0.98 * piece.convex_hull.volume


def test_a_box_is_the_measured_box_to_the_tenth_of_a_millimetre(seen, tmp_path):
    frame, support, things = seen
    segment, thing = things[0]
    description = described(segment, thing, "box", yaw=0.7)
    made = reconstruct(frame, support, segment, description, tmp_path)
    np.testing.assert_allclose(made.asset.size, description.attributes.size, atol=1e-4)
    np.testing.assert_allclose(made.world_from_object.pos, description.attributes.centre, atol=1e-4)
    turn = made.world_from_object.rotation
    assert np.arctan2(turn[1, 0], turn[0, 0]) == pytest.approx(0.7)


def test_its_texture_is_the_photograph(seen, tmp_path):
    frame, support, things = seen
    for segment, thing in things:
        made = reconstruct(frame, support, segment, described(segment, thing, "cylinder"), tmp_path)
        views = look(made.asset, rotations(np.arange(0, 360, 45.0), np.array([30.0])), 48)
        own = frame.rgb[segment.mask].mean(axis=0)
        pictured = np.mean([rgb[mask].mean(axis=0) for rgb, mask in zip(views.rgb, views.masks, strict=True)], axis=0)
        assert np.abs(own / own.sum() - pictured / pictured.sum()).max() < 0.12, thing["name"]


def test_it_can_be_read_again_like_any_asset(seen, tmp_path):
    frame, support, things = seen
    made = reconstruct(frame, support, things[0][0], described(*things[0], "irregular"), tmp_path)
    again = read_asset(made.asset.mesh.parent)
    assert again.id == made.asset.id and again.digest == made.asset.digest and len(again.collision) > 1


def test_a_thing_without_any_depth_still_gets_a_body(seen, tmp_path):
    from dataclasses import replace

    frame, support, things = seen
    blind = replace(frame, depth=np.zeros_like(frame.depth))
    made = reconstruct(blind, support, things[0][0], described(*things[0], "irregular"), tmp_path)
    np.testing.assert_allclose(made.asset.size, things[0][1]["size"], atol=1e-3)

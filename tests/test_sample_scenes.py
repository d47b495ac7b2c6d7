"""The sample scenes are what they say they are; laws over all assets of the library and the parts of hollow ones."""

import importlib
import json
from collections import Counter
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
from PIL import Image

from pipeline.assets import Library, load_mesh
from pipeline.assets.collision import HEIGHT_BANDS, decompose, hollow_parts, is_nearly_convex
from pipeline.assets.solids import RING_SECTORS
from pipeline.frame import find_support, load
from pipeline.geometry import transform
from pipeline.segmentation import decode_rle

ROOT = Path(__file__).resolve().parents[1] / "sample_scenes"
SCENES = sorted(p.parent for p in ROOT.glob("*/expected.json"))


@pytest.mark.parametrize("folder", SCENES, ids=lambda p: p.name)
def test_a_scene_is_small_synthetic_and_agrees_with_its_depth_and_table(folder):
    assert len(SCENES) >= 5
    frame, expected = load(folder), json.loads((folder / "expected.json").read_text())
    assert sum(p.stat().st_size for p in folder.iterdir()) < 2_000_000 and expected["synthetic"] is True
    assert "**Synthetic**" in (folder / "README.md").read_text()
    library = Library.open()
    assert 0.001 < (1 - (frame.depth > 0).mean()) < 0.5
    for item in expected["objects"]:
        mask = decode_rle(item["mask"]) & (frame.depth > 0)
        points = transform(np.array(expected["world_from_camera"]), frame.points[mask].astype(float))
        reach = np.linalg.norm(item["size"]) / 2 + 0.01
        near = np.linalg.norm(points - item["world_from_object"]["pos"], axis=1) < reach
        assert mask.sum() > 150 and near.mean() > 0.9 and item["asset_id"] in library, item["name"]
    found, true = find_support(frame).world_from_camera, np.array(expected["world_from_camera"])
    assert np.degrees(np.arccos(np.clip(found[2, :3] @ true[2, :3], -1, 1))) < 0.3
    assert abs(found[2, 3] - true[2, 3]) < 0.003


LIBRARY = Library.open()


def test_the_library_reads_without_a_skip_has_forty_assets_and_is_small_enough_to_be_cloned():
    assert not LIBRARY.skipped and len(LIBRARY) >= 40
    assert sum(f.stat().st_size for a in LIBRARY for f in a.mesh.parent.rglob("*")) < 12e6


@pytest.mark.parametrize("id", [asset.id for asset in LIBRARY])
def test_an_asset_is_complete_closed_covered_by_convex_parts_and_stays_where_it_is_put(id):
    asset, mesh = LIBRARY[id], load_mesh(LIBRARY[id])
    facts = json.loads((asset.mesh.parent / "asset.json").read_text())
    assert asset.licence == "MIT" and "make_library" in asset.provenance and asset.caption and asset.collision
    np.testing.assert_allclose(mesh.extents, facts["size"], atol=2e-4)
    np.testing.assert_allclose(mesh.bounds.sum(axis=0), 0, atol=2e-4)
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
    solid.merge_vertices(merge_tex=True, merge_norm=True)
    edges = Counter(map(tuple, solid.edges.tolist()))
    assert all(edges.get((b, a)) == n for (a, b), n in edges.items()), "an edge has a face on one side only"
    assert solid.volume > 0, "its normals point inwards"
    density = asset.mass / np.prod(asset.size)
    assert 20 < density < 2500, f"{density:.0f} kg per m3 of its box"
    parts = [trimesh.load_mesh(file) for file in asset.collision]
    for part in parts:
        assert part.volume > 0 and part.volume > 0.98 * part.convex_hull.volume
    np.testing.assert_allclose(np.ptp([part.bounds for part in parts], axis=(0, 1)), asset.size, rtol=0.05, atol=1e-3)
    model, data = standing(asset)
    mujoco.mj_step(model, data, nstep=1000)
    drift = np.linalg.norm(data.qpos[:3] - [0, 0, asset.size[2] / 2])
    turned = 2 * np.arccos(min(1, abs(data.qpos[3])))
    assert drift < 1e-3 and np.rad2deg(turned) < 2, f"{1e3 * drift:.1f} mm, {np.rad2deg(turned):.1f} degrees"


def standing(asset, ball: float = 0) -> tuple[mujoco.MjModel, mujoco.MjData]:
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.jacobian = 0.002, mujoco.mjtJacobian.mjJAC_DENSE
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    body = spec.worldbody.add_body(name="it", pos=[0, 0, asset.size[2] / 2])
    body.add_freejoint()
    volume = sum(trimesh.load_mesh(file).volume for file in asset.collision)
    for k, file in enumerate(asset.collision):
        spec.add_mesh(name=f"m{k}", file=str(file))
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"m{k}", density=asset.mass / volume)
    if ball:
        middle = trimesh.load_mesh(asset.collision[0]).bounds.mean(axis=0)
        other = spec.worldbody.add_body(name="ball", pos=[middle[0], middle[1], asset.size[2] + ball])
        other.add_freejoint()
        other.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[ball, 0, 0], mass=0.02)
    model = spec.compile()
    return model, mujoco.MjData(model)


@pytest.mark.parametrize("id", [asset.id for asset in LIBRARY if asset.container])
def test_a_ball_dropped_into_a_container_stays_in_it(id):
    asset = LIBRARY[id]
    model, data = standing(asset, ball=0.12 * min(asset.size[:2]))
    mujoco.mj_step(model, data, nstep=750)
    ball, radius = data.body("ball").xpos - data.body("it").xpos, model.geom("ball").size[0]
    assert np.linalg.norm(ball[:2] - model.body("ball").pos[:2]) < 0.45 * min(asset.size[:2]), "it rolled out"
    assert ball[2] - radius < asset.size[2] / 2 - 0.5 * min(asset.size[2], 2 * radius), "it lies on a lid, not inside"


@pytest.mark.parametrize("id", ["cracker_box", "soup_can", "blue_mug", "toy_plane"])
def test_the_script_makes_the_same_files(id, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    make_library = importlib.import_module("make_library")
    make_library.write_design(id, make_library.LIBRARY[id], tmp_path)
    made, stored = Library.open([tmp_path])[id], LIBRARY[id]
    for new, old in zip((made.mesh, *made.collision), (stored.mesh, *stored.collision), strict=True):
        np.testing.assert_allclose(trimesh.load_mesh(new).vertices, trimesh.load_mesh(old).vertices, atol=2e-6)
    pictures = [np.array(Image.open(asset.mesh.parent / "texture.png")).astype(int) for asset in (made, stored)]
    assert np.abs(pictures[0] - pictures[1]).mean() < 1, "another FreeType may draw a letter's edge differently"


@pytest.mark.parametrize("degrees", [0, 40, 215])
@pytest.mark.parametrize("id", ["red_mug", "blue_mug", "white_mug", "frying_pan"])
def test_a_handle_has_parts_and_its_hole_stays_open(id, degrees):
    mesh = load_mesh(LIBRARY[id]).copy()
    own = [trimesh.load_mesh(file) for file in LIBRARY[id].collision]
    turn = trimesh.transformations.rotation_matrix(np.deg2rad(degrees), [0, 0, 1])
    mesh.apply_transform(turn)
    parts = hollow_parts(mesh)
    size = np.ptp([part.bounds for part in parts], axis=(0, 1))
    np.testing.assert_allclose(size, mesh.extents, rtol=0.05, err_msg="its handle is not touched")
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (3000, 3)) * LIBRARY[id].size
    filled = _inside(parts, trimesh.transform_points(points[~_inside(own, points, 0.004)], turn), 0)
    assert np.mean(filled) < 0.03, "the handle's hole or the cup is filled"


def test_a_rim_is_no_handle_a_solid_mesh_has_no_pit_and_touching_plates_are_covered_but_not_filled():
    for id in ("white_bowl", "yellow_cup", "white_bin", "grey_tray", "blue_plate"):
        assert len(hollow_parts(load_mesh(LIBRARY[id]))) == 1 + RING_SECTORS * HEIGHT_BANDS, id
    for id in ("red_cube", "cracker_box", "mustard_bottle", "banana"):
        assert hollow_parts(load_mesh(LIBRARY[id])) == [], id
    for gap in (0.0, -0.004):
        floor, wall = trimesh.creation.box([0.08, 0.05, 0.006]), trimesh.creation.box([0.006, 0.05, 0.06])
        mesh = trimesh.util.concatenate([floor, wall.apply_translation([-0.037, 0, 0.033 + gap])])
        parts = decompose(mesh)
        assert _inside(parts, trimesh.sample.sample_surface(mesh, 500, seed=0)[0], 0.002).mean() > 0.97
        assert sum(part.volume for part in parts) < 0.5 * mesh.convex_hull.volume
    box = trimesh.creation.box([0.1, 0.1, 0.1])
    assert is_nearly_convex(box) and is_nearly_convex(trimesh.Trimesh(box.vertices, box.faces[1:]))
    assert not is_nearly_convex(trimesh.creation.torus(0.05, 0.012))


def _inside(parts: list[trimesh.Trimesh], points: np.ndarray, near: float) -> np.ndarray:
    """Return whether points (N, 3) are inside a convex part, or within `near` metres of one."""
    planes = [(part.face_normals, part.triangles_center) for part in parts]
    return np.any([(points @ n.T <= (c * n).sum(axis=1) + near).all(axis=1) for n, c in planes], axis=0)

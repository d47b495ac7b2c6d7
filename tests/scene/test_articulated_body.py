"""Articulated objects in the twin: they settle closed, open and close, and are written, read and exported."""

import io
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import drawn_scene as make
import libero
import mujoco
import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.assets.importers.asset_import import import_asset
from pipeline.export.object_zip import object_zip
from pipeline.scene import fidelity
from pipeline.scene.mjcf import builder
from pipeline.scene.scene_files import read_scene, write_scene
from pipeline.scene.settle import settle

DRAWERS = """<mujoco><compiler angle="radian"/><worldbody><body name="case">
  <geom type="box" size="0.1 0.1 0.01" pos="0 0 0.01"/><geom type="box" size="0.1 0.1 0.01" pos="0 0 0.19"/>
  <geom type="box" size="0.1 0.005 0.1" pos="0 0.1 0.1"/>
  <geom type="box" size="0.005 0.1 0.1" pos="-0.1 0 0.1"/><geom type="box" size="0.005 0.1 0.1" pos="0.1 0 0.1"/>
  <body name="lower" pos="0 0 0.06">
    <joint name="lower_slide" type="slide" axis="0 -1 0" range="0 0.15" limited="true" damping="5"/>
    <geom type="box" size="0.09 0.09 0.03" rgba="0.2 0.3 0.8 1"/></body>
  <body name="upper" pos="0 0 0.14">
    <joint name="upper_slide" type="slide" axis="0 -1 0" range="0 0.15" limited="true"/>
    <geom type="box" size="0.09 0.09 0.03" rgba="0.8 0.3 0.2 1"/></body>
</body></worldbody></mujoco>"""
DOOR = """<mujoco><worldbody>
  <geom name="case" type="box" size="0.1 0.1 0.08" pos="0 0.02 0.08" contype="0" conaffinity="0"/>
  <geom type="box" size="0.1 0.1 0.08" pos="0 0.02 0.08" group="3"/>
  <body name="door" pos="-0.1 -0.09 0.08">
    <joint type="hinge" axis="0 0 1" range="-110 0" limited="true"/>
    <geom type="box" size="0.1 0.008 0.078" pos="0.1 0 0" rgba="1 1 1 1" contype="0" conaffinity="0"/>
    <geom type="box" size="0.1 0.008 0.078" pos="0.1 0 0" group="3"/></body>
</worldbody></mujoco>"""
KNOB = """<mujoco><worldbody><body name="plate">
  <geom type="cylinder" size="0.1 0.01" pos="0 0 0.01"/>
  <body name="knob" pos="0 -0.06 0.03"><joint name="knob" type="hinge" axis="0 0 1"/>
    <geom type="box" size="0.02 0.005 0.01"/></body>
</body></worldbody><actuator><motor joint="knob"/></actuator><keyframe><key qpos="1"/></keyframe></mujoco>"""
MODELS = {"drawers": DRAWERS, "door": DOOR, "knob": KNOB}


def articulated_placement(asset, scale=1.0, **more):
    fields = {
        "mesh": asset.mesh, "name": "cupboard", "size": asset.size * scale, "scale": scale, "model": asset.model,
        "joints": asset.joints, "mass": 1.5 * scale**3, "collision": asset.collision, "asset_id": asset.id, "number": 9,
    }  # fmt: skip
    return make.placement(**fields | more)


@pytest.fixture(scope="module", params=MODELS)
def asset(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "given.xml").write_text(MODELS[request.param])
    return import_asset(folder / "given.xml", folder / "library").asset


@pytest.fixture(scope="module")
def twin(asset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("twin")
    can = make.placement(make.can(folder), "can", at=(0.3, 0.1))
    scene, _ = settle(make.scene(articulated_placement(asset), can))
    write_scene(scene, folder / "project")
    return folder / "project"


def load_model(project: Path) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(project / "scene" / "scene.xml"))


def own_joints(model: mujoco.MjModel) -> list[int]:
    return [j for j in range(model.njnt) if model.joint(j).name.startswith("cupboard/")]


def check_simulation(model: mujoco.MjModel, mass: float) -> None:
    root = model.body("cupboard").id
    assert model.body_subtreemass[root] == pytest.approx(mass, rel=1e-4)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    start, joints = data.xpos[root].copy(), own_joints(model)
    assert joints
    mujoco.mj_step(model, data, 500)
    assert np.linalg.norm(data.xpos[root] - start) < 0.001
    for joint in joints:
        at, low, high = model.jnt_qposadr[joint], *model.jnt_range[joint]
        if not model.jnt_limited[joint]:
            low, high = -1.0, 1.0
        margin = 0.02 * (high - low) + 1e-3
        assert low - margin <= data.qpos[at] <= high + margin and abs(data.qpos[at]) < 0.05 * (high - low)
        for end in (low, high):
            data.qpos[at] = end
            mujoco.mj_forward(model, data)
            mujoco.mj_step(model, data, 50)
            assert np.isfinite(data.qpos).all() and low - margin <= data.qpos[at] <= high + margin
        data.qpos[at] = 0.0
    assert not any(data.warning[w].number for w in range(mujoco.mjtWarning.mjNWARNING))


def test_it_settles_closed_opens_and_closes_and_is_exported_alone(twin, asset, tmp_path):
    scene, model = read_scene(twin), load_model(twin)
    check_simulation(model, 1.5)
    assert [model.joint(j).name for j in own_joints(model)] == [f"cupboard/{j.name}" for j in asset.joints]
    assert model.nu == 0 and model.nkey == 0
    placed = next(p for p in scene.placements if p.name == "cupboard")
    np.testing.assert_allclose(model.body("cupboard").pos, placed.world_from_object.pos, atol=1e-6)
    (placed,) = [p for p in read_scene(twin).placements if p.name == "cupboard"]
    with zipfile.ZipFile(io.BytesIO(object_zip(placed, "mjcf"))) as archive:
        archive.extractall(tmp_path / "alone")
    alone = mujoco.MjModel.from_xml_path(str(tmp_path / "alone" / "cupboard" / "cupboard.xml"))
    assert len(own_joints(alone)) == len(placed.joints)
    with zipfile.ZipFile(io.BytesIO(object_zip(placed, "urdf"))) as archive:
        archive.extractall(tmp_path / "closed")
    closed = mujoco.MjModel.from_xml_path(str(tmp_path / "closed" / "cupboard" / "cupboard.urdf"))
    assert closed.body_mass.sum() == pytest.approx(1.5, rel=1e-4)


@pytest.mark.parametrize("asset", ["drawers"], indirect=True)
def test_it_has_the_size_of_its_placement_and_a_rendering_labels_all_its_parts_as_one_object(asset):
    model = builder.build_spec(make.scene(articulated_placement(asset, scale=0.5))).compile()
    check_simulation(model, 1.5 / 8)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    geoms = [g for g in range(model.ngeom) if model.body_rootid[model.geom_bodyid[g]] == model.body("cupboard").id]
    top = max(data.geom_xpos[g][2] + model.geom_size[g][2] for g in geoms)
    assert top == pytest.approx(0.1, abs=2e-3)
    np.testing.assert_allclose(model.joint("cupboard/lower_slide").range, [0, 0.075])
    frame, _, segments = make.photograph(make.scene(articulated_placement(asset, model=None)))  # in one piece
    (agreement,) = fidelity.compare_scene(frame, segments, make.scene(articulated_placement(asset)))
    assert agreement.mask_iou > 0.97


def test_a_scene_is_read_back_and_written_again_unchanged(twin, tmp_path):
    placements = json.loads((twin / "scene.json").read_text())["placements"]
    joint = placements[0]["joints"][0]
    assert joint["name"].startswith("cupboard/") and joint["value"] == 0
    (tmp_path / "second").mkdir()
    write_scene(read_scene(twin), tmp_path / "second")
    assert json.loads((tmp_path / "second" / "scene.json").read_text())["placements"] == placements
    first, second = load_model(twin), load_model(tmp_path / "second")
    assert first.njnt == second.njnt and np.allclose(first.body_mass, second.body_mass)
    own = Path(shutil.copytree(twin, tmp_path / "own"))
    write_scene(read_scene(own), own)  # over its own files, as an edit does
    check_simulation(load_model(own), 1.5)


@pytest.mark.soak
@pytest.mark.parametrize("name", libero.ARTICULATED)
def test_every_articulated_asset_of_the_pack_rests_and_moves(name, tmp_path):
    (asset,) = Library.open([libero.PACK / name], cache=tmp_path)
    settled, _ = settle(make.scene(articulated_placement(asset)))
    write_scene(replace(settled, intrinsics=None), tmp_path / "project")
    check_simulation(load_model(tmp_path / "project"), 1.5)
    shutil.copytree(tmp_path / "project" / "scene", tmp_path / "elsewhere")
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "elsewhere" / "scene.xml")).njnt > 1

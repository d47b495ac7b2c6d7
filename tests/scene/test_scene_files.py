"""A scene written and read is the same, its MuJoCo model agrees; articulated objects settle closed, open and close."""

import io
import json
import zipfile
from contextlib import nullcontext
from dataclasses import replace

import cabinet
import drawn_scene as make
import mujoco
import numpy as np
import pytest
import trimesh

from pipeline.assets.importers.asset_import import import_asset
from pipeline.export.object_zip import object_zip
from pipeline.geometry import planar_rotation
from pipeline.scene import SceneError, fidelity, scene_files
from pipeline.scene.mjcf import builder
from pipeline.scene.scene_files import read_scene, write_scene
from pipeline.scene.settle import settle
from pipeline.simulation import kit
from pipeline.simulation.physics import Physics


def test_a_scene_written_and_read_is_the_same_scene_and_writing_it_again_changes_nothing(tmp_path):
    more = {"asset_id": "a", "colour": "red", "rgb": (200, 1, 2), "foot": True, "prop": 0.05}
    box = make.placement(make.box(tmp_path), "box", (0.1, 0), yaw=0.3, **more)
    scene = make.scene(box, make.placement(make.can(tmp_path), "can", (-0.1, 0), number=4, container=True))
    project = tmp_path / "project"
    written = scene_files.write_scene(scene, project)
    read = scene_files.read_scene(project)
    assert scene_files.scene_to_json(read, project) == scene_files.scene_to_json(written, project)
    assert read.placements[0].mesh == project / "scene" / "box.obj"
    assert all(path.is_file() for p in read.placements for path in (p.mesh, *p.collision))
    first = {p.name: p.read_bytes() for p in (project / "scene").iterdir()}
    scene_files.write_scene(read, project)
    assert {p.name: p.read_bytes() for p in (project / "scene").iterdir()} == first


def test_affordances_are_written_and_read_are_sites_that_no_picture_shows_and_scale_with_their_object(tmp_path):
    box = make.placement(make.box(tmp_path), "box", (0.1, 0), yaw=0.3)
    handle = np.array([0.03, 0.0, 0.02])
    plain, named = make.scene(box), make.scene(replace(box, affordances={"handle": handle, "handle_2": -handle}))
    write_scene(plain, tmp_path / "plain")
    assert "affordances" not in (tmp_path / "plain" / "scene.json").read_text(), "a file as of older versions"
    assert read_scene(tmp_path / "plain").placements[0].affordances == {}
    write_scene(named, tmp_path / "named")
    read = read_scene(tmp_path / "named").placements[0].affordances
    assert list(read) == ["handle", "handle_2"] and read["handle"] == pytest.approx(handle)
    data = json.loads((tmp_path / "named" / "scene.json").read_text())
    for broken in ({"handle": [0, 1]}, {"a/b": [0, 0, 0]}, {"lid": [float("nan"), 0, 0]}, ["lid"]):
        data["placements"][0]["affordances"] = broken
        (tmp_path / "scene.json").write_text(json.dumps(data))
        with pytest.raises(SceneError, match="damaged"):
            read_scene(tmp_path)
    drawn = []
    for project in ("plain", "named"):
        model = mujoco.MjModel.from_xml_path(str(tmp_path / project / "scene" / "scene.xml"))
        data, picture = mujoco.MjData(model), mujoco.MjvScene(model, 100)
        mujoco.mj_forward(model, data)
        options = mujoco.MjvOption(), mujoco.MjvPerturb(), mujoco.MjvCamera()
        mujoco.mjv_updateScene(model, data, *options, mujoco.mjtCatBit.mjCAT_ALL, picture)
        drawn.append([(geom.objtype, geom.objid, *geom.pos) for geom in picture.geoms[: picture.ngeom]])
    assert drawn[0] == drawn[1] and model.nsite == 2
    for name, size, turn in (("box", 1.0, 0.0), ("box", 1.5, 2.0), ("copy", 1.5, 0.7)):
        sim = kit.Simulation(kit.Scene.load(tmp_path / "named"))
        sim.resize("box", size)
        sim.copy("box", "copy", (-0.2, 0.1))
        sim.move(name, (0.0, -0.1), yaw=turn)
        physics = Physics(sim.bench())
        mujoco.mj_forward(physics.model, physics.data)
        site = physics.data.site(f"{'copy/' if name == 'copy' else ''}box:handle").xpos
        assert sim[name].affordance("handle") == pytest.approx(site)
        assert physics.state()[name].affordance("handle") == pytest.approx(site)
    with pytest.raises(kit.KitError, match="box has no affordance 'lid'; it has: handle, handle_2"):
        sim["box"].affordance("lid")


def test_an_invalid_scene_or_a_missing_or_damaged_scene_json_is_one_line(tmp_path):
    with pytest.raises(SceneError, match="build the scene first"):
        scene_files.read_scene(tmp_path)
    with pytest.raises(SceneError):
        builder.load_spec(tmp_path)
    for text in ("", "[]", "{}", '{"placements": [{}]}', "nonsense"):
        (tmp_path / "scene.json").write_text(text)
        with pytest.raises(SceneError, match="build the scene again"):
            scene_files.read_scene(tmp_path)
    outline = [[0, 0], [1, 0], [1, 1]]
    shelf = {"name": "shelf_1", "height": 0.1, "thickness": 0.01, "outline": outline, "rgb": [1, 2, 3]}
    scene = scene_files.scene_to_json(make.scene(), tmp_path)
    for broken in ({}, {"height": 0}, {"name": "lamp"}, {"outline": [[0, 0]]}, {"rgb": [1]}, {"outline": "x"}):
        (tmp_path / "scene.json").write_text(json.dumps(scene | {"shelves": [shelf | broken]}))
        with pytest.raises(SceneError, match="damaged") if broken else nullcontext():
            assert scene_files.read_scene(tmp_path).shelves[0].height == shelf["height"]
    box, words = make.box(tmp_path), tmp_path / "words.obj"
    words.write_text("no mesh at all")
    invalid = {
        "each name once": (make.placement(box, "twin"), make.placement(box, "twin", (0.2, 0))),
        "cannot name a body": (make.placement(box, "world"),),
        "no valid size": (make.placement(box, size=(0.1, 0, 0.1)),),
        "is missing": (make.placement(tmp_path / "gone.obj", size=(0.1, 0.1, 0.1)),),
        "cannot read the mesh": (make.placement(words, size=(0.1, 0.1, 0.1)),),
    }
    for words, placements in invalid.items():
        with pytest.raises(SceneError, match=rf"\A.*({words}).*\Z"):
            builder.build_spec(make.scene(*placements))


def test_every_placement_is_a_free_body_centred_on_its_box_above_the_table_or_fixed(tmp_path):
    box, can = make.placement(make.box(tmp_path), "box", (0.1, 0.0), yaw=0.4), make.can(tmp_path)
    scene = make.scene(box, make.placement(can, "can", (-0.1, 0.1), number=2))
    model = builder.compile_spec(builder.build_spec(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for p in scene.placements:
        body = model.body(p.name)
        assert model.joint(p.name).type == mujoco.mjtJoint.mjJNT_FREE
        assert np.allclose(data.xpos[body.id], p.world_from_object.pos, atol=1e-9)
        assert np.allclose(data.xmat[body.id].reshape(3, 3), p.world_from_object.rotation, atol=1e-9)
        assert body.mass == pytest.approx(p.mass)
    model = builder.compile_spec(builder.build_spec(make.scene(make.placement(make.box(tmp_path), fixed=True))))
    assert model.njnt == 0
    far = make.placement(make.box(tmp_path), at=(0.9, 0.7))
    centre, half, yaw = builder.table_slab(make.scene(far))
    assert (np.abs(planar_rotation(-yaw) @ (far.world_from_object.pos[:2] - centre)) < half).all()


@pytest.mark.parametrize("unit, origin", [(1.0, (0, 0, 0)), (1000.0, (0.3, -2.0, 5.0)), (0.0254, (0, 0, 0.04))])
def test_a_meshs_box_becomes_the_size_box_in_any_unit_and_origin(tmp_path, unit, origin):
    mesh = trimesh.creation.box((0.06, 0.04, 0.08)).apply_translation(origin).apply_scale(unit)
    path = make.shape(tmp_path, "box", mesh)
    p = make.placement(path, size=(0.06, 0.04, 0.08), collision=(path,))
    model = builder.compile_spec(builder.build_spec(make.scene(p)))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for geom in np.flatnonzero(model.geom_bodyid == model.body("object").id):
        half = model.geom_aabb[geom, 3:]
        centre = data.geom_xpos[geom] + data.geom_xmat[geom].reshape(3, 3) @ model.geom_aabb[geom, :3]
        assert np.allclose(np.sort(half), [0.02, 0.03, 0.04], atol=1e-5)
        assert np.allclose(centre, [0, 0, 0.04], atol=1e-5)


def test_the_written_model_loads_alone_and_boxes_cylinders_and_balls_collide_as_primitives(tmp_path):
    coloured = trimesh.creation.icosphere(2, 0.03)
    coloured.visual.face_colors = np.random.default_rng(0).integers(0, 255, (len(coloured.faces), 4))
    ball = tmp_path / "ball.ply"
    coloured.export(ball)
    box = make.placement(make.box(tmp_path), "box", (0.2, 0), number=2)
    builder.write_mjcf(make.scene(make.placement(ball), box), tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "scene.xml"))
    assert (model.nbody, model.ntex) == (3, 2)  # the sky and the ball's colours
    for mesh, kind in (
        (trimesh.creation.box((0.05, 0.04, 0.03)), "BOX"),
        (trimesh.creation.cylinder(0.03, 0.1, sections=40), "CYLINDER"),
        (trimesh.creation.icosphere(3, 0.03), "SPHERE"),
        (trimesh.creation.cone(0.03, 0.1), "MESH"),
    ):
        path = make.shape(tmp_path, f"mesh_{len(mesh.faces)}", mesh)
        model = builder.compile_spec(builder.build_spec(make.scene(make.placement(path))))
        assert mujoco.mjtGeom(model.geom("object:0").type[0]).name == f"mjGEOM_{kind}"


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
MODELS = {"drawers": cabinet.CABINET, "door": DOOR, "knob": KNOB}


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


def test_it_settles_closed_opens_and_closes_and_is_exported_alone(asset, tmp_path):
    can = make.placement(make.can(tmp_path), "can", at=(0.3, 0.1))
    twin = tmp_path / "project"
    write_scene(settle(make.scene(articulated_placement(asset), can))[0], twin)
    scene, model = read_scene(twin), mujoco.MjModel.from_xml_path(str(twin / "scene" / "scene.xml"))
    check_simulation(model, 1.5)
    assert [model.joint(j).name for j in own_joints(model)] == [f"cupboard/{j.name}" for j in asset.joints]
    assert model.nu == 0 and model.nkey == 0
    placed = next(p for p in scene.placements if p.name == "cupboard")
    np.testing.assert_allclose(model.body("cupboard").pos, placed.world_from_object.pos, atol=1e-6)
    with zipfile.ZipFile(io.BytesIO(object_zip(placed, "mjcf"))) as archive:
        archive.extractall(tmp_path / "alone")
    alone = mujoco.MjModel.from_xml_path(str(tmp_path / "alone" / "cupboard" / "cupboard.xml"))
    assert len(own_joints(alone)) == len(placed.joints)
    with zipfile.ZipFile(io.BytesIO(object_zip(placed, "urdf"))) as archive:
        archive.extractall(tmp_path / "closed")
    closed = mujoco.MjModel.from_xml_path(str(tmp_path / "closed" / "cupboard" / "cupboard.urdf"))
    assert closed.body_mass.sum() == pytest.approx(1.5, rel=1e-4)


@pytest.mark.parametrize("asset", ["drawers"], indirect=True)
def test_it_has_the_size_of_its_placement_and_a_rendering_labels_all_its_parts_as_one_object(asset, tmp_path):
    small = articulated_placement(asset, scale=0.5)
    write_scene(make.scene(small), tmp_path / "project")
    (read,) = read_scene(tmp_path / "project").placements
    np.testing.assert_allclose([one.range for one in read.joints], [one.range for one in small.joints])
    write_scene(read_scene(tmp_path / "project"), tmp_path / "project")  # over its own files, as an edit does
    check_simulation(mujoco.MjModel.from_xml_path(str(tmp_path / "project" / "scene" / "scene.xml")), 1.5 / 8)
    model = builder.build_spec(make.scene(small)).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    geoms = [g for g in range(model.ngeom) if model.body_rootid[model.geom_bodyid[g]] == model.body("cupboard").id]
    top = max(data.geom_xpos[g][2] + model.geom_size[g][2] for g in geoms)
    assert top == pytest.approx(0.116, abs=2e-3)
    np.testing.assert_allclose(model.joint("cupboard/lower_slide").range, [0, 0.075])
    frame, _, segments = make.photograph(make.scene(articulated_placement(asset, model=None)))  # in one piece
    (agreement,) = fidelity.compare_scene(frame, segments, make.scene(articulated_placement(asset)))
    assert agreement.mask_iou > 0.97

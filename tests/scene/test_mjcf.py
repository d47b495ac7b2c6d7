"""The model says what the scene says."""

import subprocess
import sys
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import scene_making as make
import trimesh

from pipeline.geometry import Pose
from pipeline.scene import SceneError, fidelity, mjcf, rendering


def test_every_placement_is_a_free_body_of_its_name_whose_frame_is_the_middle_of_its_box(tmp_path):
    box, can = make.box(tmp_path), make.can(tmp_path)
    scene = make.scene(make.thing(box, "box", (0.1, 0.0), yaw=0.4), make.thing(can, "can", (-0.1, 0.1), number=2))
    model = mjcf.compile_spec(mjcf.build(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for p in scene.placements:
        body = model.body(p.name)
        assert model.joint(p.name).type == mujoco.mjtJoint.mjJNT_FREE
        assert np.allclose(data.xpos[body.id], p.world_from_object.pos, atol=1e-9)
        assert np.allclose(data.xmat[body.id].reshape(3, 3), p.world_from_object.rotation, atol=1e-9)
        assert body.mass == pytest.approx(p.mass)


@pytest.mark.parametrize("unit, origin", [(1.0, (0, 0, 0)), (1000.0, (0.3, -2.0, 5.0)), (0.0254, (0, 0, 0.04))])
def test_whatever_units_and_origin_a_file_has_its_box_becomes_the_placements(tmp_path, unit, origin):
    mesh = trimesh.creation.box((0.06, 0.04, 0.08)).apply_translation(origin).apply_scale(unit)
    odd = make.shape(tmp_path, "odd", mesh)
    thing = make.thing(odd, size=(0.06, 0.04, 0.08), collision=(odd,))
    model = mjcf.compile_spec(mjcf.build(make.scene(thing)))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for geom in np.flatnonzero(model.geom_bodyid == model.body("thing").id):
        half = model.geom_aabb[geom, 3:]
        centre = data.geom_xpos[geom] + data.geom_xmat[geom].reshape(3, 3) @ model.geom_aabb[geom, :3]
        assert np.allclose(np.sort(half), [0.02, 0.03, 0.04], atol=1e-5)
        assert np.allclose(centre, [0, 0, 0.04], atol=1e-5)


def test_the_written_model_loads_alone_in_a_bare_process(tmp_path):
    coloured = trimesh.creation.icosphere(2, 0.03)
    coloured.visual.face_colors = np.random.default_rng(0).integers(0, 255, (len(coloured.faces), 4))
    ball = tmp_path / "ball.ply"
    coloured.export(ball)
    mjcf.write(
        make.scene(make.thing(ball), make.thing(make.box(tmp_path), "box", (0.2, 0), number=2)), tmp_path / "out"
    )
    code = "import mujoco, sys; m = mujoco.MjModel.from_xml_path(sys.argv[1]); print(m.nbody, m.ntex)"
    told = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tmp_path / "out" / "scene.xml")], capture_output=True, text=True, cwd="/"
    )
    assert told.stdout.split() == ["3", "2"], told.stderr  # the sky and the ball's colours


@pytest.mark.parametrize(
    "mesh, kind",
    [
        (trimesh.creation.box((0.05, 0.04, 0.03)), "BOX"),
        (trimesh.creation.cylinder(0.03, 0.1, sections=40), "CYLINDER"),
        (trimesh.creation.icosphere(3, 0.03), "SPHERE"),
        (trimesh.creation.cone(0.03, 0.1), "MESH"),
        (trimesh.creation.capsule(0.05, 0.02), "MESH"),
    ],
)
def test_boxes_cylinders_and_balls_collide_as_what_they_are(tmp_path, mesh, kind):
    model = mjcf.compile_spec(mjcf.build(make.scene(make.thing(make.shape(tmp_path, "it", mesh)))))
    assert mujoco.mjtGeom(model.geom("thing:0").type[0]).name == f"mjGEOM_{kind}"


def test_the_photo_camera_draws_each_thing_where_the_photograph_has_it(tmp_path):
    scene = make.scene(make.thing(make.box(tmp_path)), make.thing(make.ball(tmp_path), "ball", (-0.12, 0.1), number=2))
    model = mjcf.compile_spec(mjcf.build(scene))
    labels, depth = fidelity.cast(model, make.CAMERA, scene.world_from_camera)
    drawn = rendering.draw(model, (make.CAMERA.width, make.CAMERA.height))
    for name in ("thing", "ball"):
        ray, seen = labels == model.body(name).id, drawn.labels == model.body(name).id
        assert (ray & seen).sum() / (ray | seen).sum() > 0.97
        assert np.abs(drawn.depth - depth)[ray & seen].max() < 0.01


def test_what_cannot_be_built_is_said_in_one_line(tmp_path):
    box = make.box(tmp_path)
    bad = {
        "each name once": (make.thing(box, "twin"), make.thing(box, "twin", (0.2, 0))),
        "cannot name a body": (make.thing(box, "world"),),
        "no proper size": (make.thing(box, size=(0.1, 0, 0.1)),),
        "is gone": (make.thing(tmp_path / "gone.obj", size=(0.1, 0.1, 0.1)),),
        "cannot read the mesh": (make.thing(_text(tmp_path / "words.obj"), size=(0.1, 0.1, 0.1)),),
    }
    for words, things in bad.items():
        with pytest.raises(SceneError, match=words) as told:
            mjcf.build(make.scene(*things))
        assert "\n" not in str(told.value)


def _text(path):
    path.write_text("no mesh at all")
    return path


def test_a_thing_that_a_person_fixed_has_no_joint(tmp_path):
    model = mjcf.compile_spec(mjcf.build(make.scene(make.thing(make.box(tmp_path), fixed=True))))
    assert model.njnt == 0


def test_the_table_reaches_under_everything_that_stands(tmp_path):
    far = make.thing(make.box(tmp_path), at=(0.9, 0.7))
    centre, half, turn = mjcf.table_slab(make.scene(far))
    back = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    assert (np.abs(back @ (far.world_from_object.pos[:2] - centre)) < half).all()


def test_poses_in_the_written_model_are_those_of_the_scene(tmp_path):
    pose = Pose(np.array([0.123456789, -0.2, 0.04]), np.array([0.8, 0.6, 0, 0]))
    thing = make.thing(make.box(tmp_path))
    mjcf.write(make.scene(replace(thing, world_from_object=pose)), tmp_path / "out")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "scene.xml"))
    assert np.allclose(model.body("thing").pos, pose.pos, atol=1e-5)
    assert np.allclose(model.body("thing").quat, pose.quat_wxyz, atol=1e-5)

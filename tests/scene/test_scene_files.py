"""A scene that is written and read is the same scene, and its MuJoCo model agrees with it."""

import subprocess
import sys
from dataclasses import replace

import cabinet
import drawn_scene as make
import mujoco
import numpy as np
import pytest
import trimesh

from pipeline.geometry import planar_rotation
from pipeline.scene import SceneError, scene_files
from pipeline.scene.mjcf import builder


def test_a_scene_written_and_read_is_the_same_scene_and_writing_it_again_changes_nothing(tmp_path):
    box = make.placement(
        make.box(tmp_path), "box", (0.1, 0), yaw=0.3, asset_id="a", colour="red", rgb=(200, 1, 2), foot=True, prop=0.05
    )
    scene = make.scene(box, make.placement(make.can(tmp_path), "can", (-0.1, 0), number=4, container=True))
    project = tmp_path / "project"
    project.mkdir()
    written = scene_files.write_scene(scene, project)
    read = scene_files.read_scene(project)
    assert scene_files.scene_to_json(read, project) == scene_files.scene_to_json(written, project)
    assert read.placements[0].mesh == project / "scene" / "box.obj"
    assert all(path.is_file() for p in read.placements for path in (p.mesh, *p.collision))
    first = {p.name: p.read_bytes() for p in (project / "scene").iterdir()}
    scene_files.write_scene(read, project)
    assert {p.name: p.read_bytes() for p in (project / "scene").iterdir()} == first


def test_a_missing_or_damaged_scene_json_is_one_line(tmp_path):
    with pytest.raises(SceneError, match="build the scene first"):
        scene_files.read_scene(tmp_path)
    with pytest.raises(SceneError):
        builder.load_spec(tmp_path)
    for text in ("", "[]", "{}", '{"placements": [{}]}', "nonsense"):
        (tmp_path / "scene.json").write_text(text)
        with pytest.raises(SceneError, match="build the scene again"):
            scene_files.read_scene(tmp_path)


def test_every_placement_is_a_free_body_centred_on_its_box_above_the_table_or_fixed(tmp_path):
    box, can = make.box(tmp_path), make.can(tmp_path)
    scene = make.scene(
        make.placement(box, "box", (0.1, 0.0), yaw=0.4), make.placement(can, "can", (-0.1, 0.1), number=2)
    )
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


def test_the_written_model_loads_alone_in_a_bare_process(tmp_path):
    coloured = trimesh.creation.icosphere(2, 0.03)
    coloured.visual.face_colors = np.random.default_rng(0).integers(0, 255, (len(coloured.faces), 4))
    ball = tmp_path / "ball.ply"
    coloured.export(ball)
    builder.write_mjcf(
        make.scene(make.placement(ball), make.placement(make.box(tmp_path), "box", (0.2, 0), number=2)),
        tmp_path / "out",
    )
    code = "import mujoco, sys; m = mujoco.MjModel.from_xml_path(sys.argv[1]); print(m.nbody, m.ntex)"
    process = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tmp_path / "out" / "scene.xml")], capture_output=True, text=True, cwd="/"
    )
    assert process.stdout.split() == ["3", "2"], process.stderr  # the sky and the ball's colours


def test_boxes_cylinders_and_balls_collide_as_primitives(tmp_path):
    for mesh, kind in (
        (trimesh.creation.box((0.05, 0.04, 0.03)), "BOX"),
        (trimesh.creation.cylinder(0.03, 0.1, sections=40), "CYLINDER"),
        (trimesh.creation.icosphere(3, 0.03), "SPHERE"),
        (trimesh.creation.cone(0.03, 0.1), "MESH"),
        (trimesh.creation.capsule(0.05, 0.02), "MESH"),
    ):
        path = make.shape(tmp_path, f"mesh_{len(mesh.faces)}", mesh)
        model = builder.compile_spec(builder.build_spec(make.scene(make.placement(path))))
        assert mujoco.mjtGeom(model.geom("object:0").type[0]).name == f"mjGEOM_{kind}"


def test_an_invalid_scene_is_one_line(tmp_path):
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
        with pytest.raises(SceneError, match=words) as error:
            builder.build_spec(make.scene(*placements))
        assert "\n" not in str(error.value)


def test_the_range_of_a_scaled_drawer_is_read_as_it_was_written(tmp_path):
    placed = replace(cabinet.articulated(tmp_path, "cabinet", cabinet.CABINET, 4.0, (0, 0), 1), scale=0.5)
    (tmp_path / "project").mkdir()
    scene_files.write_scene(make.scene(placed), tmp_path / "project")
    (read,) = scene_files.read_scene(tmp_path / "project").placements
    np.testing.assert_allclose([one.range for one in read.joints], [one.range for one in placed.joints])

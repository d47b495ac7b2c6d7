"""What the photograph shows around the table is drawn behind the twin, and touches nothing."""

import io
from dataclasses import replace

import cv2
import drawn_scene as make
import mujoco
import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from bench.appearance.likeness import structural_similarity
from pipeline.frame import Frame, Observation
from pipeline.scene import scene_files
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.background import keep_background, load_model, make_background, write_background
from pipeline.scene.rendering import render_model, render_twin
from pipeline.segmentation import Segment

OBJECT_RGB = (250, 0, 250)


def room(scene, folder):
    """Return the model of a scene before a blotched wall, 0.4 m behind the table."""
    blotches = cv2.resize(np.random.default_rng(3).integers(60, 200, (9, 12, 3), np.uint8), (768, 576))
    cv2.imwrite(str(folder / "wall.png"), blotches)
    spec = builder.build_spec(scene)
    spec.add_texture(name="wall", type=mujoco.mjtTexture.mjTEXTURE_2D, file=str(folder / "wall.png"))
    spec.add_material(name="wall", emission=0.9).textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "wall"
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[2, 0.01, 2], pos=[0, 0.8, 0], material="wall")
    return builder.compile_spec(spec)


def from_beside(scene, degrees):
    """Return the scene with its camera turned about the table's middle."""
    turn = np.eye(4)
    turn[:3, :3] = Rotation.from_euler("z", degrees, degrees=True).as_matrix()
    return replace(scene, world_from_camera=turn @ scene.world_from_camera)


@pytest.fixture
def photographed(tmp_path):
    tall = make.placement(make.box(tmp_path, (0.06, 0.06, 0.4)), "tall", (0.1, 0.2), rgb=OBJECT_RGB)
    scene = replace(make.scene(tall), world_from_camera=make.camera_pose((0.1, -0.8, 0.45), (0, 0, 0.15)))
    size = (make.CAMERA.width, make.CAMERA.height)
    image = render_model(room(scene, tmp_path), size)
    _, support, _ = make.photograph(scene)
    observation = Observation(Frame(image.rgb, image.depth, make.CAMERA), support)
    segments = (Segment(1, image.labels > 0),)
    return scene, observation, segments


def test_it_looks_as_in_the_photograph_and_as_in_the_room_from_ten_degrees_beside(photographed, tmp_path):
    scene, observation, segments = photographed
    made = make_background(observation, segments, builder.table_slab(scene))
    for degrees, least in ((0, 0.95), (10, 0.8), (-10, 0.8)):
        seen = from_beside(scene, degrees)
        truth = render_model(room(seen, tmp_path), (320, 240))
        scene_files.write_scene(seen, tmp_path / f"twin{degrees}")
        pictures = []
        for around in (None, made):
            write_background(around, tmp_path / f"twin{degrees}" / "scene")
            pictures.append(render_twin(tmp_path / f"twin{degrees}" / "scene", (320, 240)).rgb)
        alone, together = (
            float(structural_similarity(*(cv2.cvtColor(i, cv2.COLOR_RGB2GRAY) for i in (truth.rgb, one))).mean())
            for one in pictures
        )
        assert together > max(least, alone + 0.05), (degrees, alone, together)


def test_an_object_is_not_on_it_and_is_not_touched_by_it(photographed, tmp_path):
    scene, observation, segments = photographed
    made = make_background(observation, segments, builder.table_slab(scene))
    pixels = np.asarray(Image.open(io.BytesIO(made.png))).astype(int)
    assert not (np.abs(pixels - OBJECT_RGB).max(-1) < 60).any()
    assert 0 < made.filled < 0.5
    scene_files.write_scene(scene, tmp_path / "twin")
    path = tmp_path / "twin" / "scene" / "scene.xml"
    alone = mujoco.MjModel.from_xml_path(str(path))
    write_background(made, path.parent)
    together = load_model(path)
    keep_background(path)
    kept = mujoco.MjModel.from_xml_path(str(path))
    for model in (together, kept):
        geom = model.geom("background")
        assert (geom.contype, geom.conaffinity, model.ngeom) == (0, 0, alone.ngeom + 1)
        np.testing.assert_allclose(model.body_mass, alone.body_mass)
        np.testing.assert_allclose(model.stat.center, together.stat.center, atol=1e-6)
    write_background(None, path.parent)
    assert not list(path.parent.glob("background.*"))


def test_a_background_without_depth_stands_behind_the_table_and_a_table_that_fills_the_picture_has_none(photographed):
    scene, observation, segments = photographed
    slab, flat = builder.table_slab(scene), replace(observation.frame, depth=np.zeros_like(observation.frame.depth))
    made = make_background(replace(observation, frame=flat), segments, slab)
    assert made.filled == 1
    points = np.array([line.split()[1:] for line in made.obj.decode().splitlines() if line.startswith("v ")], float)
    ahead = (points - scene.world_from_camera[:3, 3]) @ scene.world_from_camera[:3, 2]
    np.testing.assert_allclose(ahead, ahead[0], atol=1e-3)
    corners = np.array([[x, y, 0] for x in (-0.5, 0.5) for y in (-0.4, 0.4)])
    assert ahead[0] > ((corners - scene.world_from_camera[:3, 3]) @ scene.world_from_camera[:3, 2]).max()
    from_above, _ = make.observe(make.scene())
    assert make_background(from_above, (), slab._replace(half=np.array([500.0, 500.0]))) is None

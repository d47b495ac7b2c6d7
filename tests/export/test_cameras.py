"""Cameras of a twin: where they look while the robot moves, and what a condition does to their pictures."""

import io
import json
import shutil
from dataclasses import replace

import cv2
import mujoco
import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from pipeline.closed_loop.conditions import write_environment
from pipeline.decisions import DecisionError
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.export.gym_env.pictures import Pictures, sensed
from pipeline.project import Project
from pipeline.simulation.cameras import FILE, Camera, looking_at, to_json
from pipeline.simulation.kit import Scene, Simulation
from pipeline.simulation.recipe import Recipe
from pipeline.simulation.robots import ROBOTS, robot_kind
from pipeline.simulation.robots.robot import cameras_of

SIZE = 224
MAGENTA = [1.0, 0.0, 1.0, 1.0]


def marked(project, name: str, offset: np.ndarray) -> tuple[mujoco.MjModel, mujoco.MjData, Camera]:
    """Return a twin with a robot, a glowing ball at an offset from its wrist camera (its axes), and that camera."""
    simulation = Simulation(replace(Scene.load(project), robot=robot_kind(name).make(True)), 0)
    world = simulation.bench()
    camera = next(one for one in cameras_of(simulation._robot) if one.name == "wrist")
    files = {file.name: file.read_bytes() for file in (project / "scene").iterdir()}
    files |= arm.meshes(False) if (arm := robot_kind(name).arm) else {}
    spec = mujoco.MjSpec.from_string(world.xml, assets=files)
    for geom in spec.geoms:
        geom.group = 5  # not drawn
    place = camera.position + Rotation.from_quat(camera.quat_wxyz, scalar_first=True).apply(offset)
    spec.add_material(name="glow", rgba=MAGENTA, emission=1.0)
    spec.body(camera.body).add_geom(size=[0.006, 0, 0], pos=place, material="glow", contype=0, conaffinity=0, mass=0)
    model = spec.compile()
    return model, mujoco.MjData(model), camera


@pytest.mark.parametrize("name", sorted({"gripper", "arm", "arm-suction", "droid"} & ROBOTS.keys()))
def test_a_marker_on_the_hand_stays_at_its_pixel_of_the_wrist_picture_while_the_robot_moves(twin_folder, name):
    offset = np.array([0.02, -0.03, -0.2])
    model, data, camera = marked(twin_folder, name, offset)
    focal = SIZE / 2 / np.tan(camera.field_of_view / 2)
    expected = np.array([SIZE / 2 + focal * offset[0] / -offset[2], SIZE / 2 - focal * offset[1] / -offset[2]]) - 0.5
    pictures, places, random = Pictures({}), [], np.random.default_rng(0)
    mujoco.mj_forward(model, data)
    for _ in range(4):
        data.ctrl[:] = data.ctrl + random.normal(0, 0.05, model.nu)
        mujoco.mj_step(model, data, nstep=100)
        places.append(data.body(camera.body).xpos.copy())
        drawn = pictures.draw(model, data, (SIZE, SIZE), camera.name, False, (0,))
        seen = np.argwhere((drawn[..., [0, 2]].min(-1) > 200) & (drawn[..., 1] < 60))[:, ::-1]
        assert np.linalg.norm(seen.mean(0) - expected) < 1
    pictures.close()
    assert np.ptp(places, axis=0).max() > 0.005, "the hand moves"


def test_exposure_and_noise_are_what_they_say_and_the_compression_is_that_of_jpeg():
    picture = np.full((64, 60, 3), 100, np.uint8)
    picture[10:40, 8:30] = (200, 60, 20)
    assert (sensed(picture, {}, (0,)) == picture).all()
    assert abs(float(sensed(picture, {"exposure": 2.0}, (0,))[0, 0, 0]) - 100 * 2 ** (1 / 2.2)) < 1
    first, again, other = (sensed(picture, {"noise": 6.0}, (seed,)) for seed in (0, 0, 1))
    assert 5.5 < (first.astype(float) - picture).std() < 6.5 and (first == again).all() and (first != other).any()
    textured = cv2.resize(np.random.default_rng(0).integers(0, 255, (16, 15, 3), np.uint8), (60, 64))
    for quality in (20, 60, 90):
        Image.fromarray(textured).save(file := io.BytesIO(), "JPEG", quality=quality, subsampling=0)
        theirs, ours = np.array(Image.open(file)).astype(float), sensed(textured, {"jpeg": quality}, (0,))
        assert np.abs(ours - theirs).mean() < 0.2 * np.abs(textured - theirs).mean()


def test_an_environment_has_the_cameras_of_the_photograph_the_robot_and_a_person(solved, tmp_path):
    start = shutil.copytree(solved, tmp_path / "start")
    side = looking_at("side", "world", (0.6, 0.0, 0.4), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    (start / FILE).write_text(json.dumps([to_json(side), to_json(side._replace(name="wrist"))]))
    (start / "picture.json").write_text(json.dumps({"field_of_view": 1.2, "exposure": 3.0}))
    write_environment(start, Recipe(seed=0, calls=[]), "gripper")
    env = TwinEnv(folder=start, cameras=("wrist", "side"), image_size=(32, 24))
    observation, _ = env.reset(seed=0)
    assert env.camera_names == ("photo", "side", "wrist", "wrist_2")
    assert env.observation_space.contains(observation) and observation["side"].shape == (24, 32, 3)
    assert observation["wrist"].std() > 5 and (observation["wrist"] != observation["side"]).any()
    model = env.world.model
    assert model.body(model.camera("wrist").bodyid[0]).name == "gripper", "a robot's camera keeps its name"
    assert model.camera("side").fovy[0] == pytest.approx(np.degrees(1.2 * side.field_of_view))
    env.close()
    with pytest.raises(ValueError, match="there is no camera top; there are: photo, side, wrist, wrist_2"):
        TwinEnv(folder=start, cameras=("top",))


PLACED = {"pos": [0.5, 0.0, 0.4], "quat_wxyz": [2.0, 0, 0, 0], "field_of_view": 0.9}


def test_a_camera_that_a_person_places_can_be_undone_is_in_every_world_and_survives_a_crash(twin_folder, tmp_path):
    folder = shutil.copytree(twin_folder, tmp_path / "project")
    project = Project.open(folder)

    def known() -> list[tuple[str, float]]:
        found = Scene.load(folder).cameras
        assert found == project.cameras() and all(np.linalg.norm(one.quat_wxyz) == pytest.approx(1) for one in found)
        return [(one.name, one.position[0]) for one in found]

    project.decide("place_camera", name="side", **PLACED)
    project.decide("place_camera", name="top", **PLACED)
    project.decide("place_camera", name="side", **PLACED | {"pos": [0.6, 0, 0.4]})
    assert known() == [("top", 0.5), ("side", 0.6)], "one camera of a name"
    project.undo()
    project.decide("remove_camera", name="top")
    assert known() == [("side", 0.5)]
    assert project.stages()["scene"] != "stale"
    project.close()
    for left in ("[", "[]"):
        (folder / FILE).write_text(left)
        project = Project.open(folder)
        project.begin_writing()
        assert known() == [("side", 0.5)], "the decisions hold, not the file"
        project.close()
    assert "side" in Simulation(Scene.load(folder), 0).bench().xml
    bad = {"pos": [1, 2]}, {"pos": [1e10, 0, 0]}, {"quat_wxyz": [0] * 4}, {"field_of_view": 4}, {"name": "state"}
    for one in bad:
        with pytest.raises(DecisionError, match="its camera"):
            project.decide("place_camera", **{"name": "side"} | PLACED | one)

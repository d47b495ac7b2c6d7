"""From a photograph of furniture to a twin whose drawers open: match, place, settle and simulate."""

import json

import cabinet
import mujoco
import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from bench import twin_drawing
from pipeline.assets import Library
from pipeline.assets.appearance.features import LibraryFeatures
from pipeline.assets.importers.asset_import import import_asset
from pipeline.description import describe_all
from pipeline.frame import Observation, find_support, load
from pipeline.geometry import Pose
from pipeline.matching import IndexedLibrary, match_all
from pipeline.scene.place_objects import SceneInputs, place_objects
from pipeline.scene.placement import Scene
from pipeline.scene.scene_files import write_scene
from pipeline.scene.settle import settle
from pipeline.scene.yaw_from_appearance import appearance_correlation
from pipeline.segmentation import Segment
from pipeline.simulation import kit
from sample_scenes import make_scenes as studio

OTHER_ASSETS = ("soup_can", "red_cube", "cracker_box", "blue_block")
YAW = 20.0
"""Degrees between the furniture's front and the camera's side of the table."""


def asset_placement(asset, xy, yaw, number):
    """Return an asset standing at x, y with a yaw in degrees."""
    quat = Rotation.from_euler("z", yaw, degrees=True).as_quat(scalar_first=True)
    return twin_drawing.asset_placement(asset, number, Pose(np.array([*xy, asset.size[2] / 2]), quat))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Return the furniture, the matches, the true scene, the twin and its folder."""
    folder = tmp_path_factory.mktemp("furniture")
    (folder / "cabinet.xml").write_text(cabinet.CABINET)
    asset = import_asset(folder / "cabinet.xml", folder / "library").asset
    library = Library((asset, *(a for a in Library.open() if a.id in OTHER_ASSETS)))
    recipe = studio.SceneRecipe(
        "drawn", "", (), size=(640, 480), distance=1.0, azimuth=-8, table="oak", half=(0.6, 0.45)
    )
    poses = [
        (asset, (-0.08, 0.12), YAW),
        (library["soup_can"], (0.2, -0.1), 30),
        (library["red_cube"], (-0.2, -0.2), 10),
    ]
    placements = tuple(asset_placement(a, xy, yaw, number) for number, (a, xy, yaw) in enumerate(poses, 1))
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * recipe.half
    true, _ = settle(
        Scene(studio.camera_pose(recipe), corners, (150, 130, 110), placements, studio.camera_intrinsics(recipe))
    )
    twin_drawing.photograph_scene(true, recipe, np.random.default_rng(0), folder / "frame", noisy=False)
    frame = load(folder / "frame")
    masks = np.array(Image.open(folder / "frame" / "truth" / "masks.png"))
    segments = tuple(Segment(n, masks == n) for n in (1, 2, 3))
    observation = Observation(frame, find_support(frame))
    descriptions = describe_all(frame, observation.support, segments)
    features = LibraryFeatures.compute(library, folder / "features")
    matches = tuple(match_all(observation, segments, descriptions, IndexedLibrary(library, features)))
    inputs = SceneInputs(observation, segments, descriptions, matches, library, folder / "twin" / "scene")
    settled, _ = settle(place_objects(inputs))
    return asset, matches, true, write_scene(settled, folder / "twin"), folder / "twin"


def test_the_furniture_is_matched(result):
    asset, matches, *_ = result
    assert [m.asset_id for m in matches] == [asset.id, "soup_can", "red_cube"]


def test_it_is_upright_in_its_own_size_and_faces_as_photographed(result):
    _, _, true, twin, _ = result
    true_placement, placed = true.placements[0], twin.placements[0]
    assert placed.scale == 1
    true_pose = np.linalg.inv(true.world_from_camera) @ true_placement.world_from_object.matrix
    pose = np.linalg.inv(twin.world_from_camera) @ placed.world_from_object.matrix
    angle = Rotation.from_matrix(true_pose[:3, :3].T @ pose[:3, :3]).magnitude()
    assert np.degrees(angle) < 4 and np.linalg.norm(true_pose[:3, 3] - pose[:3, 3]) < 0.01


def test_appearance_distinguishes_front_from_back(result):
    asset, _, _, twin, folder = result
    frame, placed = load(folder.parent / "frame"), twin.placements[0].world_from_object
    mask = np.array(Image.open(folder.parent / "frame" / "truth" / "masks.png")) == 1
    turned = Pose.from_rotation(placed.pos, Rotation.from_euler("z", np.pi).as_matrix() @ placed.rotation)
    front_correlation, back_correlation = (
        appearance_correlation(frame, twin.world_from_camera, mask, asset.mesh, asset.size, pose)
        for pose in (placed, turned)
    )
    assert front_correlation > back_correlation + 0.1


def test_its_drawers_are_in_the_scene_and_closed(result):
    *_, folder = result
    record = json.loads((folder / "scene.json").read_text())["placements"][0]
    assert {row["called"] for row in record["joints"]} == {"top_drawer", "middle_drawer", "bottom_drawer"}
    model = mujoco.MjModel.from_xml_path(str(folder / "scene" / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)
    for row in record["joints"]:
        assert abs(data.joint(row["name"]).qpos[0]) < 0.01 and row["value"] == 0


def test_a_drawer_is_opened_and_the_can_put_on_top(result):
    *_, folder = result
    scene = kit.Scene.load(folder)
    chest, can, _ = scene.objects
    sim = kit.Simulation(scene, 0)
    sim.goal(kit.opened(chest.name, "middle_drawer"), kit.on(can.name, chest.name))
    run = sim.rollout()
    assert run.solved, run.why
    assert run.moved(chest.name) < 0.01

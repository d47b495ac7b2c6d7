"""From a photograph of furniture to a twin whose drawers open: matched, laid, settled and played with, in one go."""

import json
import os
from pathlib import Path

import cabinet
import mujoco
import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from pipeline.assets import Library
from pipeline.assets.features import Features
from pipeline.assets.importing import bring_in
from pipeline.description import describe_all
from pipeline.frame import find_support, load
from pipeline.geometry import Pose
from pipeline.matching import match_all
from pipeline.scene.files import write_scene
from pipeline.scene.fronts import likeness
from pipeline.scene.placement import Scene
from pipeline.scene.placing import place
from pipeline.scene.settle import settle
from pipeline.segmentation import Segment
from pipeline.simulation import kit
from sample_scenes import make_scenes as studio
from tests.bench import twin_drawing

PACK = Path(os.environ.get("GRS_LIBRARY", "/nonexistent")) / "libero"
AROUND = ("soup_can", "red_cube", "cracker_box", "blue_block")
TURN = 20.0
"""Degrees that the furniture is turned from facing the camera's side of the table."""


def furniture(kind: str, folder: Path):
    """An asset of our own, or the pack's, where a person installed it."""
    if kind == "own":
        (folder / "cabinet.xml").write_text(cabinet.CABINET)
        return bring_in(folder / "cabinet.xml", folder / "library").asset
    if not (PACK / kind).is_dir():
        pytest.skip("LIBERO is not installed (GRS_LIBRARY)")
    return Library.open([PACK / kind], cache=folder).assets[0]


@pytest.fixture(scope="module", params=["own", "wooden_cabinet"])
def seen(request, tmp_path_factory):
    """The furniture, what was matched, and the twin's folder with its true scene."""
    folder = tmp_path_factory.mktemp(request.param)
    asset = furniture(request.param, folder)
    library = Library((asset, *(one for one in Library.open() if one.id in AROUND)))
    recipe = studio.Recipe("drawn", "", (), size=(640, 480), distance=1.0, azimuth=-8, table="oak", half=(0.6, 0.45))
    things = [
        (asset, (-0.08, 0.12), TURN),
        (library["soup_can"], (0.2, -0.1), 30),
        (library["red_cube"], (-0.2, -0.2), 10),
    ]
    placed = [
        twin_drawing._placed(one, n, Pose(np.array([*at, one.size[2] / 2]), Rotation.from_euler(
            "z", turn, degrees=True).as_quat(scalar_first=True)))
        for n, (one, at, turn) in enumerate(things, 1)
    ]  # fmt: skip
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * recipe.half
    true, _ = settle(Scene(studio._look(recipe), corners, (150, 130, 110), tuple(placed), studio._camera(recipe)))
    twin_drawing.photographed(true, recipe, np.random.default_rng(0), folder / "frame", noisy=False)
    frame = load(folder / "frame")
    masks = np.array(Image.open(folder / "frame" / "truth" / "masks.png"))
    segments = tuple(Segment(n, masks == n) for n in (1, 2, 3))
    support = find_support(frame)
    described = describe_all(frame, support, segments)
    features = Features.of(library, folder / "features")
    matches = tuple(match_all(frame, support, segments, described, library, features))
    twin = place(frame, support, segments, described, matches, library, folder / "twin" / "scene")
    rested, _ = settle(twin)
    return asset, matches, true, write_scene(rested, folder / "twin"), folder / "twin"


def test_matching_itself_chooses_it(seen):
    asset, matches, *_ = seen
    assert [m.asset_id for m in matches] == [asset.id, "soup_can", "red_cube"]


def test_it_stands_upright_in_its_own_size_with_its_front_where_it_was(seen):
    _, _, true, twin, _ = seen
    wanted, found = true.placements[0], twin.placements[0]
    assert found.scale == 1
    between = np.linalg.inv(true.world_from_camera) @ wanted.world_from_object.matrix
    ours = np.linalg.inv(twin.world_from_camera) @ found.world_from_object.matrix
    turned = Rotation.from_matrix(between[:3, :3].T @ ours[:3, :3]).magnitude()
    assert np.degrees(turned) < 4 and np.linalg.norm(between[:3, 3] - ours[:3, 3]) < 0.01


def test_its_looks_tell_its_front_from_its_back(seen):
    asset, _, _, twin, folder = seen
    frame, stood = load(folder.parent / "frame"), twin.placements[0].world_from_object
    mask = np.array(Image.open(folder.parent / "frame" / "truth" / "masks.png")) == 1
    back = Pose.from_rotation(stood.pos, Rotation.from_euler("z", np.pi).as_matrix() @ stood.rotation)
    front, behind = (
        likeness(frame, twin.world_from_camera, mask, asset.mesh, asset.size, pose) for pose in (stood, back)
    )
    assert front > behind + 0.1


def test_its_drawers_are_in_the_scene_and_shut(seen):
    *_, folder = seen
    said = json.loads((folder / "scene.json").read_text())["placements"][0]
    assert {row["called"] for row in said["joints"]} == {"top_drawer", "middle_drawer", "bottom_drawer"}
    model = mujoco.MjModel.from_xml_path(str(folder / "scene" / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)
    for row in said["joints"]:
        assert abs(data.joint(row["name"]).qpos[0]) < 0.01 and row["value"] == 0


def test_a_drawer_is_opened_and_the_can_put_on_top(seen):
    *_, folder = seen
    scene = kit.Scene.load(folder)
    chest, can, _ = scene.objects
    sim = kit.Simulation(scene, 0)
    sim.goal(kit.opened(chest.name, "middle_drawer"), kit.on(can.name, chest.name))
    run = sim.rollout()
    assert run.solved, run.why
    assert run.moved(chest.name) < 0.01

"""From a drawn photograph to its twin: furniture faces as it did, and a bowl has the colour that it had."""

import cabinet
import cv2
import libero
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bench.twin_drawing import asset_placement, photograph_scene
from pipeline.assets import Library
from pipeline.assets.appearance.features import LibraryFeatures
from pipeline.assets.importers.asset_import import import_asset
from pipeline.frame import load
from pipeline.geometry import Pose
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.run import Services, run_stages
from pipeline.scene import rendering
from pipeline.scene.placement import Scene
from pipeline.scene.yaw_from_appearance import appearance_correlation
from pipeline.segmentation import DepthSegmenter
from sample_scenes import make_scenes as studio

OTHERS = ("white_bowl", "red_bowl", "cracker_box", "soup_can")


def drawn(name, folder):
    """Return the true scene of a cabinet, a teal bowl and a box, and the project of its photograph."""
    known = Library.open()
    (folder / "cabinet.xml").write_text(cabinet.CABINET)
    if name == "our own":
        furniture = import_asset(folder / "cabinet.xml", folder / "library").asset
    else:
        (furniture,) = Library.open([libero.PACK / name], cache=folder).assets
    recipe = studio.SceneRecipe("drawn", "", (), size=(640, 480), distance=1, azimuth=-8, table="oak", half=(0.6, 0.45))
    box, bowl = known["cracker_box"], known["teal_bowl"]
    stood = (furniture, (-0.08, 0.12), 20), (bowl, (0.2, -0.1), 0), (box, (-0.25, -0.1), 30)
    placements = []
    for number, (asset, at, degrees) in enumerate(stood, 1):
        turn = Rotation.from_euler("z", degrees, degrees=True).as_matrix()
        pose = Pose.from_rotation(np.array([*at, asset.size[2] / 2]), turn)
        placements.append(asset_placement(asset, number, pose))
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * recipe.half
    camera, intrinsics = studio.camera_pose(recipe), studio.camera_intrinsics(recipe)
    true = Scene(camera, corners, (150, 130, 110), tuple(placements), intrinsics)
    photograph_scene(true, recipe, np.random.default_rng(0), folder / "frame", noisy=False)
    library = Library((furniture, *(known[id] for id in OTHERS)))
    features = LibraryFeatures.compute(library)
    services = Services(DepthSegmenter(), PlannerModel(), library, None, lambda: features)  # type: ignore[arg-type]
    project = Project.create(folder / "project", load(folder / "frame"))
    for _ in run_stages(project, services, "scene"):
        pass
    return true, project


def placed(project, category):
    (found,) = (p for p in project.scene().placements if p.category == category)
    return found, next(s.mask for s in project.segments() if s.id == found.segment_id)


@pytest.mark.parametrize("name", ["our own", pytest.param("wooden_cabinet", marks=pytest.mark.soak)])
def test_furniture_and_a_recoloured_bowl_are_upright_and_look_as_photographed(name, tmp_path):
    true, project = drawn(name, tmp_path)
    twin, (chest, mask) = project.scene(), placed(project, "cabinet")
    assert chest.asset_id == true.placements[0].asset_id and chest.scale == 1
    true_pose = np.linalg.inv(true.world_from_camera) @ true.placements[0].world_from_object.matrix
    pose = np.linalg.inv(twin.world_from_camera) @ chest.world_from_object.matrix
    angle = Rotation.from_matrix(true_pose[:3, :3].T @ pose[:3, :3]).magnitude()
    assert np.degrees(angle) < 4 and np.linalg.norm(true_pose[:3, 3] - pose[:3, 3]) < 0.01
    at = chest.world_from_object
    turned = Pose.from_rotation(at.pos, Rotation.from_euler("z", np.pi).as_matrix() @ at.rotation)
    front, back = (
        appearance_correlation(project.frame, twin.world_from_camera, mask, chest.mesh, chest.size, one)
        for one in (at, turned)
    )
    assert front > back + 0.1
    bowl, mask = placed(project, "bowl")
    assert bowl.asset_id and bowl.recolour and "recoloured to the photograph" in bowl.provenance
    assert all(p.recolour is None for p in project.scene().placements if p.name != bowl.name)
    inner = cv2.erode(mask.astype(np.uint8), np.ones((15, 15))).astype(bool)
    twin = rendering.render_twin(project.folder / "scene", mask.shape[::-1]).rgb
    seen, shown = (median_chroma(image[inner]) for image in (project.frame.rgb, twin))
    assert np.linalg.norm(seen - shown) < 12 < np.linalg.norm(seen)  # white has no chroma


def median_chroma(rgb: np.ndarray) -> np.ndarray:
    return np.median(cv2.cvtColor(rgb[None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0, :, 1:], axis=0)

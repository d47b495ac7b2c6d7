"""A bowl without a right asset is in the twin in the colour of the photograph, and says so."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from bench.twin_drawing import asset_placement, photograph_scene
from pipeline.assets import Library
from pipeline.assets.appearance.features import LibraryFeatures
from pipeline.frame import load
from pipeline.geometry import Pose
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.run import Services, run_stages
from pipeline.scene import rendering
from pipeline.scene.placement import Scene
from pipeline.segmentation import DepthSegmenter
from sample_scenes import make_scenes as studio

PHOTOGRAPHED = {"teal_bowl": (0.02, 0.02), "cracker_box": (-0.22, 0.1)}
OTHERS = ("white_bowl", "red_bowl")


@pytest.fixture(scope="module")
def photograph(tmp_path_factory) -> Path:
    """A drawn frame of a teal bowl and a box."""
    library, folder = Library.open(), tmp_path_factory.mktemp("frame")
    recipe = studio.SceneRecipe(
        "drawn", "", (), size=(640, 480), distance=0.8, azimuth=-8, table="oak", half=(0.6, 0.45)
    )
    placements = tuple(
        asset_placement(library[id], n, Pose(np.array([*at, library[id].size[2] / 2]), np.array([1.0, 0, 0, 0])))
        for n, (id, at) in enumerate(PHOTOGRAPHED.items(), 1)
    )
    x, y = recipe.half
    table = np.array([[-x, -y], [x, -y], [x, y], [-x, y]]) * 0.999
    camera, intrinsics = studio.camera_pose(recipe), studio.camera_intrinsics(recipe)
    photograph_scene(
        Scene(camera, table, (150, 130, 110), placements, intrinsics), recipe, np.random.default_rng(3), folder
    )
    return folder


def test_a_teal_bowl_is_teal_in_the_twin_though_the_library_has_no_teal_one(photograph, tmp_path):
    ids = {*PHOTOGRAPHED, *OTHERS} - {"teal_bowl"}
    library = Library(tuple(a for a in Library.open() if a.id in ids))
    features = LibraryFeatures.compute(library)
    services = Services(DepthSegmenter(), PlannerModel(), library, None, lambda: features)  # type: ignore[arg-type]
    project = Project.create(tmp_path / "project", load(photograph))
    for _ in run_stages(project, services, "scene"):
        pass
    scene = project.scene()
    assert scene
    (bowl,) = (p for p in scene.placements if p.category == "bowl")
    assert bowl.asset_id and bowl.recolour and "recoloured to the photograph" in bowl.provenance
    assert all(p.recolour is None for p in scene.placements if p is not bowl)
    (segment,) = (s for s in project.segments() or () if s.id == bowl.segment_id)
    inner = cv2.erode(segment.mask.astype(np.uint8), np.ones((15, 15))).astype(bool)
    twin = rendering.render_twin(project.folder / "scene", segment.mask.shape[::-1]).rgb
    seen, drawn = (median_chroma(image[inner]) for image in (project.frame.rgb, twin))
    assert np.linalg.norm(seen - drawn) < 12 < np.linalg.norm(seen)  # white has no chroma


def median_chroma(rgb: np.ndarray) -> np.ndarray:
    """Return the median a and b in CIELAB of pixels (N, 3)."""
    return np.median(cv2.cvtColor(rgb[None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0, :, 1:], axis=0)

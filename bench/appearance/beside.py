"""How alike the twin looks from beside the photograph's camera, on the sample scenes, whose truth can be drawn again.

    python -m bench.appearance.beside [--work DIR] [--degrees 0 10 -10 15 -15]

DIR holds the samples' projects, as `python -m bench.appearance --samples` leaves them in build/appearance. The camera
turns about the vertical axis through the middle of the table. The whole picture's SSIM is printed, without and with the
photograph's background; build/beside.png shows truth, twin without and with it at the largest turn.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from bench import ROOT
from bench.appearance.likeness import rendered_twin, whole_similarity
from pipeline.assets import Library
from pipeline.geometry import homogeneous, rotation_about_z
from pipeline.project import Project
from pipeline.scene import SceneError
from pipeline.scene.mjcf.background import make_background
from pipeline.scene.mjcf.builder import table_slab
from sample_scenes import make_scenes as drawn

WIDTH_PX = 320


def beside(recipe: drawn.SceneRecipe, folder: Path, degrees: Sequence[float], library: Library) -> tuple[list, list]:
    """Return the SSIM (before, now) at each turn, and the pictures of the last one."""
    project, truth = Project.open(folder), drawn.compose(recipe, library)
    twin = project.scene()
    if twin is None or twin.intrinsics is None:
        raise SceneError(f"{folder.name} has no twin")
    placed = {p.segment_id for p in twin.placements}
    segments = [s for s in project.segments() or () if s.id in placed]
    around = make_background(project.observation, segments, table_slab(twin))
    scores, pictures = [], []
    for angle in degrees:
        turn = homogeneous(rotation_about_z(np.radians(angle)), np.zeros(3))
        there = turn @ truth.world_from_camera
        model = drawn.build_model(replace(truth, world_from_camera=there), recipe)
        photograph = drawn.photograph(model, recipe.size, np.random.default_rng(1))
        moved = np.linalg.inv(truth.world_from_camera) @ there
        seen = replace(twin, world_from_camera=twin.world_from_camera @ moved)
        renders = [rendered_twin(seen, twin.intrinsics, one) for one in (None, around)]
        scores.append([whole_similarity(photograph, one) for one in renders])
        pictures = [photograph, *(one.rgb for one in renders)]
    return scores, pictures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.appearance.beside", description=__doc__)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "appearance", help="where the projects are")
    parser.add_argument("--degrees", type=float, nargs="+", default=[0, 10, -10, 15, -15])
    arguments = parser.parse_args()
    library, table, rows = Library.open(), [], []
    print("SSIM before and now at", *(f"{angle:+.0f}" for angle in arguments.degrees), "degrees")
    for recipe in drawn.RECIPES:
        scores, pictures = beside(recipe, arguments.work / recipe.name, arguments.degrees, library)
        table.append(scores)
        print(f"{recipe.name:10}", *(f"{before:.3f} {now:.3f}  " for before, now in scores), flush=True)
        height = round(WIDTH_PX * recipe.size[1] / recipe.size[0])
        rows.append(np.hstack([cv2.resize(one, (WIDTH_PX, height), interpolation=cv2.INTER_AREA) for one in pictures]))
    print(f"{'median':10}", *(f"{before:.3f} {now:.3f}  " for before, now in np.median(table, axis=0)))
    cv2.imwrite(str(ROOT / "build" / "beside.png"), cv2.cvtColor(np.vstack(rows), cv2.COLOR_RGB2BGR))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

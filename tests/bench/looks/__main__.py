"""`python -m tests.bench.looks PROJECT... [--out PICTURE]`: how alike photograph and twin look, as SSIM.

The twin is rendered through the photograph's camera, with its table in one colour and with the table's picture. SSIM is
that of grey levels (Wang et al. 2004: Gaussian window of sigma 1.5, K1 = 0.01, K2 = 0.03), over the visible table and
all objects. The picture shows photograph and both twins side by side.
"""

import argparse
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from pipeline.errors import StudioError
from pipeline.frame import Intrinsics, Support
from pipeline.project import Project
from pipeline.scene import Scene
from pipeline.scene.mjcf.builder import table_slab, write_mjcf
from pipeline.scene.mjcf.table_picture import table_picture
from pipeline.scene.rendering import RenderedImage, render_twin

WIDTH_PX = 320


def structural_similarity(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the SSIM of two grey images (H, W) in [0, 255] at each pixel, of shape (H, W)."""
    a, b = a.astype(np.float64), b.astype(np.float64)

    def blurred(image: np.ndarray) -> np.ndarray:
        return cv2.GaussianBlur(image, (11, 11), 1.5)

    mean_a, mean_b = blurred(a), blurred(b)
    variance = blurred(a * a) - mean_a**2 + blurred(b * b) - mean_b**2
    covariance = blurred(a * b) - mean_a * mean_b
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    luminance = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    return luminance * (2 * covariance + c2) / (variance + c2)


def likeness(photograph: np.ndarray, rendered: RenderedImage, judged: np.ndarray) -> float:
    """Return the mean SSIM over the pixels `judged`."""
    grey = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in (photograph, rendered.rgb)]
    return float(structural_similarity(*grey)[judged].mean())


def compare(folder: Path) -> tuple[float, float, np.ndarray]:
    """Return the SSIM with the table in one colour and with its picture, and all three images in a row."""
    project = Project.open(folder)
    scene = project.scene()
    if scene is None or scene.intrinsics is None:
        raise StudioError(f"{folder.name} has no twin; run it to its scene first")
    observation, segments = project.observation, project.segments() or ()
    picture = table_picture(observation, segments, table_slab(scene))
    photograph = observation.frame.rgb
    judged = visible_table(scene.intrinsics, observation.support) | np.any([s.mask for s in segments], axis=0)
    renders = [rendered_twin(replace(scene, table_png=png), scene.intrinsics) for png in (None, picture)]
    row = np.hstack([photograph, *(image.rgb for image in renders)])
    plain, pictured = (likeness(photograph, image, judged) for image in renders)
    return plain, pictured, row


def visible_table(k: Intrinsics, support: Support) -> np.ndarray:
    """Return the pixels within the table's outline, of shape (H, W), bool."""
    corners = np.column_stack([support.polygon, np.zeros(len(support.polygon))])
    x, y, z = ((corners - support.world_from_camera[:3, 3]) @ support.world_from_camera[:3, :3]).T
    pixels = np.column_stack([k.fx * x / z + k.cx, k.fy * y / z + k.cy]).round().astype(np.int32)
    return cv2.fillPoly(np.zeros((k.height, k.width), np.uint8), [pixels], 1) > 0


def rendered_twin(scene: Scene, k: Intrinsics) -> RenderedImage:
    with tempfile.TemporaryDirectory() as folder:
        write_mjcf(scene, Path(folder))
        return render_twin(Path(folder), (k.width, k.height))


def rows(folders: list[Path]) -> Iterator[tuple[float, float, np.ndarray]]:
    for folder in folders:
        try:
            result = compare(folder)
        except StudioError as error:
            print(f"{folder.name:24} {error}")
            continue
        print(f"{folder.name:24} {result[0]:.3f} {result[1]:.3f}", flush=True)
        yield result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.looks", description=__doc__)
    parser.add_argument("projects", type=Path, nargs="+", help="project folders with a twin")
    parser.add_argument("--out", type=Path, help="picture of photograph, plain twin and twin in rows")
    arguments = parser.parse_args()
    results = list(rows(arguments.projects))
    if not results:
        return 2
    plain, pictured = [r[0] for r in results], [r[1] for r in results]
    print(f"{'median of ' + str(len(results)):24} {statistics.median(plain):.3f} {statistics.median(pictured):.3f}")
    if arguments.out:
        small = [
            cv2.resize(row, (3 * WIDTH_PX, round(3 * WIDTH_PX * row.shape[0] / row.shape[1]))) for *_, row in results
        ]
        cv2.imwrite(str(arguments.out), cv2.cvtColor(np.vstack(small), cv2.COLOR_RGB2BGR))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""How alike a photograph and its twin look: SSIM, and the difference in colour of the objects."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from pipeline.frame import Intrinsics, Support
from pipeline.scene import Scene
from pipeline.scene.mjcf.background import Background, write_background
from pipeline.scene.mjcf.builder import write_mjcf
from pipeline.scene.rendering import RenderedImage, render_twin


class Likeness(NamedTuple):
    """Agreement of a twin's rendering with the photograph."""

    ssim: float
    """Mean SSIM of grey levels over the visible table and all objects, at most 1."""
    colour: float
    """Mean distance in CIELAB between the objects' mean colours in photograph and twin; NaN without objects."""


def structural_similarity(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the SSIM of two grey images (H, W) in [0, 255] at each pixel, of shape (H, W).

    Wang et al. 2004: Gaussian window of sigma 1.5, K1 = 0.01, K2 = 0.03.
    """
    a, b = a.astype(np.float64), b.astype(np.float64)

    def blurred(image: np.ndarray) -> np.ndarray:
        return cv2.GaussianBlur(image, (11, 11), 1.5)

    mean_a, mean_b = blurred(a), blurred(b)
    variance = blurred(a * a) - mean_a**2 + blurred(b * b) - mean_b**2
    covariance = blurred(a * b) - mean_a * mean_b
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    luminance = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    return luminance * (2 * covariance + c2) / (variance + c2)


def likeness(photograph: np.ndarray, rendered: RenderedImage, table: np.ndarray, masks: list[np.ndarray]) -> Likeness:
    """Compare a photograph (H, W, 3) with the twin; `table` and each of `masks` have shape (H, W), bool."""
    judged = np.any([table, *masks], axis=0)
    grey = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in (photograph, rendered.rgb)]
    lab = [cv2.cvtColor((image / 255).astype(np.float32), cv2.COLOR_RGB2LAB) for image in (photograph, rendered.rgb)]
    shared = [both for mask in masks if (both := mask & (rendered.labels > 0)).sum() > 50]
    distances = [float(np.linalg.norm(lab[0][both].mean(0) - lab[1][both].mean(0))) for both in shared]
    return Likeness(
        float(structural_similarity(*grey)[judged].mean()), float(np.mean(distances)) if distances else float("nan")
    )


def visible_table(k: Intrinsics, support: Support) -> np.ndarray:
    """Return the pixels within the table's outline, of shape (H, W), bool."""
    corners = np.column_stack([support.polygon, np.zeros(len(support.polygon))])
    x, y, z = ((corners - support.world_from_camera[:3, 3]) @ support.world_from_camera[:3, :3]).T
    pixels = np.column_stack([k.fx * x / z + k.cx, k.fy * y / z + k.cy]).round().astype(np.int32)
    return cv2.fillPoly(np.zeros((k.height, k.width), np.uint8), [pixels], 1) > 0


def rendered_twin(scene: Scene, k: Intrinsics, around: Background | None = None) -> RenderedImage:
    """Return the twin as its exported MJCF draws it through the photograph's camera, before a background."""
    with tempfile.TemporaryDirectory() as folder:
        write_mjcf(scene, Path(folder))
        write_background(around, Path(folder))
        return render_twin(Path(folder), (k.width, k.height))


def whole_similarity(photograph: np.ndarray, rendered: RenderedImage) -> float:
    """Return the mean SSIM of grey levels over the whole picture."""
    return float(
        structural_similarity(*(cv2.cvtColor(i, cv2.COLOR_RGB2GRAY) for i in (photograph, rendered.rgb))).mean()
    )

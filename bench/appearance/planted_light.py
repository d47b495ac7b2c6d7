"""Light estimates against known lights.

The lamps of the sample scenes, after the whole pipeline; and twins rendered with a drawn directional light, a drawn
ratio of direct to ambient light, a blotched table and noise, with their true masks and depth.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import cv2
import mujoco
import numpy as np

from bench import ROOT
from pipeline.project import Project
from pipeline.scene import Scene
from pipeline.scene.appearance.light import estimate_light
from pipeline.scene.mjcf import builder
from pipeline.scene.rendering import render_model
from pipeline.segmentation import Segment
from sample_scenes.make_scenes import RECIPES


class LightError(NamedTuple):
    """The angle between the true direction and the estimate, and the default, in degrees."""

    name: str
    estimate: float | None
    """None if no direction was claimed."""
    default: float


def sample_lamps(folder: Path) -> Iterator[LightError]:
    """Yield the error at each sample scene that has a twin in `folder`/<name>."""
    for recipe in RECIPES:
        scene = Project.open(folder / recipe.name).scene() if (folder / recipe.name / "scene.json").exists() else None
        if scene is None:
            continue
        project = Project.open(folder / recipe.name)
        expected = json.loads((ROOT / "sample_scenes" / recipe.name / "expected.json").read_text("utf-8"))
        recipe_from_camera = np.array(expected["world_from_camera"])[:3, :3]
        truth = scene.world_from_camera[:3, :3] @ recipe_from_camera.T @ np.array([*recipe.lamp, 1.8])
        yield _error(recipe.name, project, project.segments() or (), scene, project.frame.rgb, truth)


def planted_lights(folders: list[Path], seed: int, each: int = 2) -> Iterator[LightError]:
    """Yield the errors of `each` drawn lights for the twin of every project."""
    random = np.random.default_rng(seed)
    for folder in folders:
        project = Project.open(folder)
        scene = project.scene()
        if scene is None or not scene.placements or scene.intrinsics is None:
            continue
        for _ in range(each):
            elevation, azimuth = np.deg2rad(random.uniform(30, 80)), random.uniform(0, 2 * np.pi)
            flat = np.cos(elevation) * np.array([np.cos(azimuth), np.sin(azimuth)])
            truth = np.append(flat, np.sin(elevation))
            scene = replace(scene, table_png=_blotched(scene.table_rgb, random))
            rgb, segments = _photograph(scene, truth, random)
            yield _error(f"{folder.name} {np.degrees(elevation):.0f} deg", project, segments, scene, rgb, truth)


def _error(
    name: str, project: Project, segments: tuple[Segment, ...], scene: Scene, rgb: np.ndarray, truth: np.ndarray
) -> LightError:
    light = estimate_light(replace(project.frame, rgb=rgb), segments, scene)
    found = None if light is None else _degrees(light.direction, truth)
    return LightError(name, found, _degrees(np.array(builder.DEFAULT_LIGHT), truth))


def _degrees(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))))


def _blotched(rgb: tuple[int, int, int], random: np.random.Generator) -> bytes:
    """Return a table picture of smooth random blotches."""
    grain = cv2.GaussianBlur(random.normal(0, 1, (512, 512)).astype(np.float32), (0, 0), random.uniform(1.5, 6))
    grain *= random.uniform(0, 14) / grain.std()
    picture = np.clip(np.array(rgb[::-1]) + grain[..., None], 0, 255).astype(np.uint8)
    return cv2.imencode(".png", picture)[1].tobytes()


def _photograph(
    scene: Scene, towards: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, tuple[Segment, ...]]:
    """Return a noisy rendering under a light in this direction, and the masks of the objects that show."""
    k = scene.intrinsics
    assert k is not None
    spec = builder.build_spec(scene)
    lamp, direct = spec.light(builder.MAIN_LIGHT), random.uniform(0.15, 0.5)
    lamp.type, lamp.dir, lamp.pos = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, -towards, 1.5 * towards
    lamp.diffuse, spec.visual.headlight.ambient = [direct] * 3, [0.75 - direct] * 3
    model = spec.compile()
    image = render_model(model, (k.width, k.height))
    masks = {p.segment_id: image.labels == model.body(p.name).id for p in scene.placements}
    segments = tuple(Segment(id, mask, 1.0, "truth") for id, mask in masks.items() if mask.any())
    return np.clip(image.rgb + random.normal(0, 4, image.rgb.shape), 0, 255).astype(np.uint8), segments

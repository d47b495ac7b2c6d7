"""The direction of the main light: found in a photograph with clear shadows, not claimed without them."""

from dataclasses import replace

import drawn_scene as make
import mujoco
import numpy as np
import pytest

from pipeline.scene import scene_files
from pipeline.scene.appearance.light import estimate_light
from pipeline.scene.mjcf import builder
from pipeline.scene.placement import Light
from pipeline.scene.rendering import render_model
from pipeline.segmentation import Segment


def direction(azimuth_deg, elevation_deg):
    azimuth, elevation = np.deg2rad([azimuth_deg, elevation_deg])
    flat = np.cos(elevation) * np.array([np.cos(azimuth), np.sin(azimuth)])
    return np.append(flat, np.sin(elevation))


@pytest.mark.parametrize("azimuth", [20, 140])
def test_a_light_that_casts_shadows_is_found_within_15_degrees(azimuth, tmp_path):
    towards = direction(azimuth, 50)
    scene = make.scene(
        make.placement(make.box(tmp_path), "box", (0.08, 0.02), yaw=0.4),
        make.placement(make.can(tmp_path), "can", (-0.1, 0.06), number=2),
    )
    frame, _, segments = make.photograph(scene)
    spec = builder.build_spec(scene)
    lamp = spec.light(builder.MAIN_LIGHT)
    lamp.type, lamp.dir, lamp.pos = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, -towards, 1.5 * towards
    lamp.diffuse, spec.visual.headlight.ambient = [0.4] * 3, [0.3] * 3
    rgb = render_model(spec.compile(), (make.CAMERA.width, make.CAMERA.height)).rgb
    rgb = np.clip(rgb + np.random.default_rng(0).normal(0, 3, rgb.shape), 0, 255).astype(np.uint8)
    not_in_the_twin = Segment(9, np.zeros(frame.depth.shape, bool), 1.0, "test")
    light = estimate_light(replace(frame, rgb=rgb), (*segments, not_in_the_twin), scene)
    assert light is not None and np.linalg.norm(light.direction) == pytest.approx(1)
    assert np.degrees(np.arccos(light.direction @ towards)) < 15


def test_the_twin_is_lit_from_the_estimated_direction_and_none_is_claimed_under_even_light(photographed, tmp_path):
    scene, frame, segments = photographed
    even = np.clip(130 + np.random.default_rng(1).normal(0, 6, frame.rgb.shape), 0, 255).astype(np.uint8)
    assert estimate_light(replace(frame, rgb=even), segments, scene) is None
    assert estimate_light(frame, (), replace(scene, placements=())) is None
    light = Light(direction(140, 50), 0.2)
    scene_files.write_scene(replace(photographed[0], light=light), tmp_path)
    read = scene_files.read_scene(tmp_path)
    assert read.light is not None
    assert read.light.direction == pytest.approx(light.direction) and read.light.spread == light.spread
    lamp = builder.load_spec(tmp_path / "scene").light(builder.MAIN_LIGHT)
    assert -np.asarray(lamp.dir) == pytest.approx(light.direction, abs=1e-6)

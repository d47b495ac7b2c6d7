"""The direction of the main light: found in a photograph with clear shadows, not claimed without them."""

from dataclasses import replace

import drawn_scene as make
import mujoco
import numpy as np
import pytest

from pipeline.scene import scene_files
from pipeline.scene.appearance.light import estimate_light
from pipeline.scene.mjcf import builder
from pipeline.scene.rendering import render_model
from pipeline.segmentation import Segment


def lit_photograph(folder, towards, diffuse):
    """Return a scene of two objects, and its frame and segments under a directional light of this strength."""
    scene = make.scene(
        make.placement(make.box(folder), "box", (0.08, 0.02), yaw=0.4),
        make.placement(make.can(folder), "can", (-0.1, 0.06), number=2),
    )
    frame, _, segments = make.photograph(scene)
    spec = builder.build_spec(scene)
    lamp = spec.light(builder.MAIN_LIGHT)
    lamp.type, lamp.dir, lamp.pos = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, -towards, 1.5 * towards
    lamp.diffuse, spec.visual.headlight.ambient = [diffuse] * 3, [0.7 - diffuse] * 3
    k = make.CAMERA
    rgb = render_model(spec.compile(), (k.width, k.height)).rgb
    noise = np.random.default_rng(0).normal(0, 3, rgb.shape)
    return scene, replace(frame, rgb=np.clip(rgb + noise, 0, 255).astype(np.uint8)), segments


def direction(azimuth_deg, elevation_deg):
    azimuth, elevation = np.deg2rad([azimuth_deg, elevation_deg])
    flat = np.cos(elevation) * np.array([np.cos(azimuth), np.sin(azimuth)])
    return np.append(flat, np.sin(elevation))


@pytest.mark.parametrize("azimuth", [20, 80, 140])
def test_a_light_that_casts_shadows_is_found_within_15_degrees(azimuth, tmp_path):
    truth = direction(azimuth, 50)
    scene, frame, segments = lit_photograph(tmp_path, truth, 0.4)
    light = estimate_light(frame, segments, scene)
    assert light is not None
    assert np.linalg.norm(light.direction) == pytest.approx(1)
    assert np.degrees(np.arccos(light.direction @ truth)) < 15


def test_no_direction_is_claimed_under_even_light(tmp_path):
    scene, frame, segments = lit_photograph(tmp_path, direction(20, 50), 0.0)
    noise = np.random.default_rng(1).normal(0, 6, frame.rgb.shape)
    even = np.clip(130 + noise, 0, 255).astype(np.uint8)
    assert estimate_light(replace(frame, rgb=even), segments, scene) is None


def test_no_direction_is_claimed_without_objects(tmp_path):
    scene, frame, _ = lit_photograph(tmp_path, direction(20, 50), 0.4)
    assert estimate_light(frame, (), replace(scene, placements=())) is None


def test_the_twin_is_lit_from_the_estimated_direction_and_keeps_it(tmp_path):
    scene, frame, segments = lit_photograph(tmp_path, direction(140, 50), 0.4)
    light = estimate_light(frame, segments, scene)
    assert light is not None
    (tmp_path / "project").mkdir()
    scene_files.write_scene(replace(scene, light=light), tmp_path / "project")
    read = scene_files.read_scene(tmp_path / "project")
    assert read.light is not None
    assert read.light.direction == pytest.approx(light.direction) and read.light.spread == light.spread
    lamp = builder.load_spec(tmp_path / "project" / "scene").light(builder.MAIN_LIGHT)
    assert -np.asarray(lamp.dir) == pytest.approx(light.direction, abs=1e-6)


def test_masks_without_an_object_in_the_twin_are_ignored(tmp_path):
    scene, frame, segments = lit_photograph(tmp_path, direction(20, 50), 0.4)
    extra = Segment(9, np.zeros(frame.depth.shape, bool), 1.0, "test")
    assert estimate_light(frame, (*segments, extra), scene) is not None

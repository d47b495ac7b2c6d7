"""The table's picture: the twin's table looks as in the photograph, and shows no object."""

import io
from dataclasses import replace

import cv2
import drawn_scene as make
import numpy as np
import pytest
from PIL import Image

from pipeline.frame import Observation
from pipeline.geometry import transform
from pipeline.scene import scene_files
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.table_picture import table_picture
from pipeline.scene.rendering import render_twin

QUADRANTS = np.array([[200, 90, 80], [90, 190, 90], [80, 100, 200], [190, 180, 80]], np.uint8)
OBJECT_RGB = (250, 0, 250)


@pytest.fixture
def painted(tmp_path):
    objects = (
        make.placement(make.box(tmp_path), "box", (0.08, 0.02), yaw=0.4, rgb=OBJECT_RGB),
        make.placement(make.can(tmp_path), "can", (-0.1, 0.06), number=2, rgb=OBJECT_RGB),
    )
    scene = make.scene(*objects)
    frame, support, segments = make.photograph(scene)
    k = frame.intrinsics
    rows, columns = np.indices(frame.depth.shape)
    rays = np.stack([(columns - k.cx) / k.fx, (rows - k.cy) / k.fy, np.ones(rows.shape)], -1)
    x, y, z = np.moveaxis(transform(scene.world_from_camera, rays * frame.depth[..., None]), -1, 0)
    low, high = make.TABLE.min(0), make.TABLE.max(0)
    on_table = (x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1]) & (np.abs(z) < 1e-3)
    rgb = np.where(on_table[..., None], QUADRANTS[(x > 0) + 2 * (y > 0)], frame.rgb).astype(np.uint8)
    return scene, Observation(replace(frame, rgb=rgb), replace(support, inliers=on_table)), segments


def with_picture(scene, observation, segments):
    return replace(scene, table_png=table_picture(observation, segments, builder.table_slab(scene)))


def pixels_of(png):
    return np.asarray(Image.open(io.BytesIO(png)))


def hue(rgb):
    return rgb / np.maximum(np.linalg.norm(rgb, axis=-1, keepdims=True), 1)


def test_the_twin_through_the_photographs_camera_shows_the_photographs_table_without_objects(painted, tmp_path):
    scene, observation, segments = painted
    builder.write_mjcf(with_picture(scene, observation, segments), tmp_path / "twin")
    rendered = render_twin(tmp_path / "twin", (make.CAMERA.width, make.CAMERA.height))
    hidden = cv2.dilate(np.any([s.mask for s in segments], axis=0).astype(np.uint8), np.ones((15, 15))) > 0
    table = (rendered.labels == 0) & (rendered.depth > 0) & observation.support.inliers & ~hidden
    likeness = (hue(observation.frame.rgb.astype(float)) * hue(rendered.rgb.astype(float))).sum(-1)
    assert np.mean(likeness[table] > 0.99) > 0.97
    picture = pixels_of(with_picture(scene, observation, segments).table_png).astype(float)
    assert np.min(np.linalg.norm(picture - OBJECT_RGB, axis=-1)) > 60


def test_a_pixel_without_depth_belongs_to_the_table_only_in_a_colour_of_the_table(painted):
    scene, observation, segments = painted
    depth, rgb = observation.frame.depth.copy(), observation.frame.rgb.copy()
    depth[150:210, 60:130] = 0
    same = replace(observation, frame=replace(observation.frame, depth=depth))
    rgb[165:195, 80:110] = (5, 250, 250)
    other = replace(observation, frame=replace(observation.frame, depth=depth, rgb=rgb))
    whole = pixels_of(with_picture(scene, observation, segments).table_png).astype(float)
    without_depth = pixels_of(with_picture(scene, same, segments).table_png).astype(float)
    foreign = pixels_of(with_picture(scene, other, segments).table_png).astype(float)
    assert np.median(np.abs(whole - without_depth)) < 1
    assert np.min(np.linalg.norm(foreign - (5, 250, 250), axis=-1)) > 60


def test_a_shadow_is_not_painted_and_a_scene_written_and_read_keeps_its_picture(painted, tmp_path):
    scene, observation, segments = painted
    rgb = np.full_like(observation.frame.rgb, 180)
    rgb[150:190, 60:120] = 100
    shaded = replace(observation, frame=replace(observation.frame, rgb=rgb))
    picture = pixels_of(with_picture(scene, shaded, segments).table_png)
    assert picture.min() > 150
    everything = replace(segments[0], mask=np.ones_like(segments[0].mask))
    assert table_picture(observation, [everything], builder.table_slab(scene)) is None
    scene = with_picture(*painted)
    project = tmp_path / "project"
    project.mkdir()
    scene_files.write_scene(scene, project)
    assert scene_files.read_scene(project).table_png == scene.table_png
    scene_files.write_scene(replace(scene_files.read_scene(project), table_png=None), project)
    assert scene_files.read_scene(project).table_png is None

"""The support found in rendered frames, where the table is known, and in real ones."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.frame import FrameError, SupportError, find_support
from pipeline.geometry import transform
from tests.frame.rendered import render

EYES = [(0, -0.6, 0.5), (0.3, -0.7, 0.35), (0, -0.15, 0.8), (-0.4, -0.5, 0.6)]


@pytest.mark.parametrize("eye", EYES)
def test_the_world_frame_lies_on_the_table_to_a_fifth_of_a_degree_and_a_millimetre(eye):
    scene = render(eye=eye)
    support = find_support(scene.frame)
    normal = scene.world_from_camera[:3, :3] @ support.plane.normal
    assert np.degrees(np.arccos(min(1, normal[2]))) < 0.2
    assert abs(support.plane.offset - eye[2]) < 0.001  # the camera's height above the table
    points = transform(support.world_from_camera, scene.frame.points[support.inliers].astype(float))
    assert abs(np.median(points[:, 2])) < 0.001
    assert np.allclose(support.world_from_camera[:3, :3] @ support.world_from_camera[:3, :3].T, np.eye(3), atol=1e-9)
    assert abs(support.world_from_camera[2, 0]) < 1e-9 or abs(support.plane.normal[0]) > 0  # x is the camera's right
    assert transform(support.world_from_camera, np.array([0.1, 0, 0]))[0] > support.world_from_camera[0, 3]
    x, y = support.polygon.T
    assert (x @ np.roll(y, -1) - y @ np.roll(x, -1)) > 0  # anticlockwise
    assert x.min() < 0 < x.max() and y.min() < 0 < y.max()


def test_the_outline_ends_where_the_table_ends_and_a_small_table_is_preferred_to_the_floor():
    support = find_support(render("", eye=(0, -0.9, 0.9)).frame)
    extent = np.ptp(support.polygon, axis=0)
    assert abs(extent[0] - 1.0) < 0.03 and abs(extent[1] - 0.7) < 0.03
    scene = render('<geom name="cup" type="cylinder" size=".03 .05" pos=".05 0 .05"/>', eye=(0, -1.1, 1.2))
    assert abs(find_support(scene.frame).plane.offset - 1.2) < 0.005


def test_the_same_frame_gives_the_same_support_also_upside_down():
    frame = render().frame
    assert np.array_equal(find_support(frame).world_from_camera, find_support(replace(frame)).world_from_camera)
    turned = replace(frame, rgb=frame.rgb[::-1, ::-1].copy(), depth=frame.depth[::-1, ::-1].copy())
    upright, inverted = find_support(frame), find_support(turned)
    assert abs(inverted.plane.offset - upright.plane.offset) < 0.002
    assert np.mean(inverted.inliers[::-1, ::-1] == upright.inliers) > 0.97


def test_a_camera_pose_is_kept_or_corrected_and_a_frame_without_a_table_is_refused():
    scene = render()
    pose = scene.world_from_camera.copy()
    pose[2, 3] += 0.04
    support = find_support(replace(scene.frame, world_from_camera=pose))
    assert np.allclose(support.world_from_camera, scene.world_from_camera, atol=0.004) and support.notes == ()
    scene = render()
    pose = scene.world_from_camera.copy()
    pose[2, 3] += 0.7
    support = find_support(replace(scene.frame, world_from_camera=pose))
    assert abs(support.world_from_camera[2, 3] - 0.5) < 0.005 and "0.7" in support.notes[0]
    frame = render().frame
    wavy = 1 + 0.4 * np.random.default_rng(0).random(frame.depth.shape)
    with pytest.raises(SupportError, match="No flat surface"):
        find_support(replace(frame, depth=wavy.astype(np.float32)))
    assert issubclass(SupportError, FrameError)


BIN = """<geom type="box" size=".3 .22 .01" pos="0 0 .05"/>
<geom name="cube" type="box" size=".03 .03 .03" pos="0 0 .09"/>
<geom type="box" size=".005 .22 .1" pos=".3 0 .1"/><geom type="box" size=".005 .22 .1" pos="-.3 0 .1"/>
<geom type="box" size=".3 .005 .1" pos="0 .22 .1"/><geom type="box" size=".3 .005 .1" pos="0 -.22 .1"/>"""


@pytest.mark.parametrize("eye", [(0, -0.05, 0.75), (0.1, -0.2, 0.7), (0, -0.02, 0.55)])
def test_the_support_in_a_bin_is_its_floor(eye):
    assert abs(find_support(render(BIN, eye=eye).frame).plane.offset - (eye[2] - 0.06)) < 0.004

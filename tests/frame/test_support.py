"""The support found in rendered frames, depth that is aligned with its colour, and results kept once per frame."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import cv2
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from pipeline.frame import Frame, FrameError, Intrinsics, Support, SupportError, find_support, offered_grounds
from pipeline.frame.depth_alignment import _improves_most_cells, register_depth
from pipeline.frame.depth_values import flying_pixels
from pipeline.frame.formats.recording import Recording
from pipeline.frame.once_per_frame import once_per_frame
from pipeline.frame.surfaces import local_points, surface_under
from pipeline.geometry import transform
from tests.frame.rendered import Rendered, render

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
    assert transform(support.world_from_camera, np.array([0.1, 0, 0]))[0] > support.world_from_camera[0, 3]
    x, y = support.polygon.T
    assert (x @ np.roll(y, -1) - y @ np.roll(x, -1)) > 0  # anticlockwise
    assert x.min() < 0 < x.max() and y.min() < 0 < y.max()


BIN = """<geom type="box" size=".3 .22 .01" pos="0 0 .05"/>
<geom name="cube" type="box" size=".03 .03 .03" pos="0 0 .09"/>
<geom type="box" size=".005 .22 .1" pos=".3 0 .1"/><geom type="box" size=".005 .22 .1" pos="-.3 0 .1"/>
<geom type="box" size=".3 .005 .1" pos="0 .22 .1"/><geom type="box" size=".3 .005 .1" pos="0 -.22 .1"/>"""


def test_the_outline_ends_where_the_table_ends_and_a_small_table_or_a_bins_floor_is_preferred_to_the_floor():
    support = find_support(render("", eye=(0, -0.9, 0.9)).frame)
    extent = np.ptp(support.polygon, axis=0)
    assert abs(extent[0] - 1.0) < 0.03 and abs(extent[1] - 0.7) < 0.03
    scene = render('<geom name="cup" type="cylinder" size=".03 .05" pos=".05 0 .05"/>', eye=(0, -1.1, 1.2))
    assert abs(find_support(scene.frame).plane.offset - 1.2) < 0.005
    for eye in ((0, -0.05, 0.75), (0.1, -0.2, 0.7), (0, -0.02, 0.55)):
        assert abs(find_support(render(BIN, eye=eye).frame).plane.offset - (eye[2] - 0.06)) < 0.004


def test_one_frame_gives_one_support_also_upside_down_and_a_camera_pose_is_kept_or_corrected_or_refused():
    scene = render()
    frame = scene.frame
    assert np.array_equal(find_support(frame).world_from_camera, find_support(replace(frame)).world_from_camera)
    turned = replace(frame, rgb=frame.rgb[::-1, ::-1].copy(), depth=frame.depth[::-1, ::-1].copy())
    upright, inverted = find_support(frame), find_support(turned)
    assert abs(inverted.plane.offset - upright.plane.offset) < 0.002
    assert np.mean(inverted.inliers[::-1, ::-1] == upright.inliers) > 0.97
    for higher, note in ((0.04, ""), (0.7, "0.7")):
        (pose := scene.world_from_camera.copy())[2, 3] += higher
        support = find_support(replace(frame, world_from_camera=pose))
        assert abs(support.world_from_camera[2, 3] - 0.5) < 0.005 and note in "".join(support.notes)
        assert bool(note) == bool(support.notes)
        assert note or np.allclose(support.world_from_camera, scene.world_from_camera, atol=0.004)
    wavy = 1 + 0.4 * np.random.default_rng(0).random(frame.depth.shape)
    with pytest.raises(FrameError, match="No flat surface"):
        find_support(replace(frame, depth=wavy.astype(np.float32)))


def together(scene: Rendered, *points: tuple[float, float, float]) -> Support:
    """Return the support where the surfaces at these world points were chosen together."""
    first, *others = (scene.pixel(*point) for point in points)
    return find_support(replace(scene.frame, ground_pixel=first, also_ground_pixels=tuple(others)))


ON_TABLE = (0.0, -0.25, 0.0)


@pytest.mark.parametrize("size, pos, near, extent, tall", [
    (".3 .35 .06", ".82 0 .06", (0.9, -0.2, 0.12), (0.7, 0.6), ".45 -.2"),
    (".35 .12 .01", "0 .22 .24", (0.0, 0.14, 0.25), (0.7, 0.24), "-.15 .03"),
    (".15 .14 .075", ".3 .1 .075", (0.3, 0.0, 0.15), (0.3, 0.28), ".2 -.09"),
])  # fmt: skip
def test_of_surfaces_chosen_together_the_lowest_is_the_table_and_one_above_is_its_shelf(size, pos, near, extent, tall):
    board = f'<geom name="board" type="box" size="{size}" pos="{pos}"/>'
    beside = f'<geom name="tall" type="box" size=".03 .03 .15" pos="{tall} .15"/>'
    scene = render(board + beside, eye=(near[0] / 2, -0.85, 0.85), at=(near[0] / 2, 0, 0.05), width=640)
    for points in ((ON_TABLE, near, near), (near, ON_TABLE)):
        support = together(scene, *points)
        (shelf,) = support.shelves
        assert abs(support.plane.offset - 0.85) < 0.002 and support.height == 0 and not support.notes
        assert shelf.height == pytest.approx(near[2], abs=0.002)
        assert sorted(cv2.minAreaRect(shelf.polygon.astype(np.float32))[1]) == pytest.approx(sorted(extent), abs=0.03)
        local = local_points(support, scene.frame.points, 1)
        heights = local.points[..., 2]
        assert abs(np.median(heights[shelf.inliers])) < 0.001 and set(local.surface[shelf.inliers]) == {1}
        assert np.mean(heights[scene.labels["board"]] < 0.015) > 0.98, "neither top nor front stands on anything"
        assert surface_under(scene.frame, support, scene.labels["tall"]) is support
        assert surface_under(scene.frame, support, scene.labels["board"]) is shelf


def test_level_surfaces_are_one_table_and_one_that_leans_is_refused():
    objects = "".join(f'<geom type="box" size=".03 .03 .03" pos="{x} 0 .03"/>' for x in (0.2, 0.8, 0.95))
    level = '<geom type="box" size=".3 .35 .02" pos=".92 0 -.02"/>' + objects
    scene = render(level, eye=(0.45, -0.95, 0.75), at=(0.5, 0, 0.05))
    alone, both = together(scene, (0.1, -0.2, 0)), together(scene, (0.1, -0.2, 0), (0.85, -0.2, 0))
    assert not alone.notes and both.notes and "is as high as the table" in both.notes[0] and not both.shelves
    assert np.ptp(both.polygon[:, 0]) > np.ptp(alone.polygon[:, 0]) + 0.3
    assert both.inliers.sum() > 1.3 * alone.inliers.sum() and not (alone.inliers & ~both.inliers).any()
    assert [one.parallel and not one.is_likely for one in offered_grounds(scene.frame)] == [False, True]
    leaning = '<geom type="box" size=".2 .2 .01" pos=".25 .1 .12" euler="0 18 0"/>'
    with pytest.raises(SupportError, match=r"leans 18 degrees against the first; .* Leave it out"):
        together(render(leaning, eye=(0, -0.75, 0.8)), (-0.2, -0.2, 0), (0.25, 0.05, 0.13))


def table(shift: int = 0) -> Frame:
    """Return a frame of eighteen boxes on a table, with depth shifted by `shift` pixels."""
    rng = np.random.default_rng(0)
    rgb, depth = np.full((480, 640, 3), 120, np.uint8), np.full((480, 640), 1.0, np.float32)
    for x in range(60, 600, 100):
        for y in range(60, 360, 120):
            rgb[y : y + 50, x : x + 50], depth[y : y + 50, x : x + 50] = int(rng.choice([60, 75, 170, 190])), 0.9
    rgb = np.clip(rgb + rng.normal(0, 6, rgb.shape), 0, 255).astype(np.uint8)
    return Frame(rgb, np.roll(depth, shift, axis=1), Intrinsics(640, 480, 600.0, 600.0, 320.0, 240.0))


def test_shifted_and_scaled_depth_is_aligned_and_aligned_depth_is_not_changed():
    frame, zoom = render(width=640, noise=0.5).frame, 1.02
    warp = np.column_stack([np.eye(2) * zoom, [-5, 2] + np.array([320, 240]) * (1 - zoom)])
    off = cv2.warpAffine(frame.depth, warp, (640, 480), flags=cv2.INTER_NEAREST)
    aligned = register_depth(replace(frame, depth=off))
    depths = off, aligned.depth
    wrong, left = (np.count_nonzero(np.abs(depth - frame.depth)[60:-60, 60:-60] > 0.05) for depth in depths)
    assert aligned.notes and left < 0.35 * wrong
    frame, inner = table(), np.s_[20:-20, 20:-20]
    assert register_depth(frame) is frame
    for shift in (-6, -5, 5, 6):
        moved = register_depth(table(shift))
        assert moved.notes and "moved by" in moved.notes[-1]
        assert (np.abs(moved.depth - frame.depth)[inner] > 0.01).mean() < 0.012


@pytest.mark.parametrize("improved_cells, expected", [(2, False), (3, False), (4, True), (6, True)])
def test_a_shift_must_improve_more_than_half_of_the_image_cells(improved_cells, expected):
    """The long edge of a table along a plank's seam must not outweigh the objects on it."""
    edges, points = np.zeros((60, 60, 2), np.float32), []
    for cell in range(6):
        improves = cell < improved_cells
        points += [(cell * 10 + 3, row) for row in np.repeat(np.arange(0, 10), 8 if improves else 2)]
        edges[:10, cell * 10 + (6 if improves else 3), 0] = 9.0 if improves else 1.0
    places, normals = np.array(points, float), np.tile([1.0, 0.0], (len(points), 1))
    assert _improves_most_cells(edges, places, places + np.array([3.0, 0.0]), normals) is expected


def step(near: float, far: float) -> np.ndarray:
    return np.where(np.arange(30) < 15, near, far)[None].repeat(20, axis=0).astype(np.float32)


def test_only_pixels_beside_a_depth_edge_are_flying():
    flying = flying_pixels(step(0.8, 1.0), 600.0)
    assert flying[:, 14:16].all() and flying.sum() == 2 * 20
    slope = np.linspace(0.8, 1.0, 30)[None].repeat(20, axis=0)
    noisy = slope + np.random.default_rng(0).normal(0, 0.0005, slope.shape)
    assert not flying_pixels(noisy.astype(np.float32), 600.0).any()
    assert not flying_pixels(step(0.8, 0.0), 600.0).any()


def test_threads_that_ask_together_share_one_result_and_an_error_is_not_kept():
    computed: list[Frame] = []
    together = threading.Barrier(4, timeout=60)

    @once_per_frame
    def measure(frame: Frame) -> object:
        computed.append(frame)
        if len(computed) == 1:
            raise ValueError("no table")
        return object()

    def ask(frame: Frame) -> object:
        together.wait()
        return measure(frame)

    frame = Frame(np.zeros((4, 6, 3), np.uint8), np.ones((4, 6), np.float32), Intrinsics(6, 4, 5, 5, 3, 2))
    with pytest.raises(ValueError, match="no table"):
        measure(frame)
    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(ask, [frame] * 4))) == 1
    assert computed == [frame, frame] and measure(replace(frame)) is not measure(frame)
    with pytest.raises(FrameError, match="made no frame of a: its depth holds numbers below 0"):
        Recording("plug-in's format", ("a",), lambda _: replace(frame, depth=-frame.depth)).frame()


def test_depth_of_a_larger_frame_is_moved_by_its_own_pixels():
    double = lambda picture: cv2.resize(picture, (1280, 960), interpolation=cv2.INTER_NEAREST)  # noqa: E731
    frame, k = table(5), Intrinsics(1280, 960, 1200.0, 1200.0, 640.0, 480.0)
    moved = register_depth(Frame(double(frame.rgb), double(frame.depth), k))
    assert (np.abs(moved.depth - double(table().depth))[40:-40, 40:-40] > 0.01).mean() < 0.012


def test_the_ground_is_the_same_to_the_last_bit_on_any_number_of_threads():
    frame, found = render(width=640, noise=0.5).frame, set()
    for count in (1, 2, 4):
        with threadpool_limits(count, "blas"):
            found.add(find_support(replace(frame, notes=(str(count),))).world_from_camera.tobytes())
    assert len(found) == 1

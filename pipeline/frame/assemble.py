"""Build a frame from colour, depth in its own numbers and a camera: the last step of every reader."""

import numpy as np

from pipeline.errors import without_folders
from pipeline.frame.camera import CameraFile, doubt_intrinsics
from pipeline.frame.depth_unit import choose_unit, doubt_unit
from pipeline.frame.depth_values import read_values, remove_unknown
from pipeline.frame.frame import Doubt, Frame, FrameError, Intrinsics
from pipeline.frame.image_files import check_pixel_count
from pipeline.frame.registration import (
    TURNS,
    doubt_registration,
    find_registration,
    measure_agreement,
)
from pipeline.frame.reprojection import reproject


def assemble_frame(
    rgb: np.ndarray, raw_depth: np.ndarray, camera: CameraFile, source: str, notes: tuple[str, ...] = ()
) -> Frame:
    """Return the frame of colour (H, W, 3), uint8, depth in its own numbers (H, W), integer or float, and a camera.

    Depth of a separate depth camera is reprojected to colour's pixels. Depth that is turned is turned back; numbers
    that are no distance are converted, unless the camera file says that the frame was examined. Each guess becomes a
    note. Raises FrameError.
    """
    check_pixel_count(rgb.shape[1], rgb.shape[0], source)
    check_pixel_count(raw_depth.shape[1], raw_depth.shape[0], source)
    k, depth_camera, agreement = camera.intrinsics, camera.depth_intrinsics, None
    notes = camera.notes + notes
    if depth_camera is None and camera.doubts is None:
        raw_depth, agreement, turn_notes = _turned_to_fit(rgb, raw_depth)
        notes += turn_notes
    _check_sizes(rgb, raw_depth, camera)
    depth, scale_notes, doubts = _depth_in_metres(raw_depth, depth_camera or k, camera, source)
    notes += scale_notes
    if depth_camera is not None and camera.color_from_depth is not None:
        depth = reproject(depth, depth_camera, k, camera.color_from_depth)
        notes += ("Depth was moved from its own camera's pixels to the colour camera's.",)
    if not depth.any():
        raise FrameError("No depth lies in the colour camera's view; is color_from_depth inverted?")
    if camera.intrinsics_guessed:
        median = float(np.median(depth[depth > 0]))
        width = k.width / k.fx * median
        notes += (f"So the picture would be {width:.2f} m wide at its middle distance of {median:.2f} m: check.",)
    if camera.doubts is None:
        agreement = agreement if depth_camera is None else measure_agreement(rgb, depth)
        found = (doubt_registration(agreement), doubt_intrinsics(k), *doubts)
        doubts = tuple(doubt for doubt in found if doubt)
        notes += tuple(doubt.note for doubt in doubts)
    source = without_folders(camera.source or source)
    return Frame(rgb, depth, k, camera.world_from_camera, source, notes, doubts=doubts)


def _turned_to_fit(rgb: np.ndarray, raw_depth: np.ndarray) -> tuple[np.ndarray, float | None, tuple[str, ...]]:
    """Return depth (H, W), flipped or turned if only so it fits colour (H, W, 3), their agreement, and notes."""
    if rgb.shape[:2] not in (raw_depth.shape, raw_depth.shape[::-1]):
        return raw_depth, None, ()
    found = find_registration(rgb, remove_unknown(raw_depth)[0])
    if found.turn is None:
        return raw_depth, found.agreement, ()
    turned = np.ascontiguousarray(TURNS[found.turn](raw_depth))
    return turned, found.agreement, (f"Depth was {found.turn} to fit the colour.",)


def _check_sizes(rgb: np.ndarray, raw_depth: np.ndarray, camera: CameraFile) -> None:
    """Raise FrameError if colour, depth and camera are of different sizes."""
    k, depth_camera = camera.intrinsics, camera.depth_intrinsics
    depth_size = (depth_camera.width, depth_camera.height) if depth_camera else raw_depth.shape[::-1]
    sizes = {"colour": rgb.shape[1::-1], "depth": raw_depth.shape[::-1], "camera": (k.width, k.height)}
    listed = ", ".join(f"{name} {w} x {h}" for name, (w, h) in sizes.items())
    if depth_camera and raw_depth.shape[::-1] != depth_size:
        raise FrameError(
            f"Sizes disagree: {listed}; camera.json says that depth is {depth_camera.width} x {depth_camera.height}."
        )
    if len({sizes["colour"], sizes["camera"], sizes["colour"] if depth_camera else sizes["depth"]}) > 1:
        raise FrameError(
            f"Sizes disagree: {listed}. Depth must be registered to colour, and camera.json to both; "
            'or camera.json gives "depth" and "color_from_depth".'
        )


def _depth_in_metres(
    raw_depth: np.ndarray, k: Intrinsics, camera: CameraFile, source: str
) -> tuple[np.ndarray, tuple[str, ...], tuple[Doubt, ...]]:
    """Return depth (H, W) in metres, float32, 0 where unknown, a note for each guess, and doubts. Raises FrameError."""
    scale, is_integer = camera.depth_scale, not np.issubdtype(raw_depth.dtype, np.floating)
    notes, doubts, values = (), camera.doubts or (), np.where(np.isfinite(raw_depth) & (raw_depth > 0), raw_depth, 0)
    if values.any() and camera.doubts is None:
        read = read_values(raw_depth, k, scale is not None, source)
        values, notes, scale = read.values, read.notes, 1.0 if read.in_metres else scale
        doubts = (read.doubt,) if read.doubt else ()
    if not values.any():
        raise FrameError("Depth is zero everywhere: no distance is known. Was the depth stream switched on?")
    if scale is None:
        choice = choose_unit(values, k, is_integer)
        scale, notes = choice.metres, (*notes, choice.note) if choice.note else notes
        doubts += (choice.doubt,) if choice.doubt else ()
    median = float(np.median(values[values > 0])) * scale
    # Range in metres of a frame's median depth
    if not 0.02 <= median <= 50.0:
        raise FrameError(
            f"depth_scale {scale:g} puts the median depth at {median:.3g} m; it is metres per unit, "
            "0.001 for millimetres."
        )
    if camera.depth_scale is not None and camera.doubts is None and scale == camera.depth_scale:
        doubt = doubt_unit(values, k, scale, is_integer)
        doubts += (doubt,) if doubt else ()
    depth = (values * np.float64(scale)).astype(np.float32)
    return np.where(np.isfinite(depth), depth, 0), notes, doubts

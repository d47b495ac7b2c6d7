"""Build a frame from colour, depth in its own units and a camera: the last step of every reader."""

import numpy as np

from pipeline.errors import without_folders
from pipeline.frame.camera import CameraFile, guess_depth_scale
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import check_pixel_count
from pipeline.frame.reprojection import reproject

MIN_MEDIAN_DEPTH, MAX_MEDIAN_DEPTH = 0.02, 50.0
"""Range in metres of a frame's median depth."""


def assemble_frame(rgb: np.ndarray, raw_depth: np.ndarray, camera: CameraFile, source: str) -> Frame:
    """Return the frame of colour (H, W, 3), uint8, depth in its own units (H, W), integer or float, and a camera.

    Depth of a separate depth camera is reprojected to colour's pixels. Raises FrameError.
    """
    check_pixel_count(rgb.shape[1], rgb.shape[0], source)
    check_pixel_count(raw_depth.shape[1], raw_depth.shape[0], source)
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
    depth, notes = depth_in_metres(raw_depth, camera.depth_scale)
    notes = camera.notes + notes
    if depth_camera is not None and camera.color_from_depth is not None:
        depth = reproject(depth, depth_camera, k, camera.color_from_depth)
        notes += ("Depth was moved from its own camera's pixels to the colour camera's.",)
    if not depth.any():
        raise FrameError("No depth lies in the colour camera's view; is color_from_depth inverted?")
    if camera.intrinsics_guessed:
        median = float(np.median(depth[depth > 0]))
        width = k.width / k.fx * median
        notes += (f"So the picture would be {width:.2f} m wide at its middle distance of {median:.2f} m: check.",)
    return Frame(rgb, depth, k, camera.world_from_camera, without_folders(camera.source or source), notes)


def depth_in_metres(raw_depth: np.ndarray, scale: float | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return depth (H, W) in metres, float32, 0 where unknown, and one note for each guess.

    `scale` is metres per unit; None to guess it. Raises FrameError.
    """
    raw_depth = np.where(np.isfinite(raw_depth) & (raw_depth > 0), raw_depth, 0)
    if not raw_depth.any():
        raise FrameError("Depth is zero everywhere: no distance is known. Was the depth stream switched on?")
    median, notes = float(np.median(raw_depth[raw_depth > 0])), ()
    if scale is None:
        is_integer = not np.issubdtype(raw_depth.dtype, np.floating)
        scale = guess_depth_scale(median, is_integer)
        if is_integer or scale != 1:
            notes = (f"No depth_scale given: one unit of depth was taken as {scale * 1000:g} mm.",)
    if not MIN_MEDIAN_DEPTH <= median * scale <= MAX_MEDIAN_DEPTH:
        raise FrameError(
            f"depth_scale {scale:g} puts the median depth at {median * scale:.3g} m; it is metres per unit, "
            "0.001 for millimetres."
        )
    depth = (raw_depth * np.float64(scale)).astype(np.float32)
    return np.where(np.isfinite(depth), depth, 0), notes

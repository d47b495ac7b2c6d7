"""Colour, depth in its own units and a camera, put together: the last step of every reader."""

import numpy as np

from pipeline.frame.camera import Camera, guess_unit
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.reprojection import reproject

NEAREST, FARTHEST = 0.02, 50.0
"""Metres between which the middle of a picture may lie."""


def assemble(rgb: np.ndarray, units: np.ndarray, camera: Camera, source: str) -> Frame:
    """A frame of colour (H, W, 3) uint8, depth in its own units (H, W), whole or float, and a camera.

    Depth that the camera says was seen by another lens is moved to colour's pixels. Raises FrameError.
    """
    k, own = camera.intrinsics, camera.depth
    depth_camera = (own.width, own.height) if own else units.shape[::-1]
    sizes = {"colour": rgb.shape[1::-1], "depth": units.shape[::-1], "camera": (k.width, k.height)}
    told = ", ".join(f"{name} {w} x {h}" for name, (w, h) in sizes.items())
    if own and units.shape[::-1] != depth_camera:
        raise FrameError(f"Sizes disagree: {told}; camera.json says that depth is {own.width} x {own.height}.")
    if len({sizes["colour"], sizes["camera"], sizes["colour"] if own else sizes["depth"]}) > 1:
        raise FrameError(
            f"Sizes disagree: {told}. Depth must be registered to colour, and camera.json to both; "
            'or camera.json gives "depth" and "color_from_depth".'
        )
    depth, notes = metres(units, camera.depth_scale)
    notes = camera.notes + notes
    if own is not None and camera.color_from_depth is not None:
        depth = reproject(depth, own, k, camera.color_from_depth)
        notes += ("Depth was moved from its own camera's pixels to the colour camera's.",)
    if not depth.any():
        raise FrameError("No depth lies where the colour camera looks; is color_from_depth the other way round?")
    if camera.guessed:
        middle = float(np.median(depth[depth > 0]))
        wide = k.width / k.fx * middle
        notes += (f"So the picture would be {wide:.2f} m wide at its middle distance of {middle:.2f} m: check.",)
    return Frame(rgb, depth, k, camera.world_from_camera, camera.source or source, notes)


def metres(units: np.ndarray, scale: float | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Depth (H, W) in metres, float32, 0 where unknown, and what had to be guessed, a sentence each.

    `scale` is metres per unit, None where nobody says. Raises FrameError.
    """
    units = np.where(np.isfinite(units) & (units > 0), units, 0)
    if not units.any():
        raise FrameError("Depth is zero everywhere: no distance is known. Was the depth stream switched on?")
    median, notes = float(np.median(units[units > 0])), ()
    if scale is None:
        whole = not np.issubdtype(units.dtype, np.floating)
        scale = guess_unit(median, whole)
        if whole or scale != 1:
            notes = (f"No depth_scale given: one unit of depth was taken as {scale * 1000:g} mm.",)
    if not NEAREST <= median * scale <= FARTHEST:
        raise FrameError(
            f"depth_scale {scale:g} puts the middle of the picture {median * scale:.3g} m away; it is metres per unit, "
            "0.001 for millimetres."
        )
    depth = (units * np.float64(scale)).astype(np.float32)
    return np.where(np.isfinite(depth), depth, 0), notes

"""BOP scene folders: rgb/, depth/ and scene_camera.json.

https://github.com/thodan/bop_toolkit/blob/master/docs/bop_datasets_format.md
"""

import json
from typing import Any

import numpy as np

from pipeline.frame.camera import Camera, camera_of
from pipeline.frame.formats.bundle import Bundle
from pipeline.frame.formats.depths import SUFFIXES
from pipeline.frame.formats.intrinsics import focal_and_centre
from pipeline.frame.formats.pairs import COLOUR_SUFFIXES, in_order, key_of, pictures, read_pair
from pipeline.frame.formats.poses import inverted, upright
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.images import read_rgb

CAMERAS = "scene_camera.json"
MILLIMETRE = 0.001


def open_bop(bundle: Bundle) -> Recording | None:
    """The scene, where scene_camera.json lies beside its pictures. Raises FrameError."""
    if CAMERAS not in bundle.top:
        return None
    cameras = parse(bundle)
    colour, depth = (
        {key_of(name): name for folder in folders for name in pictures(bundle, folder, suffixes)}
        for folders, suffixes in ((("gray", "rgb"), COLOUR_SUFFIXES), (("depth",), SUFFIXES))
    )
    keys = sorted((key for key in cameras if key in colour and key in depth), key=in_order)
    if not keys:
        raise FrameError(f"{bundle.name}: no picture in rgb/ and depth/ has the number of an entry of {CAMERAS}.")

    def read(index: int) -> Frame:
        key = keys[index]
        height, width = read_rgb(bundle.read(colour[key]), colour[key]).shape[:2]
        told = f"{CAMERAS}, entry {key}"
        return read_pair(bundle, colour[key], depth[key], camera(cameras[key], width, height, told))

    return Recording("BOP scene", tuple(colour[key] for key in keys), read)


def parse(bundle: Bundle) -> dict[str, Any]:
    """Entries by picture number. Raises FrameError."""
    try:
        data = json.loads(bundle.read(CAMERAS).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"{CAMERAS} is not JSON ({error}).") from None
    if not isinstance(data, dict) or not all(isinstance(entry, dict) for entry in data.values()):
        raise FrameError(f'{CAMERAS} should hold {{"0": {{"cam_K": 9 numbers, "depth_scale": mm per unit}}, ...}}.')
    return data


def camera(entry: dict[str, Any], width: int, height: int, name: str) -> Camera:
    """One picture's camera; BOP's depth_scale is millimetres per unit, its shifts are millimetres.

    Raises FrameError.
    """
    focal = focal_and_centre(entry.get("cam_K"), name)
    millimetres = entry.get("depth_scale", 1.0)
    if not isinstance(millimetres, (int, float)) or not 0 < millimetres < 1e6:
        raise FrameError(f"{name}: depth_scale is {str(millimetres)[:40]!r}; it is millimetres per unit, 1 or 0.1.")
    known = camera_of({"width": width, "height": height, "depth_scale": millimetres * MILLIMETRE} | focal, name)
    if "cam_R_w2c" not in entry or "cam_t_w2c" not in entry:
        return known
    try:
        camera_from_world = np.eye(4)
        camera_from_world[:3, :3] = np.asarray(entry["cam_R_w2c"], float).reshape(3, 3)
        camera_from_world[:3, 3] = np.asarray(entry["cam_t_w2c"], float).reshape(3) * MILLIMETRE
    except (ValueError, TypeError, OverflowError):
        raise FrameError(f"{name}: cam_R_w2c should be 9 numbers and cam_t_w2c 3.") from None
    pose, notes = upright(inverted(camera_from_world))
    return Camera(known.intrinsics, known.depth_scale, pose, notes=notes)

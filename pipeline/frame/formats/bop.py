"""Read BOP scene folders: rgb/, depth/ and scene_camera.json.

https://github.com/thodan/bop_toolkit/blob/master/docs/bop_datasets_format.md
"""

from functools import partial
from typing import Any

import numpy as np

from pipeline.frame.camera import CameraFile, camera_from_json
from pipeline.frame.formats.archive import FileBundle
from pipeline.frame.formats.depth_images import DEPTH_SUFFIXES
from pipeline.frame.formats.intrinsics import intrinsics_from_matrix, invert_pose, upright_pose
from pipeline.frame.formats.poses import valid_poses
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.rgbd_pairs import (
    COLOUR_SUFFIXES,
    images_in,
    numeric_sort_key,
    pair_key,
    read_colours,
    read_pair,
)
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import read_rgb
from pipeline.store import parse_json

CAMERA_FILE_NAME = "scene_camera.json"
MILLIMETRE = 0.001


def open_bop(bundle: FileBundle) -> Recording | None:
    """Open a folder that holds scene_camera.json; None for another. Raises FrameError."""
    if CAMERA_FILE_NAME not in bundle.top_level_files:
        return None
    entries = _read_camera_entries(bundle)
    colour, depth = (
        {pair_key(name): name for folder in folders for name in images_in(bundle, folder, suffixes)}
        for folders, suffixes in ((("gray", "rgb"), COLOUR_SUFFIXES), (("depth",), DEPTH_SUFFIXES))
    )
    keys = sorted((key for key in entries if key in colour and key in depth), key=numeric_sort_key)
    if not keys:
        raise FrameError(
            f"{bundle.name}: no image in rgb/ and depth/ has the number of an entry of {CAMERA_FILE_NAME}."
        )

    def read(index: int) -> Frame:
        key = keys[index]
        height, width = read_rgb(bundle.read(colour[key]), colour[key]).shape[:2]
        label = f"{CAMERA_FILE_NAME}, entry {key}"
        return read_pair(bundle, colour[key], depth[key], _camera_from_entry(entries[key], width, height, label))

    poses = valid_poses(_pose_from_entry(entries[key], f"{CAMERA_FILE_NAME}, entry {key}") for key in keys)
    names = tuple(colour[key] for key in keys)
    return Recording("BOP scene", names, read, poses=poses, colours=partial(read_colours, bundle, names))


def _read_camera_entries(bundle: FileBundle) -> dict[str, Any]:
    """Return the entries of scene_camera.json by image number. Raises FrameError."""
    try:
        data = parse_json(bundle.read(CAMERA_FILE_NAME))
    except ValueError as error:
        raise FrameError(f"{CAMERA_FILE_NAME} is not JSON ({error}).") from None
    if not isinstance(data, dict) or not all(isinstance(entry, dict) for entry in data.values()):
        raise FrameError(
            f'{CAMERA_FILE_NAME} should hold {{"0": {{"cam_K": 9 numbers, "depth_scale": mm per unit}}, ...}}.'
        )
    return data


def _camera_from_entry(entry: dict[str, Any], width: int, height: int, name: str) -> CameraFile:
    """Return one image's camera. BOP gives depth_scale in millimetres per unit and translations in millimetres.

    Raises FrameError.
    """
    intrinsics = intrinsics_from_matrix(entry.get("cam_K"), name)
    millimetres = entry.get("depth_scale", 1.0)
    if not isinstance(millimetres, (int, float)) or not 0 < millimetres < 1e6:
        raise FrameError(f"{name}: depth_scale is {str(millimetres)[:40]!r}; it is millimetres per unit, 1 or 0.1.")
    camera = camera_from_json(
        {"width": width, "height": height, "depth_scale": millimetres * MILLIMETRE} | intrinsics, name
    )
    world_from_camera = _pose_from_entry(entry, name)
    if world_from_camera is None:
        return camera
    pose, notes = upright_pose(world_from_camera)
    return CameraFile(camera.intrinsics, camera.depth_scale, pose, notes=notes)


def _pose_from_entry(entry: dict[str, Any], name: str) -> np.ndarray | None:
    """Return one image's camera in the world, of shape (4, 4); None if it is not given. Raises FrameError."""
    if "cam_R_w2c" not in entry or "cam_t_w2c" not in entry:
        return None
    try:
        camera_from_world = np.eye(4)
        camera_from_world[:3, :3] = np.asarray(entry["cam_R_w2c"], float).reshape(3, 3)
        camera_from_world[:3, 3] = np.asarray(entry["cam_t_w2c"], float).reshape(3) * MILLIMETRE
    except (ValueError, TypeError, OverflowError):
        raise FrameError(f"{name}: cam_R_w2c should be 9 numbers and cam_t_w2c 3.") from None
    return invert_pose(camera_from_world)

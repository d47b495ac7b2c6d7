"""Read numpy files: one array (.npy) or a frame of named arrays (.npz). Pickled objects are never loaded."""

from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import CameraFile, camera_from_json
from pipeline.frame.formats.archive import MAX_FILE_BYTES, FileBundle, open_zip
from pipeline.frame.formats.intrinsics import (
    MATRIX_KEYS,
    camera_from_exif,
    intrinsics_from_matrix,
    invert_pose,
    metres_per_unit,
    upright_pose,
)
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import check_pixel_count

COLOUR_KEYS = ("rgb", "color", "colour", "image", "img")
DEPTH_KEYS = ("depth", "depth_image", "depths")
POSE_KEYS = ("world_from_camera", "camera_pose", "extrinsics", "camera_from_world")
CAMERA_KEYS = (*MATRIX_KEYS, *POSE_KEYS, "depth_scale")
IMAGE_BYTES, CAMERA_BYTES = MAX_FILE_BYTES, 100_000
"""Largest array of images, and of what describes the camera; all others are not read."""
EXPECTED = "A frame's .npz holds rgb (H, W, 3), depth (H, W) and K (3, 3), optional depth_scale and world_from_camera"
PICKLED_MESSAGE = (
    "{name} holds pickled Python objects, which could run code, so it was not loaded. Save its arrays instead: "
    "np.savez('frame.npz', **np.load('{name}', allow_pickle=True).item())"
)


def open_npz(path: Path) -> Recording:
    """Open a frame, or a stack of frames, in named arrays. Raises FrameError."""
    bundle = open_zip(path)
    present = [name[:-4] for name in bundle.top_level_files if name.endswith(".npy")]
    colour, depth = (next((key for key in keys if key in present), None) for keys in (COLOUR_KEYS, DEPTH_KEYS))
    if colour is None or depth is None:
        present = ", ".join(present)[:200] or "no array"
        raise FrameError(f"{path.name} lacks {'depth' if colour else 'rgb'}; it holds {present}. {EXPECTED}.")
    arrays = {key: _read_named(bundle, key, IMAGE_BYTES) for key in (colour, depth)}
    arrays |= {key: _read_named(bundle, key, CAMERA_BYTES) for key in CAMERA_KEYS if key in present}
    rgbs = as_stack(arrays[colour], 3, f"{colour} in {path.name}")
    depths = as_stack(arrays[depth], 2, f"{depth} in {path.name}")
    if len(rgbs) != len(depths):
        raise FrameError(f"{path.name} holds {len(rgbs)} colour images but {len(depths)} depth images.")

    def read(index: int) -> Frame:
        rgb = to_uint8_rgb(rgbs[index], f"{colour} in {path.name}")
        return assemble_frame(rgb, depths[index], _camera(arrays, rgb, path.name), path.name)

    return Recording("numpy archive", tuple(map(str, range(len(rgbs)))), read)


def _read_named(bundle: FileBundle, key: str, max_bytes: int) -> np.ndarray:
    """Read one array, after a look at its header: the shape that it states must fit in `max_bytes`."""
    name = f"{key}.npy"
    label = f"{name} in {bundle.name}"
    _, shape, kind = read_header(bundle.read_start(name), label)
    if prod(shape) * kind.itemsize > max_bytes:
        size = f"{prod(shape) * kind.itemsize / 1e6:.1f} MB"
        raise FrameError(f"{label} has shape {shape}, {size}; at most {max_bytes / 1e6:g} MB of it are read.")
    return read_array(bundle.read(name), label)


def open_npy(path: Path, raw: bytes) -> Recording:
    """Raise FrameError: a single array is not a frame, and pickled objects are not loaded."""
    array = read_array(raw, path.name)
    raise FrameError(f"{path.name} is one array of shape {array.shape}, not a frame. {EXPECTED}.")


def read_array(raw: bytes, name: str) -> np.ndarray:
    """Return the array in the bytes of a .npy file. Raises FrameError, also for pickled objects."""
    start, shape, kind = read_header(raw, name)
    if prod(shape) * kind.itemsize != len(raw) - start:
        raise FrameError(f"{name} holds no plain numbers, or fewer than its shape {shape} says.")
    return np.load(BytesIO(raw), allow_pickle=False)


def read_header(raw: bytes, name: str) -> tuple[int, tuple[int, ...], np.dtype]:
    """Return where the numbers of a .npy file start, their shape and their type.

    Raises FrameError, also for pickled objects.
    """
    try:
        file = BytesIO(raw)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, kind = read[np.lib.format.read_magic(file)](file)
    except MemoryError:
        raise
    except Exception:  # a broken header raises errors of many kinds, SyntaxError among them
        raise FrameError(f"{name} is not a readable numpy array, or is cut short.") from None
    if kind.hasobject:
        raise FrameError(PICKLED_MESSAGE.format(name=name))
    if kind.kind not in "biuf" or len(shape) > 8 or min(shape, default=0) < 0:
        raise FrameError(f"{name} holds no plain numbers, or fewer than its shape {shape} says.")
    return file.tell(), shape, kind


def as_stack(array: np.ndarray, dimensions: int, name: str) -> np.ndarray:
    """Return a stack of images, (N, H, W) or (N, H, W, C), from one image or a stack. Raises FrameError.

    `dimensions` of one image: 2 for depth, 3 for colour.
    """
    if dimensions == 2 and array.ndim >= 3 and array.shape[-1] == 1:
        array = array[..., 0]
    stack = array[None] if array.ndim == dimensions else array
    channels = stack.shape[-1] if dimensions == 3 else 3
    if stack.ndim != dimensions + 1 or not len(stack) or channels not in (3, 4) or min(stack.shape[1:3]) < 16:
        raise FrameError(f"{name} has shape {array.shape}; it should be (H, W{', 3' if dimensions == 3 else ''}).")
    check_pixel_count(stack.shape[2], stack.shape[1], name)
    return stack


def to_uint8_rgb(array: np.ndarray, name: str) -> np.ndarray:
    """Convert colour in 0 to 255 or 0 to 1 to shape (H, W, 3), uint8. Raises FrameError."""
    array = array[..., :3]
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    highest = float(array.max())  # NaN fails both comparisons below
    if not (array.min() >= 0 and highest <= 255):
        raise FrameError(f"{name} runs from {array.min():g} to {highest:g}; colour is 0 to 255, or 0 to 1.")
    return np.rint(array * (255.0 if highest <= 1 else 1.0)).astype(np.uint8)


def _camera(arrays: dict[str, np.ndarray], rgb: np.ndarray, name: str) -> CameraFile:
    height, width = rgb.shape[:2]
    key = next((key for key in MATRIX_KEYS if key in arrays), None)
    scale = arrays.get("depth_scale")
    if scale is not None and scale.size != 1:
        raise FrameError(f"{name}: depth_scale has shape {scale.shape}; it is one number.")
    depth_scale = metres_per_unit(None if scale is None else scale.item(), name)
    pose, notes = _pose(arrays, name)
    if key is None:
        guessed = camera_from_exif(b"", width, height)
        return CameraFile(guessed.intrinsics, depth_scale, pose, "", guessed.notes + notes, intrinsics_guessed=True)
    values = arrays[key].ravel().tolist()
    intrinsics = dict(zip(("fx", "fy", "cx", "cy"), values, strict=True)) if len(values) == 4 else None
    data = {"width": width, "height": height, "depth_scale": depth_scale, "notes": list(notes)}
    data |= intrinsics or intrinsics_from_matrix(values, f"{name}, {key}")
    return camera_from_json(data | ({} if pose is None else {"world_from_camera": pose.tolist()}), name)


def _pose(arrays: dict[str, np.ndarray], name: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Return world_from_camera, or the inverse of extrinsics, if it is upright, and notes."""
    for key in POSE_KEYS:
        if key in arrays:
            matrix = arrays[key]
            if matrix.shape not in ((4, 4), (3, 4)):
                raise FrameError(f"{name}: {key} has shape {matrix.shape}; it should be (4, 4).")
            pose = np.vstack([matrix[:3], [0, 0, 0, 1.0]])
            return upright_pose(invert_pose(pose) if key in ("extrinsics", "camera_from_world") else pose)
    return None, ()

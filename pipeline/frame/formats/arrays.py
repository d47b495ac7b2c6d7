"""numpy's files: one array (.npy) or a frame of named ones (.npz). Nothing pickled is ever opened."""

from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np

from pipeline.frame.assemble import assemble
from pipeline.frame.camera import Camera, camera_of
from pipeline.frame.formats.bundle import open_zip
from pipeline.frame.formats.intrinsics import MATRICES, focal_and_centre, metres_per_unit
from pipeline.frame.formats.lens import guessed_camera
from pipeline.frame.formats.poses import inverted, upright
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError

COLOUR = ("rgb", "color", "colour", "image", "img")
DEPTH = ("depth", "depth_image", "depths")
WANTED = "A frame's .npz holds rgb (H, W, 3), depth (H, W) and K (3, 3), optional depth_scale and world_from_camera"
PICKLED = (
    "{name} holds pickled Python objects, which could run code when opened, so it was not. Save its arrays instead: "
    "np.savez('frame.npz', **np.load('{name}', allow_pickle=True).item())"
)


def open_npz(path: Path) -> Recording:
    """A frame, or a stack of them, in named arrays. Raises FrameError."""
    bundle = open_zip(path)
    arrays = {
        name[:-4]: read_array(bundle.read(name), f"{name} in {path.name}")
        for name in bundle.top
        if name.endswith(".npy")
    }
    colour, depth = (next((key for key in keys if key in arrays), None) for keys in (COLOUR, DEPTH))
    if colour is None or depth is None:
        there = ", ".join(arrays) or "no array"
        raise FrameError(f"{path.name} lacks {'depth' if colour else 'rgb'}; it holds {there}. {WANTED}.")
    rgbs = stacked(arrays[colour], 3, f"{colour} in {path.name}")
    depths = stacked(arrays[depth], 2, f"{depth} in {path.name}")
    if len(rgbs) != len(depths):
        raise FrameError(f"{path.name} holds {len(rgbs)} pictures but {len(depths)} depths.")

    def read(index: int) -> Frame:
        rgb = as_colour(rgbs[index], f"{colour} in {path.name}")
        return assemble(rgb, depths[index], _camera(arrays, rgb, path.name), path.name)

    return Recording("numpy archive", tuple(map(str, range(len(rgbs)))), read)


def open_npy(path: Path, raw: bytes) -> Recording:
    """Always a FrameError: one array alone is no frame, and a pickled one is not opened."""
    array = read_array(raw, path.name)
    raise FrameError(f"{path.name} is one array of shape {array.shape}, so half a frame at most. {WANTED}.")


def read_array(raw: bytes, name: str) -> np.ndarray:
    """The array in a .npy file's bytes. Raises FrameError, for pickled ones too."""
    try:
        file = BytesIO(raw)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, kind = read_header[np.lib.format.read_magic(file)](file)
        claimed = prod(shape) * kind.itemsize
    except Exception:  # numpy raises whatever a broken header leads to, SyntaxError included
        raise FrameError(f"{name} is not a numpy array that can be read, or cut short.") from None
    if kind.hasobject:
        raise FrameError(PICKLED.format(name=name))
    if kind.kind not in "biuf" or claimed != len(raw) - file.tell():
        raise FrameError(f"{name} holds no plain numbers, or fewer than its shape {shape} says.")
    return np.load(BytesIO(raw), allow_pickle=False)


def stacked(array: np.ndarray, dimensions: int, name: str) -> np.ndarray:
    """As a stack of pictures with that many dimensions each, (N, H, W) or (N, H, W, C). Raises FrameError."""
    if dimensions == 2 and array.ndim >= 3 and array.shape[-1] == 1:
        array = array[..., 0]
    stack = array[None] if array.ndim == dimensions else array
    channels = stack.shape[-1] if dimensions == 3 else 3
    if stack.ndim != dimensions + 1 or not len(stack) or channels not in (3, 4) or min(stack.shape[1:3]) < 16:
        raise FrameError(f"{name} has shape {array.shape}; it should be (H, W{', 3' if dimensions == 3 else ''}).")
    return stack


def as_colour(array: np.ndarray, name: str) -> np.ndarray:
    """Colour as (H, W, 3), uint8, of bytes or of numbers from 0 to 1. Raises FrameError."""
    array = array[..., :3]
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    top = float(array.max())  # NaN fails both comparisons below
    if not (array.min() >= 0 and top <= 255):
        raise FrameError(f"{name} runs from {array.min():g} to {top:g}; colour is 0 to 255, or 0 to 1.")
    return np.rint(array * (255.0 if top <= 1 else 1.0)).astype(np.uint8)


def _camera(arrays: dict[str, np.ndarray], rgb: np.ndarray, name: str) -> Camera:
    height, width = rgb.shape[:2]
    key = next((key for key in MATRICES if key in arrays), None)
    scale = arrays.get("depth_scale")
    if scale is not None and scale.size != 1:
        raise FrameError(f"{name}: depth_scale has shape {scale.shape}; it is one number.")
    metre = metres_per_unit(None if scale is None else scale.item(), name)
    pose, notes = _pose(arrays, name)
    if key is None:
        guessed = guessed_camera(b"", width, height)
        return Camera(guessed.intrinsics, metre, pose, "", guessed.notes + notes, guessed=True)
    values = arrays[key].ravel().tolist()
    four = dict(zip(("fx", "fy", "cx", "cy"), values, strict=True)) if len(values) == 4 else None
    data = {"width": width, "height": height, "depth_scale": metre, "notes": list(notes)}
    data |= four or focal_and_centre(values, f"{name}, {key}")
    return camera_of(data | ({} if pose is None else {"world_from_camera": pose.tolist()}), name)


def _pose(arrays: dict[str, np.ndarray], name: str) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """world_from_camera as given, or as the inverse of extrinsics, where it is upright."""
    for key in ("world_from_camera", "camera_pose", "extrinsics", "camera_from_world"):
        if key in arrays:
            given = arrays[key]
            if given.shape not in ((4, 4), (3, 4)):
                raise FrameError(f"{name}: {key} has shape {given.shape}; it should be (4, 4).")
            pose = np.vstack([given[:3], [0, 0, 0, 1.0]])
            return upright(inverted(pose) if key in ("extrinsics", "camera_from_world") else pose)
    return None, ()

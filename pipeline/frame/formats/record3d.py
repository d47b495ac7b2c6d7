"""Read .r3d recordings of Record3D (iPhone): a zip of metadata, rgbd/N.jpg and rgbd/N.depth (float32 metres, LZFSE).

https://github.com/marek-simonik/record3d
"""

from functools import partial
from typing import Any

import numpy as np

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import CameraFile, camera_from_json
from pipeline.frame.formats.archive import FileBundle
from pipeline.frame.formats.intrinsics import intrinsics_from_matrix
from pipeline.frame.formats.poses import poses_of_phone
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.rgbd_pairs import numeric_sort_key, read_colours
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import read_rgb
from pipeline.frame.reprojection import upsample_depth
from pipeline.store import parse_json

METADATA = "metadata"
DEPTH_SIZES = ((192, 256), (256, 192), (640, 480), (480, 640), (240, 320), (320, 240))
"""Possible height and width of depth if the metadata do not give them: LiDAR, TrueDepth."""


def open_record3d(bundle: FileBundle) -> Recording | None:
    """Open a zip or folder that holds metadata and rgbd/; None for another. Raises FrameError."""
    if METADATA not in bundle.top_level_files or "rgbd" not in bundle.folders:
        return None
    try:
        data = parse_json(bundle.read(METADATA), finite=False)
    except ValueError as error:
        raise FrameError(f"{bundle.name}: its metadata are not JSON ({error}).") from None
    if not isinstance(data, dict):
        raise FrameError(f"{bundle.name}: its metadata are a {type(data).__name__}, not an object.")
    names = set(bundle.names)
    numbers = sorted((n[5:-4] for n in names if n.startswith("rgbd/") and n.endswith(".jpg")), key=numeric_sort_key)
    numbers = [number for number in numbers if f"rgbd/{number}.depth" in names]
    if not numbers:
        raise FrameError(f"{bundle.name} holds no rgbd/N.jpg with its rgbd/N.depth; was depth left out of the export?")

    def read(index: int) -> Frame:
        name = f"rgbd/{numbers[index]}"
        rgb = read_rgb(bundle.read(f"{name}.jpg"), f"{name}.jpg")
        depth = decode_depth(bundle.read(f"{name}.depth"), data, f"{name}.depth")
        height, width = rgb.shape[:2]
        return assemble_frame(
            rgb,
            upsample_depth(depth, width, height),
            camera_of_frame(data, index, width, height, depth.shape),
            bundle.name,
        )

    rate = data.get("fps")
    times = ()
    if isinstance(rate, (int, float)) and 0.1 < rate < 1000:
        times = tuple(i / rate for i in range(len(numbers)))
    poses = poses_of_phone(data.get("poses"), len(numbers))
    colours = partial(read_colours, bundle, [f"rgbd/{number}.jpg" for number in numbers])
    return Recording("Record3D recording", tuple(numbers), read, times, poses, colours)


def camera_of_frame(
    data: dict[str, Any], index: int, width: int, height: int, depth_shape: tuple[int, ...]
) -> CameraFile:
    """Return the camera of one frame. The phone's pose is not the frame's: its world is not aligned with a table.

    `depth_shape` is the shape (h, w) of the stored depth. Raises FrameError.
    """
    per_frame = data.get("perFrameIntrinsicCoeffs")
    if (
        isinstance(per_frame, list)
        and index < len(per_frame)
        and isinstance(per_frame[index], list)
        and len(per_frame[index]) == 4
    ):
        intrinsics = dict(zip(("fx", "fy", "cx", "cy"), per_frame[index], strict=True))
    else:
        intrinsics = intrinsics_from_matrix(data.get("K"), METADATA)
    size = {"width": width, "height": height, "depth_scale": 1.0}
    note = f"Depth was enlarged from {depth_shape[1]} x {depth_shape[0]} to colour's {width} x {height}."
    notes = [] if depth_shape == (height, width) else [note]
    return camera_from_json(size | intrinsics | {"notes": notes}, METADATA)


def decode_depth(raw: bytes, data: dict[str, Any], name: str) -> np.ndarray:
    """Decompress depth (H, W) in metres, float32. Raises FrameError."""
    sizes = depth_sizes(data)
    values = np.frombuffer(decompress_lzfse(raw, max(h * w for h, w in sizes) * 4, name), "<f4")
    size = next((size for size in sizes if size[0] * size[1] == values.size), None)
    if size is None:
        raise FrameError(f"{name} holds {values.size} numbers; its metadata say {sizes[0][1]} x {sizes[0][0]}.")
    return np.where(np.isfinite(values) & (values > 0), values, 0).reshape(size).astype(np.float32)


def depth_sizes(data: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the possible heights and widths of depth, most likely first."""
    high, wide = data.get("dh"), data.get("dw")
    if isinstance(high, int) and isinstance(wide, int) and 16 <= high <= 4096 and 16 <= wide <= 4096:
        return [(high, wide)]
    portrait = str(data.get("h")).isdigit() and str(data.get("w")).isdigit() and int(data["h"]) > int(data["w"])
    return sorted(DEPTH_SIZES, key=lambda size: (size[0] > size[1]) != portrait)


def decompress_lzfse(raw: bytes, max_bytes: int, name: str) -> bytes:
    """Decompress LZFSE data to at most `max_bytes`. Raises FrameError."""
    try:
        import lzfse  # optional: only these recordings need it
    except ImportError:
        raise FrameError(
            "Record3D's depth is compressed with LZFSE, which needs a package that is not installed: pip install lzfse"
        ) from None
    if declared_size(raw) > max_bytes:
        raise FrameError(f"{name} is damaged: it would unpack to more than {max_bytes} bytes.")
    try:
        return lzfse.decompress(raw)[: max_bytes // 4 * 4]
    except Exception:  # lzfse.error, or MemoryError for truncated data
        raise FrameError(f"{name} is damaged, or not compressed with LZFSE.") from None


def declared_size(raw: bytes) -> int:
    """Return the bytes that an LZFSE stream declares to unpack to; a very large number if its headers are invalid.

    Block headers are those in lzfse_internal.h of Apple's reference implementation.
    """
    position, total = 0, 0
    while raw[position : position + 4] != b"bvx$":
        kind, unpacked = raw[position : position + 4], int.from_bytes(raw[position + 4 : position + 8], "little")
        fields = [int.from_bytes(raw[position + 8 + 8 * i : position + 16 + 8 * i], "little") for i in range(3)]
        sizes = {
            b"bvx-": 8 + unpacked,
            b"bvxn": 12 + int.from_bytes(raw[position + 8 : position + 12], "little"),
            b"bvx2": (fields[2] & 0xFFFFFFFF) + (fields[0] >> 20 & 0xFFFFF) + (fields[1] >> 40 & 0xFFFFF),
        }
        if not sizes.get(kind) or position > len(raw):
            return 1 << 62
        position, total = position + sizes[kind], total + unpacked
    return total

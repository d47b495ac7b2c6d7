"""Record3D's .r3d, from iPhones: a zip of metadata, rgbd/N.jpg and rgbd/N.depth (float32 metres, LZFSE).

https://github.com/marek-simonik/record3d
"""

import json
from typing import Any

import numpy as np

from pipeline.frame.assemble import assemble
from pipeline.frame.camera import Camera, camera_of
from pipeline.frame.formats.bundle import Bundle
from pipeline.frame.formats.intrinsics import focal_and_centre
from pipeline.frame.formats.pairs import in_order
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.images import read_rgb
from pipeline.frame.reprojection import enlarge

METADATA = "metadata"
SIZES = ((192, 256), (256, 192), (640, 480), (480, 640), (240, 320), (320, 240))
"""Height and width of depth where metadata do not say: LiDAR, TrueDepth."""


def open_record3d(bundle: Bundle) -> Recording | None:
    """The recording, where metadata lie beside rgbd/. Raises FrameError."""
    if METADATA not in bundle.top or "rgbd" not in bundle.folders:
        return None
    try:
        data = json.loads(bundle.read(METADATA).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"{bundle.name}: its metadata are not JSON ({error}).") from None
    if not isinstance(data, dict):
        raise FrameError(f"{bundle.name}: its metadata are a {type(data).__name__}, not an object.")
    there = set(bundle.names)
    numbers = sorted((n[5:-4] for n in there if n.startswith("rgbd/") and n.endswith(".jpg")), key=in_order)
    numbers = [number for number in numbers if f"rgbd/{number}.depth" in there]
    if not numbers:
        raise FrameError(f"{bundle.name} holds no rgbd/N.jpg with its rgbd/N.depth; was depth left out of the export?")

    def read(index: int) -> Frame:
        name = f"rgbd/{numbers[index]}"
        rgb = read_rgb(bundle.read(f"{name}.jpg"), f"{name}.jpg")
        depth = depth_picture(bundle.read(f"{name}.depth"), data, f"{name}.depth")
        height, width = rgb.shape[:2]
        return assemble(
            rgb, enlarge(depth, width, height), camera(data, index, width, height, depth.shape), bundle.name
        )

    rate = data.get("fps")
    times = ()
    if isinstance(rate, (int, float)) and 0.1 < rate < 1000:
        times = tuple(i / rate for i in range(len(numbers)))
    return Recording("Record3D recording", tuple(numbers), read, times)


def camera(data: dict[str, Any], index: int, width: int, height: int, coarse: tuple[int, ...]) -> Camera:
    """This frame's camera; the phone's pose is left aside, for its world knows no table. Raises FrameError."""
    own = data.get("perFrameIntrinsicCoeffs")
    if isinstance(own, list) and index < len(own) and isinstance(own[index], list) and len(own[index]) == 4:
        focal = dict(zip(("fx", "fy", "cx", "cy"), own[index], strict=True))
    else:
        focal = focal_and_centre(data.get("K"), METADATA)
    size = {"width": width, "height": height, "depth_scale": 1.0}
    note = f"Depth was enlarged from {coarse[1]} x {coarse[0]} to colour's {width} x {height}."
    notes = [] if coarse == (height, width) else [note]
    return camera_of(size | focal | {"notes": notes}, METADATA)


def depth_picture(raw: bytes, data: dict[str, Any], name: str) -> np.ndarray:
    """Depth (H, W) in metres, float32. Raises FrameError."""
    sizes = depth_sizes(data)
    values = np.frombuffer(uncompressed(raw, max(h * w for h, w in sizes) * 4, name), "<f4")
    size = next((size for size in sizes if size[0] * size[1] == values.size), None)
    if size is None:
        raise FrameError(f"{name} holds {values.size} numbers; its metadata say {sizes[0][1]} x {sizes[0][0]}.")
    return np.where(np.isfinite(values) & (values > 0), values, 0).reshape(size).astype(np.float32)


def depth_sizes(data: dict[str, Any]) -> list[tuple[int, int]]:
    """Heights and widths that depth may have, likeliest first."""
    high, wide = data.get("dh"), data.get("dw")
    if isinstance(high, int) and isinstance(wide, int) and 16 <= high <= 4096 and 16 <= wide <= 4096:
        return [(high, wide)]
    portrait = str(data.get("h")).isdigit() and str(data.get("w")).isdigit() and int(data["h"]) > int(data["w"])
    return sorted(SIZES, key=lambda size: (size[0] > size[1]) != portrait)


def uncompressed(raw: bytes, most: int, name: str) -> bytes:
    """LZFSE undone; `most` bounds what it may grow to. Raises FrameError."""
    try:
        import lzfse  # a small wheel that only owners of such recordings need
    except ImportError:
        raise FrameError(
            "Record3D's depth is compressed with LZFSE, which needs a package that is not installed: pip install lzfse"
        ) from None
    if claimed(raw) > most:
        raise FrameError(f"{name} is damaged: it says it unpacks to more than {most} bytes.")
    try:
        return lzfse.decompress(raw)[: most // 4 * 4]
    except Exception:  # lzfse.error, MemoryError where cut short
        raise FrameError(f"{name} is damaged, or not compressed with LZFSE.") from None


def claimed(raw: bytes) -> int:
    """Bytes that the blocks of an LZFSE stream say they unpack to; a very large number where that cannot be told.

    Block headers as in lzfse_internal.h of Apple's reference implementation.
    """
    place, total = 0, 0
    while raw[place : place + 4] != b"bvx$":
        kind, grown = raw[place : place + 4], int.from_bytes(raw[place + 4 : place + 8], "little")
        fields = [int.from_bytes(raw[place + 8 + 8 * i : place + 16 + 8 * i], "little") for i in range(3)]
        sizes = {
            b"bvx-": 8 + grown,
            b"bvxn": 12 + int.from_bytes(raw[place + 8 : place + 12], "little"),
            b"bvx2": (fields[2] & 0xFFFFFFFF) + (fields[0] >> 20 & 0xFFFFF) + (fields[1] >> 40 & 0xFFFFF),
        }
        if not sizes.get(kind) or place > len(raw):
            return 1 << 62
        place, total = place + sizes[kind], total + grown
    return total

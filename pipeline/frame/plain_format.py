"""Read and write the plain format: rgb.png or rgb.jpg, depth.png and camera.json, in a folder, a zip, or as files."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import CameraFile, camera_to_json, parse_camera
from pipeline.frame.formats.archive import FileBundle, read_bytes
from pipeline.frame.formats.depth_images import DEPTH_SUFFIXES, read_depth_image
from pipeline.frame.formats.intrinsics import (
    ANGLE_KEYS,
    MATRIX_KEYS,
    camera_from_exif,
    find_camera_file,
    parse_camera_file,
)
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import read_upright_rgb
from pipeline.store import write_bytes, write_text

COLOUR_FILES = ("rgb.png", "rgb.jpg", "rgb.jpeg")
DEPTH_FILES = tuple(f"depth{suffix}" for suffix in DEPTH_SUFFIXES)
CAMERA_FILE = "camera.json"
FOREIGN_KEYS = (*MATRIX_KEYS, *ANGLE_KEYS, "ppx")
"""Keys of cameras in other forms than camera.json's own."""
FRAME_FORM = "A frame is a folder (or a zip of it) with rgb.png or rgb.jpg, depth.png and camera.json"


def open_plain(bundle: FileBundle) -> Recording | None:
    """Return the one frame of a plain folder; None if a file is missing."""
    colour, depth = (
        next((name for name in names if name in bundle.top_level_files), None) for names in (COLOUR_FILES, DEPTH_FILES)
    )
    camera_file = find_camera_file(bundle)
    if colour is None or depth is None or camera_file is None:
        return None

    def read(_: int) -> Frame:
        raw_depth = read_depth_image(bundle.read(depth), depth)
        rgb, notes = read_upright_rgb(bundle.read(colour), colour, raw_depth)
        camera = _camera(bundle.read(camera_file), camera_file, rgb.shape[1], rgb.shape[0])
        return assemble_frame(rgb, raw_depth, camera, bundle.name, notes)

    return Recording("frame folder", (colour,), read)


def missing_files_error(bundle: FileBundle, about_images: str) -> FrameError:
    """Return an error that lists the files that a plain folder still needs, and says what its images are."""
    missing = [
        names[0]
        for names in (COLOUR_FILES, DEPTH_FILES, (CAMERA_FILE,))
        if not set(names) & set(bundle.top_level_files)
    ]
    present = ", ".join([*bundle.top_level_files, *(f"{folder}/" for folder in bundle.folders)][:8]) or "nothing"
    return FrameError(f"{bundle.name} lacks {' and '.join(missing)}; it holds {present}.{about_images} {FRAME_FORM}.")


def load_files(rgb: str | Path, depth: str | Path, camera: str | Path | None = None) -> Frame:
    """Load a frame from single files. Without a camera file, intrinsics are guessed, with a note. Raises FrameError."""
    rgb, depth = Path(rgb), Path(depth)
    raw = read_bytes(rgb)
    raw_depth = read_depth_image(read_bytes(depth), depth.name)
    colour, notes = read_upright_rgb(raw, rgb.name, raw_depth)
    height, width = colour.shape[:2]
    if camera is None:
        camera_data = camera_from_exif(raw, width, height)
    else:
        camera_data = _camera(read_bytes(Path(camera)), Path(camera).name, width, height)
    return assemble_frame(colour, raw_depth, camera_data, rgb.name, notes)


def _camera(raw: bytes, name: str, width: int, height: int) -> CameraFile:
    """Return the camera of a file in our own form, strictly read, or in another well-known one. Raises FrameError."""
    is_foreign = name != CAMERA_FILE or any(f'"{key}"'.encode() in raw for key in FOREIGN_KEYS)
    return parse_camera_file(raw, name, width, height) if is_foreign else parse_camera(raw)


def save(frame: Frame, folder: str | Path) -> None:
    """Write the frame in the plain format. `load` reads the same frame back, up to the depth unit chosen.

    Raises StoreError.
    """
    folder = Path(folder)
    scale = _depth_scale(frame.depth)
    units = np.rint(frame.depth / np.float64(scale))
    units[units > 65535] = 0  # too far for 16 bits: stored as unknown
    for name, pixels in (("rgb.png", frame.rgb), ("depth.png", units.astype(np.uint16))):
        picture = io.BytesIO()
        # 2: zlib level of the PNG files: a fifth of the time of the default, an eighth more bytes
        Image.fromarray(pixels).save(picture, "PNG", compress_level=2)
        write_bytes(folder / name, picture.getvalue())
    camera = CameraFile(
        frame.intrinsics, scale, frame.world_from_camera, frame.source, frame.notes, doubts=frame.doubts
    )
    write_text(folder / "camera.json", camera_to_json(camera))


def _depth_scale(depth: np.ndarray) -> float:
    """Return the coarsest unit in metres that is exact for every depth, else the finest that holds the farthest."""
    fits = [scale for scale in (0.001, 0.00025, 0.0001) if depth.max() / scale <= 65535] or [0.001]
    exact = (scale for scale in fits if np.abs(depth - np.rint(depth / scale) * scale).max() < 1e-6)
    return next(exact, fits[-1])

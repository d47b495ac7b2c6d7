"""The plain format: rgb.png or rgb.jpg, depth.png and camera.json, in a folder, in a zip, or dropped together."""

from pathlib import Path

import numpy as np
from PIL import Image

from pipeline.frame.assemble import assemble
from pipeline.frame.camera import Camera, camera_json, parse_camera
from pipeline.frame.formats.bundle import Bundle, read_bytes
from pipeline.frame.formats.depths import SUFFIXES, depth_values
from pipeline.frame.formats.intrinsics import parse_any
from pipeline.frame.formats.lens import guessed_camera
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.images import read_rgb

COLOUR = ("rgb.png", "rgb.jpg", "rgb.jpeg")
DEPTH = tuple(f"depth{suffix}" for suffix in SUFFIXES)
CAMERA = "camera.json"
WANTED = "A frame is a folder (or a zip of it) with rgb.png or rgb.jpg, depth.png and camera.json"


def open_plain(bundle: Bundle) -> Recording | None:
    """The one frame of a plain folder; None where a file is missing."""
    colour, depth = (next((name for name in names if name in bundle.top), None) for names in (COLOUR, DEPTH))
    if colour is None or depth is None or CAMERA not in bundle.top:
        return None

    def read(_: int) -> Frame:
        camera = parse_camera(bundle.read(CAMERA))
        rgb, units = read_rgb(bundle.read(colour), colour), depth_values(bundle.read(depth), depth)
        return assemble(rgb, units, camera, bundle.name)

    return Recording("frame folder", (colour,), read)


def what_lacks(bundle: Bundle) -> FrameError:
    """What a plain folder would still need."""
    missing = [names[0] for names in (COLOUR, DEPTH, (CAMERA,)) if not set(names) & set(bundle.top)]
    there = ", ".join([*bundle.top, *(f"{folder}/" for folder in bundle.folders)][:8]) or "nothing"
    return FrameError(f"{bundle.name} lacks {' and '.join(missing)}; it holds {there}. {WANTED}.")


def load_files(rgb: str | Path, depth: str | Path, camera: str | Path | None = None) -> Frame:
    """The frame in single files; without a camera file one is guessed, and `notes` says so. Raises FrameError."""
    rgb, depth = Path(rgb), Path(depth)
    raw = read_bytes(rgb)
    colour, units = read_rgb(raw, rgb.name), depth_values(read_bytes(depth), depth.name)
    height, width = colour.shape[:2]
    if camera is None:
        known = guessed_camera(raw, width, height)
    elif Path(camera).name == CAMERA:
        known = parse_camera(read_bytes(Path(camera)))
    else:
        known = parse_any(read_bytes(Path(camera)), Path(camera).name, width, height)
    return assemble(colour, units, known, rgb.name)


def save(frame: Frame, folder: str | Path) -> None:
    """Write the frame in the plain form; `load` reads the same back, up to the depth unit chosen."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    scale = _unit(frame.depth)
    units = np.rint(frame.depth / np.float64(scale))
    units[units > 65535] = 0  # farther than 16 bits can say is as good as unknown
    Image.fromarray(frame.rgb).save(folder / "rgb.png")
    Image.fromarray(units.astype(np.uint16)).save(folder / "depth.png")
    camera = Camera(frame.intrinsics, scale, frame.world_from_camera, frame.source, frame.notes)
    (folder / "camera.json").write_text(camera_json(camera), encoding="utf-8")


def _unit(depth: np.ndarray) -> float:
    """The coarsest unit that says every depth exactly, else the finest in which the farthest still fits."""
    fits = [scale for scale in (0.001, 0.00025, 0.0001) if depth.max() / scale <= 65535] or [0.001]
    exact = (scale for scale in fits if np.abs(depth - np.rint(depth / scale) * scale).max() < 1e-6)
    return next(exact, fits[-1])

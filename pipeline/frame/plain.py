"""The plain format: rgb.png or rgb.jpg, depth.png and camera.json, in a folder, in a zip, or dropped together."""

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image

from pipeline.frame.camera import Camera, camera_json, guess_camera, guess_unit, parse_camera
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.images import read_depth, read_rgb

COLOUR = ("rgb.png", "rgb.jpg", "rgb.jpeg")
NAMES = (*COLOUR, "depth.png", "camera.json")
WANTED = "A frame is a folder (or a zip of it) with rgb.png or rgb.jpg, depth.png and camera.json"
LARGEST_FILE = 300_000_000
"""Bytes of one file, unpacked: far above any camera, far below what would fill the memory."""


def load(path: str | Path) -> Frame:
    """The frame in a plain folder or a zip of one. Raises FrameError: one line that says what would have worked."""
    path = Path(path)
    try:
        if path.is_dir():
            files, listing = _folder(path)
        elif path.is_file():
            files, listing = _archive(path)
        else:
            raise FrameError(f"There is nothing at {path}. {WANTED}.")
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte in it
        raise FrameError(f"{path} cannot be read ({error}). {WANTED}.") from None
    colour = next((name for name in COLOUR if name in files), None)
    missing = [name for name in ("depth.png", "camera.json") if name not in files]
    missing = missing if colour else ["rgb.png", *missing]
    if colour is None or missing:
        there = ", ".join(sorted(listing)[:8]) or "nothing"
        raise FrameError(f"{path.name} lacks {' and '.join(missing)}; it holds {there}. {WANTED}.")
    camera = parse_camera(files["camera.json"])
    return assemble(read_rgb(files[colour], colour), read_depth(files["depth.png"], "depth.png"), camera, path.name)


def load_files(rgb: str | Path, depth: str | Path, camera: str | Path | None = None) -> Frame:
    """The frame in single files; without a camera file one is guessed, and `notes` says so. Raises FrameError."""
    rgb, depth = Path(rgb), Path(depth)
    colour, units = read_rgb(_bytes(rgb), rgb.name), read_depth(_bytes(depth), depth.name)
    if camera is None:
        known = guess_camera(colour.shape[1], colour.shape[0])
    else:
        known = parse_camera(_bytes(Path(camera)), Path(camera).name)
    return assemble(colour, units, known, rgb.name)


def assemble(rgb: np.ndarray, units: np.ndarray, camera: Camera, source: str) -> Frame:
    """A frame of colour (H, W, 3) uint8, depth in its own units (H, W) uint16, and a camera. Raises FrameError."""
    k = camera.intrinsics
    sizes = {"colour": rgb.shape[1::-1], "depth": units.shape[::-1], "camera": (k.width, k.height)}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} {w} x {h}" for name, (w, h) in sizes.items())
        raise FrameError(f"Sizes disagree: {told}. Depth must be registered to colour, and camera.json to both.")
    notes, median = camera.notes, float(np.median(units[units > 0]))
    scale = camera.depth_scale
    if scale is None:
        scale = guess_unit(median)
        notes += (f"No depth_scale given: one unit of depth was taken as {scale * 1000:g} mm.",)
    if not 0.02 <= median * scale <= 50:
        raise FrameError(
            f"depth_scale {scale:g} puts the middle of the picture {median * scale:.3g} m away; it is metres per unit, "
            "0.001 for millimetres."
        )
    depth = (units * np.float64(scale)).astype(np.float32)
    return Frame(rgb, depth, k, camera.world_from_camera, camera.source or source, notes)


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


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FrameError(f"{path.name} is larger than {LARGEST_FILE // 1_000_000} MB; no camera's picture is.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise FrameError(f"{path} cannot be read ({error}).") from None


def _folder(path: Path) -> tuple[Mapping[str, bytes], list[str]]:
    return {name: _bytes(path / name) for name in NAMES if (path / name).is_file()}, [p.name for p in path.iterdir()]


def _archive(path: Path) -> tuple[Mapping[str, bytes], list[str]]:
    """The plain files of a zip, read without unpacking; they may lie in one folder inside."""
    try:
        with zipfile.ZipFile(BytesIO(_bytes(path))) as archive:
            members = {item.filename.replace("\\", "/"): item for item in archive.infolist() if not item.is_dir()}
            for name in members:
                if name.startswith("/") or ".." in PurePosixPath(name).parts or ":" in name.split("/")[0]:
                    raise FrameError(f"{path.name} holds {name!r}, which points outside the archive; zip it again.")
            paths = [PurePosixPath(name) for name in members if not name.startswith("__MACOSX")]
            homes = {item.parent for item in paths if item.name == "depth.png"}
            if len(homes) > 1:
                told = ", ".join(sorted(map(str, homes))[:5])
                raise FrameError(f"{path.name} holds {len(homes)} frames ({told}); give one of them alone.")
            home = next(iter(homes), PurePosixPath("."))
            found = {item.name: members[str(item)] for item in paths if item.parent == home and item.name in NAMES}
            for name, item in found.items():
                if item.file_size > LARGEST_FILE:
                    raise FrameError(f"{name} in {path.name} unpacks to {item.file_size // 1_000_000} MB; too large.")
            return {name: archive.read(item) for name, item in found.items()}, [str(item) for item in paths]
    except FrameError:
        raise
    except Exception:  # zipfile raises BadZipFile, zlib.error, RuntimeError (password), NotImplementedError, ...
        raise FrameError(f"{path.name} is neither a folder nor a zip that can be read. {WANTED}.") from None

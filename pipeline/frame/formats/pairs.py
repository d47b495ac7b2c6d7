"""Colour and depth pictures side by side, in two folders (Open3D's way) or told apart by their names."""

import re
from dataclasses import replace
from pathlib import PurePosixPath

from pipeline.frame.assemble import assemble
from pipeline.frame.camera import Camera
from pipeline.frame.formats import depths
from pipeline.frame.formats.bundle import Bundle
from pipeline.frame.formats.intrinsics import camera_file, camera_for
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.images import read_rgb

COLOUR_FOLDERS = ("color", "colour", "rgb", "image", "images")
DEPTH_FOLDERS = ("depth", "depths")
COLOUR_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")
COLOUR_WORD = re.compile("colou?r|rgb|image", re.IGNORECASE)
DEPTH_WORD = re.compile("depth", re.IGNORECASE)


def open_pairs(bundle: Bundle) -> Recording | None:
    """Two folders, or pictures whose names say color and depth. Raises FrameError where they cannot be paired."""
    found = folder_pairs(bundle) or name_pairs(bundle)
    if not found:
        return None

    def read(index: int) -> Frame:
        return read_pair(bundle, *found[index])

    return Recording("folder of colour and depth pictures", tuple(colour for colour, _ in found), read)


def read_pair(
    bundle: Bundle, colour: str, depth: str, camera: Camera | None = None, scale: float | None = None
) -> Frame:
    """One frame; without a camera, the bundle's own file or a guess. `scale` counts where the camera says none."""
    raw = bundle.read(colour)
    rgb, units = read_rgb(raw, colour), depths.depth_values(bundle.read(depth), depth)
    known = camera or camera_for(bundle, raw, rgb.shape[1], rgb.shape[0])
    known = known if known.depth_scale is not None else replace(known, depth_scale=scale)
    return assemble(rgb, units, known, f"{bundle.name}/{colour}")


def folder_pairs(bundle: Bundle) -> list[tuple[str, str]]:
    """Names of colour and depth in two folders: by the same number or name, else in order, where counts agree.

    Raises FrameError.
    """
    colour, depth = (
        next((found for folder in folders if (found := pictures(bundle, folder, suffixes))), [])
        for folders, suffixes in ((COLOUR_FOLDERS, COLOUR_SUFFIXES), (DEPTH_FOLDERS, depths.SUFFIXES))
    )
    if not colour or not depth:
        return []
    if matched := same_key(colour, depth):
        return matched
    if len(colour) != len(depth):
        raise FrameError(
            f"{bundle.name} holds {len(colour)} colour and {len(depth)} depth pictures whose names do not match; "
            "name each pair the same."
        )
    return list(zip(colour, depth, strict=True))


def name_pairs(bundle: Bundle) -> list[tuple[str, str]]:
    """Names of pictures in one folder that are the same but for the words color (or rgb, image) and depth."""
    pictured = [
        name for name in bundle.top if PurePosixPath(name).suffix.lower() in {*COLOUR_SUFFIXES, *depths.SUFFIXES}
    ]
    depth = [name for name in pictured if DEPTH_WORD.search(name)]
    colour = [name for name in pictured if COLOUR_WORD.search(name) and name not in depth]
    found = same_key(colour, depth)
    plain = len(found) == 1 and key_of(found[0][0]) == ""  # rgb.png and depth.png alone want their camera.json
    return [] if plain and camera_file(bundle) is None else found


def same_key(colour: list[str], depth: list[str]) -> list[tuple[str, str]]:
    """Colour with the depth of the same key, in the order of their numbers."""
    depths_by_key = {key_of(name): name for name in depth}
    both = [(name, depths_by_key[key_of(name)]) for name in colour if key_of(name) in depths_by_key]
    return sorted(both, key=lambda pair: in_order(pair[0]))


def key_of(name: str) -> str:
    """A picture's name without folder, suffix and the words that tell colour from depth; 7 and 0007 are one."""
    stem = PurePosixPath(name).stem
    rest = DEPTH_WORD.sub("", COLOUR_WORD.sub("", stem)).strip("._- ")
    return str(int(rest)) if number(rest) else rest


def pictures(bundle: Bundle, folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """Pictures directly in a folder, in the order of their numbers."""
    inside = [name for name in bundle.names if PurePosixPath(name).parent == PurePosixPath(folder)]
    return sorted((name for name in inside if PurePosixPath(name).suffix.lower() in suffixes), key=in_order)


def in_order(name: str) -> list[tuple[int, str]]:
    """Sorts 2.png before 10.png."""
    return [(int(part), "") if number(part) else (-1, part) for part in re.split(r"(\d+)", name)]


def number(text: str) -> bool:
    """Whether it is all plain digits, and few enough to be counted with."""
    return text.isascii() and text.isdigit() and len(text) < 30

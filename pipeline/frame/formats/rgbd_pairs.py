"""Read pairs of colour and depth images, in two folders (as Open3D writes them) or in one folder."""

import re
from dataclasses import replace
from pathlib import PurePosixPath

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import CameraFile
from pipeline.frame.formats import depth_images
from pipeline.frame.formats.archive import FileBundle
from pipeline.frame.formats.intrinsics import camera_for_image, find_camera_file
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import read_rgb

COLOUR_FOLDERS = ("color", "colour", "rgb", "image", "images")
DEPTH_FOLDERS = ("depth", "depths")
COLOUR_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")
COLOUR_WORD = re.compile("colou?r|rgb|image", re.IGNORECASE)
DEPTH_WORD = re.compile("depth", re.IGNORECASE)


def open_pairs(bundle: FileBundle) -> Recording | None:
    """Open a folder of image pairs; None for another. Raises FrameError if the images cannot be paired."""
    pairs = pair_folders(bundle) or pair_by_name(bundle)
    if not pairs:
        return None

    def read(index: int) -> Frame:
        return read_pair(bundle, *pairs[index])

    return Recording("folder of colour and depth pictures", tuple(colour for colour, _ in pairs), read)


def read_pair(
    bundle: FileBundle, colour: str, depth: str, camera: CameraFile | None = None, scale: float | None = None
) -> Frame:
    """Read one frame.

    Without a `camera`, the folder's camera file is used, or a guess. `scale` is the default depth scale, in metres.
    """
    raw = bundle.read(colour)
    rgb, raw_depth = read_rgb(raw, colour), depth_images.read_depth_image(bundle.read(depth), depth)
    camera = camera or camera_for_image(bundle, raw, rgb.shape[1], rgb.shape[0])
    camera = camera if camera.depth_scale is not None else replace(camera, depth_scale=scale)
    return assemble_frame(rgb, raw_depth, camera, f"{bundle.name}/{colour}")


def pair_folders(bundle: FileBundle) -> list[tuple[str, str]]:
    """Pair the images of two folders by the same number or name, else in order if the counts agree.

    Returns the names of colour and depth. Raises FrameError.
    """
    colour, depth = (
        next((names for folder in folders if (names := images_in(bundle, folder, suffixes))), [])
        for folders, suffixes in ((COLOUR_FOLDERS, COLOUR_SUFFIXES), (DEPTH_FOLDERS, depth_images.DEPTH_SUFFIXES))
    )
    if not colour or not depth:
        return []
    if matched := match_keys(colour, depth):
        return matched
    if len(colour) != len(depth):
        raise FrameError(
            f"{bundle.name} holds {len(colour)} colour and {len(depth)} depth images whose names do not match; "
            "name each pair the same."
        )
    return list(zip(colour, depth, strict=True))


def pair_by_name(bundle: FileBundle) -> list[tuple[str, str]]:
    """Pair images of one folder whose names differ only in the words color (or rgb, image) and depth."""
    images = [
        name
        for name in bundle.top_level_files
        if PurePosixPath(name).suffix.lower() in {*COLOUR_SUFFIXES, *depth_images.DEPTH_SUFFIXES}
    ]
    depth = [name for name in images if DEPTH_WORD.search(name)]
    colour = [name for name in images if COLOUR_WORD.search(name) and name not in depth]
    pairs = match_keys(colour, depth)
    is_plain = len(pairs) == 1 and pair_key(pairs[0][0]) == ""  # rgb.png and depth.png need a camera file
    return [] if is_plain and find_camera_file(bundle) is None else pairs


def match_keys(colour: list[str], depth: list[str]) -> list[tuple[str, str]]:
    """Pair colour and depth with the same key, in the order of their numbers."""
    depths_by_key = {pair_key(name): name for name in depth}
    pairs = [(name, depths_by_key[pair_key(name)]) for name in colour if pair_key(name) in depths_by_key]
    return sorted(pairs, key=lambda pair: numeric_sort_key(pair[0]))


def pair_key(name: str) -> str:
    """Return an image's name without folder, suffix and the words for colour or depth; 7 for 0007."""
    stem = PurePosixPath(name).stem
    key = DEPTH_WORD.sub("", COLOUR_WORD.sub("", stem)).strip("._- ")
    return str(int(key)) if is_number(key) else key


def images_in(bundle: FileBundle, folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the names of the images directly in a folder, in the order of their numbers."""
    names = [name for name in bundle.names if PurePosixPath(name).parent == PurePosixPath(folder)]
    return sorted((name for name in names if PurePosixPath(name).suffix.lower() in suffixes), key=numeric_sort_key)


def numeric_sort_key(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts 2.png before 10.png."""
    return [(int(part), "") if is_number(part) else (-1, part) for part in re.split(r"(\d+)", name)]


def is_number(text: str) -> bool:
    """Return whether the text is at most 29 ASCII digits."""
    return text.isascii() and text.isdigit() and len(text) < 30

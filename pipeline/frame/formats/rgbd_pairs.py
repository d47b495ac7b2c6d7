"""Read pairs of colour and depth images, in two folders (as Open3D writes them) or in one folder.

Names tell which is which; where they do not, the content does: depth has one channel of 16 bits or of floats.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

import numpy as np

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import CameraFile
from pipeline.frame.formats import depth_images
from pipeline.frame.formats.archive import FileBundle
from pipeline.frame.formats.intrinsics import camera_for_image, find_camera_file
from pipeline.frame.formats.numpy_arrays import as_stack, read_array, read_header, to_uint8_rgb
from pipeline.frame.formats.poses import poses_by_time, poses_of_trajectory
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError, Intrinsics
from pipeline.frame.image_files import has_depth_mode, read_rgb, read_upright_rgb

COLOUR_FOLDERS = ("color", "colour", "rgb", "image", "images")
DEPTH_FOLDERS = ("depth", "depths")
COLOUR_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
COLOUR_ARRAYS = (*COLOUR_SUFFIXES, ".npy")
SUFFIXES = tuple(dict.fromkeys((*COLOUR_ARRAYS, *depth_images.DEPTH_SUFFIXES)))
COLOUR_WORD = re.compile("colou?r|rgb|image", re.IGNORECASE)
DEPTH_WORD = re.compile("depth", re.IGNORECASE)

DEPTH_SCALE = 1 / 5000
MAX_TIME_DIFFERENCE_S = 0.02
"""Between colour and depth of a pair, as in TUM's associate.py."""
CALIBRATIONS = {
    "freiburg1": Intrinsics(640, 480, 517.3, 516.5, 318.6, 255.3),
    "freiburg2": Intrinsics(640, 480, 520.9, 521.0, 325.1, 249.7),
    "freiburg3": Intrinsics(640, 480, 535.4, 539.2, 320.1, 247.6),
}
"""From the same page. The name of the recording says which camera was used."""


def open_pairs(bundle: FileBundle) -> Recording | None:
    """Open a folder of image pairs; None for another. Raises FrameError if the images cannot be paired."""
    pairs = _pair_folders(bundle) or _pair_by_name(bundle) or _pair_by_content(bundle)
    if not pairs:
        return None

    def read(index: int) -> Frame:
        return read_pair(bundle, *pairs[index])

    names, poses = tuple(colour for colour, _ in pairs), poses_of_trajectory(bundle, len(pairs))
    kind, colours = "folder of colour and depth pictures", partial(read_colours, bundle, names)
    return Recording(kind, names, read, poses=poses, colours=colours)


def read_colours(bundle: FileBundle, names: Sequence[str], every: int) -> Iterator[np.ndarray]:
    """Yield colour (H, W, 3), uint8, of every n-th of these images. Raises FrameError."""
    for name in names[::every]:
        raw = bundle.read(name)
        is_array = raw.startswith(depth_images.NUMPY)
        yield to_uint8_rgb(as_stack(read_array(raw, name), 3, name)[0], name) if is_array else read_rgb(raw, name)


def read_pair(
    bundle: FileBundle, colour: str, depth: str, camera: CameraFile | None = None, scale: float | None = None
) -> Frame:
    """Read one frame.

    Without a `camera`, the folder's camera file is used, or a guess. `scale` is the default depth scale, in metres.
    """
    raw = bundle.read(colour)
    raw_depth = depth_images.read_depth_image(bundle.read(depth), depth)
    rgb, notes = _read_colour(raw, colour, raw_depth)
    camera = camera or camera_for_image(bundle, raw, rgb.shape[1], rgb.shape[0])
    camera = camera if camera.depth_scale is not None else replace(camera, depth_scale=scale)
    return assemble_frame(rgb, raw_depth, camera, f"{bundle.name}/{colour}", notes)


def _read_colour(raw: bytes, name: str, raw_depth: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Decode colour (H, W, 3), uint8, of an image or a numpy array, upright, with notes. Raises FrameError."""
    if raw.startswith(depth_images.NUMPY):
        return to_uint8_rgb(as_stack(read_array(raw, name), 3, name)[0], name), ()
    return read_upright_rgb(raw, name, raw_depth)


def _pair_folders(bundle: FileBundle) -> list[tuple[str, str]]:
    """Pair the images of two folders by the same number or name, else in order if the counts agree.

    Returns the names of colour and depth. Raises FrameError.
    """
    colour, depth = (
        next((names for folder in folders if (names := images_in(bundle, folder, suffixes))), [])
        for folders, suffixes in ((COLOUR_FOLDERS, COLOUR_ARRAYS), (DEPTH_FOLDERS, depth_images.DEPTH_SUFFIXES))
    )
    if not colour or not depth:
        return []
    if matched := _match_keys(colour, depth):
        return matched
    if len(colour) != len(depth):
        raise FrameError(
            f"{bundle.name} holds {len(colour)} colour and {len(depth)} depth images whose names do not match; "
            "name each pair the same."
        )
    return list(zip(colour, depth, strict=True))


def _pair_by_name(bundle: FileBundle) -> list[tuple[str, str]]:
    """Pair images of one folder whose names differ only in the words color (or rgb, image) and depth."""
    images = [name for name in bundle.top_level_files if PurePosixPath(name).suffix.lower() in SUFFIXES]
    depth = [name for name in images if DEPTH_WORD.search(name)]
    colour = [name for name in images if COLOUR_WORD.search(name) and name not in depth]
    return _match_keys(colour, depth)


def _pair_by_content(bundle: FileBundle) -> list[tuple[str, str]]:
    """Pair the only image of colour with the only one of depth in a folder, or the images of two folders in order.

    Only the first and last image of each folder are looked at. Empty if they do not tell which is which.
    """
    places = {"": images_in(bundle, "", SUFFIXES)} | {one: images_in(bundle, one, SUFFIXES) for one in bundle.folders}
    if len(places[""]) == 2:
        places = {name: [name] for name in places[""]}
    places = {place: names for place, names in places.items() if place and names}
    if len(places) != 2 or len({len(names) for names in places.values()}) != 1:
        return []
    kinds = {place: {_is_depth(bundle.read(n), n) for n in (names[0], names[-1])} for place, names in places.items()}
    if {False} not in kinds.values() or {True} not in kinds.values():
        return []
    colour, depth = sorted(places, key=lambda place: kinds[place] == {True})
    return _match_keys(places[colour], places[depth]) or list(zip(places[colour], places[depth], strict=True))


def describe_images(bundle: FileBundle) -> str:
    """Return a sentence on what the first images of a folder are: colour, depth or unreadable; empty without any."""
    words = {True: "depth", False: "colour", None: "not readable as a picture"}
    # 4: images that an error describes
    names = [name for name in bundle.names if PurePosixPath(name).suffix.lower() in SUFFIXES][:4]
    listed = ", ".join(f"{name} is {words[_is_depth(bundle.read(name), name)]}" for name in names)
    return listed and f" By their content, {listed}."


def _is_depth(raw: bytes, name: str) -> bool | None:
    """Return whether an encoded image is depth, not colour; None if it cannot be read."""
    try:
        if raw.startswith(depth_images.NUMPY):
            return len(read_header(raw, name)[1]) == 2
        return raw.startswith((depth_images.EXR, depth_images.ZIP)) or has_depth_mode(raw)
    except FrameError:
        return None


def _match_keys(colour: list[str], depth: list[str]) -> list[tuple[str, str]]:
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


def open_tum(bundle: FileBundle) -> Recording | None:
    """Open a folder with rgb.txt and depth.txt; None for another. Raises FrameError if nothing can be paired."""
    if not {"rgb.txt", "depth.txt"} <= set(bundle.top_level_files):
        return None
    pairs = pair_by_time(_read_file_list(bundle, "rgb.txt"), _read_file_list(bundle, "depth.txt"))
    if not pairs:
        raise FrameError(
            f"{bundle.name}: no colour and depth images lie within {MAX_TIME_DIFFERENCE_S:g} s of each other."
        )

    def read(index: int) -> Frame:
        return read_pair(bundle, pairs[index][1], pairs[index][2], _calibrated_camera(bundle), DEPTH_SCALE)

    times, names = [pair[0] for pair in pairs], tuple(pair[1] for pair in pairs)
    since_start = tuple(time - times[0] for time in times)
    colours = partial(read_colours, bundle, names)
    return Recording("TUM RGB-D recording", names, read, since_start, poses_by_time(bundle, times), colours)


def _read_file_list(bundle: FileBundle, name: str) -> list[tuple[float, str]]:
    """Return times in seconds and file names, sorted by time. Raises FrameError."""
    lines = bundle.read(name).decode("utf-8", "replace").splitlines()[:200_000]
    try:
        words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
        entries = [(float(time), file.replace("\\", "/")) for time, file, *_ in words]
    except ValueError:
        raise FrameError(f"{name} in {bundle.name} should hold a time and a file name on each line.") from None
    if not np.isfinite([time for time, _ in entries]).all():
        raise FrameError(f"{name} in {bundle.name} holds a time that is not a finite number.")
    return sorted(entries)


def pair_by_time(colour: list[tuple[float, str]], depth: list[tuple[float, str]]) -> list[tuple[float, str, str]]:
    """Return time, colour and depth: each colour image with the depth image nearest in time."""
    if not colour or not depth:
        return []
    times = np.array([time for time, _ in depth])
    pairs = []
    for time, name in colour:
        nearest = int(np.abs(times - time).argmin())
        if abs(times[nearest] - time) < MAX_TIME_DIFFERENCE_S:
            pairs.append((time, name, depth[nearest][1]))
    return pairs


def _calibrated_camera(bundle: FileBundle) -> CameraFile | None:
    """Return TUM's calibration of the camera in the recording's name; None if there is none, or a camera file."""
    camera = next((name for name in CALIBRATIONS if name in bundle.name.lower()), None)
    if camera is None or find_camera_file(bundle):
        return None
    return CameraFile(CALIBRATIONS[camera], None, notes=(f"The intrinsics are those that TUM gives for {camera}.",))

"""Read TUM RGB-D recordings: rgb.txt and depth.txt, paired by nearest time; 5000 units a metre.

https://cvg.cit.tum.de/data/datasets/rgbd-dataset/file_formats
"""

import numpy as np

from pipeline.frame.camera import CameraFile
from pipeline.frame.formats.archive import FileBundle
from pipeline.frame.formats.intrinsics import find_camera_file
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.rgbd_pairs import read_pair
from pipeline.frame.frame import Frame, FrameError, Intrinsics

DEPTH_SCALE = 1 / 5000
MAX_TIME_DIFFERENCE_S = 0.02
"""Between colour and depth of a pair, as in TUM's associate.py."""
CALIBRATIONS = {
    "freiburg1": Intrinsics(640, 480, 517.3, 516.5, 318.6, 255.3),
    "freiburg2": Intrinsics(640, 480, 520.9, 521.0, 325.1, 249.7),
    "freiburg3": Intrinsics(640, 480, 535.4, 539.2, 320.1, 247.6),
}
"""From the same page. The name of the recording says which camera was used."""


def open_tum(bundle: FileBundle) -> Recording | None:
    """Open a folder with rgb.txt and depth.txt; None for another. Raises FrameError if nothing can be paired."""
    if not {"rgb.txt", "depth.txt"} <= set(bundle.top_level_files):
        return None
    pairs = pair_by_time(read_file_list(bundle, "rgb.txt"), read_file_list(bundle, "depth.txt"))
    if not pairs:
        raise FrameError(
            f"{bundle.name}: no colour and depth images lie within {MAX_TIME_DIFFERENCE_S:g} s of each other."
        )

    def read(index: int) -> Frame:
        return read_pair(bundle, pairs[index][1], pairs[index][2], calibrated_camera(bundle), DEPTH_SCALE)

    start = pairs[0][0]
    return Recording("TUM RGB-D recording", tuple(p[1] for p in pairs), read, tuple(p[0] - start for p in pairs))


def read_file_list(bundle: FileBundle, name: str) -> list[tuple[float, str]]:
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


def calibrated_camera(bundle: FileBundle) -> CameraFile | None:
    """Return TUM's calibration of the camera in the recording's name; None if there is none, or a camera file."""
    camera = next((name for name in CALIBRATIONS if name in bundle.name.lower()), None)
    if camera is None or find_camera_file(bundle):
        return None
    return CameraFile(CALIBRATIONS[camera], None, notes=(f"The intrinsics are those that TUM gives for {camera}.",))

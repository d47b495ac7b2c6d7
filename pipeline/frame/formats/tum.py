"""TUM RGB-D recordings: rgb.txt and depth.txt, paired by nearest time; 5000 units a metre.

https://cvg.cit.tum.de/data/datasets/rgbd-dataset/file_formats
"""

import numpy as np

from pipeline.frame.camera import Camera
from pipeline.frame.formats.bundle import Bundle
from pipeline.frame.formats.intrinsics import camera_file
from pipeline.frame.formats.pairs import read_pair
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError, Intrinsics

SCALE = 1 / 5000
APART = 0.02
"""Seconds by which colour and depth of a pair may differ, as in TUM's own associate.py."""
CALIBRATED = {
    "freiburg1": Intrinsics(640, 480, 517.3, 516.5, 318.6, 255.3),
    "freiburg2": Intrinsics(640, 480, 520.9, 521.0, 325.1, 249.7),
    "freiburg3": Intrinsics(640, 480, 535.4, 539.2, 320.1, 247.6),
}
"""From the same page: the camera is told by the recording's name."""
MOST_LINES = 200_000


def open_tum(bundle: Bundle) -> Recording | None:
    """The recording, where rgb.txt and depth.txt lie side by side. Raises FrameError where none of it can be paired."""
    if not {"rgb.txt", "depth.txt"} <= set(bundle.top):
        return None
    pairs = nearest(timed(bundle, "rgb.txt"), timed(bundle, "depth.txt"))
    if not pairs:
        raise FrameError(f"{bundle.name}: no colour and depth lie within {APART:g} s of each other.")

    def read(index: int) -> Frame:
        return read_pair(bundle, pairs[index][1], pairs[index][2], known_camera(bundle), SCALE)

    start = pairs[0][0]
    return Recording("TUM RGB-D recording", tuple(p[1] for p in pairs), read, tuple(p[0] - start for p in pairs))


def timed(bundle: Bundle, name: str) -> list[tuple[float, str]]:
    """Times in seconds and file names, in the order of time. Raises FrameError."""
    lines = bundle.read(name).decode("utf-8", "replace").splitlines()[:MOST_LINES]
    try:
        words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
        listed = [(float(time), file.replace("\\", "/")) for time, file, *_ in words]
    except ValueError:
        raise FrameError(f"{name} in {bundle.name} should hold a time and a file name on each line.") from None
    if not np.isfinite([time for time, _ in listed]).all():
        raise FrameError(f"{name} in {bundle.name} holds a time that is not a finite number.")
    return sorted(listed)


def nearest(colour: list[tuple[float, str]], depth: list[tuple[float, str]]) -> list[tuple[float, str, str]]:
    """Time, colour and depth, each colour with the depth nearest in time."""
    if not colour or not depth:
        return []
    times = np.array([time for time, _ in depth])
    found = []
    for time, name in colour:
        place = int(np.abs(times - time).argmin())
        if abs(times[place] - time) < APART:
            found.append((time, name, depth[place][1]))
    return found


def known_camera(bundle: Bundle) -> Camera | None:
    """TUM's calibration where the name tells which of its cameras it was and no camera file says otherwise."""
    which = next((name for name in CALIBRATED if name in bundle.name.lower()), None)
    if which is None or camera_file(bundle):
        return None
    return Camera(CALIBRATED[which], None, notes=(f"The intrinsics are those that TUM gives for {which}.",))

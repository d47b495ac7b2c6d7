"""Depth pictures of every kind: 16-bit PNG or TIFF, float TIFF (ROS's 32FC1), EXR, numpy."""

import subprocess
import tempfile

import imageio_ffmpeg
import numpy as np

from pipeline.frame.formats.arrays import read_array, stacked
from pipeline.frame.frame import FrameError
from pipeline.frame.images import read_depth

SUFFIXES = (".png", ".tiff", ".tif", ".exr", ".npy")
EXR = b"v/1\x01"
SECONDS = 20
MOST_PIXELS = 100_000_000
"""Of one decoded picture."""


def depth_values(raw: bytes, name: str) -> np.ndarray:
    """Depth in the file's own units, of shape (H, W): whole, or float where metres are usual. Raises FrameError."""
    if raw[:6] == b"\x93NUMPY":
        return stacked(read_array(raw, name), 2, name)[0]
    return read_depth(pfm_of_exr(raw, name), name) if raw[:4] == EXR else read_depth(raw, name)


def pfm_of_exr(raw: bytes, name: str) -> bytes:
    """An OpenEXR picture's grey or red channel as a PFM picture, by the ffmpeg we write videos with: our OpenCV
    is built without OpenEXR. Raises FrameError."""
    done = _ffmpeg(raw, "extractplanes=r") or _ffmpeg(raw, "null")
    if not done:
        raise FrameError(
            f"{name} is not an EXR picture that can be read; save depth as 32-bit floats in channel Y (or R, G and B), "
            "or as TIFF."
        )
    return done


def _ffmpeg(raw: bytes, filters: str) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".exr") as file:  # ffmpeg cuts large pictures short on a pipe
        file.write(raw)
        file.flush()
        reading = ["-noauto_conversion_filters", "-max_pixels", str(MOST_PIXELS), "-f", "image2", "-i", file.name]
        writing = ["-vf", filters, "-frames:v", "1", "-f", "image2pipe", "-c:v", "pfm", "-"]
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *reading, *writing]
        try:
            return subprocess.run(command, capture_output=True, timeout=SECONDS).stdout
        except (OSError, subprocess.TimeoutExpired):
            return b""

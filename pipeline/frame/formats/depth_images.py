"""Read depth images: 16-bit PNG, TIFF or PGM, float TIFF (32FC1 of ROS), EXR, PFM, numpy."""

import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, cast

import imageio_ffmpeg
import numpy as np

from pipeline.frame.formats.archive import MAX_FILE_BYTES
from pipeline.frame.formats.numpy_arrays import DEPTH_KEYS, as_stack, read_array
from pipeline.frame.frame import FrameError
from pipeline.frame.image_files import MAX_PIXELS, read_depth

DEPTH_SUFFIXES = (".png", ".tiff", ".tif", ".exr", ".npy", ".npz", ".pgm", ".pfm")
NUMPY, ZIP, EXR = b"\x93NUMPY", b"PK\x03\x04", b"v/1\x01"
"""First bytes of files."""


def read_depth_image(raw: bytes, name: str) -> np.ndarray:
    """Return depth in the file's own units, of shape (H, W), integer or float. Raises FrameError."""
    if raw.startswith(ZIP):
        raw = _depth_of_npz(raw, name)
    if raw.startswith(NUMPY):
        return as_stack(read_array(raw, name), 2, name)[0]
    return read_depth(exr_to_pfm(raw, name), name) if raw[:4] == EXR else read_depth(raw, name)


def _depth_of_npz(raw: bytes, name: str) -> bytes:
    """Return the .npy file of depth in an .npz: under a usual name, else the only one. Raises FrameError."""
    try:
        with zipfile.ZipFile(BytesIO(raw)) as packed:
            members = {info.filename.removesuffix(".npy"): info for info in packed.infolist()}
            keys = [key for key in DEPTH_KEYS if key in members] or list(members)
            if not keys or (len(keys) > 1 and keys[0] not in DEPTH_KEYS):
                raise FrameError(
                    f"{name} holds {', '.join(members)[:200] or 'no array'}; call the array of depth depth."
                )
            if members[keys[0]].file_size > MAX_FILE_BYTES:
                raise FrameError(f"{name} would unpack to more than {MAX_FILE_BYTES // 1_000_000} MB.")
            return packed.read(members[keys[0]])
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise FrameError(f"{name} is not a readable numpy archive ({error}).") from None


def exr_to_pfm(raw: bytes, name: str) -> bytes:
    """Convert the grey or red channel of an EXR image to PFM with ffmpeg. Raises FrameError.

    OpenCV's wheels are built without OpenEXR; ffmpeg is a dependency already, for videos.
    """
    pfm = _pfm_of_exr(raw, "extractplanes=r") or _pfm_of_exr(raw, "null")
    if not pfm:
        raise FrameError(
            f"{name} is not a readable EXR image; save depth as 32-bit floats in channel Y (or R, G and B), or as TIFF."
        )
    return pfm


def _pfm_of_exr(raw: bytes, filters: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "depth.exr")  # ffmpeg truncates large images on a pipe
        file.write_bytes(raw)
        input_options = ["-noauto_conversion_filters", "-max_pixels", str(MAX_PIXELS), "-f", "image2", "-i", str(file)]
        output_options = ["-vf", filters, "-frames:v", "1", "-f", "image2pipe", "-c:v", "pfm", "-"]
        return run_ffmpeg("-v", "error", *input_options, *output_options).stdout


def run_ffmpeg(*options: str) -> subprocess.CompletedProcess[bytes]:
    """Run ffmpeg, which reads local files only; what it wrote is empty if it takes too long."""
    command = _ffmpeg_command(options)
    try:
        return subprocess.run(command, input=b"", capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess(command, 1, b"", b"")


@contextmanager
def open_ffmpeg(*options: str) -> Iterator[IO[bytes]]:
    """Start ffmpeg, which reads local files only, and return what it writes, to be read bit by bit. Raises OSError."""
    command, pipe = _ffmpeg_command(("-loglevel", "quiet", *options)), subprocess.PIPE  # confined: no /dev/null
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield cast(IO[bytes], process.stdout)
        finally:
            process.kill()


def _ffmpeg_command(options: Sequence[str]) -> list[str]:
    quiet = ("-nostdin", "-hide_banner", "-protocol_whitelist", "file,pipe")
    return [imageio_ffmpeg.get_ffmpeg_exe(), *quiet, *options]

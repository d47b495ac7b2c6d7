"""RealSense .bag recordings, by open3d's reader, which moves depth onto colour itself."""

from pathlib import Path

import numpy as np

from pipeline.frame.assemble import assemble
from pipeline.frame.camera import camera_of
from pipeline.frame.formats.intrinsics import focal_and_centre
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError

ADVICE = "it should be a recording of colour (RGB8) and depth (Z16) by RealSense Viewer or rs-record"


def open_bag(path: Path) -> Recording:
    """The recording. Its count is what length and rate make; frames that were dropped shorten it. Raises FrameError."""
    told = _opened(path).metadata
    rate = told.fps if 0.1 < told.fps < 1000 else 30.0
    count = max(1, min(100_000, round(told.stream_length_usec * 1e-6 * rate)))
    times = tuple(i / rate for i in range(count))
    return Recording("RealSense recording", tuple(f"{time:.2f} s" for time in times), lambda i: _read(path, i), times)


def _read(path: Path, index: int) -> Frame:
    import open3d as o3d

    reader = _opened(path)
    try:
        with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
            picture = reader.next_frame()
            for _ in range(index):
                picture = reader.next_frame()
        told = reader.metadata
    except RuntimeError:
        raise FrameError(f"{path.name} breaks off before frame {index}; take an earlier one.") from None
    if picture.is_empty():
        raise FrameError(f"{path.name} ends before frame {index}; take an earlier one.")
    rgb, units = np.asarray(picture.color).copy(), np.asarray(picture.depth)[..., 0].copy()
    if told.color_format.lower().startswith("bgr"):
        rgb = np.ascontiguousarray(rgb[..., ::-1])
    size = {"width": rgb.shape[1], "height": rgb.shape[0]}
    focal = focal_and_centre(told.intrinsics.intrinsic_matrix, path.name)
    scale = 1 / told.depth_scale if told.depth_scale > 0 else None
    return assemble(rgb, units, camera_of(size | focal | {"depth_scale": scale}, path.name), path.name)


def _opened(path: Path):
    """open3d's reader at the first frame. Raises FrameError."""
    import open3d as o3d  # not at the top: plain frames load without it

    if not hasattr(o3d.t.io, "RSBagReader"):
        raise FrameError(
            f"{path.name}: this build of open3d reads no RealSense recordings; take frames out with rs-convert, "
            "as rgb and depth PNG."
        )
    reader = o3d.t.io.RSBagReader()
    with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
        if not reader.open(str(path)):
            raise FrameError(f"{path.name} is not a RealSense recording that can be read; {ADVICE}.")
    return reader

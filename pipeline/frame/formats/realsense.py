"""Read RealSense .bag recordings with open3d, which registers depth to colour."""

from pathlib import Path

import numpy as np

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import camera_from_json
from pipeline.frame.formats.intrinsics import intrinsics_from_matrix
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError

EXPECTED = "it should be a recording of colour (RGB8) and depth (Z16) by RealSense Viewer or rs-record"


def open_bag(path: Path) -> Recording:
    """Open the recording. Raises FrameError.

    The number of frames is length times rate; dropped frames make the recording shorter than that.
    """
    metadata = _open_reader(path).metadata
    rate = metadata.fps if 0.1 < metadata.fps < 1000 else 30.0
    count = max(1, min(100_000, round(metadata.stream_length_usec * 1e-6 * rate)))
    times = tuple(i / rate for i in range(count))
    return Recording("RealSense recording", tuple(f"{time:.2f} s" for time in times), lambda i: _read(path, i), times)


def _read(path: Path, index: int) -> Frame:
    import open3d as o3d

    reader = _open_reader(path)
    try:
        with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
            image = reader.next_frame()
            for _ in range(index):
                image = reader.next_frame()
        metadata = reader.metadata
    except RuntimeError:
        raise FrameError(f"{path.name} breaks off before frame {index}; take an earlier one.") from None
    if image.is_empty():
        raise FrameError(f"{path.name} ends before frame {index}; take an earlier one.")
    rgb, raw_depth = np.asarray(image.color).copy(), np.asarray(image.depth)[..., 0].copy()
    if metadata.color_format.lower().startswith("bgr"):
        rgb = np.ascontiguousarray(rgb[..., ::-1])
    size = {"width": rgb.shape[1], "height": rgb.shape[0]}
    intrinsics = intrinsics_from_matrix(metadata.intrinsics.intrinsic_matrix, path.name)
    scale = 1 / metadata.depth_scale if metadata.depth_scale > 0 else None
    return assemble_frame(
        rgb, raw_depth, camera_from_json(size | intrinsics | {"depth_scale": scale}, path.name), path.name
    )


def _open_reader(path: Path):
    """Return open3d's reader at the first frame. Raises FrameError."""
    import open3d as o3d  # slow to import; only these recordings need it

    if not hasattr(o3d.t.io, "RSBagReader"):
        raise FrameError(
            f"{path.name}: this build of open3d cannot read RealSense recordings; extract frames with rs-convert, "
            "as rgb and depth PNG."
        )
    reader = o3d.t.io.RSBagReader()
    with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
        if not reader.open(str(path)):
            raise FrameError(f"{path.name} is not a readable RealSense recording; {EXPECTED}.")
    return reader

"""Formats of a single file, told apart by its suffix. Each function returns None for a file of another kind."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import CameraFile, camera_from_json
from pipeline.frame.formats.archive import read_bytes
from pipeline.frame.formats.intrinsics import camera_from_exif, intrinsics_from_matrix
from pipeline.frame.formats.numpy_arrays import open_npy, open_npz
from pipeline.frame.formats.point_cloud import open_cloud
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.rgbd_pairs import COLOUR_SUFFIXES
from pipeline.frame.formats.ros_images import open_mcap
from pipeline.frame.formats.video import VIDEO_SUFFIXES, open_video
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import read_rgb

EXPECTED = "it should be a recording of colour (RGB8) and depth (Z16) by RealSense Viewer or rs-record"

WEIGHTS_VARIABLE = "GRS_DEPTH_MODEL"
"""Environment variable that names the folder of a metric depth model's weights."""
ADVICE = (
    "Give a depth picture with it, or pip install transformers torch and set GRS_DEPTH_MODEL to a folder with the "
    "weights of a metric depth model (such as Depth-Anything-V2-Metric-Indoor)."
)


def read_numpy(path: Path) -> Recording | None:
    """Read .npz and .npy files."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return open_npz(path)
    return open_npy(path, read_bytes(path)) if suffix == ".npy" else None


def read_realsense(path: Path) -> Recording | None:
    """Read the logs of cameras: RealSense .bag recordings, and .mcap of ROS 2."""
    readers = {".bag": open_bag, ".mcap": open_mcap}
    return readers[suffix](path) if (suffix := path.suffix.lower()) in readers else None


def read_point_cloud(path: Path) -> Recording | None:
    """Read coloured .ply, .pcd and .glb scans."""
    return open_cloud(path) if path.suffix.lower() in (".ply", ".pcd", ".glb") else None


def read_video(path: Path) -> Recording | None:
    """Read a video with its depth beside it."""
    return open_video(path) if path.suffix.lower() in VIDEO_SUFFIXES else None


def read_image(path: Path) -> Recording | None:
    """Read a photograph without depth, which needs a depth estimator."""
    return _open_rgb_image(path) if path.suffix.lower() in COLOUR_SUFFIXES else None


def open_bag(path: Path) -> Recording:
    """Open the recording. Raises FrameError.

    The number of frames is length times rate; dropped frames make the recording shorter than that.
    """
    metadata = _open_reader(path).metadata
    rate = metadata.fps if 0.1 < metadata.fps < 1000 else 30.0
    count = max(1, min(100_000, round(metadata.stream_length_usec * 1e-6 * rate)))
    times = tuple(i / rate for i in range(count))
    names = tuple(f"{time:.2f} s" for time in times)
    return Recording(
        "RealSense recording", names, lambda i: _read(path, i), times, colours=partial(_read_colours, path, count)
    )


def _read_colours(path: Path, count: int, every: int) -> Iterator[np.ndarray]:
    """Yield colour (H, W, 3), uint8, of every n-th frame up to where the recording ends. Raises FrameError."""
    import open3d as o3d

    reader = _open_reader(path)
    is_bgr = reader.metadata.color_format.lower().startswith("bgr")
    for index in range(count):
        try:
            with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
                image = reader.next_frame()
        except RuntimeError:
            return
        if image.is_empty():
            return
        if index % every == 0:
            rgb = np.asarray(image.color).copy()
            yield np.ascontiguousarray(rgb[..., ::-1]) if is_bgr else rgb


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


def _open_rgb_image(path: Path) -> Recording:
    """Open a photograph, with depth from the estimator. Raises FrameError if there is no estimator."""
    raw = read_bytes(path)
    rgb = read_rgb(raw, path.name)
    estimator = _load_estimator(path.name)
    return Recording("photograph", (path.name,), lambda _: _estimated(rgb, raw, estimator, path.name))


def _load_estimator(name: str):
    """Return the depth pipeline of transformers with local weights. Raises FrameError."""
    folder = os.environ.get(WEIGHTS_VARIABLE, "")
    try:
        from transformers import pipeline  # optional: only photographs without depth need it
    except ImportError:
        raise FrameError(f"{name} is colour without depth, and no depth estimator is installed. {ADVICE}") from None
    if not Path(folder).is_dir() or not folder:
        raise FrameError(f"{name} is colour without depth, and no weights are installed to estimate it. {ADVICE}")
    try:
        return pipeline("depth-estimation", model=folder)
    except Exception as error:  # transformers raises errors of many kinds for a folder without a model
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise FrameError(f"The weights that {WEIGHTS_VARIABLE} names cannot be used ({reason}). {ADVICE}") from None


def _estimated(rgb: np.ndarray, raw: bytes, estimator, name: str) -> Frame:
    height, width = rgb.shape[:2]
    try:
        predicted = np.asarray(estimator(Image.fromarray(rgb))["predicted_depth"], np.float32).squeeze()
        depth = np.asarray(Image.fromarray(predicted).resize((width, height), Image.Resampling.BILINEAR))
    except Exception:  # a model for another task, or not enough memory
        raise FrameError(f"The depth estimator failed on {name}. {ADVICE}") from None
    camera = camera_from_exif(raw, width, height)
    note = "Depth was estimated from colour, not measured: distances and sizes are the estimator's guess."
    return assemble_frame(
        rgb, depth, CameraFile(camera.intrinsics, 1.0, notes=(note, *camera.notes), intrinsics_guessed=True), name
    )

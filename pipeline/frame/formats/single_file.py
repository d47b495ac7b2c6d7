"""Formats of a single file, told apart by its suffix. Each function returns None for a file of another kind."""

from pathlib import Path

from pipeline.frame.formats.archive import read_bytes
from pipeline.frame.formats.numpy_arrays import open_npy, open_npz
from pipeline.frame.formats.point_cloud import open_cloud
from pipeline.frame.formats.realsense import open_bag
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.rgb_only import open_rgb_image
from pipeline.frame.formats.rgbd_pairs import COLOUR_SUFFIXES
from pipeline.frame.formats.video import VIDEO_SUFFIXES, open_video


def read_numpy(path: Path) -> Recording | None:
    """Read .npz and .npy files."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return open_npz(path)
    return open_npy(path, read_bytes(path)) if suffix == ".npy" else None


def read_realsense(path: Path) -> Recording | None:
    """Read RealSense .bag recordings."""
    return open_bag(path) if path.suffix.lower() == ".bag" else None


def read_point_cloud(path: Path) -> Recording | None:
    """Read coloured .ply, .pcd and .glb scans."""
    return open_cloud(path) if path.suffix.lower() in (".ply", ".pcd", ".glb") else None


def read_video(path: Path) -> Recording | None:
    """Read a video with its depth beside it."""
    return open_video(path) if path.suffix.lower() in VIDEO_SUFFIXES else None


def read_image(path: Path) -> Recording | None:
    """Read a photograph without depth, which needs a depth estimator."""
    return open_rgb_image(path) if path.suffix.lower() in COLOUR_SUFFIXES else None

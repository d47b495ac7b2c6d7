"""Read a photograph without depth, if a depth estimator is installed."""

import os
from pathlib import Path

import numpy as np
from PIL import Image

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import CameraFile
from pipeline.frame.formats.archive import read_bytes
from pipeline.frame.formats.default_intrinsics import camera_from_exif
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import read_rgb

WEIGHTS_VARIABLE = "GRS_DEPTH_MODEL"
"""Environment variable that names the folder of a metric depth model's weights."""
ADVICE = (
    "Give a depth picture with it, or pip install transformers torch and set GRS_DEPTH_MODEL to a folder with the "
    "weights of a metric depth model (such as Depth-Anything-V2-Metric-Indoor)."
)


def open_rgb_image(path: Path) -> Recording:
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

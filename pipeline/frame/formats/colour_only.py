"""A photograph without depth: only with an estimator, and never silently."""

import os
from pathlib import Path

import numpy as np
from PIL import Image

from pipeline.frame.assemble import assemble
from pipeline.frame.camera import Camera
from pipeline.frame.formats.bundle import read_bytes
from pipeline.frame.formats.lens import guessed_camera
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.images import read_rgb

WEIGHTS = "GRS_DEPTH_MODEL"
"""Names the folder of a metric depth model's weights."""
ADVICE = (
    "Give a depth picture with it, or pip install transformers torch and set GRS_DEPTH_MODEL to a folder with the "
    "weights of a metric depth model (such as Depth-Anything-V2-Metric-Indoor)."
)


def open_picture(path: Path) -> Recording:
    """The one frame that colour and an estimator make. Raises FrameError, at once where there is no estimator."""
    raw = read_bytes(path)
    rgb = read_rgb(raw, path.name)
    estimator = _estimator(path.name)
    return Recording("photograph", (path.name,), lambda _: _estimated(rgb, raw, estimator, path.name))


def _estimator(name: str):
    """transformers' depth pipeline over weights at hand. Raises FrameError."""
    folder = os.environ.get(WEIGHTS, "")
    try:
        from transformers import pipeline  # no dependency of ours: only who has no depth camera needs it
    except ImportError:
        raise FrameError(f"{name} is colour without depth, and no depth estimator is installed. {ADVICE}") from None
    if not Path(folder).is_dir() or not folder:
        raise FrameError(f"{name} is colour without depth, and no weights are at hand to estimate it. {ADVICE}")
    try:
        return pipeline("depth-estimation", model=folder)
    except Exception as error:  # transformers raises many kinds for a folder that is not a model's
        told = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise FrameError(f"The weights that {WEIGHTS} names cannot be used ({told}). {ADVICE}") from None


def _estimated(rgb: np.ndarray, raw: bytes, estimator, name: str) -> Frame:
    height, width = rgb.shape[:2]
    try:
        answer = np.asarray(estimator(Image.fromarray(rgb))["predicted_depth"], np.float32).squeeze()
        depth = np.asarray(Image.fromarray(answer).resize((width, height), Image.Resampling.BILINEAR))
    except Exception:  # a model of another task, or without memory to run
        raise FrameError(f"The depth estimator gave no depth for {name}. {ADVICE}") from None
    known = guessed_camera(raw, width, height)
    note = "Depth was estimated from colour, not measured: distances and sizes are the estimator's guess."
    return assemble(rgb, depth, Camera(known.intrinsics, 1.0, notes=(note, *known.notes), guessed=True), name)

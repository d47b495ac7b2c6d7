"""What a browser sends of clicks, boxes and masks; it is checked here, for anyone can send anything."""

import numpy as np

from pipeline.assets.reconstruct import WAYS
from pipeline.frame import Frame
from pipeline.segmentation import Prompt, SegmentationError
from pipeline.segmentation.files import unrle

MOST_CLICKS = 200
KINDS = (
    "mask", "delete_segment", "merge_segments", "not_object", "rename", "choose_asset", "make", "move", "resize",
    "refit", "physics",
)  # fmt: skip
"""Decisions about an object."""
NUMBERS = {"pos": 3, "quat_wxyz": 4, "scale": 1, "mass": 1, "friction": 1}
"""Data of decisions that are numbers, and how many."""


def prompt(request: dict, frame: Frame) -> Prompt:
    """Raises SegmentationError where the request makes no sense for this frame."""
    height, width = frame.depth.shape
    try:
        points = np.asarray(request.get("points") or np.zeros((0, 2)), float).reshape(-1, 2)
        labels = np.asarray(request.get("labels") or [], int).reshape(-1)
        box = None if request.get("box") is None else np.asarray(request["box"], float).reshape(4)
        mask = None if request.get("rle") is None else unrle(request["rle"])
    except (ValueError, TypeError, KeyError) as error:
        raise SegmentationError(f"The clicks cannot be read ({error}); reload the page.") from None
    if len(points) != len(labels) or len(points) > MOST_CLICKS or not set(labels.tolist()) <= {0, 1}:
        raise SegmentationError(f"Clicks need a label of 0 or 1 each, and at most {MOST_CLICKS} at once.")
    if not (np.isfinite(points).all() and (points >= 0).all() and (points < [width, height]).all()):
        raise SegmentationError(f"A click lies outside the picture of {width} x {height} pixels.")
    if mask is not None and mask.shape != (height, width):
        raise SegmentationError("The mask is of another picture; reload the page.")
    return Prompt(points, labels, box, mask)


def mask(runs: object, frame: Frame) -> np.ndarray:
    """A mask (H, W) of the frame's size, bool. Raises SegmentationError."""
    try:
        found = unrle(runs)  # type: ignore[arg-type]
    except (ValueError, TypeError, KeyError) as error:
        raise SegmentationError(f"The mask cannot be read ({error}); reload the page.") from None
    if found.shape != frame.depth.shape:
        raise SegmentationError("The mask is of another picture; reload the page.")
    return found


def decision(told: dict, frame: Frame) -> tuple[str, dict]:
    """Kind and data of a decision about an object: {"kind", ...its data}. Raises SegmentationError."""
    data = {key: value for key, value in told.items() if key != "kind"}
    kind = told.get("kind")
    ids = data.get("ids", [data.get("id")])
    if kind == "physics":  # who else said it is not for a browser to say
        data = {name: data.get(name) for name in ("id", "mass", "friction")}
    if kind not in KINDS:
        raise SegmentationError("That cannot be decided here; reload the page.")
    if not isinstance(ids, list) or not all(isinstance(id, int) and 0 < id < 1 << 16 for id in ids):
        raise SegmentationError(f"Objects are numbered from 1 to 65535, not {ids}; reload the page.")
    if kind == "make" and data.get("way") not in WAYS:
        raise SegmentationError(f"Nothing is made that way; from the view one is made {', '.join(WAYS)}.")
    if kind == "mask" and not mask(data.get("mask"), frame).any():
        raise SegmentationError("The mask is empty: nothing to keep. Delete the object instead.")
    free = kind == "physics"  # null is the asset's own there
    given = {name: count for name, count in NUMBERS.items() if name in data and not (free and data[name] is None)}
    wrong = [name for name, count in given.items() if not _few(data[name], count)]
    if wrong or ("pos" in data) != ("quat_wxyz" in data):
        raise SegmentationError(f"Write ordinary numbers for {' and '.join(wrong) or 'place and turn'}.")
    return kind, data


def _few(value: object, count: int) -> bool:
    """Whether it is that many finite numbers, none as large as a table would never see."""
    values = value if isinstance(value, list) else [value]
    numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    return len(values) == len(numbers) == count and all(abs(one) < 1e4 for one in numbers)

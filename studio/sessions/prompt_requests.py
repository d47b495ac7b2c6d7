"""Reads clicks, boxes, masks and decisions from a browser's requests, and checks them."""

import numpy as np

from pipeline.assets.reconstruct import RECONSTRUCTION_METHODS
from pipeline.frame import Frame
from pipeline.segmentation import Prompt, SegmentationError
from pipeline.segmentation.coco import decode_rle

MAX_CLICKS = 200
OBJECT_DECISIONS = (
    "mask", "delete_segment", "merge_segments", "not_object", "rename", "display_name", "choose_asset", "make", "move",
    "resize", "refit", "physics", "recolour",
)  # fmt: skip
"""Kinds of decisions about an object."""
NUMBER_COUNTS = {"pos": 3, "quat_wxyz": 4, "scale": 1, "mass": 1, "friction": 1}
"""How many numbers each numeric field of a decision has."""
MAX_NUMBER = 1e4
"""No field of an object on a table is as large, in SI units."""


def parse_prompt(request: dict, frame: Frame) -> Prompt:
    """Read {points, labels, box, rle}. Raises SegmentationError if they make no sense for this frame."""
    height, width = frame.depth.shape
    try:
        points = np.asarray(request.get("points") or np.zeros((0, 2)), float).reshape(-1, 2)
        labels = np.asarray(request.get("labels") or [], int).reshape(-1)
        box = None if request.get("box") is None else np.asarray(request["box"], float).reshape(4)
        mask = None if request.get("rle") is None else decode_rle(request["rle"])
    except (ValueError, TypeError, KeyError) as error:
        raise SegmentationError(f"The clicks cannot be read ({error}); reload the page.") from None
    if len(points) != len(labels) or len(points) > MAX_CLICKS or not set(labels.tolist()) <= {0, 1}:
        raise SegmentationError(f"Clicks need a label of 0 or 1 each, and at most {MAX_CLICKS} at once.")
    if not (np.isfinite(points).all() and (points >= 0).all() and (points < [width, height]).all()):
        raise SegmentationError(f"A click is outside the picture of {width} x {height} pixels.")
    if mask is not None and mask.shape != (height, width):
        raise SegmentationError("The mask is of another picture; reload the page.")
    return Prompt(points, labels, box, mask)


def parse_mask(rle: object, frame: Frame) -> np.ndarray:
    """Read a mask (H, W), bool, of the frame's size from COCO run lengths. Raises SegmentationError."""
    try:
        mask = decode_rle(rle)  # type: ignore[arg-type]
    except (ValueError, TypeError, KeyError) as error:
        raise SegmentationError(f"The mask cannot be read ({error}); reload the page.") from None
    if mask.shape != frame.depth.shape:
        raise SegmentationError("The mask is of another picture; reload the page.")
    return mask


def parse_decision(message: dict, frame: Frame) -> tuple[str, dict]:
    """Read the kind and the data of a decision about an object, {kind, ...data}. Raises SegmentationError."""
    data = {key: value for key, value in message.items() if key != "kind"}
    kind = message.get("kind")
    ids = data.get("ids", [data.get("id")])
    if kind == "physics":  # a browser must not claim that a model gave the values
        data = {name: data.get(name) for name in ("id", "mass", "friction")}
    if kind not in OBJECT_DECISIONS:
        raise SegmentationError("The studio does not know this decision; reload the page.")
    if not isinstance(ids, list) or not all(isinstance(id, int) and 0 < id < 1 << 16 for id in ids):
        raise SegmentationError(f"Objects are numbered from 1 to 65535, not {ids}; reload the page.")
    if kind == "display_name" and not isinstance(data.get("name"), str | None):
        raise SegmentationError("A name is text; reload the page.")
    if kind == "recolour" and not isinstance(data.get("value"), bool):
        raise SegmentationError("Recolouring is on or off; reload the page.")
    if kind == "make" and data.get("way") not in RECONSTRUCTION_METHODS:
        methods = ", ".join(RECONSTRUCTION_METHODS)
        raise SegmentationError(f"There is no such reconstruction method; there are: {methods}.")
    if kind == "mask" and not parse_mask(data.get("mask"), frame).any():
        raise SegmentationError("The mask is empty. Delete the object instead.")
    nullable = kind == "physics"  # null stands for the asset's own value
    counts = {
        name: count for name, count in NUMBER_COUNTS.items() if name in data and not (nullable and data[name] is None)
    }
    wrong = [name for name, count in counts.items() if not _are_numbers(data[name], count)]
    if wrong or ("pos" in data) != ("quat_wxyz" in data):
        raise SegmentationError(f"Write ordinary numbers for {' and '.join(wrong) or 'position and rotation'}.")
    return kind, data


def _are_numbers(value: object, count: int) -> bool:
    """Whether the value is that many numbers, all finite and below MAX_NUMBER."""
    values = value if isinstance(value, list) else [value]
    numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    return len(values) == len(numbers) == count and all(abs(one) < MAX_NUMBER for one in numbers)

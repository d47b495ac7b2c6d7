"""Check prompts, and read them from a JSON file."""

from pathlib import Path
from typing import Any

import numpy as np

from pipeline.frame import Frame
from pipeline.segmentation.segment import Prompt, SegmentationError
from pipeline.store import parse_json

PROMPTS_FORM = '{"objects": [{"id": 1, "points": [[x, y, label], ...], "box": [x0, y0, x1, y1] or null}, ...]}'


def check_prompt(prompt: Prompt, shape: tuple[int, int]) -> None:
    """Raise SegmentationError, in one line, if no segmenter could answer the prompt on an image of shape (H, W)."""
    height, width = shape
    points, labels = np.asarray(prompt.points, float), np.asarray(prompt.labels)
    if points.ndim != 2 or points.shape[1] != 2 or labels.shape != points.shape[:1]:
        raise SegmentationError(
            f"Points of shape {points.shape} and labels of shape {labels.shape} do not go together."
        )
    if not len(points) and prompt.box is None and prompt.mask is None:
        raise SegmentationError("An empty prompt: give a point, a box or a mask to start from.")
    outside = ~((points >= 0) & (points < [width, height])).all(1)  # true for NaN as well
    if outside.any():
        x, y = points[outside][0]
        raise SegmentationError(f"Point {x:g}, {y:g} lies outside the {width} x {height} image.")
    if not np.isin(labels, (0, 1)).all():
        raise SegmentationError(f"Labels are 1 (plus) and 0 (minus), not {sorted(set(labels.tolist()) - {0, 1})}.")
    if prompt.box is not None:
        box = np.asarray(prompt.box, float)
        if box.shape != (4,) or not (0 <= box[0] < box[2] <= width and 0 <= box[1] < box[3] <= height):
            raise SegmentationError(f"The box must be x0 < x1 and y0 < y1 inside the {width} x {height} image.")
    if prompt.mask is not None and prompt.mask.shape != shape:
        raise SegmentationError(f"The mask to start from is {prompt.mask.shape[::-1]} pixels, the image {shape[::-1]}.")


def read_prompts(path: str | Path, frame: Frame) -> dict[int, Prompt]:
    """Read prompts by object id. Raises SegmentationError: one line that names the object and the problem."""
    path = Path(path)
    try:
        data = parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SegmentationError(f"Prompts {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise SegmentationError(f"{path.name} is not JSON ({error}); it should read {PROMPTS_FORM}.") from None
    objects = data.get("objects") if isinstance(data, dict) else None
    if not isinstance(objects, list) or not objects:
        raise SegmentationError(f"{path.name} names no objects; it should read {PROMPTS_FORM}.")
    prompts: dict[int, Prompt] = {}
    for entry in objects:
        number = entry.get("id") if isinstance(entry, dict) else None
        shown = repr(number)[:40]
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 65535:
            raise SegmentationError(f"{path.name}: an object's id is {shown}; ids are integers from 1 to 65535.")
        if number in prompts:
            raise SegmentationError(f"{path.name}: id {number} is given twice; put all its points into one object.")
        try:
            prompts[number] = _prompt(entry, frame)
        except SegmentationError as error:
            raise SegmentationError(f"{path.name}, object {number}: {error}") from None
    return prompts


def _prompt(entry: dict[str, Any], frame: Frame) -> Prompt:
    points, box = entry.get("points") or [], entry.get("box")
    rows = _numbers(points, (len(points) if isinstance(points, list) else -1, 3), "points", "[[x, y, label], ...]")
    corners = None if box is None else _numbers(box, (4,), "box", "[x0, y0, x1, y1] or null")
    rows = rows.reshape(-1, 3)
    prompt = Prompt(rows[:, :2], rows[:, 2].astype(int) if np.isin(rows[:, 2], (0, 1)).all() else rows[:, 2], corners)
    check_prompt(prompt, frame.depth.shape)
    if corners is None and len(rows) and prompt.labels[0] != 1:
        raise SegmentationError("The first point must be a plus (label 1).")
    return prompt


def _numbers(value: Any, shape: tuple[int, ...], name: str, form: str) -> np.ndarray:
    """Return the value as a finite array of this shape. Raises SegmentationError with the expected form."""
    try:
        array = np.array(value, float)
    except (ValueError, TypeError, OverflowError):
        array = np.zeros(0) * np.nan
    empty = shape == (0, 3) and array.size == 0
    if not empty and (array.shape != shape or not np.isfinite(array).all()):
        raise SegmentationError(f"{name} should be {form}, all numbers.")
    return array

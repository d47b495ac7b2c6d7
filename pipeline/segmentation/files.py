"""Masks as files: label PNG, COCO with run lengths, and prompts as JSON."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pipeline.frame import Frame
from pipeline.segmentation.prompted import check_prompt
from pipeline.segmentation.segment import Prompt, Segment, SegmentationError
from pipeline.store import replacing, write_text

FORM = '{"objects": [{"id": 1, "points": [[x, y, label], ...], "box": [x0, y0, x1, y1] or null}, ...]}'


def write_segments(segments: Iterable[Segment], shape: tuple[int, int], folder: str | Path) -> None:
    """Write masks.png (uint16, 0 background, i = segment id) and coco.json of an image of shape (H, W).

    Where masks overlap the label image keeps the later one; coco.json keeps both.
    """
    folder, segments = Path(folder), list(segments)
    labels = np.zeros(shape, np.uint16)
    for segment in segments:
        labels[segment.mask] = segment.id
    with replacing(folder / "masks.png") as aside:
        Image.fromarray(labels).save(aside, "PNG")
    write_text(folder / "coco.json", json.dumps(coco(segments, shape)))


def read_segments(folder: str | Path) -> tuple[Segment, ...]:
    """What `write_segments` wrote. Raises SegmentationError."""
    path = Path(folder) / "coco.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return tuple(
            Segment(int(note["id"]), unrle(note["segmentation"]), float(note["score"]), str(note["source"]))
            for note in data["annotations"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SegmentationError(f"{path.name} cannot be read ({error}); segment the frame again.") from None


def coco(segments: Sequence[Segment], shape: tuple[int, int]) -> dict[str, Any]:
    """The segments in COCO's form (https://cocodataset.org/#format-data), with `score` and `source` beside."""
    height, width = shape
    return {
        "images": [{"id": 1, "width": width, "height": height, "file_name": "rgb.png"}],
        "categories": [{"id": 1, "name": "object"}],
        "annotations": [_annotation(segment) for segment in segments],
    }


def rle(mask: np.ndarray) -> dict[str, Any]:
    """COCO's uncompressed run lengths of a mask (H, W): column by column, the first run is background."""
    flat = np.asarray(mask, bool).ravel(order="F")
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    bounds = np.concatenate([[0], edges, [flat.size]])
    counts = np.diff(bounds).tolist()
    return {"size": list(mask.shape), "counts": [0, *counts] if flat.size and flat[0] else counts}


def unrle(runs: dict[str, Any]) -> np.ndarray:
    """The mask (H, W), bool, of uncompressed run lengths. Raises SegmentationError where they do not fit the size."""
    height, width = runs["size"]
    counts = np.asarray(runs["counts"])
    if counts.dtype.kind != "i" or (counts < 0).any() or counts.sum() != height * width:
        raise SegmentationError(
            f"Run lengths do not fill {width} x {height} pixels; they should be whole numbers that sum to it."
        )
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape((height, width), order="F")


def read_prompts(path: str | Path, frame: Frame) -> dict[int, Prompt]:
    """Prompts by object id. Raises SegmentationError: one line that names the object and what is wrong."""
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SegmentationError(f"Prompts {path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise SegmentationError(f"{path.name} is not JSON ({error}); it should read {FORM}.") from None
    objects = data.get("objects") if isinstance(data, dict) else None
    if not isinstance(objects, list) or not objects:
        raise SegmentationError(f"{path.name} names no objects; it should read {FORM}.")
    prompts: dict[int, Prompt] = {}
    for entry in objects:
        number = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 65535:
            raise SegmentationError(
                f"{path.name}: an object's id is {number!r}; ids are whole numbers from 1 to 65535."
            )
        if number in prompts:
            raise SegmentationError(f"{path.name}: id {number} is given twice; put all its points into one object.")
        try:
            prompts[number] = _prompt(entry, frame)
        except SegmentationError as error:
            raise SegmentationError(f"{path.name}, object {number}: {error}") from None
    return prompts


def _prompt(entry: dict[str, Any], frame: Frame) -> Prompt:
    points, box = entry.get("points") or [], entry.get("box")
    rows = _numbers(points, (len(points), 3) if isinstance(points, list) else (), "points", "[[x, y, label], ...]")
    corners = None if box is None else _numbers(box, (4,), "box", "[x0, y0, x1, y1] or null")
    rows = rows.reshape(-1, 3)
    prompt = Prompt(rows[:, :2], rows[:, 2].astype(int) if np.isin(rows[:, 2], (0, 1)).all() else rows[:, 2], corners)
    check_prompt(prompt, frame.depth.shape)
    if corners is None and len(rows) and prompt.labels[0] != 1:
        raise SegmentationError("The first point must be a plus (label 1).")
    return prompt


def _numbers(value: Any, shape: tuple[int, ...], name: str, form: str) -> np.ndarray:
    try:
        array = np.array(value, float)
    except (ValueError, TypeError, OverflowError):
        array = np.zeros(0) * np.nan
    empty = shape == (0, 3) and array.size == 0
    if not empty and (array.shape != shape or not np.isfinite(array).all()):
        raise SegmentationError(f"{name} should be {form}, all numbers.")
    return array


def _annotation(segment: Segment) -> dict[str, Any]:
    rows, cols = np.flatnonzero(segment.mask.any(1)), np.flatnonzero(segment.mask.any(0))
    box = [0, 0, 0, 0]
    if len(rows):
        box = [int(cols[0]), int(rows[0]), int(cols[-1] - cols[0] + 1), int(rows[-1] - rows[0] + 1)]
    return {
        "id": segment.id,
        "image_id": 1,
        "category_id": 1,
        "iscrowd": 0,  # COCO's readers decode run lengths whatever it says; 1 would mean "a group of things"
        "area": int(segment.mask.sum()),
        "bbox": box,
        "segmentation": rle(segment.mask),
        "score": segment.score,
        "source": segment.source,
    }

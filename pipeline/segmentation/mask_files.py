"""Read and write the masks of a project: a label image and COCO with run lengths."""

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pipeline.errors import reason_of
from pipeline.geometry import bounding_box
from pipeline.segmentation.coco import decode_rle, encode_rle
from pipeline.segmentation.segment import SEGMENT_KINDS, Segment, SegmentationError, SegmentKind
from pipeline.store import parse_json, write_bytes, write_text


def write_segments(segments: Iterable[Segment], shape: tuple[int, int], folder: str | Path) -> None:
    """Write masks.png (uint16, 0 background, i = segment id) and coco.json of an image of shape (H, W).

    Where masks overlap, the label image shows the later one; coco.json holds both.
    """
    folder, segments = Path(folder), list(segments)
    labels = np.zeros(shape, np.uint16)
    for segment in segments:
        labels[segment.mask] = segment.id
    picture = io.BytesIO()  # errors of a full disk keep their number only if Pillow does not write the file
    Image.fromarray(labels).save(picture, "PNG")
    write_bytes(folder / "masks.png", picture.getvalue())
    write_text(folder / "coco.json", json.dumps(_to_json(segments, shape)))


def are_written(segments: Iterable[Segment], shape: tuple[int, int], folder: str | Path) -> bool:
    """Whether the files of `write_segments` hold these segments."""
    file = Path(folder) / "coco.json"
    expected = json.dumps(_to_json(list(segments), shape))
    return (file.with_name("masks.png")).exists() and file.exists() and file.read_bytes() == expected.encode()


def read_segments(folder: str | Path) -> tuple[Segment, ...]:
    """Inverse of `write_segments`. Raises SegmentationError."""
    path = Path(folder) / "coco.json"
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
        return tuple(
            Segment(
                int(note["id"]),
                decode_rle(note["segmentation"]),
                float(note["score"]),
                str(note["source"]),
                _kind(note.get("category_id", 1)),
            )
            for note in data["annotations"]
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise SegmentationError(f"{path.name} cannot be read ({reason_of(error)}); segment the frame again.") from None


def _kind(category: Any) -> SegmentKind:
    """Return the kind of a category of coco.json. Raises ValueError."""
    if category not in range(1, len(SEGMENT_KINDS) + 1):
        raise ValueError(f"there is no category {category!r}")
    return SEGMENT_KINDS[category - 1]


def _to_json(segments: Sequence[Segment], shape: tuple[int, int]) -> dict[str, Any]:
    """Return COCO data of the segments, with the additional keys `score` and `source`; their kinds are categories."""
    height, width = shape
    return {
        "images": [{"id": 1, "width": width, "height": height, "file_name": "rgb.png"}],
        "categories": [{"id": i, "name": kind} for i, kind in enumerate(SEGMENT_KINDS, 1)],
        "annotations": [_annotation(segment) for segment in segments],
    }


def _annotation(segment: Segment) -> dict[str, Any]:
    return {
        "id": segment.id,
        "image_id": 1,
        "category_id": SEGMENT_KINDS.index(segment.kind) + 1,
        "iscrowd": 0,  # COCO's readers decode run lengths in any case; 1 would mean a group of objects
        "area": int(segment.mask.sum()),
        "bbox": bounding_box(segment.mask).xywh,
        "segmentation": encode_rle(segment.mask),
        "score": segment.score,
        "source": segment.source,
    }

"""Masks in COCO's format (https://cocodataset.org/#format-data): run lengths, polygons, annotations."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from pipeline.geometry import bounding_box
from pipeline.segmentation.segment import NamedMask, SegmentationError

MAX_PIXELS = 1 << 28


def encode_rle(mask: np.ndarray) -> dict[str, Any]:
    """Return COCO's uncompressed run lengths of a mask (H, W): column by column, the first run is background."""
    flat = np.asarray(mask, bool).ravel(order="F")
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    bounds = np.concatenate([[0], edges, [flat.size]])
    counts = np.diff(bounds).tolist()
    return {"size": list(mask.shape), "counts": [0, *counts] if flat.size and flat[0] else counts}


def decode_rle(runs: dict[str, Any]) -> np.ndarray:
    """Return the mask (H, W), bool, of uncompressed run lengths. Raises SegmentationError if they do not fit."""
    height, width = runs["size"]
    counts = np.asarray(runs["counts"])
    if height * width > MAX_PIXELS:
        raise SegmentationError(f"A mask of {width} x {height} pixels is larger than any frame.")
    if counts.dtype.kind != "i" or counts.ndim != 1 or (counts < 0).any() or counts.sum() != height * width:
        raise SegmentationError(
            f"Run lengths do not fill {width} x {height} pixels; they should be integers that sum to it."
        )
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape((height, width), order="F")


def decompress_counts(text: str) -> list[int]:
    """Return the counts of COCO's compressed run lengths: six bits per character, as differences to the last but one.

    See rleFrString in https://github.com/cocodataset/cocoapi/blob/master/common/maskApi.c.
    """
    counts: list[int] = []
    value = shift = 0
    for character in text.encode():
        bits = character - 48
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value |= -1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    return counts


def to_coco(objects: Sequence[NamedMask], shape: tuple[int, int], image: str) -> dict[str, Any]:
    """Return COCO data of masks (H, W) with uncompressed run lengths; names are the categories.

    `iscrowd` is 1 because COCO uses run lengths for crowds only; Datumaro, CVAT's reader, makes masks of both.
    """
    categories = {name: i for i, name in enumerate(dict.fromkeys(item.name or "object" for item in objects), 1)}
    return {
        "info": {"description": "GRS Studio"},
        "licenses": [],
        "images": [{"id": 1, "width": shape[1], "height": shape[0], "file_name": image}],
        "categories": [{"id": i, "name": name, "supercategory": ""} for name, i in categories.items()],
        "annotations": [
            {
                "id": item.id,
                "image_id": 1,
                "category_id": categories[item.name or "object"],
                "segmentation": encode_rle(item.mask),
                "area": int(item.mask.sum()),
                "bbox": bounding_box(item.mask).xywh,
                "iscrowd": 1,
            }
            for item in objects
        ],
    }


def from_coco(data: dict[str, Any], shape: tuple[int, int]) -> list[NamedMask]:
    """Return the masks of COCO data, for an image of shape (H, W). Raises SegmentationError if they do not fit."""
    images = {image["id"]: image for image in data["images"]}
    fitting = [i for i, image in images.items() if (image["height"], image["width"]) == shape]
    if not fitting:
        found = {f"{image['width']!s:.20} x {image['height']!s:.20}" for image in images.values()}
        sizes = ", ".join(sorted(found)) or "none"
        raise SegmentationError(f"The masks are of an image of {sizes} pixels; this one has {shape[1]} x {shape[0]}.")
    if len(images) > 1:
        raise SegmentationError(f"The file holds {len(images)} images; export this one alone and import that.")
    names = {category["id"]: str(category["name"]) for category in data.get("categories", ())}
    return [
        NamedMask(int(note["id"]), names.get(note.get("category_id"), ""), _mask(note["segmentation"], shape))
        for note in data["annotations"]
        if note.get("segmentation")
    ]


def _mask(segmentation: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return the mask of polygons [[x, y, ...], ...] or of run lengths, compressed or not."""
    if isinstance(segmentation, dict):
        counts = segmentation["counts"]
        counts = decompress_counts(counts) if isinstance(counts, str) else counts
        mask = decode_rle({"size": segmentation["size"], "counts": counts})
        if mask.shape != shape:
            raise SegmentationError(
                f"A mask has {mask.shape[1]} x {mask.shape[0]} pixels, the image {shape[1]} x {shape[0]}."
            )
        return mask
    mask = np.zeros(shape, np.uint8)
    for polygon in segmentation:  # COCO's corners lie between pixels, hence the half
        corners = (np.asarray(polygon, float).reshape(-1, 2) - 0.5) * 16
        cv2.fillPoly(mask, [np.rint(corners).astype(np.int32)], 1, shift=4)
    return mask > 0

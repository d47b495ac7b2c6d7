"""Label Studio's brush masks (https://labelstud.io/tags/brushlabels): bit-packed run lengths of an RGBA image.

The packing is that of https://github.com/thi-ng/umbrella/tree/develop/packages/rle-pack: 32 bits count, 5 bits word
size - 1, four times 4 bits length size - 1; then for each run: repeated or not, index of the length size, length - 1,
word(s).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from pipeline.segmentation.segment import NamedMask, SegmentationError

LENGTH_SIZES = (3, 4, 8, 16)
"""Bits of a run's length, as in Label Studio's converter."""
MAX_PIXELS = 1 << 28


def encode_brush(mask: np.ndarray) -> list[int]:
    """Return a mask (H, W) as Label Studio's bytes."""
    flat = np.asarray(mask, bool).ravel()
    edges = np.concatenate([[0], np.flatnonzero(flat[1:] != flat[:-1]) + 1, [flat.size]])
    bits = [f"{4 * flat.size:032b}", f"{7:05b}", *(f"{size - 1:04b}" for size in LENGTH_SIZES)]
    for start, length in zip(edges[:-1], 4 * np.diff(edges), strict=True):
        bits += _run(int(length), 255 if flat[start] else 0)
    text = "".join(bits)
    return np.packbits(np.frombuffer(text.encode(), np.uint8) - ord("0")).tolist()


def _run(length: int, value: int) -> Iterable[str]:
    """Yield the bits of `length` equal bytes."""
    while length:
        part = min(length, 1 << LENGTH_SIZES[-1])
        size_index = next(i for i, size in enumerate(LENGTH_SIZES) if part <= 1 << size)
        yield f"1{size_index:02b}{part - 1:0{LENGTH_SIZES[size_index]}b}{value:08b}"
        length -= part


def decode_brush(data: Sequence[int], shape: tuple[int, int]) -> np.ndarray:
    """Return the mask (H, W), bool: where alpha is not 0. Raises SegmentationError if the size differs."""
    bits = np.unpackbits(np.asarray(data, np.uint8))
    text, position = (bits + ord("0")).astype(np.uint8).tobytes().decode(), 0

    def take(count: int) -> int:
        nonlocal position
        position += count
        return int(text[position - count : position], 2)

    count, word = take(32), take(5) + 1
    if count != 4 * shape[0] * shape[1] or count > MAX_PIXELS:
        raise SegmentationError(f"A brush mask of {count // 4} pixels does not fit {shape[1]} x {shape[0]}.")
    sizes = [take(4) + 1 for _ in range(4)]
    flat, i = np.zeros(count, np.uint32), 0
    while i < count:
        repeated, length = take(1), take(sizes[take(2)]) + 1
        if repeated:
            flat[i : i + length] = take(word)
        else:
            flat[i : i + length] = [take(word) for _ in range(min(length, count - i))]
        i += length
    return flat.reshape(*shape, 4)[..., 3] > 0


def build_task(objects: Sequence[NamedMask], image_url: str) -> dict[str, Any]:
    """Return a task to import into Label Studio, with the masks as a prediction to correct."""
    result = [
        {
            "id": f"object{item.id}",
            "type": "brushlabels",
            "from_name": "tag",
            "to_name": "image",
            "origin": "manual",
            "image_rotation": 0,
            "original_width": item.mask.shape[1],
            "original_height": item.mask.shape[0],
            "value": {"format": "rle", "rle": encode_brush(item.mask), "brushlabels": [item.name]},
        }
        for item in objects
    ]
    return {"data": {"image": image_url}, "predictions": [{"model_version": "grs-studio", "result": result}]}


def labeling_config(names: Iterable[str]) -> str:
    """Return the labeling configuration for tasks with objects of these names."""
    rows = "\n".join(f"    <Label value={quoteattr(name)}/>" for name in dict.fromkeys(names))
    return (
        '<View>\n  <Image name="image" value="$image" zoom="true"/>\n'
        f'  <BrushLabels name="tag" toName="image">\n{rows}\n  </BrushLabels>\n</View>\n'
    )


def read_task(data: Any, shape: tuple[int, int]) -> list[NamedMask]:
    """Return the masks of an exported task: its annotations, or its predictions if it has none."""
    tasks = data if isinstance(data, list) else [data]
    if not all(isinstance(task, dict) and ("annotations" in task or "predictions" in task) for task in tasks):
        raise ValueError("neither COCO nor Label Studio")
    if len(tasks) != 1:
        raise SegmentationError(f"The file holds {len(tasks)} tasks; export this image's task alone and import that.")
    annotations = [note for kind in ("annotations", "predictions") for note in tasks[0].get(kind) or ()]
    result = annotations[0]["result"] if annotations else []
    return [_read_mask(region, i, shape) for i, region in enumerate(result, 1) if "rle" in region["value"]]


def _read_mask(region: dict[str, Any], i: int, shape: tuple[int, int]) -> NamedMask:
    size = (int(region["original_height"]), int(region["original_width"]))
    if size != shape:
        raise SegmentationError(f"The masks are of {size[1]} x {size[0]} pixels, the image {shape[1]} x {shape[0]}.")
    number = re.fullmatch(r"object(\d+)", str(region.get("id", "")))
    value = region["value"]
    names = value.get("brushlabels") or value.get("labels") or [""]
    return NamedMask(int(number[1]) if number else i, str(names[0]), decode_brush(value["rle"], shape))

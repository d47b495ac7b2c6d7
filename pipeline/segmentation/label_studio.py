"""Label Studio's brush masks (https://labelstud.io/tags/brushlabels): runs of bytes of an RGBA picture, bit-packed.

The packing is thi.ng's (https://github.com/thi-ng/umbrella/tree/develop/packages/rle-pack): 32 bits count, 5 bits word
size - 1, four times 4 bits of length sizes - 1; then each run: is it repeated, which length size, length - 1, word(s).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from pipeline.segmentation.segment import SegmentationError

SIZES = (3, 4, 8, 16)
"""Bits of a run's length, the same as Label Studio's own converter."""
MOST_PIXELS = 1 << 28


def packed(mask: np.ndarray) -> list[int]:
    """A mask (H, W) as Label Studio's bytes."""
    flat = np.asarray(mask, bool).ravel()
    edges = np.concatenate([[0], np.flatnonzero(flat[1:] != flat[:-1]) + 1, [flat.size]])
    bits = [f"{4 * flat.size:032b}", f"{7:05b}", *(f"{size - 1:04b}" for size in SIZES)]
    for start, length in zip(edges[:-1], 4 * np.diff(edges), strict=True):
        bits += _run(int(length), 255 if flat[start] else 0)
    text = "".join(bits)
    return np.packbits(np.frombuffer(text.encode(), np.uint8) - ord("0")).tolist()


def _run(length: int, value: int) -> Iterable[str]:
    while length:
        part = min(length, 1 << SIZES[-1])
        which = next(i for i, size in enumerate(SIZES) if part <= 1 << size)
        yield f"1{which:02b}{part - 1:0{SIZES[which]}b}{value:08b}"
        length -= part


def unpacked(data: Sequence[int], shape: tuple[int, int]) -> np.ndarray:
    """The mask (H, W), bool: where the picture's alpha is not 0. Raises SegmentationError where the size differs."""
    bits = np.unpackbits(np.asarray(data, np.uint8))
    text, at = (bits + ord("0")).astype(np.uint8).tobytes().decode(), 0

    def take(count: int) -> int:
        nonlocal at
        at += count
        return int(text[at - count : at], 2)

    count, word = take(32), take(5) + 1
    if count != 4 * shape[0] * shape[1] or count > MOST_PIXELS:
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


def task(objects: Sequence[tuple[int, str, np.ndarray]], image: str) -> dict[str, Any]:
    """One task to import, its masks (id, name, mask) as a prediction to correct; `image` is the picture's address."""
    result = [
        {
            "id": f"object{number}",
            "type": "brushlabels",
            "from_name": "tag",
            "to_name": "image",
            "origin": "manual",
            "image_rotation": 0,
            "original_width": mask.shape[1],
            "original_height": mask.shape[0],
            "value": {"format": "rle", "rle": packed(mask), "brushlabels": [name]},
        }
        for number, name, mask in objects
    ]
    return {"data": {"image": image}, "predictions": [{"model_version": "grs-studio", "result": result}]}


def config(names: Iterable[str]) -> str:
    """The labeling configuration that these tasks need."""
    rows = "\n".join(f"    <Label value={quoteattr(name)}/>" for name in dict.fromkeys(names))
    return (
        '<View>\n  <Image name="image" value="$image" zoom="true"/>\n'
        f'  <BrushLabels name="tag" toName="image">\n{rows}\n  </BrushLabels>\n</View>\n'
    )


def masks(data: Any, shape: tuple[int, int]) -> list[tuple[int, str, np.ndarray]]:
    """(id, name, mask) of an export or of a task: annotations where there are any, else predictions."""
    tasks = data if isinstance(data, list) else [data]
    if not all(isinstance(one, dict) and ("annotations" in one or "predictions" in one) for one in tasks):
        raise ValueError("neither COCO nor Label Studio")
    if len(tasks) != 1:
        raise SegmentationError(f"The file holds {len(tasks)} tasks; export this picture's alone and take that.")
    notes = [note for kind in ("annotations", "predictions") for note in tasks[0].get(kind) or ()]
    result = notes[0]["result"] if notes else []
    return [_read(one, i, shape) for i, one in enumerate(result, 1) if "rle" in one["value"]]


def _read(one: dict[str, Any], i: int, shape: tuple[int, int]) -> tuple[int, str, np.ndarray]:
    size = (int(one["original_height"]), int(one["original_width"]))
    if size != shape:
        raise SegmentationError(f"The masks are of {size[1]} x {size[0]} pixels, the picture {shape[1]} x {shape[0]}.")
    number = re.fullmatch(r"object(\d+)", str(one.get("id", "")))
    value = one["value"]
    names = value.get("brushlabels") or value.get("labels") or [""]
    return int(number[1]) if number else i, str(names[0]), unpacked(value["rle"], shape)

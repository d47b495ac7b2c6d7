"""Read masks of other programs in a confined child: their zips and images come from outside."""

import tempfile
from pathlib import Path

import numpy as np

from pipeline.segmentation.exchange import read_masks
from pipeline.segmentation.named_mask import NamedMask
from pipeline.segmentation.segment import SegmentationError
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result

LIMITS = Limits(seconds=60, memory_mb=2048)


def read_masks_confined(data: bytes, shape: tuple[int, int]) -> tuple[NamedMask, ...]:
    """Return the masks in a file, for an image of shape (H, W). Raises SegmentationError: one line with the reason."""
    if not confined.is_supported():
        return read_masks(data, shape)
    with tempfile.TemporaryDirectory(prefix="grs-masks-") as folder:
        file = Path(folder, "masks")
        file.write_bytes(data)
        arguments = {"path": str(file), "shape": shape}
        with confined.errors_as(SegmentationError, "the file"):
            events = confined.call(f"{__name__}:send_masks", arguments, [file], limits=LIMITS, warm=[__name__])
            return _masks(confined.result_of(events), shape)


def _masks(reply: Result, shape: tuple[int, int]) -> tuple[NamedMask, ...]:
    """Return the masks that a child sent. Raises ValueError if there are none."""
    names, (ids, packed) = reply.value["names"], reply.arrays
    expected = len(names), shape[0], (shape[1] + 7) // 8
    if packed.dtype != np.uint8 or packed.shape != expected or len(ids) != len(names):
        raise ValueError
    masks = np.unpackbits(packed, axis=2, count=shape[1]).astype(bool)
    return tuple(NamedMask(int(id), str(name), mask) for id, name, mask in zip(ids, names, masks, strict=True))


def send_masks(path: str, shape: list[int]) -> Result:
    """Return the masks' names, ids and bits. Raises SegmentationError."""
    height, width = shape
    masks = read_masks(Path(path).read_bytes(), (height, width))
    bits = np.stack([np.packbits(item.mask, axis=1) for item in masks])
    return Result({"names": [item.name for item in masks]}, (np.array([item.id for item in masks]), bits))

"""Reads pre-1.6 torch checkpoints without torch: no maintained Python package does (ptloader 0.3 reads zips only).

Such a file is a sequence of pickles (magic number, protocol, system, objects, storage keys), then each storage as its
number of elements and the raw elements (`_legacy_load` in torch/serialization.py).
"""

import pickle
import struct
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pipeline.assets.asset import AssetError

STORAGE_DTYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read_checkpoint(file: Path) -> dict[str, np.ndarray]:
    """Return the tensors of a saved state dict by name. Runs no code from the file. Raises AssetError."""
    try:
        with file.open("rb") as stream:
            return _read_state_dict(stream)
    except (OSError, ValueError, EOFError, KeyError, pickle.UnpicklingError, struct.error) as error:
        raise AssetError(
            f"cannot read the weights {file.name} ({error}); reinstall the package they came with"
        ) from None


def _read_state_dict(stream: BinaryIO) -> dict[str, np.ndarray]:
    for _ in range(3):  # magic number, protocol version, system info
        _RestrictedUnpickler(stream).load()
    unpickler, storages = _RestrictedUnpickler(stream), {}
    tensors = unpickler.load()
    for key in _RestrictedUnpickler(stream).load():
        (count,) = struct.unpack("<q", stream.read(8))
        dtype = unpickler.dtypes[key]
        storages[key] = np.frombuffer(stream.read(count * dtype.itemsize), dtype)
    return {name: tensor.load(storages) for name, tensor in tensors.items() if isinstance(tensor, _TensorHeader)}


class _TensorHeader(NamedTuple):
    """A tensor before its storage is read."""

    storage: str
    offset: int
    """Elements of the storage before the first element."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """Elements between neighbours along each axis; weights converted from TensorFlow are not C-contiguous."""

    def load(self, storages: Mapping[str, np.ndarray]) -> np.ndarray:
        elements = storages[self.storage][self.offset :]
        if len(elements) <= sum((extent - 1) * step for extent, step in zip(self.shape, self.stride, strict=True)):
            raise ValueError("a tensor extends beyond its storage")
        steps = [step * elements.itemsize for step in self.stride]
        return np.ascontiguousarray(np.lib.stride_tricks.as_strided(elements, self.shape, steps))


class _RestrictedUnpickler(pickle.Unpickler):
    """Resolves only the four names that a state dict needs."""

    def __init__(self, stream: BinaryIO):
        super().__init__(stream)
        self.dtypes: dict[str, np.dtype] = {}
        """By storage key."""

    def find_class(self, module: str, name: str) -> Any:
        if name in STORAGE_DTYPES:
            return STORAGE_DTYPES[name]
        if name == "OrderedDict":
            return OrderedDict
        if name == "_rebuild_tensor_v2":
            return lambda *fields: _TensorHeader(*fields[:4])
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a file of weights")

    def persistent_load(self, pid: Any) -> str:
        _, dtype, key, *_ = pid
        self.dtypes[key] = dtype
        return key

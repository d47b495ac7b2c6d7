"""Continues from exported networks: reads the weights of an ONNX file, and averages two networks."""

from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

Network = TypeVar("Network", bound=nn.Module)


def load_convolutions(network: nn.Module, source: Path) -> None:
    """Load the convolutions of an ONNX file, in their order, into a network without batch normalisation.

    Needs the wheel onnx. Raises ValueError if the file holds another network.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(source).graph
    stored = {one.name: torch.from_numpy(numpy_helper.to_array(one).copy()) for one in graph.initializer}
    layers = [one for one in network.modules() if isinstance(one, nn.Conv2d)]
    weights = [[stored[name] for name in one.input[1:3]] for one in graph.node if one.op_type == "Conv"]
    if [one.weight.shape for one in layers] != [weight.shape for weight, _ in weights]:
        raise ValueError(f"{source} holds another network; name the file that the same script exported")
    with torch.no_grad():
        for layer, (weight, bias) in zip(layers, weights, strict=True):
            assert layer.bias is not None
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)


def average(result: Network, first: Network, second: Network, share: float) -> Network:
    """Return `result` with a share of the second's weights and the rest of the first's; none is normalised.

    It keeps what the first could (Wortsman et al., "WiSE-FT", 2022).
    """
    old, new = first.state_dict(), second.state_dict()
    result.load_state_dict({name: (1 - share) * old[name] + share * new[name] for name in old})
    return result

"""Defines the network of pipeline/segmentation/depth/affinity.py in torch."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from pipeline.segmentation.depth.affinity import INPUT_CHANNELS, OFFSETS
from scripts.training.exported_weights import load_convolutions

FEATURES, STEM = 24, 24
WIDTHS = (32, 48, 64, 72)


def convolution(channels: int, out: int, stride: int, normalised: bool) -> list[nn.Module]:
    """Return the layers of a convolution: with batch normalisation, or with a bias in its place."""
    norm = [nn.BatchNorm2d(out)] if normalised else []
    return [nn.Conv2d(channels, out, 3, stride, 1, bias=not normalised), *norm, nn.ReLU()]


def double_convolution(channels: int, out: int, normalised: bool) -> nn.Sequential:
    return nn.Sequential(*convolution(channels, out, 1, normalised), *convolution(out, out, 1, normalised))


class AffinityNetwork(nn.Module):
    """A U-Net on the grid of the encoder's features."""

    def __init__(self, normalised: bool = True):
        """`normalised` adds batch normalisation. An exported network has none: export folds it into the weights."""
        super().__init__()
        self.stem = nn.Sequential(*convolution(INPUT_CHANNELS, STEM, 2, normalised))
        self.colour = nn.Conv2d(FEATURES, 16, 1)
        widths = (STEM + 16, *WIDTHS)
        self.down = nn.ModuleList(double_convolution(a, b, normalised) for a, b in zip(widths, WIDTHS, strict=False))
        self.up = nn.ModuleList(double_convolution(WIDTHS[i + 1] + WIDTHS[i], WIDTHS[i], normalised) for i in (2, 1, 0))
        self.out = nn.Conv2d(WIDTHS[0], 1 + len(OFFSETS), 1)

    @classmethod
    def from_onnx(cls, source: Path) -> "AffinityNetwork":
        """Return the network that `export` wrote, to train it further. Needs the wheel onnx."""
        network = cls(normalised=False)
        load_convolutions(network, source)
        return network

    def forward(self, maps: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        """Return log odds (N, 1 + offsets, h, w) of maps (N, INPUT_CHANNELS, 2 h, 2 w) and features.

        Features have shape (N, FEATURES, h, w).
        """
        x, skips = torch.cat([self.stem(maps), self.colour(features)], 1), []
        for number, layer in enumerate(self.down):
            x = layer(x if number == 0 else functional.max_pool2d(x, 2))
            skips.append(x)
        for layer, fine in zip(self.up, skips[-2::-1], strict=True):
            x = layer(torch.cat([functional.interpolate(x, scale_factor=2.0, mode="bilinear"), fine], 1))
        return self.out(x)

    def export(self, target: Path) -> None:
        """Write the ONNX file. Needs the wheel onnx."""
        dynamic_axes = {"maps": {2: "H", 3: "W"}, "features": {2: "h", 3: "w"}, "y": {2: "h", 3: "w"}}
        example = torch.zeros(1, INPUT_CHANNELS, 240, 320), torch.zeros(1, FEATURES, 120, 160)
        names = {"input_names": ["maps", "features"], "output_names": ["y"], "dynamic_axes": dynamic_axes}
        torch.onnx.export(self.eval(), example, target, dynamo=False, opset_version=13, **names)

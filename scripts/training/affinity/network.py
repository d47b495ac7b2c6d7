"""Defines the network of pipeline/segmentation/depth/affinity.py in torch."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from pipeline.segmentation.depth.affinity import INPUT_CHANNELS, OFFSETS
from scripts.training.exported_weights import load_convolutions
from scripts.training.lite0 import TAPS, Lite0Backbone

OUTPUTS = 3 + len(OFFSETS)
STEM = 24
WIDTHS, COLOURS = (32, 64, 96, 112, 128), (24, 32, 48, 0, 0)
"""Channels on each level, which halves the grid of the one before it, and those of colour among its inputs."""


def convolution(channels: int, out: int, stride: int, normalised: bool) -> list[nn.Module]:
    """Return the layers of a convolution: with batch normalisation, or with a bias in its place."""
    norm = [nn.BatchNorm2d(out)] if normalised else []
    return [nn.Conv2d(channels, out, 3, stride, 1, bias=not normalised), *norm, nn.ReLU()]


def double_convolution(channels: int, out: int, normalised: bool) -> nn.Sequential:
    return nn.Sequential(*convolution(channels, out, 1, normalised), *convolution(out, out, 1, normalised))


class AffinityNetwork(nn.Module):
    """A U-Net on a grid of four pixels, with a colour encoder of its own."""

    def __init__(self, backbone: Lite0Backbone | None = None, normalised: bool = True):
        """`backbone` is the colour encoder before the training.

        `normalised` adds batch normalisation. An exported network has none: export folds it into the weights.
        """
        super().__init__()
        self.backbone = backbone or Lite0Backbone()
        self.stem = nn.Sequential(*convolution(INPUT_CHANNELS, STEM, 2, normalised))
        self.colour = nn.ModuleList(
            nn.Conv2d(channels, out, 1) for channels, out in zip(TAPS.values(), COLOURS, strict=False)
        )
        inputs = [a + b for a, b in zip((STEM, *WIDTHS), COLOURS, strict=False)]
        self.down = nn.ModuleList(double_convolution(a, b, normalised) for a, b in zip(inputs, WIDTHS, strict=True))
        self.up = nn.ModuleList(
            double_convolution(coarse + fine, fine, normalised)
            for coarse, fine in zip(WIDTHS[:0:-1], WIDTHS[-2::-1], strict=True)
        )
        self.out = nn.Conv2d(WIDTHS[0], OUTPUTS, 1)

    @classmethod
    def from_onnx(cls, source: Path) -> "AffinityNetwork":
        """Return the network that `export` wrote, to train it further. Needs the wheel onnx."""
        network = cls(normalised=False)
        load_convolutions(network, source)
        return network

    def forward(self, maps: torch.Tensor, rgb: torch.Tensor) -> torch.Tensor:
        """Return log odds (N, OUTPUTS, h, w) of maps (N, INPUT_CHANNELS, 2 h, 2 w) and colours (N, 3, 4 h, 4 w).

        Colours are (c - 127) / 128.
        """
        taps, x, skips = self.backbone(rgb), self.stem(maps), []
        colours = [project(tap) for project, tap in zip(self.colour, taps, strict=True)]
        for number, layer in enumerate(self.down):
            x = x if number == 0 else functional.max_pool2d(x, 2)
            x = layer(torch.cat([x, *colours[number : number + 1]], 1))
            skips.append(x)
        for layer, fine in zip(self.up, skips[-2::-1], strict=True):
            x = layer(torch.cat([functional.interpolate(x, scale_factor=2.0, mode="bilinear"), fine], 1))
        return self.out(x)

    def export(self, target: Path) -> None:
        """Write the ONNX file. Needs the wheel onnx."""
        dynamic_axes = {"maps": {2: "H", 3: "W"}, "rgb": {2: "HH", 3: "WW"}, "y": {2: "h", 3: "w"}}
        example = torch.zeros(1, INPUT_CHANNELS, 256, 320), torch.zeros(1, 3, 512, 640)
        names = {"input_names": ["maps", "rgb"], "output_names": ["y"], "dynamic_axes": dynamic_axes}
        torch.onnx.export(self.cpu().eval(), example, target, dynamo=False, opset_version=13, **names)

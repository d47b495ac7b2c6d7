"""Defines the network of pipeline/segmentation/depth/affinity.py in torch."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from pipeline.segmentation.depth.affinity import INPUT_CHANNELS, OFFSETS

FEATURES, STEM = 24, 24
WIDTHS = (32, 48, 64, 72)


def double_convolution(channels: int, out: int) -> nn.Sequential:
    layers = [nn.Conv2d(channels, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())


class AffinityNetwork(nn.Module):
    """A U-Net on the grid of the encoder's features."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(INPUT_CHANNELS, STEM, 3, 2, 1), nn.BatchNorm2d(STEM), nn.ReLU())
        self.colour = nn.Conv2d(FEATURES, 16, 1)
        widths = (STEM + 16, *WIDTHS)
        self.down = nn.ModuleList(double_convolution(a, b) for a, b in zip(widths, WIDTHS, strict=False))
        self.up = nn.ModuleList(double_convolution(WIDTHS[i + 1] + WIDTHS[i], WIDTHS[i]) for i in (2, 1, 0))
        self.out = nn.Conv2d(WIDTHS[0], 1 + len(OFFSETS), 1)

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

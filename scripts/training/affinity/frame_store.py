"""Keeps frames on the training device, and cuts examples from them with other colours."""

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional

from scripts.training.affinity.frames import SIZE, AffinityFrame

WINDOW = (384, 512)
"""Rows and columns of an example, multiples of 64."""
MIRRORED_MAPS = (1, 10)
"""Maps that change sign in a mirrored image: the normal's x component, and the position's."""
COLOUR_MAPS = (5, 6, 7)
"""Maps of colour, which are computed again from augmented colours."""
HIDDEN_COLOUR = 0.12
"""Share of the examples without the colours' features; a third of them have no colour either."""


class FrameStore:
    """Frames on the training device."""

    def __init__(self, device: torch.device):
        self.device, self.frames = device, []

    def __len__(self) -> int:
        return len(self.frames)

    def append(self, frame: AffinityFrame) -> None:
        """Copy a frame to the device."""
        arrays = frame.rgb.transpose(2, 0, 1), frame.maps, frame.labels, frame.surfaces
        self.frames.append(tuple(torch.from_numpy(np.ascontiguousarray(one)).to(self.device) for one in arrays))

    def examples(self, numbers: Sequence[int], random: np.random.Generator) -> tuple[torch.Tensor, ...]:
        """Return windows of frames: colours (N, 3, H, W), maps, object numbers and surfaces, half of them mirrored."""
        cut = []
        for number in numbers:
            y, x = (
                int(random.integers(0, (most - window) // 8 + 1)) * 2 for most, window in zip(SIZE, WINDOW, strict=True)
            )
            rgb, maps, labels, surfaces = self.frames[number]
            h, w = WINDOW
            one = [
                part[..., step * y : step * y + h * step // 4, step * x : step * x + w * step // 4]
                for part, step in ((rgb, 4), (maps, 2), (labels, 1), (surfaces, 1))
            ]
            if random.random() < 0.5:
                one = [part.flip(-1) for part in one]
                one[1] = one[1] * _mirror_signs(self.device)
            cut.append(one)
        rgb, maps, labels, surfaces = (torch.stack(parts) for parts in zip(*cut, strict=True))
        return rgb.float(), maps.float(), labels.long(), surfaces.long()


def _mirror_signs(device: torch.device) -> torch.Tensor:
    signs = torch.ones(12, 1, 1, device=device, dtype=torch.float16)
    signs[list(MIRRORED_MAPS)] = -1
    return signs


def augment_colours(rgb: torch.Tensor, maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return colours (N, 3, H, W) as another camera and light show them, maps with the same colours, and what is kept.

    The last is of shape (N, 1, 1, 1): 0 where a network's features of the colours are to be hidden, else 1.
    """
    count, device = len(rgb), rgb.device

    def uniform(low: float, high: float, channels: int = 1) -> torch.Tensor:
        return torch.rand(count, channels, 1, 1, device=device) * (high - low) + low

    value = (rgb / 255).clamp(0, 1) ** uniform(0.7, 1.45)
    grey = value.mean(1, keepdim=True)
    value = grey + (value - grey) * uniform(0.3, 1.5)
    value = value * uniform(0.6, 1.35) * uniform(0.88, 1.12, 3)
    middle = value.mean((1, 2, 3), keepdim=True)
    value = middle + (value - middle) * uniform(0.75, 1.3)
    order = torch.randperm(3, device=device)
    value = torch.where(uniform(0, 1) < 0.08, value[:, order], value)
    soft = functional.avg_pool2d(value, 3, 1, 1)
    value = torch.lerp(value, soft, uniform(-0.4, 1).clamp(min=0))
    value = (value + torch.randn_like(value) * uniform(0, 0.03)).clamp(0, 1)
    hidden = uniform(0, 1)
    colour = _lab(functional.avg_pool2d(value, 2))
    colour = colour * (hidden > HIDDEN_COLOUR / 3)
    augmented = torch.cat([maps[:, : COLOUR_MAPS[0]], colour, maps[:, COLOUR_MAPS[-1] + 1 :]], 1)
    return 255 * value, augmented, (hidden > HIDDEN_COLOUR).float()


def _lab(rgb: torch.Tensor) -> torch.Tensor:
    """Return the colour maps of `input_channels` from sRGB (N, 3, h, w), 0 to 1."""
    linear = torch.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    matrix = torch.tensor(
        [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]],
        device=rgb.device,
    )
    matrix = matrix / torch.tensor([[0.950456], [1.0], [1.088754]], device=rgb.device)
    xyz = torch.einsum("ij,njhw->nihw", matrix, linear)
    f = torch.where(xyz > 0.008856, xyz.clamp(min=1e-6) ** (1 / 3), 7.787 * xyz + 16 / 116)
    x, y, z = f[:, 0], f[:, 1], f[:, 2]
    lab = torch.stack([(116 * y - 16) * 2.55, 500 * (x - y) + 128, 200 * (y - z) + 128], 1) / 100
    return (lab - torch.tensor([0.6, 1.28, 1.28], device=rgb.device)[:, None, None]) * 2

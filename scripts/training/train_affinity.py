"""Trains pipeline/segmentation/depth/affinity.onnx: which cells of a cluttered table belong to one object.

`python -m scripts.training.train_affinity OUT.onnx MINUTES FOLDER ...`, with folders written by training_tables and
make_clutter. Training needs torch and the wheel onnx; the network does not. No real photograph is used. Half of the
frames get random prints (print_augmentation.py), and colours or features are hidden in some examples, so that print
does not pass for a boundary.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pipeline.frame import find_support
from pipeline.segmentation.depth import affinity
from pipeline.segmentation.depth.affinity import OFFSETS
from pipeline.segmentation.depth.click_crops import geometry_channels
from pipeline.segmentation.depth.click_network import encode
from pipeline.segmentation.depth.height_map import height_map
from scripts.training.affinity_network import AffinityNetwork
from scripts.training.click_examples import load_labelled_frame

SIDE, BATCH, RATE = 64, 8, 3e-3
MIRRORED_MAPS = (1, 10)
"""Maps that change sign in a mirrored image: the normal's x component, and the position's."""
COLOUR_MAPS = slice(5, 8)
"""Maps of colour."""
BACKGROUND_WEIGHT = 0.6
"""Weight of background cells in the loss of whether a cell shows an object."""


@dataclass(frozen=True, eq=False)
class AffinityFrame:
    """A frame from which examples are cut."""

    maps: np.ndarray
    """Shape (INPUT_CHANNELS, 2 h, 2 w), float16."""
    features: np.ndarray
    """Shape (24, h, w), float16."""
    labels: np.ndarray
    """Object number of each cell, 0 background, shape (h, w), uint8."""


def load_affinity_frame(folder: Path, random: np.random.Generator) -> AffinityFrame:
    """Load a labelled frame, with random prints half of the time."""
    frame, labels = load_labelled_frame(folder, random.random() < 0.5, random)
    view = height_map(frame, find_support(frame))
    features = encode(view.rgb)
    h, w = features.shape[:2]
    cell = affinity.CELL
    small = labels[:: view.step, :: view.step][cell // 2 :: cell, cell // 2 :: cell][:h, :w]
    small = np.pad(small, ((0, h - small.shape[0]), (0, w - small.shape[1])))
    maps = affinity.input_channels(geometry_channels(view, view.right))
    return AffinityFrame(maps.astype(np.float16), features.transpose(2, 0, 1).astype(np.float16), small)


def random_example(frame: AffinityFrame, random: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return maps, features and labels of a window about an object, with random colours, randomly mirrored."""
    h, w = frame.labels.shape
    rows, cols = np.nonzero(frame.labels)
    pick = random.integers(len(rows))
    y, x = (int(np.clip(at + random.integers(-16, 17) - SIDE // 2, 0, most - SIDE)) for at, most in
            ((rows[pick], h), (cols[pick], w)))  # fmt: skip
    maps = frame.maps[:, 2 * y : 2 * (y + SIDE), 2 * x : 2 * (x + SIDE)].astype(np.float32)
    features = frame.features[:, y : y + SIDE, x : x + SIDE].astype(np.float32)
    labels = frame.labels[y : y + SIDE, x : x + SIDE]
    maps[COLOUR_MAPS] = maps[COLOUR_MAPS] * random.uniform(0.6, 1.3, (3, 1, 1)) + random.normal(0, 0.12, (3, 1, 1))
    hidden = random.random()
    if hidden < 0.3:
        features[:] = 0
    if hidden < 0.12 or hidden > 0.92:
        maps[COLOUR_MAPS] = 0
    if random.random() < 0.5:
        maps, features, labels = maps[..., ::-1].copy(), features[..., ::-1].copy(), labels[..., ::-1].copy()
        maps[list(MIRRORED_MAPS)] *= -1
    return maps, features, labels.astype(np.int64)


def affinity_loss(odds: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the cross entropy of log odds (N, 1 + offsets, h, w): cell shows an object; pair shows the same one."""
    is_object = (labels > 0).float()
    weight = BACKGROUND_WEIGHT + (1 - BACKGROUND_WEIGHT) * is_object
    total = functional.binary_cross_entropy_with_logits(odds[:, 0], is_object, weight=weight)
    _, h, w = labels.shape
    for i, (dy, dx) in enumerate(OFFSETS, 1):
        first = (slice(None), slice(0, h - dy), slice(max(0, -dx), w - max(0, dx)))
        second = (slice(None), slice(dy, h), slice(max(0, dx), w + min(0, dx)))
        a, b = labels[first], labels[second]
        same = ((a == b) & (a > 0)).float()
        counts = ((a > 0) | (b > 0)).float() * torch.where((a > 0) & (b > 0), 1.0, 0.3)
        weight = counts * torch.where(same > 0, 1.0, 2.0 if i <= 2 else 1.0)
        entropy = functional.binary_cross_entropy_with_logits(odds[:, i][first], same, reduction="none")
        total = total + (entropy * weight).sum() / weight.sum().clamp(min=1) / 2
    return total


def train(frames: Sequence[AffinityFrame], minutes: float) -> AffinityNetwork:
    """Train a network for so many minutes."""
    torch.manual_seed(0)
    random, network = np.random.default_rng(0), AffinityNetwork()
    frames = [one for one in frames if np.count_nonzero(one.labels) > 60]
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-3)
    started, steps, mean = time.monotonic(), 0, 0.0
    while (spent := (time.monotonic() - started) / 60 / minutes) < 1:
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (steps + 1) / 40) * max(0.01, 0.5 * (1 + np.cos(np.pi * spent)))
        drawn = [random_example(frames[int(random.integers(len(frames)))], random) for _ in range(BATCH)]
        maps, features, labels = (torch.from_numpy(np.stack(one)) for one in zip(*drawn, strict=True))
        value = affinity_loss(network(maps, features), labels)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 2.0)
        optimiser.step()
        steps, mean = steps + 1, 0.98 * mean + 0.02 * value.item()
        if steps % 50 == 0:
            print(f"{steps} steps, {100 * spent:.0f} %, loss {mean / (1 - 0.98**steps):.3f}", flush=True)
    return network.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("minutes", type=float)
    parser.add_argument("folders", type=Path, nargs="+")
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    folders = sorted(path.parent for folder in arguments.folders for path in folder.glob("*/expected.json"))
    train([load_affinity_frame(folder, random) for folder in folders], arguments.minutes).export(arguments.out)


if __name__ == "__main__":
    main()

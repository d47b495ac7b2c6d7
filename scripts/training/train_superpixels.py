"""Trains pipeline/segmentation/depth/boundary_mlp.npz: whether a boundary of two superpixels is inside one object.

`python -m scripts.training.train_superpixels FOLDER OUT.npz`, with a FOLDER written by make_clutter. Training needs
torch; the weights do not. No real photograph is used.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bench.mask_scores import read_labelled
from pipeline.frame import find_support, register_depth
from pipeline.segmentation.depth.height_map import height_map
from pipeline.segmentation.depth.object_proposals import object_proposals
from pipeline.segmentation.depth.superpixels import find_boundaries, superpixels, surface_map
from pipeline.segmentation.mask_operations import padded_window

HIDDEN_UNITS, STEPS, BATCH = 24, 500, 8192
MIN_PURITY = 0.75
"""Share of a superpixel's pixels that must show one object for its boundaries to be used."""


def border_examples(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features (N, F) of one frame's boundaries, whether each is inside one object, and weights (N,)."""
    labelled = read_labelled(folder)
    frame = register_depth(labelled.frame)
    view = height_map(frame, find_support(frame))
    mask = np.logical_or.reduce([np.zeros(view.depth.shape, bool), *object_proposals(view)])
    if not mask.any():
        return np.zeros((0, 14)), np.zeros(0), np.zeros(0)
    window = padded_window(mask, 4)
    surfaces = surface_map(view, window)
    labels = superpixels(surfaces, mask[window])
    truth = np.zeros(frame.depth.shape, int)
    for i, one in enumerate(labelled.truth.values(), 1):
        truth[one] = i
    truth = truth[:: view.step, :: view.step][window]
    shares = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(shares, (labels.ravel(), truth.ravel()), 1)
    owner, pure = shares.argmax(1), shares.max(1) / np.maximum(shares.sum(1), 1) > MIN_PURITY
    edges = find_boundaries(surfaces, labels)
    one, two = edges.pairs.T
    used = pure[one] & pure[two] & ((owner[one] > 0) | (owner[two] > 0))
    return edges.features[used], (owner[one] == owner[two])[used].astype(float), np.sqrt(edges.length[used])


def train(features: np.ndarray, inside: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Return the network's weights, with the scaling of the features folded into the first layer."""
    torch.manual_seed(0)
    middle, spread = features.mean(0), features.std(0) + 1e-6
    x = torch.tensor((features - middle) / spread).float()
    y, w = torch.tensor(inside).float(), torch.tensor(weight / weight.mean()).float()
    layers = nn.Linear(x.shape[1], HIDDEN_UNITS), nn.Linear(HIDDEN_UNITS, HIDDEN_UNITS), nn.Linear(HIDDEN_UNITS, 1)
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
    examples = [border_examples(path.parent) for path in sorted(arguments.folder.glob("*/expected.json"))]
    features, inside, weight = (np.concatenate(one) for one in zip(*examples, strict=True))
    print(f"{len(examples)} frames, {len(features)} borders, {np.mean(inside):.1%} inside one thing")
    np.savez(arguments.out, **train(features, inside, weight))


if __name__ == "__main__":
    main()

"""Trains pipeline/segmentation/depth/click_choice.npz: which of the proposed corrections a later click means.

    python -m scripts.training.train_click_choice OUT.npz FOLDER ...

FOLDERs are written by varied_tables. Every object gets five clicks, half of them not in the middle of the largest
error; colour's, the best or a random proposal goes on. Half of the corrections know the newest click only, as the mask
editor sends it. No real photograph is used.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from bench.mask_scores import next_click, read_labelled
from pipeline.frame import FrameError, SupportError
from pipeline.segmentation import DepthSegmenter, Prompt
from pipeline.segmentation.depth.interactive import InteractiveSegmentation
from pipeline.segmentation.mask_operations import iou
from scripts.training.click_examples import next_click as inexact_next_click

CLICKS, HIDDEN, STEPS, BATCH, RATE = 5, 24, 600, 256, 5e-3
GAIN_SCALE = 5.0
"""Predictions are gains of IoU times this."""
SHARPNESS = 6.0
"""Of the choice among predictions while training; the highest is taken later."""
TOLERATED_LOSS, LOSS_WEIGHT = 0.02, 2.0
"""Loss of IoU above which a proposal counts as worse than it is, and by how many times."""
LARGEST_LOSS = 0.1
"""Loss of IoU from which the best proposal is taken instead, so that clicks do not go on from ruins."""


@dataclass(frozen=True, eq=False)
class ChoiceExample:
    """The proposals of one click."""

    scene: str
    terms: np.ndarray
    """Of shape (N, C), float32."""
    gains: np.ndarray
    """By how much each raises the IoU, of shape (N,)."""
    sources: tuple[str, ...]


def choice_examples(
    opened: InteractiveSegmentation, scene: str, truth: Sequence[np.ndarray], random: np.random.Generator
) -> Iterator[ChoiceExample]:
    """Yield the later clicks on every object of a frame; `truth` are masks (H, W)."""
    for target in truth:
        mask, clicks = np.zeros_like(target), []
        while len(clicks) < CLICKS:
            click = next_click(mask, target) if random.random() < 0.5 else inexact_next_click(mask, target, random)
            if click is None:
                break
            clicks.append(click)
            x, y, _ = click
            if len(clicks) == 1:
                mask = opened.segment(Prompt(np.array([[x, y]], float), np.array([1])))[0].mask
                continue
            known = clicks if random.random() < 0.5 else clicks[-1:]  # the mask editor sends the newest click only
            proposals, terms = opened.correction.propose(mask, known)
            sources, before = tuple(proposals), iou(mask, target)
            gains = np.array([iou(proposals[source], target) - before for source in sources])
            yield ChoiceExample(scene, np.stack([terms[source] for source in sources]), gains, sources)
            index = random.choice([sources.index("colour"), int(gains.argmax()), int(random.integers(len(sources)))])
            mask = proposals[sources[index if gains[index] > -LARGEST_LOSS else int(gains.argmax())]]


def train(examples: Sequence[ChoiceExample], seed: int = 0) -> dict[str, Any]:
    """Return the weights of the perceptron, by the names in click_choice.npz."""
    every = np.concatenate([one.terms for one in examples])
    mean, deviation = every.mean(0), every.std(0) + 0.05
    most = max(len(one.gains) for one in examples)
    terms = torch.zeros(len(examples), most, every.shape[1])
    gains, present = torch.zeros(len(examples), most), torch.zeros(len(examples), most, dtype=torch.bool)
    for i, one in enumerate(examples):
        terms[i, : len(one.gains)] = torch.from_numpy((one.terms - mean) / deviation)
        gains[i, : len(one.gains)], present[i, : len(one.gains)] = torch.from_numpy(one.gains), True
    torch.manual_seed(seed)
    sizes = (every.shape[1], HIDDEN, HIDDEN, 1)
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    network = nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-2)
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 30) * 0.5 * (1 + np.cos(np.pi * step / STEPS))
        batch = torch.randint(len(examples), (BATCH,))
        value = _loss(network(terms[batch])[..., 0], gains[batch], present[batch])
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
    weights: dict[str, Any] = {"mean": mean, "deviation": deviation}
    for i, layer in enumerate(layers):
        weights |= {f"w{i}": layer.weight.detach().numpy().T.copy(), f"b{i}": layer.bias.detach().numpy()}
    return weights


def _loss(predicted: torch.Tensor, gains: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return the error of the predicted gains, less the expected gain of the choice among them."""
    error = functional.smooth_l1_loss(predicted, GAIN_SCALE * gains, reduction="none", beta=0.2)
    chosen = torch.softmax((SHARPNESS * predicted).masked_fill(~present, -1e9), 1)
    value = gains - LOSS_WEIGHT * functional.relu(-gains - TOLERATED_LOSS)
    return 0.3 * (error * present).sum() / present.sum() - 3 * (chosen * value).sum(1).mean()


def frame_examples(folders: Sequence[Path]) -> Iterator[ChoiceExample]:
    """Yield the examples of all labelled frames in folders; frames without depth or support are left out."""
    paths = [path.parents[1] for folder in folders for path in sorted(folder.glob("*/truth/masks.png"))]
    for number, path in enumerate(paths):
        try:
            labelled = read_labelled(path)
            view = DepthSegmenter().open(labelled.frame)
        except (FrameError, SupportError):
            continue
        random = np.random.default_rng([2, number])
        yield from choice_examples(view._interactive, path.name, list(labelled.truth.values()), random)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    arguments = parser.parse_args()
    examples = list(frame_examples(arguments.folders))
    if not examples:
        parser.error("no labelled frames in " + ", ".join(map(str, arguments.folders)))
    np.savez(arguments.out, **train(examples))
    print(f"{len(examples)} clicks on {len({one.scene for one in examples})} frames")


if __name__ == "__main__":
    main()

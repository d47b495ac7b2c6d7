"""Trains pipeline/segmentation/depth/affinity.onnx: what is an object, and which cells belong to one object.

    python -m scripts.training.train_affinity OUT.onnx STEPS FOLDER[=SHARE] ... [--start WEIGHTS.onnx --share 0.6]

FOLDERs are written by varied_tables, training_tables and make_clutter; a SHARE is how often examples come from it,
relative to the others, by default its number of frames. Training needs torch and the wheel onnx; the network does not.
No real photograph is used. Half of the frames of training_tables and make_clutter get random prints
(print_augmentation.py), and colours or features are hidden in some examples, so that print does not pass for a
boundary. `--start` continues from exported weights; the result has `--share` of the new weights and the rest of these,
which keeps what they could (Wortsman et al., "WiSE-FT", 2022). OUT.json keeps the loss; OUT.pt is a checkpoint from
which the same command continues.
"""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pipeline.frame import SupportError, find_support
from pipeline.segmentation.depth import affinity
from pipeline.segmentation.depth.affinity import OFFSETS
from pipeline.segmentation.depth.click_crops import geometry_channels
from pipeline.segmentation.depth.click_network import encode
from pipeline.segmentation.depth.height_map import height_map
from scripts.training.affinity_network import AffinityNetwork
from scripts.training.click_examples import load_labelled_frame
from scripts.training.exported_weights import average
from scripts.training.frame_folders import FrameFolder, WeightedFrames

SIDE, BATCH, RATE, FINE_RATE = 64, 8, 3e-3, 1e-3
MIRRORED_MAPS = (1, 10)
"""Maps that change sign in a mirrored image: the normal's x component, and the position's."""
COLOUR_MAPS = slice(5, 8)
"""Maps of colour."""
CHECKPOINT_STEPS = 100
BACKGROUND_WEIGHT = 0.6
"""Weight of background cells in the loss of whether a cell shows an object."""
HIDDEN_FEATURES = 0.12
"""Share of the examples without the encoder's features; a third of them have no colour either."""
MIN_CELLS = 60
"""Cells of objects below which a frame is left out."""
WITHOUT_OBJECT = 0.2
"""Share of the windows that are cut anywhere, not about an object."""
CACHE = "affinity_inputs.npz"
"""Written into each folder, because the network's input takes longer to compute than to train on."""


@dataclass(frozen=True, eq=False)
class AffinityFrame:
    """A frame from which examples are cut."""

    maps: np.ndarray
    """Shape (INPUT_CHANNELS, 2 h, 2 w), float16."""
    features: np.ndarray
    """Shape (24, h, w), float16."""
    labels: np.ndarray
    """Object number of each cell, 0 background, shape (h, w), uint8."""


def load_affinity_frame(folder: Path, random: np.random.Generator) -> AffinityFrame | None:
    """Load a labelled frame, with random prints half of the time if it is not varied; None if it is empty."""
    cached = folder / CACHE
    if not cached.exists():
        varied = (folder / "truth" / "surfaces.png").exists()
        frame, labels = load_labelled_frame(folder, not varied and random.random() < 0.5, random)
        try:
            view = height_map(frame, find_support(frame))
        except SupportError:
            return None
        features = encode(view.rgb)
        h, w = features.shape[:2]
        cell = affinity.CELL
        small = labels[:: view.step, :: view.step][cell // 2 :: cell, cell // 2 :: cell][:h, :w]
        small = np.pad(small, ((0, h - small.shape[0]), (0, w - small.shape[1])))
        maps = affinity.input_channels(geometry_channels(view, view.right)).astype(np.float16)
        np.savez(cached, maps=maps, features=features.transpose(2, 0, 1).astype(np.float16), labels=small)
    with np.load(cached) as stored:
        read = AffinityFrame(stored["maps"], stored["features"], stored["labels"])
    return read if np.count_nonzero(read.labels) > MIN_CELLS else None


def random_example(frame: AffinityFrame, random: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return maps, features and labels of a window, mostly about an object, with random colours, randomly mirrored."""
    h, w = frame.labels.shape
    rows, cols = np.nonzero(frame.labels if random.random() > WITHOUT_OBJECT else np.ones_like(frame.labels))
    pick = random.integers(len(rows))
    y, x = (int(np.clip(at + random.integers(-16, 17) - SIDE // 2, 0, most - SIDE)) for at, most in
            ((rows[pick], h), (cols[pick], w)))  # fmt: skip
    maps = frame.maps[:, 2 * y : 2 * (y + SIDE), 2 * x : 2 * (x + SIDE)].astype(np.float32)
    features = frame.features[:, y : y + SIDE, x : x + SIDE].astype(np.float32)
    labels = frame.labels[y : y + SIDE, x : x + SIDE]
    maps[COLOUR_MAPS] = maps[COLOUR_MAPS] * random.uniform(0.6, 1.3, (3, 1, 1)) + random.normal(0, 0.12, (3, 1, 1))
    hidden = random.random()
    if hidden < HIDDEN_FEATURES:
        features[:] = 0
    if hidden < HIDDEN_FEATURES / 3:
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


def train(
    network: AffinityNetwork, frames: WeightedFrames[AffinityFrame], steps: int, out: Path, rate: float = RATE
) -> None:
    """Train a network for so many steps at a learning rate; `out` names the checkpoint and the curve."""
    checkpoint, curve = out.with_suffix(".pt"), []
    network.to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=1e-3)
    first, mean = 0, 0.0
    if checkpoint.exists():
        stored = torch.load(checkpoint, weights_only=True)
        network.load_state_dict(stored["network"])
        optimiser.load_state_dict(stored["optimiser"])
        first, mean, curve = stored["step"], stored["mean"], stored["curve"]
    for step in range(first, steps):
        random = np.random.default_rng([0, step])
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 40) * max(0.01, 0.5 * (1 + math.cos(math.pi * step / steps)))
        drawn = [random_example(frames.draw(random), random) for _ in range(BATCH)]
        maps, features, labels = (torch.from_numpy(np.stack(one)) for one in zip(*drawn, strict=True))
        with torch.autocast("cpu", dtype=torch.bfloat16):  # half the time of float32 where the processor has it
            odds = network(maps, features)
        value = affinity_loss(odds.float(), labels)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 2.0)
        optimiser.step()
        mean = 0.98 * mean + 0.02 * value.item()
        if (step + 1) % 50 == 0:
            curve.append([step + 1, mean / (1 - 0.98 ** (step + 1))])
            print(f"{step + 1} of {steps} steps, loss {curve[-1][1]:.3f}", flush=True)
            out.with_suffix(".json").write_text(json.dumps(curve), encoding="utf-8")
        if (step + 1) % CHECKPOINT_STEPS == 0 or step + 1 == steps:
            torch.save({"network": network.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1,
                        "mean": mean, "curve": curve}, checkpoint)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("steps", type=int)
    parser.add_argument("folders", type=FrameFolder.parse, nargs="+", metavar="FOLDER[=SHARE]")
    parser.add_argument("--start", type=Path, help="exported weights to continue from")
    parser.add_argument("--share", type=float, default=0.6, help="of the new weights, the rest being those of --start")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    try:
        frames = WeightedFrames.load(
            arguments.folders, lambda path, number: load_affinity_frame(path, np.random.default_rng([1, number]))
        )
        network = AffinityNetwork.from_onnx(arguments.start) if arguments.start else AffinityNetwork()
    except ValueError as error:
        parser.error(str(error))
    rate = FINE_RATE if arguments.start else RATE
    train(network, frames, arguments.steps, arguments.out, rate)
    if arguments.start:
        old = AffinityNetwork.from_onnx(arguments.start)
        network = average(AffinityNetwork(normalised=False), old, network, arguments.share)
    network.export(arguments.out)


if __name__ == "__main__":
    main()

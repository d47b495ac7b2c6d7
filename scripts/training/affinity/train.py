"""Trains pipeline/segmentation/depth/affinity.onnx: what is an object, which cells belong to one, what is foreign.

    python -m scripts.training.affinity.train OUT.onnx FOLDER ... [--seconds S] [--start WEIGHTS.onnx]

FOLDERs are written by scripts.training.affinity.draw_inputs, which may go on meanwhile: new frames are read as they
appear. No real photograph is used. Colours are changed in each example, and hidden in some, so that print does not pass
for a boundary. The learning rate falls with the time. The result is the running mean of the weights. OUT.json keeps the
loss; OUT.pt is a checkpoint from which the same command continues. Needs torch, with a GPU if it is to be useful within
minutes, and the wheel onnx; the network does not.
"""

import argparse
import copy
import json
import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pipeline.segmentation.depth.affinity import OFFSETS
from scripts.training.affinity.frame_store import FrameStore, augment_colours
from scripts.training.affinity.frames import UNKNOWN, AffinityFrame
from scripts.training.affinity.network import AffinityNetwork
from scripts.training.lite0 import encoder_from_onnx
from scripts.training.varied_tables import INTRUDER, OTHER, WALL

WEIGHTS = Path(__file__).resolve().parents[3] / "pipeline" / "segmentation" / "depth"
ENCODER = WEIGHTS / "clicks_encoder.onnx"
RATE, CONTINUED_RATE = 2.5e-3, 1.25e-3
"""Learning rate from the start, and of a training that continues another one."""
ENCODER_RATE = 0.08
"""Rate of the colour encoder, relative to the rest."""
CHECKPOINT_SECONDS, SHOWN_SECONDS = 60, 15
MEAN_STEPS = 400
"""Steps over which weights are averaged."""
BACKGROUND_WEIGHT = 0.6
"""Weight of background cells in the loss of whether a cell shows an object."""
STRUCTURE_WEIGHT = 0.5
"""Weight of the loss of what is a wall, robot or person."""


def affinity_loss(odds: torch.Tensor, labels: torch.Tensor, surfaces: torch.Tensor) -> torch.Tensor:
    """Return the cross entropy of log odds (N, outputs, h, w) of cells and pairs of cells."""
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
    known = (surfaces != UNKNOWN).float()
    for i, kinds in ((-2, (WALL, OTHER)), (-1, (INTRUDER,))):
        shown = torch.isin(surfaces, torch.tensor(kinds, device=surfaces.device)).float()
        entropy = functional.binary_cross_entropy_with_logits(odds[:, i], shown, reduction="none")
        total = total + STRUCTURE_WEIGHT * (entropy * known).sum() / known.sum().clamp(min=1)
    return total


class Learner:
    """A network with its optimiser and the running mean of its weights."""

    def __init__(self, network: AffinityNetwork, device: torch.device, rate: float):
        self.rate, self.network = rate, network.to(device, memory_format=torch.channels_last)
        self.mean, self.steps, self.loss = copy.deepcopy(self.network), 0, torch.zeros((), device=device)
        self._averaged = [
            [one for one in state.state_dict().values() if one.is_floating_point()]
            for state in (self.mean, self.network)
        ]
        groups = [{"params": [one for name, one in network.named_parameters() if name.startswith("backbone.") is inner],
                   "scale": ENCODER_RATE if inner else 1.0} for inner in (False, True)]  # fmt: skip
        self.optimiser = torch.optim.AdamW(groups, rate, weight_decay=1e-3)

    def step(
        self, maps: torch.Tensor, colours: torch.Tensor, labels: torch.Tensor, surfaces: torch.Tensor, done: float
    ) -> None:
        """Take one step; `done` is the share of the training that is over."""
        self.network.train()
        rate = self.rate * min(1.0, (self.steps + 1) / 100) * max(0.01, 0.5 * (1 + math.cos(math.pi * done)))
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["scale"]
        with torch.autocast(labels.device.type, dtype=torch.bfloat16):
            odds = self.network(maps, colours)
        value = affinity_loss(odds.float(), labels, surfaces)
        self.optimiser.zero_grad(set_to_none=True)
        value.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 2.0)
        self.optimiser.step()
        self.steps += 1
        keep = min(1 - 1 / MEAN_STEPS, self.steps / (self.steps + 10))
        with torch.no_grad():
            torch._foreach_lerp_(*self._averaged, 1 - keep)
            self.loss = 0.98 * self.loss + 0.02 * value.detach()

    def write(self, checkpoint: Path, elapsed: float) -> None:
        """Write all that `read` needs; `elapsed` are the seconds that were trained."""
        parts = {"network": self.network, "mean": self.mean, "optimiser": self.optimiser}
        states = {name: one.state_dict() for name, one in parts.items()}
        torch.save(states | {"steps": self.steps, "elapsed": elapsed}, checkpoint)

    def read(self, checkpoint: Path) -> float:
        """Continue from a checkpoint; return the seconds that were trained."""
        stored = torch.load(checkpoint, weights_only=True)
        for name in ("network", "mean", "optimiser"):
            getattr(self, name).load_state_dict(stored[name])
        self.steps = stored["steps"]
        return stored["elapsed"]


def read_new_frames(store: FrameStore, folders: Sequence[Path], seen: set[Path]) -> None:
    """Read the frames of folders that were not read yet."""
    for path in sorted(path for folder in folders for path in folder.glob("*_[0-9].npz")):
        if path not in seen:
            seen.add(path)
            try:
                store.append(AffinityFrame.read(path))
            except Exception as error:  # a file cut off by a full disk
                print(f"{path.name} left out: {error!r}"[:200], flush=True)


def train(learner: Learner, folders: Sequence[Path], seconds: float, out: Path, batch: int, least: int) -> None:
    """Train a network for a time in seconds, once there are at least so many frames."""
    store, seen, begun = FrameStore(learner.loss.device), set[Path](), time.time()
    while len(store) < least and (time.time() < begun + 0.5 * seconds or not len(store)):
        read_new_frames(store, folders, seen)
        time.sleep(0.2)
    print(f"{len(store)} frames after {time.time() - begun:.0f} s", flush=True)
    checkpoint, curve = out.with_suffix(".pt"), []
    start = time.time() - (learner.read(checkpoint) if checkpoint.exists() else 0.0)
    saved = shown = time.time()
    stop = threading.Event()

    def keep_reading() -> None:
        while not stop.wait(1.0):
            read_new_frames(store, folders, seen)

    reader = threading.Thread(target=keep_reading, daemon=True)
    reader.start()
    while (done := (time.time() - start) / seconds) < 1:
        random = np.random.default_rng([0, learner.steps])
        rgb, maps, labels, surfaces = store.examples(random.integers(len(store), size=batch).tolist(), random)
        rgb, maps, shown_colours = augment_colours(rgb, maps)
        colours = ((rgb - 127) / 128 * shown_colours).to(memory_format=torch.channels_last)
        learner.step(maps.to(memory_format=torch.channels_last), colours, labels, surfaces, done)
        if time.time() > shown + SHOWN_SECONDS:
            shown, loss = time.time(), float(learner.loss) / (1 - 0.98**learner.steps)
            curve.append([round(shown - start), learner.steps, len(store), loss])
            print(f"{shown - start:.0f} s, {learner.steps} steps, {len(store)} frames, loss {loss:.3f}", flush=True)
            out.with_suffix(".json").write_text(json.dumps(curve), encoding="utf-8")
        if time.time() > saved + CHECKPOINT_SECONDS:
            saved = time.time()
            learner.write(checkpoint, saved - start)
    stop.set()
    reader.join()
    learner.write(checkpoint, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--least", type=int, default=200, help="frames to wait for, at most half of the time")
    parser.add_argument("--start", type=Path, help="exported weights to continue from")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        network = (
            AffinityNetwork.from_onnx(arguments.start)
            if arguments.start
            else AffinityNetwork(encoder_from_onnx(ENCODER)[0])
        )
    except ValueError as error:
        parser.error(str(error))
    learner = Learner(network, device, CONTINUED_RATE if arguments.start else RATE)
    train(learner, arguments.folders, arguments.seconds, arguments.out, arguments.batch, arguments.least)
    learner.mean.export(arguments.out)


if __name__ == "__main__":
    main()

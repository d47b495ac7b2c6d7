"""`python -m bench.sam2_masks [--set development] [--seeds N]`: the cleaning of SAM 2's automatic masks.

Draws what SAM 2 would answer from the true masks of the real frames in ../shared (sam2_like.py), cleans it as the
studio does, and scores the result by source. The sources are divided into a development and a held-out set.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from bench import ROOT
from bench.mask_scores import FOUND_IOU, LabelledFrame, read_labelled
from bench.mask_scores import score_masks as score
from bench.mask_sources import group_values, interval_text
from bench.sam2_like import draw_masks
from pipeline.segmentation import Segment
from pipeline.segmentation.sam2.automatic_masks import ScoredMasks
from pipeline.segmentation.sam2.mask_filter import clean_masks

SHARED = ROOT.parent / "shared"


@dataclass(frozen=True, eq=False)
class CleanedFrame:
    """Drawn and cleaned masks of one frame with their scores."""

    labelled: LabelledFrame
    drawn: ScoredMasks
    segments: tuple[Segment, ...]
    iou: tuple[float, ...]
    """Best IoU of each object."""
    possible: tuple[float, ...]
    """Best IoU of each object among the drawn masks."""
    right: int
    """Masks that are an object."""
    parts: int
    """Masks inside an object that are not it."""
    unions: int
    """Masks of several objects."""
    ground: int
    """Masks of the background, where every object is labelled."""
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("development", "held-out"), default="development")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--sheet", type=Path, help="write a picture of all frames")
    arguments = parser.parse_args()
    frames = [one for one in labelled_frames() if is_held_out(one.source) == (arguments.set == "held-out")]
    if not frames:
        print("No real frames with truth in ../shared: they are not part of the project.")
        return 0
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    cleaned = [clean(one, seed) for one in frames for seed in seeds]
    print(*[row(one) for one in cleaned], "", *table(cleaned), sep="\n")
    if arguments.sheet:
        cv2.imwrite(str(arguments.sheet), sheet(cleaned[:: len(seeds)])[:, :, ::-1])
    return 0


def labelled_frames() -> list[LabelledFrame]:
    """Return the real frames with labelled objects."""
    folders = [p.parents[1] for name in ("frames", "frames_wild") for p in SHARED.glob(f"{name}/*/truth/masks.png")]
    return [read_labelled(folder) for folder in sorted(folders)]


def is_held_out(source: str) -> bool:
    """Return whether a source is kept aside: every second one in alphabetical order."""
    return sorted({one.source for one in labelled_frames()}).index(source) % 2 == 1


def clean(labelled: LabelledFrame, seed: int) -> CleanedFrame:
    """Draw and clean the masks of one frame."""
    drawn = draw_masks(labelled.frame.rgb, labelled.truth, labelled.name, seed)
    start = time.process_time()
    segments = clean_masks(labelled.frame, drawn)
    seconds = time.process_time() - start
    truth = list(labelled.truth.values())
    found = score([segment.mask for segment in segments], truth, labelled.complete)
    possible = score([mask for mask, _ in drawn], truth, False)
    kinds = [kind(segment.mask, truth) for segment in segments]
    right, parts, unions = (kinds.count(name) for name in ("object", "part", "union"))
    ground = kinds.count("ground") if labelled.complete else 0
    return CleanedFrame(
        labelled, drawn, segments, tuple(found.iou), tuple(possible.iou), right, parts, unions, ground, seconds
    )


def kind(mask: np.ndarray, truth: list[np.ndarray]) -> str:
    """Return what a mask shows: "object", "part", "union" of several, or "ground"."""
    inside = np.array([(mask & one).sum() for one in truth])
    if max((mask & one).sum() / (mask | one).sum() for one in truth) >= FOUND_IOU:
        return "object"
    if inside.sum() < 0.5 * mask.sum():
        return "ground"
    shares = inside / np.array([one.sum() for one in truth])
    return "union" if (shares > 0.5).sum() > 1 else "part"


def row(one: CleanedFrame) -> str:
    """Return one frame as a line."""
    missed = [name for name, fit in zip(one.labelled.truth, one.iou, strict=True) if fit < FOUND_IOU]
    return (
        f"{one.labelled.name:22}{len(one.drawn):5} drawn{len(one.segments):4} kept{len(one.iou):4} objects"
        f"{np.mean(one.iou):7.2f}{np.mean([v >= FOUND_IOU for v in one.iou]):6.2f}  {one.parts} parts "
        f"{one.unions} unions {one.ground} ground{one.seconds:6.2f} s  {', '.join(missed)}"
    )


def table(cleaned: list[CleanedFrame]) -> list[str]:
    """Return the lines of a Markdown table over all frames."""
    found = group_values([(c.labelled.source, [float(v >= FOUND_IOU) for v in c.iou]) for c in cleaned])
    ious = group_values([(c.labelled.source, c.iou) for c in cleaned])
    complete = [c for c in cleaned if c.labelled.complete]
    kept = sum(len(c.segments) for c in complete)
    every, objects = np.concatenate(found), sum(len(c.iou) for c in cleaned)
    possible = np.mean([v >= FOUND_IOU for c in cleaned for v in c.possible])
    parts, unions = (np.mean([getattr(c, kind) for c in cleaned]) for kind in ("parts", "unions"))
    seconds = [c.seconds for c in cleaned]
    return [
        f"| {len(cleaned)} drawings, {objects} objects | |",
        "| --- | --- |",
        f"| found | {every.mean():.3f} ({interval_text(found)}) |",
        f"| found by one of the drawn masks | {possible:.3f} |",
        f"| mean IoU | {np.mean(np.concatenate(ious)):.3f} ({interval_text(ious)}) |",
        f"| parts / unions, a frame | {parts:.2f} / {unions:.2f} |",
        f"| background masks, a frame | {np.mean([c.ground for c in complete]):.2f} |",
        f"| share of masks that are an object | {sum(c.right for c in complete) / max(1, kept):.3f} |",
        f"| processor time, median / most | {np.median(seconds):.2f} / {max(seconds):.2f} s |",
    ]


def sheet(cleaned: list[CleanedFrame], columns: int = 4, width: int = 400, height: int = 320) -> np.ndarray:
    """Return all frames side by side, (H, W, 3), uint8, RGB: masks in colours, true outlines in green."""
    tiles = []
    for one in cleaned:
        picture = one.labelled.frame.rgb.copy()
        for number, segment in enumerate(one.segments):
            hue = np.array([[[(number * 37) % 180, 230, 255]]], np.uint8)
            picture[segment.mask] = 0.45 * picture[segment.mask] + 0.55 * cv2.cvtColor(hue, cv2.COLOR_HSV2RGB)[0, 0]
        for mask in one.labelled.truth.values():
            outline, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
            cv2.drawContours(picture, outline, -1, (40, 255, 90), max(1, picture.shape[1] // 480), cv2.LINE_AA)
        scale = min(width / picture.shape[1], (height - 20) / picture.shape[0])
        small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        framed = np.zeros((height, width, 3), np.uint8)
        framed[20 : 20 + small.shape[0], : small.shape[1]] = small
        cv2.putText(framed, one.labelled.name, (4, 14), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (255,) * 3, 1, cv2.LINE_AA)
        tiles.append(framed)
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % columns)
    return np.vstack([np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)])


if __name__ == "__main__":
    sys.exit(main())

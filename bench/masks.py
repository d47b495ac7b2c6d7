"""`make eval-masks`: the embedded segmenter against labelled masks, automatically and by simulated clicks.

    python -m bench.masks [--drawn] [--only NAME ...] [--save SCORES.json] [--against SCORES.json]

Reads the real frames in ../shared/frames and ../shared/frames_wild, if they are there, and the sample scenes.
`--drawn` reads 40 rendered tables instead, on which nothing was fitted, and draws them first (drawn_masks.py).
`--against` compares with scores that `--save` wrote, with intervals by source. On a frame without a support every
object counts as missed.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from bench import ROOT, drawn_masks, mask_sources
from bench.mask_scores import (
    FOUND_IOU,
    ClickScore,
    LabelledFrame,
    MaskScore,
    predict_from_all_clicks,
    predict_from_last_click,
    read_labelled,
    simulate_clicks,
)
from bench.mask_scores import score_masks as score
from pipeline.frame import SupportError
from pipeline.segmentation import DepthSegmenter, Segment

SHARED, SAMPLES, SHEET = ROOT.parent / "shared", ROOT / "sample_scenes", ROOT / "build" / "masks.png"
DRAWN = ROOT / "build" / "drawn_masks"
REAL = {"known frames": "frames", "other cameras": "frames_wild"}
"""Folders of labelled photographs in SHARED, by the name of their column."""
CLICKS = 5
HD = (720, 1280)


@dataclass(frozen=True, eq=False)
class FrameMaskScores:
    """Scores of one frame."""

    labelled: LabelledFrame
    segments: tuple[Segment, ...]
    automatic: MaskScore
    seconds: float
    """Time from the frame to its automatic masks."""
    all_clicks: tuple[ClickScore, ...]
    """Scores of each object, predicted from all clicks."""
    last_click: tuple[ClickScore, ...]
    """Scores of each object, predicted from the last click and the mask before it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="names of frames; all by default")
    parser.add_argument("--save", type=Path, help="write the scores of each object")
    parser.add_argument("--against", type=Path, help="scores to compare with")
    parser.add_argument("--drawn", action="store_true", help="rendered tables on which nothing was fitted")
    arguments = parser.parse_args()
    folders = {"drawn tables": drawn_masks.draw(DRAWN)} if arguments.drawn else labelled_folders()
    print(HEADING)
    groups: dict[str, list[FrameMaskScores]] = {}
    for name, paths in folders.items():
        for path in sorted(path for path in paths if not arguments.only or path.name in arguments.only):
            groups.setdefault(name, []).append(measure(path))
            print(row(groups[name][-1]), flush=True)
    print("\n".join(["", *table(groups), ""]))
    rows = drawn_masks.kind_table(groups["drawn tables"]) if arguments.drawn else mask_sources.source_table(groups)
    print("\n".join(rows))
    scores = mask_sources.object_scores(groups)
    if arguments.save:
        arguments.save.write_text(json.dumps(scores, indent=1), encoding="utf-8")
    if arguments.against:
        before = json.loads(arguments.against.read_text(encoding="utf-8"))
        print("\n".join(["", *mask_sources.comparison_table(before, scores)]))
    print(f"\nSpeeds were taken at a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    SHEET.parent.mkdir(exist_ok=True)
    cv2.imwrite(str(SHEET), sheet([one for scored in groups.values() for one in scored])[:, :, ::-1])
    print(f"Contact sheet (green: labelled outlines, colours: masks): {SHEET.relative_to(ROOT)}")
    return 0


def labelled_folders() -> dict[str, list[Path]]:
    """Return the folders of the real frames and the sample scenes, by the name of their column."""
    folders = {
        name: [p.parents[1] for p in SHARED.glob(f"{folder}/*/truth/masks.png")] for name, folder in REAL.items()
    }
    if not any(folders.values()):
        print("No real frames with truth in ../shared: they are not part of the project. Sample scenes only.")
    return folders | {"sample scenes": [path.parent for path in SAMPLES.glob("*/expected.json")]}


def measure(folder: Path) -> FrameMaskScores:
    """Segment one frame and simulate clicks on its objects."""
    labelled = read_labelled(folder)
    truth = list(labelled.truth.values())
    start = time.perf_counter()
    try:
        view = DepthSegmenter().open(labelled.frame)
    except SupportError:
        missed = tuple(ClickScore((0.0,) * CLICKS, (), ()) for _ in truth)
        return FrameMaskScores(labelled, (), score([], truth, labelled.complete), 0.0, missed, missed)
    found = view.automatic()
    seconds = time.perf_counter() - start
    automatic = score([segment.mask for segment in found], truth, labelled.complete)
    view.prepare()  # as the studio does in the background once a frame is open
    all_clicks = tuple(simulate_clicks(predict_from_all_clicks(view), mask, CLICKS) for mask in truth)
    last_click = tuple(simulate_clicks(predict_from_last_click(view), mask, CLICKS) for mask in truth)
    return FrameMaskScores(labelled, found, automatic, seconds, all_clicks, last_click)


HEADING = (
    f"{'frame':24}{'objects':>8}{'IoU':>7}{'found':>7}{'right':>8}   {'1 / 3 / 5 clicks':22}{'drop':>6}{'seconds':>9}"
    "  not found"
)


def row(one: FrameMaskScores) -> str:
    """Return one frame as a line; `right` is the number of masks that are an object."""
    auto, drop = one.automatic, max(c.worst_drop for c in one.all_clicks)
    right = f"{auto.right}/{auto.predicted}" if auto.complete else ""
    missed = [name for name, fit in zip(one.labelled.truth, auto.iou, strict=True) if fit < FOUND_IOU]
    return (
        f"{one.labelled.name:24}{len(auto.iou):8}{auto.mean_iou:7.3f}{auto.recall:7.2f}{right:>8}   "
        f"{curve(one.all_clicks):22}{drop:6.3f}{one.seconds:9.2f}  {', '.join(missed)}"
    ).rstrip()


def table(groups: dict[str, list[FrameMaskScores]]) -> list[str]:
    """Return the lines of a Markdown table, as in docs/results/masks.md; every object has the same weight."""
    groups = {name: scored for name, scored in groups.items() if scored}
    heads = [f"{name} ({len(s)} frames, {sum(len(o.labelled.truth) for o in s)} objects)" for name, s in groups.items()]
    columns = [numbers(scored) for scored in groups.values()]
    lines = [("", "target", *heads), ("---",) * (len(heads) + 2)]
    lines += [(name, target, *values) for (name, target), *values in zip(TARGETS, *columns, strict=True)]
    return [f"| {' | '.join(line)} |" for line in lines]


TARGETS = (
    ("automatic: mean IoU", "0.90"),
    ("95 % interval by source", ""),
    ("automatic: found (IoU at least 0.5)", "0.97"),
    ("95 % interval by source", ""),
    ("automatic: share of masks that are an object", ""),
    ("IoU after 1 / 3 / 5 clicks, predicted from all clicks", "0.90 / 0.94 / 0.95"),
    ("the same, predicted from the last click and the mask before it", "0.90 / 0.94 / 0.95"),
    ("worst drop of IoU by a later click, all clicks", "0.03"),
    ("the same, last click and mask", "0.03"),
    ("a click at 1280x720: median / 95th percentile / worst", "95th: 80 ms"),
    ("frame to automatic masks at 1280x720, median", "0.80 s"),
)


def numbers(scored: Sequence[FrameMaskScores]) -> tuple[str, ...]:
    """Return a column of the table: one text for each of TARGETS."""
    ious = [one for s in scored for one in s.automatic.iou]
    by_source = [
        np.array(one) for one in mask_sources.group_values([(s.labelled.source, s.automatic.iou) for s in scored])
    ]
    complete = [s.automatic for s in scored if s.labelled.complete]
    predicted = sum(one.predicted for one in complete)
    all_clicks, last_click = [c for s in scored for c in s.all_clicks], [c for s in scored for c in s.last_click]
    large = [s for s in scored if s.labelled.frame.depth.shape == HD]
    times = [t for s in large for one in (*s.all_clicks, *s.last_click) for t in one.seconds]
    return (
        f"{np.mean(ious):.3f}",
        mask_sources.interval_text(by_source),
        f"{np.mean([one >= FOUND_IOU for one in ious]):.3f}",
        mask_sources.interval_text([one >= FOUND_IOU for one in by_source]),
        f"{sum(one.right for one in complete) / predicted:.3f}" if predicted else "",
        curve(all_clicks),
        curve(last_click),
        f"{max(one.worst_drop for one in all_clicks):.3f}",
        f"{max(one.worst_drop for one in last_click):.3f}",
        " / ".join(f"{1000 * one:.0f}" for one in np.percentile(times, (50, 95, 100))) + " ms" if times else "",
        f"{np.median([s.seconds for s in large]):.2f} s" if large else "",
    )


def curve(clicks: Sequence[ClickScore]) -> str:
    """Return the mean IoU after 1, 3 and 5 clicks."""
    mean = np.mean([one.iou for one in clicks], 0)
    return " / ".join(f"{mean[i - 1]:.3f}" for i in (1, 3, 5))


def sheet(scored: Sequence[FrameMaskScores], columns: int = 3) -> np.ndarray:
    """Return all frames side by side, of shape (H, W, 3), uint8, RGB."""
    tiles = [tile(one) for one in scored]
    tiles += [np.zeros_like(tiles[0])] * (-len(tiles) % columns)
    return np.vstack([np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)])


def tile(one: FrameMaskScores, width: int = 480, height: int = 384) -> np.ndarray:
    """Return one frame with its masks in colours and the labelled outlines in green."""
    picture = one.labelled.frame.rgb.copy()
    hues = np.linspace(0, 150, len(one.segments) + 1).astype(np.uint8)  # OpenCV's hues end at 180, which is red again
    for segment, hue in zip(one.segments, hues, strict=False):
        colour = cv2.cvtColor(np.array([[[hue, 230, 255]]], np.uint8), cv2.COLOR_HSV2RGB)[0, 0]
        picture[segment.mask] = 0.5 * picture[segment.mask] + 0.5 * colour
    thick = max(1, picture.shape[1] // 480)
    for mask in one.labelled.truth.values():
        outline, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(picture, outline, -1, (40, 255, 90), thick, cv2.LINE_AA)
    scale = min(width / picture.shape[1], (height - 24) / picture.shape[0])
    small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    framed = np.zeros((height, width, 3), np.uint8)
    framed[24 : 24 + small.shape[0], : small.shape[1]] = small
    words = f"{one.labelled.name}: IoU {one.automatic.mean_iou:.2f}, found {one.automatic.recall:.2f}"
    cv2.putText(framed, words, (6, 17), cv2.FONT_HERSHEY_SIMPLEX, 0.48, (255, 255, 255), 1, cv2.LINE_AA)
    return framed


if __name__ == "__main__":
    sys.exit(main())

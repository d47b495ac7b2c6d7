"""Automatic masks before and after the edits of a model that answers the questions about them rightly.

`python -m bench.mask_answers [--blur SHARE]` takes the labelled frames of `bench.masks`. The answers are made from
the labels: what a real model says is not measured here, only what the studio makes of a right answer. With `--blur`,
each side of a box is off by up to that share of the box's own side.
"""

import argparse
import sys

import numpy as np

from bench.mask_scores import LabelledFrame, iou, read_labelled
from bench.masks import labelled_folders
from pipeline.decisions import Decision
from pipeline.errors import StudioError
from pipeline.geometry import bounding_box
from pipeline.project.project_masks import apply_mask_decision
from pipeline.run.mask_answers import edits_of, missed_mask
from pipeline.segmentation import DepthSegmenter, Segment, View, encode_rle

IN_MASK, COMPLETE = 0.5, 0.8
"""Share of a labelled object in a mask from which it is one of its objects, and agreement from which it is whole."""
SLIVER = 0.02
"""Share of a mask below which a labelled object in it is not worth a word."""
COVERED = 0.5
"""Share of a labelled object in masks from which it is not one that has none."""
_blur, _random = [0.0], np.random.default_rng(1)


def box_of(mask: np.ndarray) -> list[float]:
    """Return x0, y0, x1, y1 of a mask, in pixels."""
    box = bounding_box(mask)
    sides = np.array([box.left, box.top, box.right, box.bottom], float)
    sides += _blur[0] * _random.uniform(-1, 1, 4) * np.array([box.width, box.height, box.width, box.height])
    return [float(one) for one in np.clip(sides, 0, [mask.shape[1], mask.shape[0]] * 2)]


def right_answer(id: int, segments: dict[int, Segment], truth: list[np.ndarray]) -> dict:
    """Return what a model that sees everything says of a mask, as `Description.mask_answer`."""
    own = segments[id].mask
    inside = [one for one in truth if (one & own).sum() > max(IN_MASK * one.sum(), SLIVER * own.sum())]
    if len(inside) > 1:
        return {"objects": [box_of(one) for one in inside]}
    best = max(truth, key=lambda one: int((one & own).sum()))
    if (best & own).sum() < IN_MASK * min(own.sum(), best.sum()):
        return {}
    partners = {
        other: int((best & one.mask).sum())
        for other, one in segments.items()
        if other != id and (best & one.mask).sum() > IN_MASK * one.mask.sum()
    }
    largest = max(partners, key=partners.__getitem__, default=None)
    if largest is not None:
        return {"part_of": largest} if partners[largest] > (best & own).sum() else {}
    return {"whole": box_of(best)} if iou(best, own) < COMPLETE else {}


def missed(segments: dict[int, Segment], truth: list[np.ndarray]) -> list[np.ndarray]:
    """Return the labelled objects that a model that sees everything says have no mask."""
    taken = np.logical_or.reduce([truth[0] & False, *(one.mask for one in segments.values())])
    return [one for one in truth if (one & taken).sum() < COVERED * one.sum()]


def with_missed(segments: dict[int, Segment], truth: list[np.ndarray], view: View) -> tuple[dict[int, Segment], int]:
    """Return the masks with those of the objects that had none, and how many that is."""
    absent, count = missed(segments, truth), 0
    for one in absent:
        mask = missed_mask({"box": box_of(one)}, segments, view)
        if mask is not None:
            data = {"id": max(segments, default=0) + 1, "mask": encode_rle(mask), "clicks": []}
            segments = dict(apply_mask_decision(segments, Decision("mask", data)))
            count += 1
    return segments, count


def edited(labelled: LabelledFrame) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray], str]:
    """Return the automatic masks, those after the edits, those with the added ones, and how many edits there were."""
    view, truth = DepthSegmenter().open(labelled.frame), list(labelled.truth.values())
    segments = {one.id: one for one in view.automatic()}
    before, count, largest = [one.mask for one in segments.values()], 0, max(segments, default=0)
    for id in list(segments):
        if id not in segments or not segments[id].mask.any():
            continue
        for kind, data in edits_of(right_answer(id, segments, truth), id, segments, view, largest):
            segments = dict(apply_mask_decision(segments, Decision(kind, data)))
            count += 1
        largest = max(largest, *segments)
    with_added, added = with_missed(segments, truth, view)
    counts = f"{count} edits, {added} of {len(missed(segments, truth))} added"
    return before, [one.mask for one in segments.values()], [one.mask for one in with_added.values()], counts


def mean_iou(masks: list[np.ndarray], labelled: LabelledFrame) -> float:
    """Return the mean over the labelled objects of the best mask's intersection over union."""
    return float(np.mean([max((iou(one, true) for one in masks), default=0.0) for true in labelled.truth.values()]))


def main() -> int:
    """Print a line a frame, and the mean of each group with its interval over frames."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blur", type=float, default=0.0)
    _blur[0] = parser.parse_args().blur
    for name, folders in labelled_folders().items():
        scores: dict[str, list[tuple[float, ...]]] = {}
        for folder in sorted(folders):
            labelled = read_labelled(folder)
            try:
                *masks, counts = edited(labelled)
            except StudioError as error:
                print(f"{folder.name}: {error}")
                continue
            row = tuple(mean_iou(one, labelled) for one in masks)
            scores.setdefault(labelled.source, []).append(row)
            print(f"{folder.name:28}" + "".join(f"{one:7.3f}" for one in row) + f"  {counts}", flush=True)
        print("\n".join(["", *_table(name, scores), ""]))
    return 0


def _table(name: str, scores: dict[str, list[tuple[float, ...]]]) -> list[str]:
    """Return a row for each source of frames and one for all: before, with edits, with added masks, and the gain."""
    lines = []
    every = [row for rows in scores.values() for row in rows]
    for source, rows in [*scores.items(), (name, every)]:
        gains = [row[-1] - row[0] for row in rows]
        drawn = np.random.default_rng(0).choice(gains, (2000, len(gains))).mean(1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        means = " | ".join(f"{one:.3f}" for one in np.mean(rows, axis=0))
        lines.append(f"| {source} ({len(rows)}) | {means} | {np.mean(gains):+.3f} ({low:.3f} to {high:.3f}) |")
    return lines


if __name__ == "__main__":
    sys.exit(main())

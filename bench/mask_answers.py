"""Automatic masks before and after the edits of a model that answers the questions about them rightly.

`python -m bench.mask_answers` takes the labelled frames of `bench.masks`. The answers are made from the labels: what a
real model says is not measured here, only what the studio makes of a right answer.
"""

import sys

import numpy as np

from bench.mask_scores import LabelledFrame, iou, read_labelled
from bench.masks import labelled_folders
from pipeline.decisions import Decision
from pipeline.errors import StudioError
from pipeline.geometry import bounding_box
from pipeline.project.project_masks import apply_mask_decision
from pipeline.run.mask_answers import edits_of
from pipeline.segmentation import DepthSegmenter, Segment

IN_MASK, COMPLETE = 0.5, 0.8
"""Share of a labelled object in a mask from which it is one of its objects, and agreement from which it is whole."""
SLIVER = 0.02
"""Share of a mask below which a labelled object in it is not worth a word."""


def box_of(mask: np.ndarray) -> list[float]:
    """Return x0, y0, x1, y1 of a mask, in pixels."""
    box = bounding_box(mask)
    return [float(box.left), float(box.top), float(box.right), float(box.bottom)]


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


def edited(labelled: LabelledFrame) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Return the automatic masks, those after the edits, and the number of edits."""
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
    return before, [one.mask for one in segments.values()], count


def mean_iou(masks: list[np.ndarray], labelled: LabelledFrame) -> float:
    """Return the mean over the labelled objects of the best mask's intersection over union."""
    return float(np.mean([max((iou(one, true) for one in masks), default=0.0) for true in labelled.truth.values()]))


def main() -> int:
    """Print a line a frame, and the mean of each group with its interval over frames."""
    random = np.random.default_rng(0)
    for name, folders in labelled_folders().items():
        gains, scores = [], []
        for folder in sorted(folders):
            labelled = read_labelled(folder)
            try:
                before, after, count = edited(labelled)
            except StudioError as error:
                print(f"{folder.name}: {error}")
                continue
            scores.append((mean_iou(before, labelled), mean_iou(after, labelled)))
            gains.append(scores[-1][1] - scores[-1][0])
            print(f"{folder.name:28}{scores[-1][0]:7.3f}{scores[-1][1]:7.3f}{gains[-1]:+7.3f}  {count} edits")
        if gains:
            drawn = random.choice(gains, (2000, len(gains))).mean(1)
            low, high = np.quantile(drawn, [0.025, 0.975])
            first, then = np.mean(scores, axis=0)
            print(f"{name}: {first:.3f} -> {then:.3f}, {np.mean(gains):+.3f} ({low:+.3f} to {high:+.3f})\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

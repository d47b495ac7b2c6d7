"""Touching and stacked things told apart: small patches merged while they seem to be one thing.

Whether two patches are one thing is judged by what is known of places in them, near and far (kinship.py), and a little
by what their border looks like: a network of 14 numbers in, 24, 24, one out (borders.npz), which alone decides what
small parts a click may mean. Both learned on drawn tables; neither has seen a real photograph.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from pipeline.segmentation.borders import borders, patches, surface
from pipeline.segmentation.kinship import akin, between
from pipeline.segmentation.merging import Evidence, merged, without_crumbs
from pipeline.segmentation.standing import Heights, crop, joined
from pipeline.segmentation.uprights import continued

SURE, SAFE, FINE = -1.8, 0.7, 2.5
"""Log odds from which two parts are one thing, from which they are without a doubt, and, by their borders alone, from
which they are when a click may mean a small part."""
UNLIKE = -1.0
"""Log odds up to which two parts are two things, whatever else speaks for joining them."""
LOCAL = 0.075
"""How many places a pixel of border counts for, beside the pairs of places that kinship judges."""


@dataclass(frozen=True, eq=False)
class Parts:
    """One piece that stood apart on the table, taken to parts."""

    things: list[np.ndarray]
    """A mask each, of shape (h, w), bool."""
    halves: list[np.ndarray]
    """The same pixels in what they are made of if nothing doubtful is joined."""
    fine: list[np.ndarray]
    """The same pixels in smaller parts: what a click may mean."""


def taken_apart(view: Heights, mask: np.ndarray, kin: np.ndarray) -> Parts:
    """What a rough mask (h, w) is made of; `kin` is what kinship.odds said of the frame."""
    window = crop(mask, 4)
    seen = surface(view, window)
    labels = patches(seen, mask[window])
    if labels.max() < 2:
        return Parts([mask], [mask], [mask])
    edges = borders(seen, labels)
    local = Evidence(edges.pairs, same_thing(edges.features) * edges.length, edges.length, edges.length)
    count = int(labels.max()) + 1
    fine = merged(count, [local], FINE)[labels]
    evidence = [local.scaled(LOCAL), _kin(labels, kin, window, mask.shape)]
    things, halves = (
        _masks(without_crumbs(merged(count, evidence, stop), labels, evidence)[labels], mask, window)
        for stop in (SURE, SAFE)
    )
    together = joined(view, things, lambda one, other: akin(kin, one, other) > UNLIKE)
    return Parts(continued(view, together) or [mask], halves, _masks(fine, mask, window))


def _kin(labels: np.ndarray, kin: np.ndarray, window: tuple[slice, slice], shape: tuple[int, ...]) -> Evidence:
    whole = np.zeros(shape, np.int32)
    whole[window] = labels
    return between(whole, kin)


def _masks(labels: np.ndarray, mask: np.ndarray, window: tuple[slice, slice]) -> list[np.ndarray]:
    masks = []
    for label in np.unique(labels[labels > 0]):
        whole = np.zeros_like(mask)
        whole[window] = labels == label
        masks.append(whole)
    return masks


@cache
def _weights() -> tuple[np.ndarray, ...]:
    with np.load(Path(__file__).with_name("borders.npz")) as stored:
        return tuple(stored[name] for name in ("w0", "b0", "w1", "b1", "w2", "b2"))


def same_thing(features: np.ndarray) -> np.ndarray:
    """Log odds that both sides of a border belong to one thing, of shape (N,), for its features (N, 14)."""
    w0, b0, w1, b1, w2, b2 = _weights()
    hidden = np.tanh(np.tanh(features @ w0 + b0) @ w1 + b1)
    return np.clip((hidden @ w2 + b2)[:, 0], -8, 8)

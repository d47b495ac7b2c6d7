"""What the network of pairs of places is shown, and what is made of its answers."""

import subprocess
import sys

import numpy as np
import pytest

from pipeline.segmentation import DepthSegmenter
from pipeline.segmentation.kinship import CELL, MAPS, OFFSETS, SUREST, between, odds, presence
from tests.frame.rendered import render


@pytest.fixture(scope="module")
def seen():
    return render(width=640)


@pytest.fixture(scope="module")
def kin(seen):
    return DepthSegmenter().open(seen.frame)._learned.kin


def test_there_is_an_answer_for_every_cell_and_offset(seen, kin):
    h, w = seen.frame.depth.shape
    assert kin.shape == (1 + len(OFFSETS), h // CELL, w // CELL) and np.isfinite(kin).all()


def test_things_are_told_from_the_bare_table(seen, kin):
    there = presence(kin, seen.frame.depth.shape)
    things = np.logical_or.reduce(list(seen.labels.values()))
    assert there.min() >= 0 and there.max() <= 1 and there[things].mean() > 0.5 > there[~things].mean()


def test_two_patches_of_one_thing_are_nearer_kin_than_two_things_are(seen, kin):
    labels = np.zeros(seen.frame.depth.shape, int)
    for number, mask in enumerate(seen.labels.values()):
        _, cols = np.nonzero(mask)
        left = np.indices(mask.shape)[1] < np.median(cols)
        labels[mask & left], labels[mask & ~left] = 2 * number + 1, 2 * number + 2
    told = between(labels, kin)
    same = (told.pairs[:, 0] - 1) // 2 == (told.pairs[:, 1] - 1) // 2
    mean = told.total / told.weight
    assert mean[same].min() > 0 and (not (~same).any() or mean[~same].max() < mean[same].min())


def test_no_pair_counts_for_more_than_the_surest():
    labels = np.ones((64, 64), int)
    labels[:, 32:] = 2
    told = between(labels, np.full((1 + len(OFFSETS), 16, 16), 99.0, np.float32))
    assert told.pairs.tolist() == [[1, 2]] and told.total[0] == pytest.approx(SUREST * told.weight[0])


def test_a_label_map_of_one_thing_has_no_pairs():
    told = between(np.ones((64, 64), int), np.zeros((1 + len(OFFSETS), 16, 16), np.float32))
    assert len(told.pairs) == len(told.total) == len(told.weight) == 0


@pytest.mark.parametrize("h, w", [(30, 40), (25, 38)])
def test_any_size_of_picture_is_answered_in_its_own_size(h, w):
    maps, features = np.zeros((MAPS, 2 * h - 1, 2 * w), np.float32), np.zeros((h, w, 24), np.float32)
    assert odds(maps, features).shape == (1 + len(OFFSETS), h, w)


def test_no_torch_is_needed():
    code = "import sys, numpy as n; from pipeline.segmentation.kinship import odds; "
    code += "odds(n.zeros((12, 32, 32), n.float32), n.zeros((16, 16, 24), n.float32)); print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "False"

"""The affinity network: its output for rendered scenes, and the affinities of labels."""

import numpy as np
import pytest

from pipeline.segmentation.depth.affinity import (
    CELL,
    INPUT_CHANNELS,
    MAX_LOG_ODDS,
    OFFSETS,
    label_affinities,
    objectness,
    predict_affinities,
)


@pytest.fixture(scope="module")
def affinities(view):
    return view._networks.affinities


def test_there_is_a_prediction_for_every_cell_and_offset(scene, affinities):
    h, w = scene.frame.depth.shape
    assert affinities.shape == (1 + len(OFFSETS), h // CELL, w // CELL) and np.isfinite(affinities).all()


def test_objects_have_a_higher_objectness_than_the_bare_table(scene, affinities):
    probability = objectness(affinities, scene.frame.depth.shape)
    objects = np.logical_or.reduce(list(scene.labels.values()))
    assert probability.min() >= 0 and probability.max() <= 1
    assert probability[objects].mean() > 0.5 > probability[~objects].mean()


def test_two_regions_of_one_object_have_a_higher_affinity_than_two_objects(scene, affinities):
    labels = np.zeros(scene.frame.depth.shape, int)
    for number, mask in enumerate(scene.labels.values()):
        _, cols = np.nonzero(mask)
        left = np.indices(mask.shape)[1] < np.median(cols)
        labels[mask & left], labels[mask & ~left] = 2 * number + 1, 2 * number + 2
    pairs = label_affinities(labels, affinities)
    same = (pairs.pairs[:, 0] - 1) // 2 == (pairs.pairs[:, 1] - 1) // 2
    mean = pairs.total / pairs.weight
    assert mean[same].min() > 0 and (not (~same).any() or mean[~same].max() < mean[same].min())


def test_the_log_odds_of_a_pair_of_cells_are_bounded():
    labels = np.ones((64, 64), int)
    labels[:, 32:] = 2
    pairs = label_affinities(labels, np.full((1 + len(OFFSETS), 16, 16), 99.0, np.float32))
    assert pairs.pairs.tolist() == [[1, 2]] and pairs.total[0] == pytest.approx(MAX_LOG_ODDS * pairs.weight[0])


def test_a_label_image_of_one_object_has_no_pairs():
    pairs = label_affinities(np.ones((64, 64), int), np.zeros((1 + len(OFFSETS), 16, 16), np.float32))
    assert len(pairs.pairs) == len(pairs.total) == len(pairs.weight) == 0


@pytest.mark.parametrize("h, w", [(30, 40), (25, 38)])
def test_predictions_have_the_size_of_the_image(h, w):
    maps, features = np.zeros((INPUT_CHANNELS, 2 * h - 1, 2 * w), np.float32), np.zeros((h, w, 24), np.float32)
    assert predict_affinities(maps, features).shape == (1 + len(OFFSETS), h, w)

"""Superpixels and their affinities, from the network to their agglomeration."""

from itertools import pairwise

import numpy as np
import pytest

from pipeline.segmentation.depth import affinity
from pipeline.segmentation.depth.agglomeration import PairAffinities, absorb_small_regions, agglomerate
from pipeline.segmentation.depth.superpixels import SurfaceMap, superpixels


def test_superpixels_stop_at_a_gap_and_log_odds_of_pairs_are_bounded():
    h, w = 60, 80
    mask = np.zeros((h, w), bool)
    mask[10:50, 10:38], mask[10:50, 42:70] = True, True
    flat = np.zeros((h, w, 3), np.float32)
    up = flat + np.float32([0, 0, 1])
    surface = SurfaceMap(flat, flat, up, np.ones((h, w), np.float32), np.ones((h, w), bool))
    labels = superpixels(surface, mask)
    assert ((labels > 0) == mask).all() and not set(labels[:, :40].ravel()) & set(labels[:, 40:].ravel()) - {0}
    labels = np.ones((64, 64), int)
    labels[:, 32:] = 2
    pairs = affinity.label_affinities(labels, np.full((1 + len(affinity.OFFSETS), 16, 16), 99.0, np.float32))
    assert pairs.pairs.tolist() == [[1, 2]] and pairs.total[0] == pytest.approx(affinity.MAX_LOG_ODDS * pairs.weight[0])
    pairs = affinity.label_affinities(np.ones((64, 64), int), np.zeros((1 + len(affinity.OFFSETS), 16, 16), np.float32))
    assert len(pairs.pairs) == len(pairs.total) == len(pairs.weight) == 0


@pytest.fixture(scope="module")
def affinities(view):
    return view._networks.affinities


def test_every_cell_and_offset_has_a_prediction_and_objects_a_higher_objectness_than_the_table(scene, affinities):
    h, w = scene.frame.depth.shape
    assert (
        affinities.shape == (1 + len(affinity.OFFSETS), h // affinity.CELL, w // affinity.CELL)
        and np.isfinite(affinities).all()
    )
    probability = affinity.objectness(affinities, scene.frame.depth.shape)
    objects = np.logical_or.reduce(list(scene.labels.values()))
    assert probability.min() >= 0 and probability.max() <= 1
    assert probability[objects].mean() > 0.5 > probability[~objects].mean()


@pytest.mark.parametrize("h, w", [(30, 40), (25, 38)])
def test_predictions_have_the_size_of_the_image(h, w):
    maps, features = np.zeros((affinity.INPUT_CHANNELS, 2 * h - 1, 2 * w), np.float32), np.zeros((h, w, 24), np.float32)
    assert affinity.predict_affinities(maps, features).shape == (1 + len(affinity.OFFSETS), h, w)


CHAIN = np.array([[1, 2], [2, 3], [3, 4], [4, 5]])


def pair_affinities(pairs, odds, weight=1.0, near=True):
    odds, weight = np.asarray(odds, float), np.full(len(pairs), float(weight))
    return PairAffinities(np.asarray(pairs), odds * weight, weight, weight * near)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_labels_merge_over_likely_boundaries_only_in_any_order_of_the_pairs(order):
    log_odds = np.array([5.0, -5.0, 5.0, 5.0])
    mapping = agglomerate(6, [pair_affinities(CHAIN[order], log_odds[order])], 0.0)
    assert mapping[1] == mapping[2] != mapping[3] and mapping[3] == mapping[4] == mapping[5]


def test_labels_merge_only_through_neighbours_and_a_higher_threshold_only_divides_further():
    near = pair_affinities(CHAIN, [5, 1, 5, 5])
    assert len(set(agglomerate(6, [near], 0.0)[1:])) == 1
    far = pair_affinities([[1, 4], [1, 5], [2, 4], [2, 5]], [-4, -4, -4, -4], near=False)
    mapping = agglomerate(6, [near, far], 0.0)
    assert mapping[1] == mapping[2] != mapping[3] and mapping[3] == mapping[4] == mapping[5]
    far = pair_affinities([[1, 3]], [9], near=False)
    assert len(set(agglomerate(4, [far, pair_affinities([[1, 2]], [-3])], 0.0)[1:])) == 3
    assert len(set(agglomerate(4, [far, pair_affinities([[1, 2], [2, 3]], [3, 3])], 0.0)[1:])) == 1
    assert len(set(agglomerate(3, [], 0.0)[1:])) == 2
    random = np.random.default_rng(0)
    pairs = np.array([(a, b) for a in range(1, 30) for b in range(a + 1, 30)])
    affinities = pair_affinities(pairs, random.normal(0, 3, len(pairs)))
    mappings = [agglomerate(30, [affinities], threshold) for threshold in (-2.0, 0.0, 2.0)]
    for coarse, fine in pairwise(mappings):
        assert all(len(set(coarse[fine == label])) == 1 for label in set(fine))


@pytest.mark.parametrize("log_odds, absorbed_by", [([-1.0, -3.0], 1), ([-3.0, -1.0], 3)])
def test_small_regions_are_absorbed_by_the_neighbour_with_the_highest_affinity(log_odds, absorbed_by):
    labels = np.zeros((40, 90), int)
    labels[:, :40], labels[:, 40:44], labels[:, 44:] = 1, 2, 3
    affinities = pair_affinities([[1, 2], [2, 3]], log_odds, 40)
    assert absorb_small_regions(np.arange(4), labels, [affinities]).tolist() == [0, 1, absorbed_by, 3]

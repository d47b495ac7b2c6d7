"""Agglomeration of superpixels by their affinities, and the absorption of small regions."""

from itertools import pairwise

import numpy as np
import pytest

from pipeline.segmentation.depth.agglomeration import PairAffinities, absorb_small_regions, agglomerate

CHAIN = np.array([[1, 2], [2, 3], [3, 4], [4, 5]])


def pair_affinities(pairs, odds, weight=1.0, near=True):
    odds, weight = np.asarray(odds, float), np.full(len(pairs), float(weight))
    return PairAffinities(np.asarray(pairs), odds * weight, weight, weight * near)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_labels_merge_over_likely_boundaries_only_in_any_order_of_the_pairs(order):
    log_odds = np.array([5.0, -5.0, 5.0, 5.0])
    mapping = agglomerate(6, [pair_affinities(CHAIN[order], log_odds[order])], 0.0)
    assert mapping[1] == mapping[2] != mapping[3] and mapping[3] == mapping[4] == mapping[5]


def test_low_affinities_over_a_distance_separate_neighbours():
    near = pair_affinities(CHAIN, [5, 1, 5, 5])
    assert len(set(agglomerate(6, [near], 0.0)[1:])) == 1
    far = pair_affinities([[1, 4], [1, 5], [2, 4], [2, 5]], [-4, -4, -4, -4], near=False)
    mapping = agglomerate(6, [near, far], 0.0)
    assert mapping[1] == mapping[2] != mapping[3] and mapping[3] == mapping[4] == mapping[5]


def test_labels_that_are_not_neighbours_merge_only_through_labels_between_them():
    far = pair_affinities([[1, 3]], [9], near=False)
    assert len(set(agglomerate(4, [far, pair_affinities([[1, 2]], [-3])], 0.0)[1:])) == 3
    assert len(set(agglomerate(4, [far, pair_affinities([[1, 2], [2, 3]], [3, 3])], 0.0)[1:])) == 1


def test_labels_without_affinities_stay_separate():
    assert len(set(agglomerate(3, [], 0.0)[1:])) == 2


def test_a_higher_threshold_only_divides_further():
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

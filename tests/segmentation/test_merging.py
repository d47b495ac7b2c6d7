"""Patches merge by all that is known of them, and crumbs find a home."""

from itertools import pairwise

import numpy as np
import pytest

from pipeline.segmentation.borders import Surface, patches
from pipeline.segmentation.merging import Evidence, merged, without_crumbs

CHAIN = np.array([[1, 2], [2, 3], [3, 4], [4, 5]])


def evidence(pairs, odds, weight=1.0, near=True):
    odds, weight = np.asarray(odds, float), np.full(len(pairs), float(weight))
    return Evidence(np.asarray(pairs), odds * weight, weight, weight * near)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_patches_merge_over_sure_borders_only_whatever_the_order_they_are_given_in(order):
    judged = np.array([5.0, -5.0, 5.0, 5.0])
    home = merged(6, [evidence(CHAIN[order], judged[order])], 0.0)
    assert home[1] == home[2] != home[3] and home[3] == home[4] == home[5]


def test_places_far_apart_that_are_not_one_thing_keep_neighbours_apart():
    near = evidence(CHAIN, [5, 1, 5, 5])
    assert len(set(merged(6, [near], 0.0)[1:])) == 1
    far = evidence([[1, 4], [1, 5], [2, 4], [2, 5]], [-4, -4, -4, -4], near=False)
    home = merged(6, [near, far], 0.0)
    assert home[1] == home[2] != home[3] and home[3] == home[4] == home[5]


def test_what_is_not_near_never_merges_however_sure_but_for_what_lies_between():
    far = evidence([[1, 3]], [9], near=False)
    assert len(set(merged(4, [far, evidence([[1, 2]], [-3])], 0.0)[1:])) == 3
    assert len(set(merged(4, [far, evidence([[1, 2], [2, 3]], [3, 3])], 0.0)[1:])) == 1


def test_labels_of_which_nothing_is_known_stay_apart():
    assert len(set(merged(3, [], 0.0)[1:])) == 2


def test_a_higher_bar_only_ever_divides_further():
    random = np.random.default_rng(0)
    pairs = np.array([(a, b) for a in range(1, 30) for b in range(a + 1, 30)])
    known = evidence(pairs, random.normal(0, 3, len(pairs)))
    homes = [merged(30, [known], stop) for stop in (-2.0, 0.0, 2.0)]
    for coarse, fine in pairwise(homes):
        assert all(len(set(coarse[fine == one])) == 1 for one in set(fine))


@pytest.mark.parametrize("judged, home", [([-1.0, -3.0], 1), ([-3.0, -1.0], 3)])
def test_crumbs_go_to_the_neighbour_most_like_them(judged, home):
    labels = np.zeros((40, 90), int)
    labels[:, :40], labels[:, 40:44], labels[:, 44:] = 1, 2, 3
    told = evidence([[1, 2], [2, 3]], judged, 40)
    assert without_crumbs(np.arange(4), labels, [told]).tolist() == [0, 1, home, 3]


def test_a_patch_is_in_one_piece_though_the_same_ground_lies_on_both_sides_of_a_gap():
    h, w = 60, 80
    mask = np.zeros((h, w), bool)
    mask[10:50, 10:38], mask[10:50, 42:70] = True, True
    flat = np.zeros((h, w, 3), np.float32)
    up = flat + np.float32([0, 0, 1])
    seen = Surface(flat, flat, up, np.ones((h, w), np.float32), np.ones((h, w), bool))
    labels = patches(seen, mask)
    assert ((labels > 0) == mask).all() and not set(labels[:, :40].ravel()) & set(labels[:, 40:].ravel()) - {0}

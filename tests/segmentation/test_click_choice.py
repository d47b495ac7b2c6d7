"""Corrections that a later click may mean: what each keeps, how they are measured, which one is chosen."""

import numpy as np
import pytest

from pipeline.segmentation.depth.click_choice import SOURCES, choose, predicted_gains


@pytest.fixture(scope="module")
def correction(view):
    return view._interactive.correction


def corrections(scene):
    """Yield a mask and clicks: half of an object with a plus click on the rest, and two objects with a minus click."""
    first, second = list(scene.labels.values())[:2]
    rows, cols = np.nonzero(first)
    middle = int(np.median(cols))
    half = first & (np.arange(first.shape[1]) < middle)
    yield half, [(middle - 6, int(np.median(rows)), 1), (middle + 6, int(np.median(rows)), 1)]
    other_rows, other_cols = np.nonzero(second)
    yield (
        first | second,
        [(middle, int(np.median(rows)), 1), (int(np.median(other_cols)), int(np.median(other_rows)), 0)],
    )


def test_every_proposal_obeys_all_clicks_and_changes_only_what_the_newest_click_says_is_wrong(scene, correction):
    for mask, clicks in corrections(scene):
        proposals, terms = correction.propose(mask, clicks)
        assert set(proposals) == set(terms) <= set(SOURCES) and "colour" in proposals
        for source, one in proposals.items():
            assert all(one[y, x] == bool(label) for x, y, label in clicks), source
            assert not (one & ~mask).any() if clicks[-1][2] == 0 else not (mask & ~one).any(), source


def test_the_correction_is_the_proposal_of_highest_gain_and_brings_the_mask_closer(scene, correction):
    for mask, clicks in corrections(scene):
        proposals, terms = correction.propose(mask, clicks)
        best = max(terms, key=lambda source: predicted_gains(terms[source][None])[0])
        assert choose(terms) == best and np.array_equal(correction.correct(mask, clicks), proposals[best])
    first, second = list(scene.labels.values())[:2]
    for (mask, clicks), truth in zip(corrections(scene), (first, first), strict=True):
        after = correction.correct(mask, clicks)
        assert np.count_nonzero(after ^ truth) < 0.5 * np.count_nonzero(mask ^ truth)
    assert not (correction.correct(first | second, clicks) & second).sum() > 0.5 * second.sum()

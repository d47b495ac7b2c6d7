"""Tests of groups of scores: equal groups do not differ, clearly different ones do, and the order does not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.evaluation.significance import compare_groups, grouped_interval, holm, mean_interval

SCORES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=12)


def test_clearly_different_groups_differ_and_equal_ones_do_not():
    rng = np.random.default_rng(0)
    low, high = rng.uniform(0, 0.4, 30).tolist(), rng.uniform(0.6, 1, 30).tolist()
    found = compare_groups({"low": low, "again": low, "high": high})
    assert found and found.p < 1e-6
    by_pair = {(one.first, one.second): one.p for one in found.pairs}
    assert by_pair["low", "again"] == pytest.approx(1) and by_pair["low", "high"] < 1e-6
    assert "low and high" in found.sentence and "low and again" not in found.sentence


@given(st.lists(SCORES, min_size=2, max_size=4))
def test_probabilities_lie_in_their_range_whatever_the_scores(groups):
    found = compare_groups({str(k): group for k, group in enumerate(groups)})
    assert found and 0 <= found.p <= 1 and all(0 <= one.p <= 1 for one in found.pairs)
    assert len(found.pairs) == len(groups) * (len(groups) - 1) // 2


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_probability_and_keeps_their_order(probabilities):
    corrected = holm(probabilities)
    assert all(p <= c <= 1 for p, c in zip(probabilities, corrected, strict=True))
    assert [corrected[k] for k in np.argsort(probabilities, kind="stable")] == sorted(corrected)


@given(SCORES)
def test_the_interval_of_a_mean_holds_it(scores):
    low, high = mean_interval(scores)
    assert min(scores) - 1e-9 <= low <= np.mean(scores) + 1e-9 and low <= high <= max(scores) + 1e-9


def test_values_of_one_group_count_as_one_sample():
    few = grouped_interval([[1.0], [0.0], [1.0], [0.0]])
    many = grouped_interval([[1.0] * 50, [0.0] * 50, [1.0] * 50, [0.0] * 50])
    assert many == few and few[0] < 0.25 and few[1] > 0.75


@given(st.lists(SCORES, min_size=1, max_size=5))
def test_the_interval_by_groups_lies_among_the_groups_means(groups):
    low, high = grouped_interval(groups)
    means = [float(np.mean(one)) for one in groups]
    assert min(means) - 1e-9 <= low <= high <= max(means) + 1e-9


def test_one_group_or_missing_values_give_no_test():
    assert compare_groups({"one": [1.0, 0.5], "empty": [float("nan")]}) is None

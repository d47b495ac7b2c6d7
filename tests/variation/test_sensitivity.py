"""A planted cause of failure ranks first; without a cause there is seldom an alarm; intervals are Wilson's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.variation.sensitivity import effects, logistic, wilson

FACTORS = 16


def study(seed: int, count: int = 100, cause: str = "none") -> tuple[list[str], np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    values = random.uniform(0.5, 1.5, (count, FACTORS))
    values[:, 9] = random.uniform(size=count) < 0.25
    z = (values[:, 3] - 1) / 0.29
    chance = {"none": np.full(count, 0.7), "linear": 1 / (1 + np.exp(-1 + 2 * z)), "window": 0.9 - 0.6 * (abs(z) > 1)}
    return [f"f{i}" for i in range(FACTORS)], values, random.uniform(size=count) < chance[cause]


@pytest.mark.parametrize("cause", ["linear", "window"])
def test_a_planted_cause_ranks_first_19_of_20_times(cause):
    first = [effects(*study(seed, cause=cause))[0] for seed in range(20)]
    assert sum(one.factor == "f3" and one.matters for one in first) >= 19


def test_without_a_cause_the_alarm_is_rare():
    alarms = sum(effects(*study(1000 + seed))[0].matters for seed in range(40))
    assert alarms <= 5  # 5 % of 40 is 2


def test_the_effect_has_the_sign_and_about_the_size_of_the_planted_one():
    effect = effects(*study(3, 400, "linear"))[0]
    assert effect.low_success > 0.9 and effect.high_success < 0.4
    assert effect.change_low < effect.change == pytest.approx(effect.high_success - effect.low_success)
    assert effect.change < effect.change_high < 0


def test_neither_uniform_nor_separated_outcomes_break_the_fit():
    names, values, _ = study(0)
    assert effects(names, values, np.ones(100, bool)) == [] and effects(names, values, np.arange(100) > 1) == []
    assert effects([], np.zeros((0, 0)), np.zeros(0, bool)) == []
    x = np.linspace(-1, 1, 30)
    beta, covariance = logistic(np.stack([np.ones(30), x], axis=1), (x > 0).astype(float))
    assert np.isfinite(beta).all() and beta[1] > 2 and np.isfinite(covariance).all()


@given(st.integers(1, 300), st.data())
def test_wilson_intervals_hold_their_share_and_mirror(count, data):
    successes = data.draw(st.integers(0, count))
    share, mirrored = wilson(successes, count), wilson(count - successes, count)
    assert 0 <= share.low <= share.value <= share.high <= 1 and share.low == pytest.approx(1 - mirrored.high)


def test_wilson_is_the_root_of_its_quadratic():
    share = wilson(7, 20)
    for end in (share.low, share.high):
        assert (end - 0.35) ** 2 == pytest.approx(1.959964**2 * end * (1 - end) / 20)

"""Alignment in time, onset of divergence, events and phases."""

from itertools import pairwise

import numpy as np
import pytest
from arm_episodes import KEYS, course, episode, smooth

from pipeline.divergence import ArmJoints, Episode, EpisodeError, compare
from pipeline.divergence.events import find_events
from pipeline.divergence.onset import find_onset
from pipeline.divergence.phases import phases_of
from pipeline.divergence.table import Table

TIMES = np.arange(0, 12, 0.02)
NOISE = 0.002
"""Radians; a good joint encoder with transmission."""
NOISES = np.array([*[NOISE] * 6, 0.1 * NOISE])


@pytest.mark.parametrize("method", ["motion", "dtw"])
@pytest.mark.parametrize("seed", range(10))
def test_a_late_start_is_found_to_30_ms(method, seed):
    random = np.random.default_rng(seed)
    late = random.uniform(-0.9, 1.4)
    real = course(TIMES - 1.0, seed=seed) + random.normal(0, NOISES, (len(TIMES), 7))
    other = np.arange(0, 12, random.choice([0.01, 0.02, 0.033]))
    sim = course(other - 1.0 - late, seed=seed) + random.normal(0, NOISES, (len(other), 7))
    result = compare(episode(real, TIMES), episode(sim, other, "sim"), method=method)
    assert result.alignment.shift == pytest.approx(late, abs=0.03)
    assert result.column("rmse_arm").mean() < 0.01


def test_warping_follows_a_simulation_that_is_slower():
    real = course(TIMES - 1.0)
    sim = course((TIMES - 1.0) / 1.1)
    by_start = compare(episode(real, TIMES), episode(sim, TIMES, "sim"), method="motion")
    warped = compare(episode(real, TIMES), episode(sim, TIMES, "sim"), method="dtw")
    assert warped.column("rmse_arm").mean() < 0.1 * by_start.column("rmse_arm").mean()


def test_two_clocks_start_together_by_clock_and_an_arm_that_stands_still_has_no_first_motion():
    real, sim = episode(course(TIMES), TIMES + 1e9), episode(course(TIMES), TIMES, "sim")
    result = compare(real, sim, method="clock")
    assert result.alignment.shift == -1e9
    assert result.column("rmse_arm").max() < 1e-6
    with pytest.raises(EpisodeError, match=r"do not overlap.*--align clock"):
        compare(real, sim, method="none")
    still = np.ones((len(TIMES), 7))
    with pytest.raises(EpisodeError, match="does not move"):
        compare(episode(still, TIMES), episode(still, TIMES, "sim"), method="motion")


@pytest.mark.parametrize("seed", range(40))
def test_a_planted_onset_is_found_within_one_sample_with_its_cause(seed):
    random = np.random.default_rng(seed)
    real = course(TIMES, seed=seed)
    cause, (low, high) = [
        ("approach", (0.8, 1.9)), ("grasp", (2.2, 2.6)), ("transfer", (3.4, 6.0)), ("release", (6.8, 9.0)),
    ][seed % 4]  # fmt: skip
    row = int(np.searchsorted(TIMES, random.uniform(low, high)))
    since = np.maximum(TIMES - TIMES[row], 0)
    growth = [0.05 * (since + 1) * (np.arange(len(TIMES)) >= row), 0.4 * since, np.minimum(2 * since**2, 1)][
        seed // 4 % 3
    ]
    sim = real.copy()
    sim[:, random.integers(0, 6)] += growth * random.choice([-1, 1])
    noise = [0.0, 0.25, 1.0][seed // 12 % 3]
    sides = [values + random.normal(0, 1, values.shape) * NOISES * noise for values in (real, sim)]
    result = compare(episode(sides[0], TIMES), episode(sides[1], TIMES, "sim"))
    assert result.onset is not None
    assert abs(np.searchsorted(TIMES, result.onset.time - 1e-9) - row) <= 1
    assert result.onset.cause == cause


def test_noise_alone_has_no_onset_and_a_difference_from_the_start_begins_at_the_first_sample():
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(0, 1e-3, (800, 7))
        assert find_onset(Table.from_array(noise)) is None
    real = course(TIMES)
    result = compare(episode(real, TIMES), episode(real + 0.5, TIMES, "sim"))
    assert result.onset is not None
    assert result.onset.time == TIMES[0]


def test_an_arm_that_picks_and_places_has_the_paper_s_events_and_phases_without_a_gap():
    events = find_events(episode(course(TIMES), TIMES))["arm"]
    found = {event.name: event.time for event in events.events("arm")}
    assert list(found) == ["home", "grasp", "lift", "place", "release", "return"]
    expected = dict(
        zip(("home", "grasp", "lift", "place", "release", "return"), (0, 2.6, 2.6, 6.6, 6.6, 10), strict=True)
    )
    for name, time in expected.items():
        assert found[name] == pytest.approx(time, abs=0.9), name
    phases = phases_of(events, TIMES[-1])
    assert [phase.name for phase in phases] == ["approach", "grasp", "transfer", "release"]
    assert phases[0].start == TIMES[0] and phases[-1].stop == TIMES[-1]
    assert all(one.stop == other.start for one, other in pairwise(phases))


def test_a_lift_is_seen_in_the_pose_of_the_object_that_moves():
    real = course(TIMES)
    height = smooth(TIMES, (0.0, 4.0, 4.5, 6.0, 6.5, 12.0), np.array([[0.0], [0.0], [0.3], [0.3], [0.0], [0.0]]))
    pose = np.zeros((len(TIMES), 7))
    pose[:, 2:4] = np.column_stack((height, np.ones(len(TIMES))))
    with_object = Episode(
        TIMES, Table.from_array(real), episode(real, TIMES).names, episode(real, TIMES).arms, objects={"cube": pose}
    )
    (hold,) = find_events(with_object)["arm"].holds
    assert hold.lift == pytest.approx(4.08, abs=0.06)
    assert hold.place == pytest.approx(6.42, abs=0.06)


def test_an_object_that_goes_from_arm_to_arm_is_passed():
    arms = {side: ArmJoints((f"{side}_1",), f"{side}_gripper") for side in ("left", "right")}
    left = smooth(
        TIMES,
        (*KEYS[:4], 7.0, 7.5, 10.0),
        np.array([[0, 0.08], [1, 0.08], [1, 0.03], [2, 0.03], [2, 0.03], [2, 0.08], [0, 0.08]]),
    )
    right = smooth(
        TIMES,
        (0.0, 5.0, 6.0, 8.0, 9.0, 9.5, 11.0),
        np.array([[0, 0.08], [1, 0.08], [1, 0.03], [1, 0.03], [2, 0.03], [2, 0.08], [0, 0.08]]),
    )
    found = find_events(episode(np.hstack((left, right)), TIMES, arms=arms))
    names = {side: [event.name for event in found[side].events(side)] for side in arms}
    assert names["left"] == ["home", "grasp", "lift", "release", "return"]
    assert names["right"] == ["home", "grasp", "pass", "place", "release", "return"]

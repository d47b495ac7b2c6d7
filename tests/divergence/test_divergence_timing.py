"""Alignment in time, onset of divergence, events by motion and by contacts, and phases."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from arm_episodes import KEYS, course, episode, smooth

from pipeline.divergence import ArmJoints, Episode, EpisodeError, compare, read_episode, rollout_episode, write_episode
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


XML = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
  <body name="cube" pos="0 0 .02"><freejoint/><geom type="box" size=".02 .02 .02"/></body>
  <body name="hand" pos="0 0 .05"><joint name="z" type="slide" axis="0 0 1"/><geom type="sphere" size=".01"/></body>
</worldbody><actuator><position joint="z"/><position name="grip" joint="z"/></actuator></mujoco>"""
SAMPLE_S = 0.02
SAMPLED = np.arange(0, 8, SAMPLE_S)
TOUCH, LIFT, PLACE, LEAVE = 1.0, 2.0, 5.0, 6.0
HEIGHT_M = 0.1


def pick_and_place(speed: float, meshes: Path | None) -> Episode:
    """A hand that comes down on a cube, lifts it slowly, and puts it down; it closes when it touches."""
    lift = np.clip((SAMPLED - LIFT) * speed, 0, HEIGHT_M)
    lift = np.minimum(lift, np.clip((PLACE - SAMPLED) * speed, 0, HEIGHT_M))
    held = (SAMPLED >= TOUCH) & (SAMPLED < LEAVE)
    hand = np.where(held, lift - 0.0005, 0.1)  # presses on the cube while it holds
    cube = np.column_stack([np.zeros((len(SAMPLED), 2)), 0.0199 + lift, np.tile([1.0, 0, 0, 0], (len(SAMPLED), 1))])
    actions = np.column_stack([hand, held.astype(float)])
    return rollout_episode(SAMPLED, np.column_stack([cube, hand]), actions, XML, (), "rollout", meshes)


def times_of(episode: Episode, by_contacts: bool = True) -> dict[str, float]:
    (arm,) = find_events(episode, by_contacts=by_contacts).values()
    return {event.name: event.time for event in arm.events("arm")}


@pytest.mark.parametrize("speed", [0.05, 0.2, 1.0])
def test_contacts_tell_of_grasp_lift_and_place_within_one_sample_at_any_speed(tmp_path, speed):
    found = times_of(pick_and_place(speed, tmp_path))
    for name, time in (("grasp", TOUCH), ("lift", LIFT), ("place", PLACE)):
        assert found[name] == pytest.approx(time, abs=1.6 * SAMPLE_S), name
    by_height = times_of(pick_and_place(speed, None))
    assert by_height["lift"] - found["lift"] == pytest.approx(0.01 / speed, abs=2.6 * SAMPLE_S)


def test_contacts_survive_a_file_and_are_refused_in_another_shape(tmp_path):
    written = pick_and_place(0.2, tmp_path)
    write_episode(written, tmp_path / "one.npz")
    read = read_episode(tmp_path / "one.npz")
    np.testing.assert_array_equal(read.contacts["cube"], written.contacts["cube"])
    assert times_of(read) == times_of(written)
    write_episode(replace(written, contacts={"cube": written.contacts["cube"][:9]}), tmp_path / "short.npz")
    with pytest.raises(EpisodeError, match="contacts of cube"):
        read_episode(tmp_path / "short.npz")


def test_events_of_two_episodes_come_from_contacts_only_if_both_have_them(tmp_path):
    known, unknown = pick_and_place(0.05, tmp_path), pick_and_place(0.05, None)
    (real, sim) = [arm.holds[0].lift for one in (known, unknown) for arm in find_events(one).values()]
    assert real is not None and sim is not None and sim - real > 0.1
    (result,) = compare(known, unknown, None, "clock").arms.values()
    assert result.real.holds[0].lift == result.sim.holds[0].lift == sim
    xml = XML.replace("<worldbody>", '<asset><mesh name="m" file="gone.obj"/></asset><worldbody>', 1)
    episode = rollout_episode(SAMPLED[:2], np.tile(np.eye(8)[3], (2, 1)), np.zeros((2, 2)), xml, (), "r", tmp_path)
    assert episode.contacts == {}

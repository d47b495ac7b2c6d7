"""Measures of divergence, forward kinematics, alignment in time, onset, events by motion and contacts, phases."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arm_episodes import JOINTS, KEYS, course, dh_table, episode, mjcf, smooth, two_arms, urdf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pipeline.divergence import RobotModelError, load_robot, read_episode, rollout_episode, to_json, write_episode
from pipeline.divergence.comparison import compare, find_onset, position_error, rotation_error
from pipeline.divergence.episode import ArmJoints, Episode, EpisodeError
from pipeline.divergence.events import find_events

TIMES, SHORT = np.arange(0, 12, 0.02), np.arange(0, 10, 0.02)
NOISE = 0.002
"""Radians; a good joint encoder with transmission."""
NOISES = np.array([*[NOISE] * 6, 0.1 * NOISE])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "arm.xml").write_text(mjcf())
    (folder / "arm.urdf").write_text(urdf())
    return load_robot(folder / "arm.xml"), load_robot(folder / "arm.urdf")


def written_out(sim, real, ranges):
    """RMSE_norm of one arm and instant, term by term as the paper writes it."""
    terms = [(s - r) ** 2 / width**2 / len(sim) for s, r, width in zip(sim, real, ranges, strict=True)]
    return math.sqrt(math.fsum(terms))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rmse_and_overall_agree_with_the_paper_written_out(seed):
    random = np.random.default_rng(seed)
    times = np.cumsum(random.uniform(0.005, 0.05, 40))
    real, sim = (random.uniform(-2, 2, (40, 12)) for _ in range(2))
    arms = two_arms()
    result = compare(episode(real, times, arms=arms), episode(sim, times, "sim", arms), method="none")
    widths = real.max(axis=0) - real.min(axis=0)
    left = [written_out(s[:6], r[:6], widths[:6]) for s, r in zip(sim, real, strict=True)]
    right = [written_out(s[6:], r[6:], widths[6:]) for s, r in zip(sim, real, strict=True)]
    overall = [math.sqrt((a**2 + b**2) / 2) for a, b in zip(left, right, strict=True)]
    for name, expected in (("rmse_left", left), ("rmse_right", right), ("rmse_overall", overall)):
        np.testing.assert_allclose(result.errors[name], expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(result.errors["t"], times)


def test_ranges_and_tool_errors_come_from_the_robot_model_and_a_joint_that_stands_still_counts_in_its_own_unit(models):
    real = course(SHORT)
    result = compare(episode(real, SHORT), episode(real + 0.01, SHORT, "sim"), models[0])
    assert [joint.range for joint in result.arms["arm"].joints] == [*[6.0] * 6, pytest.approx(0.05)]
    assert [joint.range_source for joint in result.arms["arm"].joints] == [*["robot model"] * 6, "real episode"]
    assert all(joint.rmse == pytest.approx(0.01) for joint in result.arms["arm"].joints)
    sim = real + 0.02 * np.sin(SHORT)[:, None]
    result = compare(episode(real, SHORT), episode(sim, SHORT, "sim"), models[0])
    p_sim, r_sim = dh_table().pose(sim[:, :6])
    p_real, r_real = dh_table().pose(real[:, :6])
    np.testing.assert_allclose(result.errors["position_arm"], position_error(p_sim, p_real), atol=1e-6)
    np.testing.assert_allclose(result.errors["rotation_arm"], rotation_error(r_sim, r_real), atol=1e-5)
    with pytest.raises(RobotModelError, match="no joint 'elbow'; it has joint_1"):
        models[0].pose("arm", ArmJoints(("elbow",)), np.zeros((1, 1)))
    for tool, shown in (("hand", "'hand'"), ("two\nlines", r"'two\\nlines'"), ("\ud800", r"'\\ud800'")):
        with pytest.raises(RobotModelError, match=f"no site or body {shown}; name"):
            models[0].pose("arm", ArmJoints(JOINTS, None, tool), np.zeros((1, 6)))
    with pytest.raises(RobotModelError, match=r"^there is no robot model a{300}; give"):
        load_robot(Path("a" * 70_000))
    real = course(SHORT)
    real[:, 2] = 0.4
    sim = real.copy()
    sim[:, 2] += 0.1
    result = compare(episode(real, SHORT), episode(sim, SHORT, "sim"))
    assert result.errors["rmse_arm"] == pytest.approx(np.full(len(SHORT), 0.1 / math.sqrt(7)))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-math.pi, math.pi), min_size=6, max_size=6))
def test_mjcf_urdf_and_dh_table_of_one_arm_give_the_same_pose(models, q):
    positions = np.array([q])
    expected_p, expected_r = dh_table().pose(positions)
    for robot in models:
        p, r = robot.pose("arm", ArmJoints(JOINTS, None, "tool"), positions)
        assert position_error(p, expected_p)[0] < 1e-6
        assert rotation_error(r, expected_r)[0] < 1e-5


@settings(max_examples=40, deadline=None)
@given(st.floats(0, math.pi - 1e-6), st.integers(0, 1000))
def test_the_rotation_error_is_the_angle_between_the_frames(angle, seed):
    random = np.random.default_rng(seed)
    axis = random.normal(size=3)
    real = Rotation.random(rng=random)
    sim = real * Rotation.from_rotvec(axis / np.linalg.norm(axis) * angle)
    assert rotation_error(sim.as_matrix()[None], real.as_matrix()[None])[0] == pytest.approx(angle, abs=1e-7)


def test_other_units_and_other_joints_are_refused():
    real = course(SHORT)
    other_joints = {"arm": ArmJoints(("joint_1", "elbow", *JOINTS[2:]), "gripper")}
    degrees = np.degrees(1.0)
    for scale, factor, times, arms, words in (
        (1.0, degrees, SHORT, None, "radians and metres"),
        (0.05, degrees, SHORT, None, "degrees instead of radians"),
        (1.0, 1.0, SHORT * 1000, None, "seconds"),
        (1.0, np.array([1, 1, 1, 1, 1, 1, 1000]), SHORT, None, "millimetres instead of metres"),
        (1.0, 1.0, SHORT, other_joints, "sim has no joint joint_2"),
    ):
        with pytest.raises(EpisodeError, match=words):
            compare(episode(scale * real, SHORT), episode(scale * real * factor, times, "sim", arms))


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
    assert result.errors["rmse_arm"].mean() < 0.01


@pytest.mark.parametrize("side", ["real", "sim"])
@pytest.mark.parametrize("seed", range(6))
def test_samples_that_one_episode_lacks_change_no_measure_of_those_that_both_have(side, seed):
    random = np.random.default_rng(seed)
    real = course(TIMES, seed=seed) + random.normal(0, NOISES, (len(TIMES), 7))
    sim = real + 0.2 * np.maximum(TIMES - 4, 0)[:, None] * np.eye(7)[seed]
    start, length = random.choice([0.1, 2.2, 3.5, 6.0]), random.choice([0.7, 1.5, 3.0])
    missing = (start < TIMES - 1e-9) & (start + length > TIMES + 1e-9)
    whole = compare(episode(real, TIMES), episode(sim, TIMES, "sim"))
    cut = [episode(values[~missing], TIMES[~missing], side) for values in (real, sim)]
    pair = (cut[0], episode(sim, TIMES, "sim")) if side == "real" else (episode(real, TIMES), cut[1])
    result = compare(*pair)
    [gap] = result.gaps
    assert gap.side == side and (gap.start, gap.stop) == pytest.approx((start, start + length), abs=0.021)
    assert result.errors["t"] == pytest.approx(TIMES[~missing])
    assert whole.onset is not None and result.onset is not None
    is_hidden = missing[np.searchsorted(TIMES, whole.onset.time - 1e-9)]
    assert result.onset.after_gap == is_hidden
    assert result.onset.time == pytest.approx(gap.stop if is_hidden else whole.onset.time, abs=0.021)
    if side == "sim":  # else REAL's own range may change
        for name, values in result.errors.items():
            assert values == pytest.approx(whole.errors[name][~missing]), name
    late = episode(course(TIMES - 1.4, seed=seed)[~missing], TIMES[~missing], "sim")
    for method in ("motion", "dtw"):
        aligned = compare(episode(course(TIMES - 1.0, seed=seed), TIMES), late, method=method)
        assert aligned.errors["rmse_arm"].mean() < 0.01, method


def test_lost_frames_and_slow_logs_are_no_gaps_and_an_event_that_may_lie_in_one_has_no_delay():
    random = np.random.default_rng(0)
    jitter = np.sort(np.arange(0, 10, 0.01) + random.uniform(-0.004, 0.004, 1000))[random.random(1000) > 0.3]
    for times in (jitter, np.arange(0, 12, 1.0)):
        assert compare(episode(course(TIMES), TIMES), episode(course(times), times, "sim")).gaps == ()
    kept = (TIMES <= 1.5) | (TIMES >= 3)
    result = compare(episode(course(TIMES), TIMES), episode(course(TIMES)[kept], TIMES[kept], "sim"))
    delays = {event["name"]: event["delay_s"] for event in to_json(result)["events"]}
    assert delays.pop("grasp") is delays.pop("lift") is None
    assert delays == pytest.approx(dict.fromkeys(("home", "place", "release", "return"), 0), abs=0.021)


def test_warping_follows_a_slower_simulation_clocks_start_together_and_a_still_arm_has_no_first_motion():
    real = course(TIMES - 1.0)
    sim = course((TIMES - 1.0) / 1.1)
    by_start = compare(episode(real, TIMES), episode(sim, TIMES, "sim"), method="motion")
    warped = compare(episode(real, TIMES), episode(sim, TIMES, "sim"), method="dtw")
    assert warped.errors["rmse_arm"].mean() < 0.1 * by_start.errors["rmse_arm"].mean()
    real, sim = episode(course(TIMES), TIMES + 1e9), episode(course(TIMES), TIMES, "sim")
    result = compare(real, sim, method="clock")
    assert result.alignment.shift == -1e9
    assert result.errors["rmse_arm"].max() < 1e-6
    with pytest.raises(EpisodeError, match=r"do not overlap.*--align clock"):
        compare(real, sim, method="none")
    still = np.ones((len(TIMES), 7))
    with pytest.raises(EpisodeError, match="does not move"):
        compare(episode(still, TIMES), episode(still, TIMES, "sim"), method="motion")


@pytest.mark.parametrize("seed", range(40))
def test_a_planted_onset_is_found_within_one_sample_with_its_cause(seed):
    random = np.random.default_rng(seed)
    real = course(TIMES, seed=seed)
    spans = {"approach": (0.8, 1.9), "grasp": (2.2, 2.6), "transfer": (3.4, 6.0), "release": (6.8, 9.0)}
    cause, (low, high) = list(spans.items())[seed % 4]
    row = int(np.searchsorted(TIMES, random.uniform(low, high)))
    since = np.maximum(TIMES - TIMES[row], 0)
    jump = 0.05 * (since + 1) * (np.arange(len(TIMES)) >= row)
    growth = [jump, 0.4 * since, np.minimum(2 * since**2, 1)][seed // 4 % 3]
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
        assert find_onset(noise) is None
    real = course(TIMES)
    result = compare(episode(real, TIMES), episode(real + 0.5, TIMES, "sim"))
    assert result.onset is not None
    assert result.onset.time == TIMES[0]


def test_a_lift_is_seen_in_the_pose_of_the_object_that_moves_and_a_pass_from_arm_to_arm():
    real = course(TIMES)
    height = smooth(TIMES, (0.0, 4.0, 4.5, 6.0, 6.5, 12.0), np.array([[0.0], [0.0], [0.3], [0.3], [0.0], [0.0]]))
    pose = np.zeros((len(TIMES), 7))
    pose[:, 2:4] = np.column_stack((height, np.ones(len(TIMES))))
    (hold,) = find_events(replace(episode(real, TIMES), objects={"cube": pose}))["arm"].holds
    assert hold.lift == pytest.approx(4.08, abs=0.06)
    assert hold.place == pytest.approx(6.42, abs=0.06)
    arms = {side: ArmJoints((f"{side}_1",), f"{side}_gripper") for side in ("left", "right")}
    gripper = [0.08, 0.08, 0.03, 0.03, 0.03, 0.08, 0.08]
    left = smooth(TIMES, (*KEYS[:4], 7.0, 7.5, 10.0), np.column_stack(([0, 1, 1, 2, 2, 2, 0], gripper)))
    right = smooth(TIMES, (0.0, 5.0, 6.0, 8.0, 9.0, 9.5, 11.0), np.column_stack(([0, 1, 1, 1, 2, 2, 0], gripper)))
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


def test_contacts_survive_a_file_and_events_of_two_episodes_come_from_them_only_if_both_have_them(tmp_path):
    written = pick_and_place(0.2, tmp_path)
    write_episode(written, tmp_path / "one.npz")
    read = read_episode(tmp_path / "one.npz")
    np.testing.assert_array_equal(read.contacts["cube"], written.contacts["cube"])
    assert times_of(read) == times_of(written)
    write_episode(replace(written, contacts={"cube": written.contacts["cube"][:9]}), tmp_path / "short.npz")
    with pytest.raises(EpisodeError, match="contacts of cube"):
        read_episode(tmp_path / "short.npz")
    known, unknown = pick_and_place(0.05, tmp_path), pick_and_place(0.05, None)
    (real, sim) = [arm.holds[0].lift for one in (known, unknown) for arm in find_events(one).values()]
    assert real is not None and sim is not None and sim - real > 0.1
    (result,) = compare(known, unknown, None, "clock").arms.values()
    assert result.real.holds[0].lift == result.sim.holds[0].lift == sim
    xml = XML.replace("<worldbody>", '<asset><mesh name="m" file="gone.obj"/></asset><worldbody>', 1)
    episode = rollout_episode(SAMPLED[:2], np.tile(np.eye(8)[3], (2, 1)), np.zeros((2, 2)), xml, (), "r", tmp_path)
    assert episode.contacts == {}

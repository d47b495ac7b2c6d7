"""The paper's measures, forward kinematics, and the comparison's columns."""

import math

import numpy as np
import pytest
from arm_episodes import JOINTS, course, dh_table, episode, mjcf, two_arms, urdf
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.divergence import ArmJoints, EpisodeError, compare, load_robot
from pipeline.divergence.metrics import position_error, rotation_error
from pipeline.divergence.robot_kinematics import RobotModelError

TIMES = np.arange(0, 10, 0.02)


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
        np.testing.assert_allclose(result.column(name), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(result.column("t"), times)


def test_ranges_and_tool_errors_come_from_the_robot_model_unless_it_lacks_the_joint_or_the_tool(models):
    real = course(TIMES)
    result = compare(episode(real, TIMES), episode(real + 0.01, TIMES, "sim"), models[0])
    assert [joint.range for joint in result.arms["arm"].joints] == [*[6.0] * 6, pytest.approx(0.05)]
    assert [joint.range_source for joint in result.arms["arm"].joints] == [*["robot model"] * 6, "real episode"]
    assert all(joint.rmse == pytest.approx(0.01) for joint in result.arms["arm"].joints)
    sim = real + 0.02 * np.sin(TIMES)[:, None]
    result = compare(episode(real, TIMES), episode(sim, TIMES, "sim"), models[0])
    p_sim, r_sim = dh_table().pose(sim[:, :6])
    p_real, r_real = dh_table().pose(real[:, :6])
    np.testing.assert_allclose(result.column("position_arm"), position_error(p_sim, p_real), atol=1e-6)
    np.testing.assert_allclose(result.column("rotation_arm"), rotation_error(r_sim, r_real), atol=1e-5)
    with pytest.raises(RobotModelError, match="no joint elbow; it has joint_1"):
        models[0].pose("arm", ArmJoints(("elbow",)), np.zeros((1, 1)))
    with pytest.raises(RobotModelError, match="no site or body hand"):
        models[0].pose("arm", ArmJoints(JOINTS, None, "hand"), np.zeros((1, 6)))


def test_a_joint_that_stands_still_counts_in_its_own_unit():
    real = course(TIMES)
    real[:, 2] = 0.4
    sim = real.copy()
    sim[:, 2] += 0.1
    result = compare(episode(real, TIMES), episode(sim, TIMES, "sim"))
    assert result.column("rmse_arm") == pytest.approx(np.full(len(TIMES), 0.1 / math.sqrt(7)))


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
    from scipy.spatial.transform import Rotation

    random = np.random.default_rng(seed)
    axis = random.normal(size=3)
    real = Rotation.random(rng=random)
    sim = real * Rotation.from_rotvec(axis / np.linalg.norm(axis) * angle)
    assert rotation_error(sim.as_matrix()[None], real.as_matrix()[None])[0] == pytest.approx(angle, abs=1e-7)


OTHER_JOINTS = {"arm": ArmJoints(("joint_1", "elbow", *JOINTS[2:]), "gripper")}


def in_degrees(sim):
    return episode(np.degrees(sim), TIMES, "sim")


@pytest.mark.parametrize(
    ("change", "scale", "words"),
    [
        (in_degrees, 1.0, "radians and metres"),
        (in_degrees, 0.05, "degrees instead of radians"),
        (lambda sim: episode(sim, TIMES * 1000, "sim"), 1.0, "seconds"),
        (
            lambda sim: episode(sim * np.array([1, 1, 1, 1, 1, 1, 1000]), TIMES, "sim"),
            1.0,
            "millimetres instead of metres",
        ),
        (lambda sim: episode(sim, TIMES, "sim", OTHER_JOINTS), 1.0, "sim has no joint joint_2"),
    ],
)
def test_other_units_and_other_joints_are_refused(change, scale, words):
    real = course(TIMES) * scale
    with pytest.raises(EpisodeError, match=words):
        compare(episode(real, TIMES), change(real))

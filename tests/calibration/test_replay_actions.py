"""An episode's actions drive the model: the same model repeats the episode, a calibrated one comes closer."""

import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
from planted_arms import DELAY_S, NOISE, arm_xml, record

from pipeline.calibration.replay import at_base, decided_values, replay, within
from pipeline.calibration.replay import replay as replay_on
from pipeline.divergence import Episode, compare, load_robot, read_episode, write_episode
from studio.__main__ import main

OTHER = arm_xml(dampings=(2.5, 1.0, 0.6))


def error(model, episode) -> float:
    """RMSE in radians to what the late sensors of the episode report."""
    sim = replay_on(model, episode).positions.array()
    late = np.stack([np.interp(episode.times - DELAY_S, episode.times, column) for column in sim.T], axis=1)
    return float(np.sqrt(np.mean((late - episode.positions.array()) ** 2)))


def test_the_model_that_recorded_an_episode_repeats_it_and_a_decided_calibration_is_used():
    episode = record(arm_xml(), 0, 2.0)
    true, other = mujoco.MjModel.from_xml_string(arm_xml()), mujoco.MjModel.from_xml_string(OTHER)
    assert error(true, episode) < 1.5 * NOISE < 5 * NOISE < error(other, episode)
    episode, other = record(arm_xml(), 0, 2.0), mujoco.MjModel.from_xml_string(OTHER)
    rows = [
        {"kind": "joint", "element": "turn", "field": "damping", "value": 1.5},
        {"kind": "joint", "element": "knee", "field": "damping", "value": 1.5},
        {"kind": "joint", "element": "turn", "field": "colour", "value": 1.5}, "nonsense",
    ]  # fmt: skip
    decided = decided_values(other, [rows])
    assert error(decided, episode) == error(mujoco.MjModel.from_xml_string(arm_xml()), episode)
    assert other.dof_damping[0] == 2.5


def test_columns_that_are_no_joint_of_the_model_are_left_out():
    episode = record(arm_xml(), 2, 1.0)
    wider = Episode.from_arrays(
        episode.times, np.pad(episode.positions.array(), ((0, 0), (0, 1))), [*episode.names, "gripper_command"]
    )
    wider = replace(wider, actions=episode.actions)
    sim = replay_on(mujoco.MjModel.from_xml_string(arm_xml()), wider)
    assert sim.names == episode.names == within(wider, sim.names).names
    assert compare(within(wider, sim.names), sim, None, "none").arms.keys() == {"arm"}


def test_the_command_writes_the_replayed_episode_and_its_divergence(tmp_path, capsys):
    (tmp_path / "model.xml").write_text(OTHER)
    write_episode(record(arm_xml(), 1, 2.0), tmp_path / "real.npz")
    arguments = [str(tmp_path / "model.xml"), str(tmp_path / "real.npz"), "--out", str(tmp_path / "out")]
    assert main(["replay-actions", *arguments]) == 0
    assert json.loads((tmp_path / "out" / "comparison.json").read_text())["overall"]["rmse"]["mean"] > 0
    assert read_episode(tmp_path / "out" / "episode.npz").names == ("turn", "shoulder", "elbow")
    assert main(["replay-actions", str(tmp_path / "none.xml"), *arguments[1:]]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("grs-studio: there is no model")


def test_an_arm_stands_where_its_base_was_aligned_and_a_floating_gripper_stays():
    arm = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="gripper"><geom size=".1"/><body><joint/><geom size=".1"/></body></body>'
        "</worldbody></mujoco>"
    )
    base = np.array([[0, -1, 0, 0.4], [1, 0, 0, -0.3], [0, 0, 1, 0.1], [0, 0, 0, 1.0]])
    moved = at_base(arm, base)
    data = mujoco.MjData(moved)
    mujoco.mj_forward(moved, data)
    assert np.allclose(data.body("gripper").xpos, base[:3, 3])
    assert np.allclose(data.body("gripper").xmat.reshape(3, 3), base[:3, :3])
    assert not np.allclose(arm.body("gripper").pos, base[:3, 3])
    floating = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body name="gripper"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    assert at_base(floating, base) is floating


FOLDER = Path(__file__).parents[2] / "sample_scenes" / "episodes"


def test_the_sample_pair_says_that_its_real_episode_is_simulated_and_both_arms_diverge():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000
    (label,) = read_episode(FOLDER / "real.npz").events
    assert "simulated stand-in" in label["text"]
    assert json.loads((FOLDER / "label.json").read_text())["real.npz"] == label["text"]
    real, sim = read_episode(FOLDER / "real.npz"), read_episode(FOLDER / "sim.npz")
    result = compare(real, sim, load_robot(FOLDER / "robot.xml"))
    assert set(result.arms) == {"left", "right"} and result.onset is not None
    model = mujoco.MjModel.from_xml_path(str(FOLDER / "robot.xml"))
    assert abs(replay(model, sim).positions.array() - sim.positions.array()).max() < 0.01


def test_an_episode_is_written_as_csv_npz_and_lerobot(tmp_path):
    for name in ("out.csv", "out.npz", "lerobot"):
        assert main(["episode", str(FOLDER / "sim.npz"), "--out", str(tmp_path / name)]) == 0
        assert read_episode(tmp_path / name).names == read_episode(FOLDER / "sim.npz").names
    assert main(["episode", str(FOLDER / "sim.npz"), "--out", str(tmp_path / "out.bag")]) == 2

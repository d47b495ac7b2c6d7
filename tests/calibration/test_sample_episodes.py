"""The sample pair of episodes: small, labelled as simulated, and made by its script."""

import json
from pathlib import Path

import mujoco

from pipeline.calibration.replay import replay
from pipeline.divergence import compare, load_robot, read_episode
from studio.__main__ import main

FOLDER = Path(__file__).parents[2] / "sample_scenes" / "episodes"


def test_the_pair_is_small_and_says_that_its_real_episode_is_simulated():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000
    (label,) = read_episode(FOLDER / "real.npz").events
    assert "simulated stand-in" in label["text"]
    assert json.loads((FOLDER / "label.json").read_text())["real.npz"] == label["text"]


def test_both_arms_diverge_and_the_twin_repeats_its_own_episode():
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

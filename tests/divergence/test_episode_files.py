"""Files of episodes, those that are broken, and `grs-studio compare`."""

import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from arm_episodes import course, episode, mjcf, two_arms
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from pipeline.divergence import EpisodeError, read_episode, rollout_episode, write_episode
from pipeline.divergence.episode_files import selection_choices, with_selection
from pipeline.divergence.report.video import EpisodeVideo, find_video
from studio.__main__ import main

TIMES = np.arange(0, 12, 0.02)
REAL = course(TIMES)


def test_an_episode_written_and_read_back_is_the_same(tmp_path):
    both = np.hstack((course(TIMES, 5), course(TIMES, 5, 1)))
    commands = np.random.default_rng(0).normal(size=(len(TIMES), 3))
    poses = {"cup": np.random.default_rng(1).normal(size=(len(TIMES), 7))}
    written = replace(episode(both, TIMES, arms=two_arms()), actions=commands, objects=poses)
    for name, dtype in (("one.csv", "f8"), ("one.npz", "f8"), ("lerobot", "f4")):
        write_episode(written, tmp_path / name)
        read = read_episode(tmp_path / name)
        np.testing.assert_allclose(read.times, TIMES, rtol=0, atol=0 if dtype == "f8" else 1e-6)
        np.testing.assert_array_equal(read.positions, both.astype(dtype))
        assert read.names == written.names and (dtype == "f4" or read.arms == written.arms)
        if name != "one.csv":  # which holds positions alone
            np.testing.assert_array_equal(read.actions, commands.astype(dtype))  # type: ignore[union-attr]
    info = json.loads((tmp_path / "lerobot" / "meta" / "info.json").read_text())
    assert info["fps"] == 50 and len(info["features"]["observation.environment_state"]["names"]) == 7
    with pytest.raises(EpisodeError, match="exists already"):
        write_episode(written, tmp_path / "lerobot")


def test_an_npz_in_fortran_order_reads_the_same_and_one_that_takes_absurd_memory_is_refused(tmp_path, monkeypatch):
    np.savez(tmp_path / "one.npz", t=TIMES.astype("f4"), q=np.asfortranarray(REAL.astype("f4")), names=list("abcdefg"))
    np.testing.assert_array_equal(read_episode(tmp_path / "one.npz").positions, REAL.astype("f4"))
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**13, 7)}
    with zipfile.ZipFile(tmp_path / "claims.npz", "w") as archive:  # a terabyte in its header, nothing behind it
        for name in ("t", "q", "names"):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array_header_1_0(member, header)
    for name in ("long.npz", "long.csv", "lerobot"):
        write_episode(episode(REAL, TIMES), tmp_path / name)
    monkeypatch.setattr("pipeline.divergence.episode.MAX_BYTES", 8 * REAL.size - 1)
    for name in ("claims.npz", "long.npz", "long.csv", "lerobot"):
        with pytest.raises(EpisodeError, match=r"Unable to allocate|more than") as refused:
            read_episode(tmp_path / name)
        assert "\n" not in str(refused.value) and name in str(refused.value)


def test_a_lerobot_folder_is_read(tmp_path):
    (tmp_path / "meta").mkdir()
    (tmp_path / "data" / "chunk-000").mkdir(parents=True)
    feature = {"dtype": "float32", "shape": [3], "names": ["shoulder.pos", "elbow.pos", "gripper.pos"]}
    info = {"codebase_version": "v3.0", "fps": 50, "features": {"observation.state": feature}}
    (tmp_path / "meta" / "info.json").write_text(json.dumps(info))
    rows = np.random.default_rng(0).normal(size=(60, 3)).astype("f4")
    table = arrow.table({
        "observation.state": list(rows), "action": list(rows + 1),
        "timestamp": [*np.arange(40) / 50, *np.arange(20) / 50],
        "episode_index": [0] * 40 + [1] * 20,
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "data" / "chunk-000" / "file-000.parquet")
    read = read_episode(tmp_path)
    assert read.names == ("shoulder", "elbow", "gripper")
    assert read.arms["arm"].gripper == "gripper"
    np.testing.assert_array_equal(read.positions, rows[:40])
    np.testing.assert_array_equal(read.actions, rows[:40] + 1)  # type: ignore[union-attr]
    second = read_episode(Path(f"{tmp_path}#1"))
    np.testing.assert_array_equal(second.positions, rows[40:])
    with pytest.raises(EpisodeError, match="episode 2"):
        read_episode(Path(f"{tmp_path}#2"))
    with pytest.raises(EpisodeError, match="no LeRobot folder"):
        read_episode(Path(f"{tmp_path / 'data'}#1"))
    assert selection_choices(tmp_path) == {} and find_video(tmp_path) is None

    (tmp_path / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    camera = "videos/observation.images.top"
    (tmp_path / camera / "chunk-000").mkdir(parents=True)
    video = tmp_path / camera / "chunk-000" / "file-000.mp4"
    video.touch()
    places = {f"{camera}/chunk_index": [0, 0], f"{camera}/file_index": [0, 0], f"{camera}/from_timestamp": [0.0, 0.8]}
    episodes = tmp_path / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    parquet.write_table(arrow.table({"episode_index": [0, 1], **places}), episodes)
    assert selection_choices(tmp_path) == {"episodes": ("0", "1")}
    np.testing.assert_array_equal(read_episode(with_selection(tmp_path, ("1",))).positions, rows[40:])
    assert find_video(tmp_path) == EpisodeVideo(video, 0.0)
    assert find_video(with_selection(tmp_path, ("1",))) == EpisodeVideo(video, 0.8)
    assert find_video(with_selection(tmp_path, ("2",))) is None
    episodes.write_bytes(b"PAR1")
    assert selection_choices(tmp_path) == {} and find_video(tmp_path) == EpisodeVideo(video, 0.0)


def test_a_rollout_of_the_oracle_becomes_an_episode_with_its_objects():
    xml = """<mujoco><worldbody><body name="cube"><freejoint name="cube"/><geom size=".02"/></body>
      <body name="hand"><joint name="x" type="slide"/><geom size=".02"/></body></worldbody>
      <actuator><position joint="x"/><adhesion name="suction" body="hand" ctrlrange="0 1"/></actuator></mujoco>"""
    times = np.array([0.0, 0.1, 0.1, 0.2])
    qpos = np.arange(32.0).reshape(4, 8)
    actions = np.array([[0, 0], [1, 0], [1, 1], [2, 1.0]])
    made = rollout_episode(times, qpos, actions, xml, (), "round")
    assert made.names == ("x", "gripper_command")
    np.testing.assert_array_equal(made.positions, [[7, 0], [15, 0], [31, 1]])
    np.testing.assert_array_equal(made.objects["cube"], qpos[[0, 1, 3], :7])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 5), st.integers(1, 49), st.floats(0, 5))
def test_a_broken_episode_gives_one_line_that_says_what_is_wrong(tmp_path_factory, kind, row, back):
    times, positions, names = TIMES[:50], REAL[:50], list("abcdefg")
    at = np.arange(50) == row
    infinite = {"q": np.where(np.outer(at, np.eye(7)[2]), np.inf, positions)}
    change, words = (
        (infinite, f"row {row + 1} has no finite number for c"),
        ({"t": np.where(at, times[row - 1] - back, times)}, f"time does not increase at row {row + 1}"),
        ({"names": ["a", "a", *names[2:]]}, "name of its own"),
        ({"t": times[:1], "q": positions[:1]}, "at least two samples"),
        ({"names": ["t2", *names]}, ""),
        ({"q": positions.astype(str)}, "no numbers"),
    )[kind]
    path = tmp_path_factory.mktemp("broken") / "episode.npz"
    np.savez(path, **({"t": times, "q": positions, "names": names} | change))
    with pytest.raises(EpisodeError) as caught:
        read_episode(path)
    message = str(caught.value)
    assert "\n" not in message and "episode.npz" in message and words in message, message


def test_compare_writes_its_files_and_says_what_it_found(tmp_path, capsys):
    sim = REAL + 0.3 * np.maximum(TIMES - 4.0, 0)[:, None] * [1, 0, 0, 0, 0, 0, 0]
    write_episode(episode(REAL, TIMES), tmp_path / "real.npz")
    known = (TIMES <= 8) | (TIMES >= 9)
    write_episode(episode(sim[known], TIMES[known]), tmp_path / "sim.npz")
    (tmp_path / "arm.xml").write_text(mjcf())
    files = [str(tmp_path / name) for name in ("real.npz", "sim.npz")]
    assert main(["compare", *files, "--robot", str(tmp_path / "arm.xml"), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err
    assert "diverges from 4.000 s on, in transfer (arm arm, joint_1)\n" in said
    assert "gap: sim.npz has no samples from 8.000 to 9.000 s; they are left out of the measures" in said
    data = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert data["shift_s"] == 0 and data["overlap_s"] == pytest.approx(TIMES[-1])
    assert data["onset_s"] == pytest.approx(4, abs=0.021)
    assert [event["name"] for event in data["events"]] == ["home", "grasp", "lift", "place", "release", "return"]
    with np.load(tmp_path / "out" / "comparison.npz") as arrays:
        assert {"t", "rmse_arm", "rmse_overall", "position_arm", "rotation_arm"} <= set(arrays.files)
        assert {arrays[name].shape for name in arrays.files} == {(known.sum(),)}
    report = (tmp_path / "out" / "report.html").read_text()
    assert "No samples of sim.npz from 8.00 to 9.00 s." in report
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=(?![\"']?data:)", report)

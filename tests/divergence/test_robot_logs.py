"""Logs of ROS robots as episodes: what they hold is what a CSV of it holds, and broken ones are one line."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arm_episodes import course, episode
from hypothesis import given, settings
from hypothesis import strategies as st
from written_logs import KINDS, START_NS, log, nanoseconds, write_log

from pipeline.divergence import EpisodeError, read_episode, write_episode
from pipeline.divergence.episode_files import episode_in

TIMES = np.arange(0, 4, 0.02)
POSITIONS = course(TIMES)
COMMANDS = course(TIMES, seed=1)
NAMES = "abc"
EPISODE = replace(episode(POSITIONS, TIMES), actions=COMMANDS)
TURNED = np.array([1.0, 2.0, 0.5, np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])


def commands_of(path: Path) -> np.ndarray:
    actions = read_episode(path).actions
    assert actions is not None
    return actions


@pytest.mark.parametrize("kind", KINDS)
def test_an_episode_written_as_a_log_reads_like_its_csv(tmp_path, kind):
    write_episode(EPISODE, tmp_path / "one.csv")
    table, found = read_episode(tmp_path / "one.csv"), read_episode(write_log(EPISODE, tmp_path, kind))
    np.testing.assert_allclose(found.times, table.times, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.positions, table.positions, rtol=0, atol=1e-9)
    assert (found.names, found.arms) == (table.names, table.arms) and found.arms["arm"].gripper == "gripper"
    np.testing.assert_array_equal(commands_of(tmp_path / kind), COMMANDS)
    assert found.note.endswith("joints from /joint_states; commands from /commands")


@settings(max_examples=15, deadline=None)
@given(data=st.data(), kind=st.sampled_from(KINDS[:3]))
def test_joints_are_merged_by_name_over_topics_and_messages(tmp_path_factory, data, kind):
    folder, names = tmp_path_factory.mktemp("merged"), EPISODE.names
    owners = data.draw(st.lists(st.integers(0, 2), min_size=len(names), max_size=len(names)))
    topics = data.draw(st.lists(st.sampled_from(["/joint_states", "/gripper/joint_states"]), min_size=3, max_size=3))
    random = np.random.default_rng(0)
    with log(folder, kind) as written:
        for seconds, row in zip(TIMES, POSITIONS, strict=True):
            for owner in set(owners):
                joints = random.permutation([j for j, one in enumerate(owners) if one == owner])
                written.joints(topics[owner], nanoseconds(seconds), [names[j] for j in joints], row[joints])
    found = read_episode(folder / kind)
    assert sorted(found.names) == sorted(names)
    np.testing.assert_allclose(found.times, TIMES, rtol=0, atol=1e-9)
    wanted = POSITIONS[:, [names.index(name) for name in found.names]]
    np.testing.assert_allclose(found.positions, wanted, rtol=0, atol=1e-9)


def test_slower_joints_are_interpolated_at_the_time_of_the_headers_else_of_logging(tmp_path):
    with log(tmp_path) as written:
        for row, seconds in enumerate(TIMES):
            written.joints("/arm", nanoseconds(seconds), ["turn"], [seconds])
            if row % 5 == 2 and seconds < 3.5:
                written.joints("/hand", nanoseconds(seconds), ["gripper"], [2 * seconds])
    found = read_episode(tmp_path / "one.bag")
    assert found.times[0] == 0 and found.duration == pytest.approx(3.44 - 0.04)
    np.testing.assert_allclose(found.positions, np.outer(found.times + 0.04, [1, 2]), rtol=0, atol=1e-9)
    late = np.cumsum(np.random.default_rng(0).uniform(0, 0.01, len(TIMES)))
    for name, has_stamps in (("stamped.bag", True), ("logged.bag", False)):
        with log(tmp_path, name) as written:
            for seconds, delay, row in zip(TIMES, late, POSITIONS[:, :3], strict=True):
                stamp = round(seconds * 10**9) if has_stamps else 0  # a simulator's clock begins at zero
                written.joints("/joint_states", nanoseconds(seconds + delay), NAMES, row, stamp)
    np.testing.assert_allclose(read_episode(tmp_path / "stamped.bag").times, TIMES, rtol=0, atol=1e-9)
    logged = read_episode(tmp_path / "logged.bag").times
    np.testing.assert_allclose(logged, TIMES + late - late[0], rtol=0, atol=1.1e-9)


@pytest.mark.parametrize("clock", ["wall", "simulated"])
def test_a_command_holds_from_its_message_to_the_next(tmp_path, clock):
    with log(tmp_path) as written:
        for row, seconds in enumerate(TIMES):
            stamp = round(seconds * 10**9) + 10**9 if clock == "simulated" else None
            written.joints("/joint_states", nanoseconds(seconds), NAMES, POSITIONS[row, :3], stamp)
            if row % 10 == 5:
                written.numbers("/commands", nanoseconds(seconds) + 1, [row, -row])
    last = np.clip(5 + (np.arange(len(TIMES)) - 6) // 10 * 10, 5, None)
    np.testing.assert_array_equal(commands_of(tmp_path / "one.bag"), np.stack((last, -last), axis=1))


def test_a_trajectory_is_followed_from_its_start_until_the_next(tmp_path):
    with log(tmp_path, "mcap") as written:
        for seconds, row in zip(TIMES, POSITIONS[:, :3], strict=True):
            written.joints("/joint_states", nanoseconds(seconds), NAMES, row)
        written.trajectory("/plan", nanoseconds(0.9), "ab", {0.5: [0, 4], 1.5: [1, 2]}, stamp=nanoseconds(1.0))
        written.trajectory("/plan", nanoseconds(2.0), "ba", {0.02: [7, 8]})
    at = np.where(TIMES < 2.0 - 1e-9, np.clip(TIMES - 1.5, 0, 1), np.nan)
    wanted = np.where(np.isnan(at)[:, None], [8, 7], np.stack((at, 4 - 2 * at), axis=1))
    np.testing.assert_allclose(commands_of(tmp_path / "mcap"), wanted, rtol=0, atol=1e-7)
    assert "commands from /plan (a, b)" in read_episode(tmp_path / "mcap").note


def test_objects_are_those_that_topics_and_frames_name_plainly(tmp_path):
    moving = np.tile(TURNED, (len(TIMES), 1))
    moving[:, 0] = TIMES
    with log(tmp_path, "sqlite") as written:
        for row, seconds in enumerate(TIMES):
            time = nanoseconds(seconds)
            written.joints("/joint_states", time, NAMES, POSITIONS[row, :3])
            if row % 4 == 0 or row == len(TIMES) - 1:
                sign = np.array([1, 1, 1, *[(-1) ** row] * 4])  # the same rotation
                written.pose("/objects/cup/pose", time, moving[row] * sign)
                written.pose("/target_pose", time, TURNED)
            if row % 3 == 0:
                written.transform(time, "object_bowl", TURNED)
                written.transform(time, "object_bowl", TURNED)  # tf repeats itself
                written.transform(time, "object_lid", TURNED, "camera")
                written.transform(time, "flange", TURNED)
    found = read_episode(tmp_path / "sqlite")
    assert set(found.objects) == {"cup", "bowl"} and found.note.endswith("left: /target_pose")
    np.testing.assert_allclose(found.objects["cup"], moving, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.objects["bowl"], np.tile(TURNED, (len(TIMES), 1)), atol=1e-12)
    assert list(read_episode(tmp_path / "sqlite#/target_pose").objects) == ["target"]


def test_topics_are_chosen_by_name(tmp_path):
    with log(tmp_path) as written:
        for seconds, row in zip(TIMES, POSITIONS[:, :3], strict=True):
            time = nanoseconds(seconds)
            written.joints("/wanted", time, NAMES, row + 1)
            written.joints("/measured", time, NAMES, row)
            written.numbers("/effort", time, [1.0])
            written.numbers("/position", time, [2.0])
    path = tmp_path / "one.bag"
    with pytest.raises(EpisodeError, match=r"joint a is on /wanted and on /measured; choose a topic: one\.bag#/wanted"):
        read_episode(path)
    found = read_episode(Path(f"{path}#/measured"))
    np.testing.assert_allclose(found.positions, POSITIONS[:, :3], rtol=0, atol=1e-9)
    assert found.actions is None and found.note.endswith("left: /effort, /position, /wanted")
    assert (commands_of(Path(f"{path}#/measured,/position")) == 2).all()
    for choice, words in (("/measured,/position,/effort", "choose one topic"), ("/none", "it has /effort, /measured")):
        with pytest.raises(EpisodeError, match=words):
            read_episode(Path(f"{path}#{choice}"))
    write_episode(found, tmp_path / "one.csv")
    with pytest.raises(EpisodeError, match="only a log has topics"):
        read_episode(tmp_path / "one.csv#/measured")


def two(first: dict, second: dict):
    """Write two joint states that differ from good ones in what is given."""

    def write(written):
        for number, change in enumerate((first, second)):
            fields = {"time": START_NS + number * 10**7, "names": NAMES, "positions": [0.0, 1.0, 2.0]} | change
            written.joints("/joint_states", **fields)

    return write


BROKEN = {
    "no joints": (lambda written: written.numbers("/a", START_NS, [1.0]), r"no joint positions .* /a \(std_msgs"),
    "no positions": (two({"names": "", "positions": []}, {"names": "", "positions": []}), "holds a position"),
    "one": (two({"positions": []}, {}), "one sample"),
    "nan": (two({}, {"positions": [0, np.nan, 2]}), "row 2 has no finite number for b"),
    "short": (two({}, {"positions": [0, 1]}), "3 names and 2 positions"),
    "other joints": (two({}, {"names": "cde"}), "joint c comes with different other joints"),
    "line break": (two({"names": ["a", "b", "c\nd"]}, {}), "not text"),
    "milliseconds": (two({}, {"stamp": START_NS + 10**13}), "in seconds"),
}


@pytest.mark.parametrize(("kind", "fault"), list(zip(2 * KINDS, BROKEN, strict=True)))
def test_a_broken_log_is_one_line_and_code_2(tmp_path, refused, kind, fault):
    write, words = BROKEN[fault]
    with log(tmp_path, kind) as written:
        write(written)
    line = refused("episode", tmp_path / kind, "--out", tmp_path / "out.npz")
    assert Path(kind).name in line and str(tmp_path) not in line
    with pytest.raises(EpisodeError, match=words):
        read_episode(tmp_path / kind)
    assert not (tmp_path / "out.npz").exists()


TABLES = ("one.csv", "one.npz")


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> dict[str, Path]:
    """A good file, or folder, of each kind."""
    folder = tmp_path_factory.mktemp("good")
    for name in TABLES:
        write_episode(EPISODE, folder / name)
    return {kind: write_log(EPISODE, folder, kind) for kind in KINDS[:3]} | {name: folder / name for name in TABLES}


@pytest.mark.parametrize("kind", (*KINDS[:3], *TABLES))
@settings(max_examples=30, deadline=None)
@given(share=st.floats(0, 1), change=st.binary(max_size=40), cut=st.booleans())
def test_a_damaged_file_is_an_episode_or_one_line(good, tmp_path_factory, kind, share, change, cut):
    path = tmp_path_factory.mktemp("damaged") / kind
    (shutil.copytree if good[kind].is_dir() else shutil.copyfile)(good[kind], path)
    file = next(path.glob("*[!l]")) if path.is_dir() else path  # not the metadata.yaml
    data = file.read_bytes()
    at = int(share * len(data))
    file.write_bytes(data[:at] + change + (b"" if cut else data[at + len(change) :]))
    try:
        read_episode(path)
    except EpisodeError as error:
        assert "\n" not in str(error) and path.name in str(error) and str(path.parent) not in str(error)


def test_messages_with_a_standard_name_and_other_fields_are_refused_and_definitions_not_used(tmp_path, monkeypatch):
    from rosbags import rosbag1

    with rosbag1.Writer(tmp_path / "one.bag") as writer:
        odd = {"msgdef": "float64 position\n", "md5sum": "0" * 32}
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", **odd)
        writer.write(connection, START_NS, np.float64(1).tobytes())
    with pytest.raises(EpisodeError, match="not the standard sensor_msgs/msg/JointState"):
        read_episode(tmp_path / "one.bag")
    from rosbags.typesys.store import Typestore

    path = write_log(EPISODE, tmp_path, "mcap")
    monkeypatch.setattr(Typestore, "register", lambda *_: pytest.fail("code is generated from a file's definitions"))
    assert read_episode(path).names == EPISODE.names


def test_a_folder_with_other_metadata_or_a_missing_extra_is_one_line(good, tmp_path, monkeypatch):
    shutil.copytree(good["mcap"], tmp_path / "mcap")
    for text in ("", "a: [", "rosbag2_bagfile_information: 3", "- 1", "a: &a [*a, *a]"):
        (tmp_path / "mcap" / "metadata.yaml").write_text(text)
        with pytest.raises(EpisodeError, match=r"\A.*mcap.*\Z"):
            read_episode(tmp_path / "mcap")
    monkeypatch.setitem(sys.modules, "rosbags", None)
    with pytest.raises(EpisodeError, match=r'rosbags is missing.* pip install "grs-studio\[logs\]"'):
        read_episode(good["one.bag"])


def test_the_episode_of_a_dropped_folder_is_its_log_of_ros_2(good, tmp_path):
    shutil.copytree(good["sqlite"], tmp_path / "dropped" / "sqlite")
    assert episode_in(tmp_path / "dropped") == tmp_path / "dropped" / "sqlite"
    (tmp_path / "dropped" / "sqlite" / "metadata.yaml").rename(tmp_path / "dropped" / "other.yaml")
    with pytest.raises(EpisodeError, match="ROS 2 log"):
        episode_in(tmp_path / "dropped")

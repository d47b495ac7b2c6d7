"""Files of episodes, those that are broken, and comparisons: by `grs-studio compare` and in a confined process."""

import json
import re
import threading
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from unittest.mock import Mock

import imageio.v2 as imageio
import mujoco
import numpy as np
import pyarrow as arrow
import pytest
import trimesh
import written_logs
from arm_episodes import course, episode, mjcf, rounded, two_arms
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pyarrow import parquet

from pipeline.divergence import EpisodeError, compare, load_robot, read_episode, rollout_episode, to_json, write_episode
from pipeline.divergence.confined import ComparisonProgress, ComparisonSources, compare_confined, confined_comparison
from pipeline.divergence.confined.confined_comparison import SOLIDS, DrawnShape, Playback, playback_message, playback_of
from pipeline.divergence.episode_files import selection_choices, with_selection
from pipeline.divergence.report.drawn_robot import drawn_model, drawn_positions
from pipeline.divergence.report.event_strip import event_pictures
from pipeline.divergence.report.video import EpisodeVideo, find_video
from pipeline.resources import SAMPLE_SCENES
from pipeline.untrusted.confined import DIED, ConfinedError, Progress, Result
from studio.__main__ import main

TIMES = np.arange(0, 12, 0.02)
MOTION = course(TIMES)


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
    np.savez(
        tmp_path / "one.npz", t=TIMES.astype("f4"), q=np.asfortranarray(MOTION.astype("f4")), names=list("abcdefg")
    )
    np.testing.assert_array_equal(read_episode(tmp_path / "one.npz").positions, MOTION.astype("f4"))
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**13, 7)}
    with zipfile.ZipFile(tmp_path / "claims.npz", "w") as archive:  # a terabyte in its header, nothing behind it
        for name in ("t", "q", "names"):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array_header_1_0(member, header)
    for name in ("long.npz", "long.csv", "lerobot"):
        write_episode(episode(MOTION, TIMES), tmp_path / name)
    monkeypatch.setattr("pipeline.divergence.episode.MAX_BYTES", 8 * MOTION.size - 1)
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
    for names, version, words in ((None, "v3.0", "not iterable"), ({"a": None}, "v3.0", "not iterable"),
                                  (["a"], "two\nlines", r"version 'two\\nlines'")):  # fmt: skip
        info = {"codebase_version": version, "features": {"observation.state": {"names": names}}}
        (tmp_path / "meta" / "info.json").write_text(json.dumps(info))
        with pytest.raises(EpisodeError, match=words):
            read_episode(tmp_path)


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
@given(st.integers(0, 6), st.integers(1, 49), st.floats(0, 5))
def test_a_broken_episode_gives_one_line_that_says_what_is_wrong(tmp_path_factory, kind, row, back):
    times, positions, names = TIMES[:50], MOTION[:50], list("abcdefg")
    at = np.arange(50) == row
    infinite = {"q": np.where(np.outer(at, np.eye(7)[2]), np.inf, positions)}
    change, words = (
        (infinite, f"row {row + 1} has no finite number for c"),
        ({"t": np.where(at, times[row - 1] - back, times)}, f"time does not increase at row {row + 1}"),
        ({"names": ["a", "a", *names[2:]]}, "name of its own"),
        ({"t": times[:1], "q": positions[:1]}, "at least two samples"),
        ({"names": ["t2", *names]}, ""),
        ({"q": positions.astype(str)}, "no numbers"),
        ({"arms": json.dumps({"a": {"joints": [], "open": "9" * 5000 + "x"}})}, "arms have to be"),
    )[kind]
    path = tmp_path_factory.mktemp("broken") / "episode.npz"
    np.savez(path, **({"t": times, "q": positions, "names": names} | change))
    with pytest.raises(EpisodeError) as caught:
        read_episode(path)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 500 and "episode.npz" in message and words in message, message


def test_compare_writes_its_files_and_says_what_it_found(tmp_path, capsys):
    sim = MOTION + 0.3 * np.maximum(TIMES - 4.0, 0)[:, None] * [1, 0, 0, 0, 0, 0, 0]
    write_episode(episode(MOTION, TIMES), tmp_path / "real.npz")
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


SAMPLE = SAMPLE_SCENES / "episodes"
REAL, SIM, ROBOT = SAMPLE / "real.npz", SAMPLE / "sim.npz", SAMPLE / "robot.xml"


def result_of(sources: ComparisonSources) -> ComparisonProgress:
    return list(compare_confined(sources, threading.Event()))[-1]


def test_the_result_is_that_of_the_command_and_the_robots_are_drawn_where_kinematics_has_them():
    sample = result_of(ComparisonSources(REAL, SIM, ROBOT))
    real, sim = read_episode(REAL), read_episode(SIM)
    comparison = compare(real, sim, load_robot(ROBOT))
    assert sample.result is not None
    assert rounded(sample.result["comparison"]) == rounded(to_json(comparison))
    curve = sample.result["curves"]["rmse_left"]
    assert np.allclose(curve["y"], comparison.errors["rmse_left"], atol=1e-6)
    assert list(sample.result["joints"]) == list(real.names)
    playback, robot = sample.playback, load_robot(ROBOT)
    assert playback is not None and not playback.note
    for path, poses in ((REAL, playback.real), (SIM, playback.sim)):
        episode = read_episode(path)
        for number, (name, arm) in enumerate(episode.arms.items()):
            times = np.clip(playback.times, episode.times[0], episode.times[-1])
            tool, _ = robot.pose(name, arm, episode.at(times, episode.columns(arm.joints)))
            hand = poses[:, 5 * number + 4, :3]  # each arm: base, upper, fore, hand, finger
            assert np.allclose(np.linalg.norm(tool - hand, axis=1), 0.08, atol=1e-5)


def test_meshes_beside_the_robots_model_are_drawn_and_links_without_theirs_are_sticks(tmp_path: Path):
    def drawn_with(file: str) -> Playback | None:
        text = ROBOT.read_text().replace("<worldbody>", f'<asset><mesh name="m" file="{file}"/></asset><worldbody>', 1)
        (tmp_path / "robot.xml").write_text(text.replace('<geom size=".03"', '<geom type="mesh" mesh="m"'))
        return result_of(ComparisonSources(REAL, SIM, tmp_path / "robot.xml")).playback

    drawn = drawn_with("lost.stl")
    assert drawn is not None and "sticks" in drawn.note
    assert {shape.kind for shape in drawn.shapes} == {"capsule", "sphere"}
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "meshes" / "hand.stl")
    drawn = drawn_with("meshes/hand.stl")
    assert drawn is not None and not drawn.note
    assert len(drawn.meshes) == 1 and sum(shape.kind == "mesh" for shape in drawn.shapes) == 2


@pytest.mark.parametrize("kind", written_logs.KINDS[:3])
def test_a_log_with_several_candidates_names_them_and_takes_the_chosen_ones(tmp_path: Path, kind: str):
    with written_logs.log(tmp_path, kind) as log:
        for row in range(50):
            time = written_logs.nanoseconds(row / 25)
            log.joints("/arm", time, ("a",), (0.1 * row,))
            log.joints("/copy", time, ("a",), (0.2 * row,))
            log.numbers("/first", time, (1.0,))
            log.numbers("/second", time, (2.0,))
    sim = tmp_path / "sim.csv"
    sim.write_text("t,a\n" + "".join(f"{row / 25},{0.2 * row}\n" for row in range(50)))
    sources = ComparisonSources(tmp_path / kind, sim)
    seen: list[ComparisonProgress] = []
    with pytest.raises(EpisodeError, match="joint a is on /arm and on /copy; choose a topic"):
        seen.extend(compare_confined(sources, threading.Event()))
    seen += compare_confined(replace(sources, real_selection=("/copy", "/second")), threading.Event())
    choices = {"real": {"joints": ["/arm", "/copy"], "commands": ["/first", "/second"]}, "sim": {}}
    assert [step.choices for step in seen if step.choices] == [choices] * 2
    result = seen[-1].result
    assert seen[-1].playback is None, "without a robot there is nothing to draw"
    assert result is not None and max(result["curves"]["rmse_overall"]["y"]) < 1e-9
    assert "joints from /copy; commands from /second" in result["notes"][0]


def test_a_file_beside_the_given_ones_is_not_read(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.xml").write_text('<mujocoinclude><worldbody><body name="secret"/></worldbody></mujocoinclude>')
    given = tmp_path / "given"
    given.mkdir()
    text = ROBOT.read_text().replace("<worldbody>", '<include file="../secret/key.xml"/><worldbody>', 1)
    (given / "robot.xml").write_text(text)
    with pytest.raises(EpisodeError, match=r"robot\.xml"):
        result_of(ComparisonSources(REAL, SIM, given / "robot.xml"))


def test_nonsense_of_the_child_is_refused_and_its_death_is_one_line(monkeypatch: pytest.MonkeyPatch):
    value, arrays = playback_message(playback())
    assert value is not None and playback_of(value, [*arrays]) is not None
    shape, frames = value["shapes"][0], {"real": [], "sim": []}
    answers = [Progress([]), Progress({"message": 1}), Result({}), Result({"result": {}, "playback": {"meshes": 1}})]
    for change in (
        *({"shapes": [shape | wrong]} for wrong in ({"body": 2}, {"kind": "x"}, {"size": [1]}, {"pose": [None] * 7})),
        {"shapes": [shape | {"kind": "mesh", "mesh": 1}]}, {"meshes": 2}, {"note": ""} | {"shapes": None},
    ):  # fmt: skip
        answers.append(Result({"result": {}, "playback": value | change, "frames": frames}, tuple(arrays)))
    for number, wrong in enumerate(arrays):
        for array in (wrong[:-1] if number < 3 else wrong[:, :2], wrong.astype(float), wrong * 0 + np.float32(np.nan)):
            changed = (*arrays[:number], array, *arrays[number + 1 :])
            answers.append(Result({"result": {}, "playback": value, "frames": frames}, changed))
    answers.append(Result({"result": {}, "playback": None, "frames": frames | {"sim": [True]}}, (np.zeros(9, "u1"),)))
    for answer in answers:
        monkeypatch.setattr(confined_comparison.confined, "call", Mock(return_value=iter([answer])))
        with pytest.raises(EpisodeError, match="nonsense"):
            result_of(ComparisonSources(REAL, SIM))
    monkeypatch.setattr(confined_comparison.confined, "call", Mock(side_effect=ConfinedError(DIED)))
    with pytest.raises(EpisodeError, match=r"^real\.npz or sim\.npz takes too much memory or time"):
        result_of(ComparisonSources(REAL, SIM))


FPS, SECONDS = 10, 20


def test_each_event_of_a_datasets_episode_has_its_frame_of_the_video_or_a_render_that_moves(tmp_path: Path):
    (tmp_path / "real.npz").touch()
    (tmp_path / "real.mp4").touch()
    assert find_video(tmp_path / "real.npz") == EpisodeVideo(tmp_path / "real.mp4", 0.0)
    dataset, camera, begin = tmp_path / "dataset", "videos/observation.images.top", 1.0
    write_episode(read_episode(REAL), dataset)
    data = dataset / "data" / "chunk-000" / "file-000.parquet"
    first = parquet.read_table(data)
    column = first.schema.get_field_index("episode_index"), "episode_index", arrow.array([1] * len(first))
    parquet.write_table(arrow.concat_tables([first, first.set_column(*column)]), data)
    (dataset / camera / "chunk-000").mkdir(parents=True)
    film = str(dataset / camera / "chunk-000" / "file-000.mp4")
    with imageio.get_writer(film, format="FFMPEG", fps=FPS, macro_block_size=2) as video:  # type: ignore[arg-type]
        for number in range(FPS * SECONDS):
            video.append_data(np.full((120, 160, 3), 20 + 10 * number / FPS, np.uint8))
    places = {f"{camera}/chunk_index": [0, 0], f"{camera}/file_index": [0, 0], f"{camera}/from_timestamp": [0.0, begin]}
    episodes = dataset / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    parquet.write_table(arrow.table({"episode_index": [0, 1], **places}), episodes)
    filmed = result_of(ComparisonSources(dataset, SIM, ROBOT, real_selection=("1",)))
    assert filmed.result is not None
    events = filmed.result["comparison"]["events"]
    assert len(filmed.frames["real"]) == len(events) and not filmed.frames["sim"]
    for event, frame in zip(events, filmed.frames["real"], strict=True):
        shown = np.mean(Image.open(BytesIO(frame)).convert("L"))
        assert abs(shown - 20 - 10 * (begin + event["real_s"])) < 4, "it rises by 10 a second"
    pictures = list(event_pictures(events, filmed.playback, filmed.frames))
    assert len(pictures) == len(events)
    assert [one.real for one in pictures] == filmed.frames["real"]
    drawn = [np.asarray(Image.open(BytesIO(one.sim)), float) for one in pictures if one.sim]
    assert len(drawn) == len(events)
    times = [event["sim_on_real_s"] for event in events]
    first, last = int(np.argmin(times)), times.index(next(e["sim_on_real_s"] for e in events if e["name"] == "lift"))
    assert np.abs(drawn[first] - drawn[last]).max() > 50
    pictures = event_pictures(filmed.result["comparison"]["events"], None, {})
    assert all(one.real is None and one.sim is None for one in pictures)


AT_ORIGIN = np.array([0.0, 0, 0, 1, 0, 0, 0])


def playback(flat: bool = False) -> Playback:
    """Return two bodies, of which the second moves and has a solid of each kind; `flat`: its mesh is a square."""
    random = np.random.default_rng(0)
    poses = np.tile(AT_ORIGIN, (5, 2, 1))
    poses[:, 1, :3] = random.normal(size=(5, 3))
    turns = random.normal(size=(5, 4))
    poses[:, 1, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    poses = poses.astype("<f4")
    mesh = trimesh.creation.box((0.1, 0.2, 0.3))
    vertices, faces = np.array(mesh.vertices) + 0.4, np.array(mesh.faces)
    if flat:
        vertices, faces = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]])
    size, rgba, numbers = np.full(3, 0.05), np.full(4, 0.5), {"mesh": 0}
    shapes = [DrawnShape(int(k != "plane"), k, size, AT_ORIGIN, rgba, numbers.get(k, -1)) for k in SOLIDS]
    times = np.arange(5, dtype="<f4")
    return Playback(times, poses, poses[:, ::-1], tuple(shapes), ((vertices.astype("<f4"), faces.astype("<i4")),))


def test_every_shape_is_at_the_pose_of_its_body_and_the_ghost_shows_through():
    drawn = playback()
    model = drawn_model(drawn)
    data = mujoco.MjData(model)
    assert np.allclose(model.qpos0, drawn.real[0].ravel(), atol=1e-6)
    (mesh,) = [g for g in range(model.ngeom) if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH]
    for row, pose in zip(drawn_positions(drawn, drawn.real), drawn.real[:, 1], strict=True):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        assert np.allclose(data.xpos[2], pose[:3], atol=1e-6)
        shown = data.geom_xmat[mesh].reshape(3, 3) @ model.mesh_vert.T + data.geom_xpos[mesh][:, None]
        centre = data.xmat[2].reshape(3, 3) @ np.full(3, 0.4) + pose[:3]
        assert np.allclose(shown.mean(axis=1), centre, atol=1e-5)
    model = drawn_model(drawn, 2)
    assert model.nq == 2 * drawn.real[0].size == drawn_positions(drawn, drawn.real, drawn.sim).shape[1]
    alphas = model.geom_rgba[:, 3]
    assert sum(alphas < 0.5) == len(SOLIDS) - 1  # the floor is drawn once
    assert drawn_model(playback(flat=True)).nmesh == drawn_model(drawn).nmesh == 1, "a flat mesh is drawn, too"

"""Comparisons in a confined process are those of the command; robots and events are drawn."""

import threading
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
from arm_episodes import rounded
from PIL import Image
from pyarrow import parquet

from pipeline.divergence import EpisodeError, compare, load_robot, read_episode, to_json, write_episode
from pipeline.divergence.confined import ComparisonProgress, ComparisonSources, compare_confined, confined_comparison
from pipeline.divergence.confined.confined_comparison import SOLIDS, DrawnShape, Playback, playback_message, playback_of
from pipeline.divergence.report.drawn_robot import drawn_model, drawn_positions
from pipeline.divergence.report.event_strip import event_pictures
from pipeline.divergence.report.video import EpisodeVideo, find_video
from pipeline.resources import SAMPLE_SCENES
from pipeline.untrusted.confined import DIED, ConfinedError, Progress, Result

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

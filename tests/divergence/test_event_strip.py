"""Pictures of the events: the video's frame at the event's time where there is one, else a render of the robot."""

import re
import threading
from io import BytesIO
from pathlib import Path

import imageio.v2 as imageio
import mujoco
import numpy as np
import pytest
import trimesh
from PIL import Image

from pipeline.divergence import read_episode, write_episode
from pipeline.divergence.confined import ComparisonSources, compare_isolated
from pipeline.divergence.confined.isolated_comparison import SOLIDS, ComparisonProgress, DrawnShape, Playback
from pipeline.divergence.report.drawn_robot import drawn_model, drawn_positions
from pipeline.divergence.report.event_strip import event_pictures
from pipeline.resources import SAMPLE_SCENES
from studio.__main__ import main

SAMPLE = SAMPLE_SCENES / "episodes"
FPS, SECONDS = 10, 20


def grey(jpeg: bytes) -> float:
    """Return the mean brightness of a picture, 0 to 255."""
    return float(np.asarray(Image.open(BytesIO(jpeg)).convert("L")).mean())


def brightness_at(time: float) -> float:
    """Return the brightness that the planted video has at a time: it rises by 10 a second."""
    return 20 + 10 * time


def write_video(path: Path) -> None:
    with imageio.get_writer(str(path), format="FFMPEG", fps=FPS, macro_block_size=2) as video:  # type: ignore[arg-type]
        for number in range(FPS * SECONDS):
            video.append_data(np.full((120, 160, 3), brightness_at(number / FPS), np.uint8))


@pytest.fixture(scope="module")
def filmed(tmp_path_factory) -> ComparisonProgress:
    """The sample pair, compared in its confined process, with a video of the real episode that grows brighter."""
    folder = tmp_path_factory.mktemp("filmed")
    (folder / "real.npz").write_bytes((SAMPLE / "real.npz").read_bytes())
    write_video(folder / "real.mp4")
    sources = ComparisonSources(folder / "real.npz", SAMPLE / "sim.npz", SAMPLE / "robot.xml")
    return list(compare_isolated(sources, threading.Event()))[-1]


def test_each_event_has_the_frame_of_the_video_at_its_time_or_a_render_that_moves(filmed: ComparisonProgress):
    assert filmed.result is not None
    events = filmed.result["comparison"]["events"]
    assert len(filmed.frames["real"]) == len(events) and not filmed.frames["sim"]
    for event, frame in zip(events, filmed.frames["real"], strict=True):
        assert frame is not None and abs(grey(frame) - brightness_at(event["real_s"])) < 4
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


def test_an_episode_of_a_dataset_has_the_frames_of_its_part_of_the_video(tmp_path: Path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    dataset, camera, begin = tmp_path / "dataset", "videos/observation.images.top", 3.0
    write_episode(read_episode(SAMPLE / "real.npz"), dataset)
    data = dataset / "data" / "chunk-000" / "file-000.parquet"
    first = parquet.read_table(data)
    moved = first.set_column(
        first.schema.get_field_index("episode_index"), "episode_index", arrow.array([1] * len(first))
    )
    parquet.write_table(arrow.concat_tables([first, moved]), data)
    (dataset / camera / "chunk-000").mkdir(parents=True)
    write_video(dataset / camera / "chunk-000" / "file-000.mp4")
    places = {f"{camera}/chunk_index": [0, 0], f"{camera}/file_index": [0, 0], f"{camera}/from_timestamp": [0.0, begin]}
    episodes = dataset / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    parquet.write_table(arrow.table({"episode_index": [0, 1], **places}), episodes)

    sources = ComparisonSources(dataset, SAMPLE / "sim.npz", real_selection=("1",))
    steps = list(compare_isolated(sources, threading.Event()))
    assert [step.choices for step in steps if step.choices] == [{"real": {"episodes": ["0", "1"]}, "sim": {}}]
    assert steps[-1].result is not None
    events = [event for event in steps[-1].result["comparison"]["events"] if event["real_s"] is not None]
    shown = [(event["real_s"], frame) for event, frame in zip(events, steps[-1].frames["real"], strict=False) if frame]
    assert len(shown) > 3
    for seconds, frame in shown:
        assert abs(grey(frame) - brightness_at(begin + seconds)) < 4


def test_the_commands_report_shows_both_sides_of_every_event(tmp_path: Path):
    real, sim, robot = (str(SAMPLE / name) for name in ("real.npz", "sim.npz", "robot.xml"))
    assert main(["compare", real, sim, "--robot", robot, "--out", str(tmp_path)]) == 0
    report = (tmp_path / "report.html").read_text("utf-8")
    shown = re.findall(r'<img src="data:image/jpeg;base64,[^"]+" alt="(\w+), (real|simulated)">', report)
    assert len(shown) == 22 and {name for name, _ in shown} >= {"grasp", "lift", "pass", "release", "place"}


AT_ORIGIN = np.array([0.0, 0, 0, 1, 0, 0, 0])


def playback(flat: bool = False) -> Playback:
    """Return two bodies, of which the second moves and has a solid of each kind; `flat`: its mesh is a square."""
    random = np.random.default_rng(0)
    poses = np.tile(AT_ORIGIN, (5, 2, 1))
    poses[:, 1, :3] = random.normal(size=(5, 3))
    turns = random.normal(size=(5, 4))
    poses[:, 1, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    mesh = trimesh.creation.box((0.1, 0.2, 0.3))
    vertices, faces = np.array(mesh.vertices) + 0.4, np.array(mesh.faces)
    if flat:
        vertices, faces = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]])
    shapes = [
        DrawnShape(
            int(kind != "plane"), kind, np.full(3, 0.05), AT_ORIGIN, np.full(4, 0.5), 0 if kind == "mesh" else -1
        )
        for kind in SOLIDS
    ]
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


@pytest.mark.parametrize("flat", [True, False])
def test_a_flat_mesh_is_drawn_too(flat: bool):
    assert drawn_model(playback(flat)).nmesh == 1

"""LeRobot: solved seeds as a dataset, and lerobot itself with it (`make soak`)."""

import json
import os
import subprocess

import imageio.v2 as imageio
import numpy as np
import pandas
import pyarrow.parquet as parquet
import pytest
import twins
from twins import DOCUMENTED, LEROBOT

from pipeline.export.gym_env.dataset_control import FPS
from pipeline.export.lerobot.dataset import ACTION, CAMERA, HEIGHT_PX, IMAGES, OBJECTS, STATE, WIDTH_PX

KEYS = {"timestamp", "frame_index", "episode_index", "index", "task_index", "next.reward", "next.done", "next.success"}
CAMERAS = CAMERA, f"{IMAGES}wrist"
TYPES = {"float32": "float", "int64": "int64", "bool": "bool"}


@pytest.fixture(scope="module")
def info(dataset):
    return json.loads((dataset / "meta" / "info.json").read_text())


def test_the_data_have_the_types_shapes_and_statistics_that_info_gives_and_objects_end_where_wanted(dataset, info):
    assert info["codebase_version"] == "v3.0" and info["total_episodes"] == len(twins.SEEDS)
    assert set(info["features"]) == KEYS | {STATE, ACTION, OBJECTS, *CAMERAS}
    table = parquet.read_table(dataset / info["data_path"].format(chunk_index=0, file_index=0))
    assert table.num_rows == info["total_frames"] and set(table.column_names) == set(info["features"]) - {*CAMERAS}
    for key in table.column_names:
        feature, kind = info["features"][key], table.schema.field(key).type
        if feature["shape"] == [1]:
            assert str(kind) == TYPES[feature["dtype"]], key
        else:
            assert kind.list_size == feature["shape"][0] == len(feature["names"]) and str(kind.value_type) == "float"
    assert table["index"].to_pylist() == list(range(table.num_rows))
    seconds = np.array(table["frame_index"].to_pylist()) / FPS
    assert np.abs(np.array(table["timestamp"].to_pylist()) - seconds).max() < 1e-4
    names = info["features"][OBJECTS]["names"]
    last = np.flatnonzero(table["next.success"].to_numpy(zero_copy_only=False))
    poses = np.stack(table[OBJECTS].to_pylist())[last]
    red, blue = (poses[:, names.index(f"{name}.x") :][:, :3] for name in ("red_cube", "blue_cube"))
    assert len(last) == len(twins.SEEDS) and np.abs(red[:, 2] - blue[:, 2] - 0.05).max() < 0.005
    assert np.linalg.norm(red[:, :2] - blue[:, :2], axis=1).max() < 0.04
    statistics = json.loads((dataset / "meta" / "stats.json").read_text())
    assert set(statistics) == set(info["features"]) and np.shape(statistics[CAMERA]["mean"]) == (3, 1, 1)
    assert statistics["index"]["max"] == [table.num_rows - 1], "of the whole dataset"
    states = np.stack(table[STATE].to_pylist())
    assert np.array(statistics[STATE]["mean"]) == pytest.approx(states.mean(0), abs=1e-5)
    assert np.array(statistics[STATE]["std"]) == pytest.approx(states.std(0), abs=1e-5)


def test_each_episode_is_a_solved_seed_with_its_task_and_its_part_of_each_cameras_video(dataset, info):
    rows = parquet.read_table(dataset / "meta" / "episodes" / "chunk-000" / "file-000.parquet").to_pylist()
    assert [row["seed"] for row in rows] == list(twins.SEEDS) and all(row["success"] for row in rows)
    assert [row["dataset_from_index"] for row in rows[1:]] == [row["dataset_to_index"] for row in rows[:-1]]
    assert rows[-1]["dataset_to_index"] == info["total_frames"]
    assert rows[1][f"videos/{CAMERA}/from_timestamp"] == pytest.approx(rows[0]["length"] / FPS)
    tasks = pandas.read_parquet(dataset / "meta" / "tasks.parquet")
    assert rows[0]["tasks"] == list(tasks.index) and tasks.index[0].startswith("Put the red cube")
    for key in CAMERAS:
        file = dataset / info["video_path"].format(video_key=key, chunk_index=0, file_index=0)
        with imageio.get_reader(file) as video:
            frames = list(video.iter_data())
        assert len(frames) == info["total_frames"] and frames[0].shape == (HEIGHT_PX, WIDTH_PX, 3)
        middle = rows[0]["length"] // 2
        assert np.abs(frames[0].astype(int) - frames[middle]).max() > 60


@pytest.mark.soak
def test_lerobot_itself_loads_it_with_the_documented_lines(dataset, info, tmp_path):
    out, code = DOCUMENTED["lerobot"]
    (tmp_path / out).symlink_to(dataset)
    code += f"""
item = dataset[len(dataset) - 1]
assert len(dataset) == {info["total_frames"]} and item["task"].startswith("Put the red cube")
assert bool(item["next.success"]) and tuple(item["{CAMERA}"].shape) == (3, {HEIGHT_PX}, {WIDTH_PX})
"""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([LEROBOT, "-c", code], cwd=tmp_path, env=os.environ | offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

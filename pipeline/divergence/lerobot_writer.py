"""Writes LeRobot datasets, version 3: of one episode, or of several with the videos of cameras.

The format is described at https://huggingface.co/docs/lerobot/lerobot-dataset-v3. The package `lerobot` needs torch and
other versions of what the studio uses, so the files are written with pyarrow.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.divergence.episode import Episode, EpisodeError
from pipeline.divergence.lerobot import ACTION, STATE
from pipeline.store import write_json

FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
PATHS = {"data_path": f"data/{FILE}.parquet", "video_path": f"videos/{{video_key}}/{FILE}.mp4"}
FIRST = "chunk-000/file-000"
OBJECTS = "observation.environment_state"
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
Statistics = Mapping[str, np.ndarray]
"""min, max, mean, std and quantiles of a feature, and its count (1,)."""


@dataclass(frozen=True, eq=False)
class Camera:
    """The video of a camera: one file, in which the episodes follow each other."""

    key: str
    feature: Mapping[str, Any]
    """Its entry in info.json."""
    pixels: Sequence[Statistics]
    """Of each episode."""


def write_lerobot(episode: Episode, folder: Path) -> None:
    """Write an episode to a new folder, at its own rate rounded to whole Hz, with times from 0 on. Raises EpisodeError.

    Written are joint positions, actions and poses of objects, all as float32. Actions and poses are those of the last
    sample. Arms and events are not part of the format.
    """
    if folder.exists():
        raise EpisodeError(f"{folder} exists already; a LeRobot dataset is written to a new folder")
    fps = max(1, round(1 / episode.step))
    times = episode.times[0] + np.arange(int(episode.duration * fps + 1e-6) + 1) / fps
    times = np.minimum(times, episode.times[-1])
    last = np.clip(np.searchsorted(episode.times, times + 1e-6, side="right") - 1, 0, None)
    columns, names = {STATE: episode.at(times)}, {STATE: [f"{name}.pos" for name in episode.names]}
    if episode.actions is not None:
        width = episode.actions.shape[1]
        columns[ACTION] = episode.actions[last]
        names[ACTION] = names[STATE] if width == len(episode.names) else [f"action_{n}" for n in range(width)]
    if episode.objects:
        columns[OBJECTS] = np.concatenate([poses[last] for poses in episode.objects.values()], axis=1)
        names[OBJECTS] = [f"{name}.{part}" for name in episode.objects for part in POSE]
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        staging.chmod(0o755)
        write_dataset(staging, episode.source, fps, [columns], names)
        staging.rename(folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def write_dataset(
    folder: Path,
    task: str,
    fps: int,
    episodes: Sequence[Mapping[str, np.ndarray]],
    names: Mapping[str, Sequence[str]],
    cameras: Sequence[Camera] = (),
    robot: str = "unknown",
    about: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write the files of a dataset, apart from its video.

    Args:
        episodes: of each episode the columns by name: vectors (T, N), stored as float32, and numbers (T,).
        names: of the values of each vector.
        about: further columns of meta/episodes, for each episode.
    """
    tables, rows, summaries, start = [], [], [], 0
    for number, columns in enumerate(episodes):
        count = len(next(iter(columns.values())))
        table = {key: one.astype(np.float32) if one.ndim == 2 else one for key, one in columns.items()}
        table |= _counters(number, start, count, fps)
        summary = {key: _statistics(values) for key, values in table.items()}
        row: dict[str, Any] = {
            "episode_index": number, "tasks": [task], "length": count, "data/chunk_index": 0, "data/file_index": 0,
            "dataset_from_index": start, "dataset_to_index": start + count, "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
        }  # fmt: skip
        part = {"chunk_index": 0, "file_index": 0, "from_timestamp": start / fps, "to_timestamp": (start + count) / fps}
        for camera in cameras:
            summary[camera.key] = camera.pixels[number]
            row |= {f"videos/{camera.key}/{name}": value for name, value in part.items()}
        row |= about[number] if about else {}
        row |= {f"stats/{key}/{name}": v for key, each in _as_lists(summary).items() for name, v in each.items()}
        tables.append(table)
        rows.append(row)
        summaries.append(summary)
        start += count
    data = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    _write_tables(folder, task, data, rows)
    info = {
        "codebase_version": "v3.0", "robot_type": robot, "total_episodes": len(rows), "total_frames": start,
        "total_tasks": 1, "chunks_size": 1000, "data_files_size_in_mb": 100, "video_files_size_in_mb": 200, "fps": fps,
        "splits": {"train": f"0:{len(rows)}"}, **PATHS, "features": _features(data, names, cameras),
    }  # fmt: skip
    write_json(folder / "meta" / "info.json", info)
    write_json(folder / "meta" / "stats.json", _as_lists(_aggregate(summaries)))


def _counters(number: int, start: int, count: int, fps: int) -> dict[str, np.ndarray]:
    """Return the columns that every dataset has."""
    frames = np.arange(count)
    return {
        "timestamp": (frames / fps).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.full(count, number),
        "index": start + frames,
        "task_index": np.zeros(count, np.int64),
    }


def _features(
    data: Mapping[str, np.ndarray], names: Mapping[str, Sequence[str]], cameras: Sequence[Camera]
) -> dict[str, Any]:
    features: dict[str, Any] = {
        key: {"dtype": "float32", "shape": [len(names[key])], "names": list(names[key])} for key in data if key in names
    }
    features |= {camera.key: camera.feature for camera in cameras}
    numbers = {key: values.dtype.name for key, values in data.items() if key not in names}
    return features | {key: {"dtype": dtype, "shape": [1], "names": None} for key, dtype in numbers.items()}


def _write_tables(
    folder: Path, task: str, data: Mapping[str, np.ndarray], episodes: Sequence[Mapping[str, Any]]
) -> None:
    """Write the frames, meta/episodes and meta/tasks.parquet."""
    import pandas
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    stored: dict[str, Any] = {}
    for key, values in data.items():
        flat = arrow.array(np.ascontiguousarray(values).reshape(-1))
        stored[key] = arrow.FixedSizeListArray.from_arrays(flat, values.shape[1]) if values.ndim == 2 else flat
    tables = {"data": arrow.table(stored), "meta/episodes": arrow.Table.from_pylist(list(episodes))}
    for name, table in tables.items():
        path = folder / name / f"{FIRST}.parquet"
        path.parent.mkdir(parents=True)
        parquet.write_table(table, path)
    tasks = pandas.DataFrame({"task_index": [0]}, index=[task])  # type: ignore[arg-type]
    tasks.to_parquet(folder / "meta" / "tasks.parquet")


def _statistics(values: np.ndarray) -> Statistics:
    """Return the statistics of values (T, N) or (T,), of shape (N,) each."""
    rows = values.reshape(len(values), -1).astype(float)
    found = {"min": rows.min(0), "max": rows.max(0), "mean": rows.mean(0), "std": rows.std(0)}
    found |= {name: np.quantile(rows, share, axis=0) for name, share in QUANTILES.items()}
    return found | {"count": np.array([len(rows)])}


def _aggregate(summaries: Sequence[Mapping[str, Statistics]]) -> dict[str, Statistics]:
    """Return the statistics of all episodes together; quantiles are means weighted by the counts, as in LeRobot."""
    result = {}
    for key in summaries[0]:
        each = [one[key] for one in summaries]
        counts = np.array([float(one["count"][0]) for one in each])
        weights = (counts / counts.sum()).reshape(-1, *[1] * each[0]["mean"].ndim)
        stacked = {name: np.stack([one[name] for one in each]) for name in each[0]}
        mean = (weights * stacked["mean"]).sum(0)
        spread = (weights * (stacked["std"] ** 2 + (stacked["mean"] - mean) ** 2)).sum(0)
        result[key] = {
            "min": stacked["min"].min(0),
            "max": stacked["max"].max(0),
            "mean": mean,
            "std": np.sqrt(spread),
            **{name: (weights * stacked[name]).sum(0) for name in QUANTILES if name in stacked},
            "count": np.array([int(counts.sum())]),
        }
    return result


def _as_lists(summaries: Mapping[str, Statistics]) -> dict[str, dict[str, list]]:
    return {key: {name: value.tolist() for name, value in each.items()} for key, each in summaries.items()}

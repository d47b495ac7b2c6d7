"""Writes an episode as a LeRobot dataset, version 3, with one episode and no video.

The format is described at https://huggingface.co/docs/lerobot/lerobot-dataset-v3.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.divergence.episode import Episode, EpisodeError
from pipeline.divergence.lerobot import ACTION, STATE
from pipeline.store import write_json

VERSION = "v3.0"
FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
PATHS = {"data_path": f"data/{FILE}.parquet", "video_path": f"videos/{{video_key}}/{FILE}.mp4"}
FIRST = "chunk-000/file-000"
OBJECTS = "observation.environment_state"
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
COUNTERS = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64",
            "task_index": "int64"}  # fmt: skip
"""Columns of one value a frame that every dataset has."""
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
MAX_FRAMES = 2_000_000
"""A longer episode is left to .npz, which is written in blocks."""


def write_lerobot(episode: Episode, folder: Path) -> None:
    """Write an episode to a new folder, at its own rate rounded to whole Hz, with times from 0 on. Raises EpisodeError.

    Written are joint positions, actions and poses of objects, all as float32. Actions and poses are those of the last
    sample. Arms and events are not part of the format.
    """
    if folder.exists():
        raise EpisodeError(f"{folder} exists already; a LeRobot dataset is written to a new folder")
    columns, names, fps = _columns(episode)
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        staging.chmod(0o755)
        _write(staging, columns, names, fps, episode.source)
        staging.rename(folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def write_frames(folder: Path, columns: Mapping[str, np.ndarray]) -> None:
    """Write the data file: columns of shape (T,) or (T, N)."""
    import pyarrow as arrow

    stored: dict[str, Any] = {}
    for key, values in columns.items():
        flat = arrow.array(np.ascontiguousarray(values).reshape(-1))
        stored[key] = arrow.FixedSizeListArray.from_arrays(flat, values.shape[1]) if values.ndim == 2 else flat
    _write_table(arrow.table(stored), folder / "data" / f"{FIRST}.parquet")


def write_episode_rows(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write meta/episodes: a row an episode."""
    import pyarrow as arrow

    _write_table(arrow.Table.from_pylist(list(rows)), folder / "meta" / "episodes" / f"{FIRST}.parquet")


def write_task(folder: Path, instruction: str) -> None:
    """Write meta/tasks.parquet with the one task of a dataset."""
    import pandas

    tasks = pandas.DataFrame({"task_index": [0]}, index=[instruction])  # type: ignore[arg-type]
    tasks.to_parquet(folder / "meta" / "tasks.parquet")


def statistics(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return min, max, mean, std and quantiles of shape (N,), and the count (1,), of values (T, N) or (T,)."""
    rows = values.reshape(len(values), -1).astype(float)
    found = {"min": rows.min(0), "max": rows.max(0), "mean": rows.mean(0), "std": rows.std(0)}
    found |= {name: np.quantile(rows, share, axis=0) for name, share in QUANTILES.items()}
    return found | {"count": np.array([len(rows)])}


def as_lists(summaries: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, list]]:
    """Return statistics as JSON."""
    return {key: {name: value.tolist() for name, value in each.items()} for key, each in summaries.items()}


def _columns(episode: Episode) -> tuple[dict[str, np.ndarray], dict[str, list[str]], int]:
    """Return the columns by name, the names of the values of vectors, and the rate in Hz."""
    fps = max(1, round(1 / episode.step))
    count = int(episode.duration * fps + 1e-6) + 1
    if count > MAX_FRAMES:
        raise EpisodeError(f"{episode.source} has {count} frames; write it as .npz")
    times = np.minimum(episode.times[0] + np.arange(count) / fps, episode.times[-1])
    last = np.clip(np.searchsorted(episode.times, times + 1e-6, side="right") - 1, 0, None)
    columns, names = {STATE: episode.at(times)}, {STATE: [f"{name}.pos" for name in episode.names]}
    if episode.actions is not None:
        columns[ACTION] = episode.actions.array()[last]
        width = columns[ACTION].shape[1]
        is_by_joint = width == len(episode.names)
        names[ACTION] = names[STATE] if is_by_joint else [f"action_{number}" for number in range(width)]
    if episode.objects:
        columns[OBJECTS] = np.concatenate([poses[last] for poses in episode.objects.values()], axis=1)
        names[OBJECTS] = [f"{name}.{part}" for name in episode.objects for part in POSE]
    columns = {key: values.astype(np.float32) for key, values in columns.items()}
    number = np.arange(count)
    counters = {"timestamp": (number / fps).astype(np.float32), "frame_index": number, "index": number}
    zeros = dict.fromkeys(("episode_index", "task_index"), np.zeros(count, np.int64))
    return columns | counters | zeros, names, fps


def _write(
    folder: Path, columns: Mapping[str, np.ndarray], names: Mapping[str, list[str]], fps: int, source: str
) -> None:
    count = len(columns["index"])
    features: dict[str, dict] = {
        key: {"dtype": "float32", "shape": [len(each)], "names": each} for key, each in names.items()
    }
    features |= {key: {"dtype": dtype, "shape": [1], "names": None} for key, dtype in COUNTERS.items()}
    summaries = {key: statistics(values) for key, values in columns.items()}
    write_frames(folder, columns)
    row: dict[str, Any] = {
        "episode_index": 0, "tasks": [source], "length": count, "data/chunk_index": 0, "data/file_index": 0,
        "dataset_from_index": 0, "dataset_to_index": count, "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
    }  # fmt: skip
    row |= {f"stats/{key}/{name}": value for key, each in as_lists(summaries).items() for name, value in each.items()}
    write_episode_rows(folder, [row])
    write_task(folder, source)
    info = {
        "codebase_version": VERSION, "robot_type": "unknown", "total_episodes": 1, "total_frames": count,
        "total_tasks": 1, "chunks_size": 1000, "data_files_size_in_mb": 100, "video_files_size_in_mb": 200, "fps": fps,
        "splits": {"train": "0:1"}, **PATHS, "features": features,
    }  # fmt: skip
    write_json(folder / "meta" / "info.json", info)
    write_json(folder / "meta" / "stats.json", as_lists(summaries))


def _write_table(table: Any, path: Path) -> None:
    import pyarrow.parquet as parquet

    path.parent.mkdir(parents=True)
    parquet.write_table(table, path)

"""Episodes of a LeRobot dataset, version 3: a folder with meta/info.json and data/chunk-*/file-*.parquet.

The format is described at https://huggingface.co/docs/lerobot/lerobot-dataset-v3.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.divergence.episode import Episode, EpisodeError, require_size
from pipeline.errors import reason_of
from pipeline.store import parse_json

INFO = Path("meta") / "info.json"
EPISODE_FILES = "meta/episodes/chunk-*/file-*.parquet"
FIRST_VIDEO = "videos/*/chunk-*/file-*.mp4"
STATE, ACTION = "observation.state", "action"
ROWS = 1 << 16


def is_lerobot(folder: Path) -> bool:
    """Whether a folder is a LeRobot dataset."""
    return (folder / INFO).is_file()


def split_number(path: Path) -> tuple[Path, int]:
    """Split FOLDER#3 into the folder and the number of one of its episodes, 0 without."""
    name, separator, number = str(path).rpartition("#")
    if not (separator and number.isdecimal()) or path.exists():
        return path, 0
    return Path(name), int(number)


def read_lerobot(folder: Path, number: int = 0) -> Episode:
    """Read one episode of a dataset. Raises EpisodeError.

    Args:
        number: the value of `episode_index`.
    """
    import pyarrow as arrow

    names, source = _names(folder), f"{folder.name} (episode {number})"
    times, states, commands = [np.empty(0)], [np.empty((0, len(names)))], []
    try:
        for batch_times, batch_states, batch_commands in _batches(folder, number):
            if batch_states.shape[1] != len(names):
                raise EpisodeError(f"{source}: {STATE} has {batch_states.shape[1]} values, its names are {len(names)}")
            times.append(batch_times)
            states.append(batch_states)
            commands += [] if batch_commands is None else [batch_commands]
            require_size(sum(one.nbytes for one in states), source)
        actions = np.concatenate(commands) if commands else None
    except (arrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise EpisodeError(f"{source} cannot be read: {reason_of(error)}") from None
    return Episode.from_arrays(np.concatenate(times), np.concatenate(states), names, source=source, actions=actions)


def episode_numbers(folder: Path) -> tuple[int, ...]:
    """Return the `episode_index` of all episodes, in ascending order; () if meta/episodes cannot be read."""
    return tuple(sorted(int(row["episode_index"]) for row in _episode_rows(folder, ("episode_index",))))


def episode_video(folder: Path, number: int = 0) -> tuple[Path, float] | None:
    """Return the video of an episode's first camera, and the second of it at which the episode begins.

    Several episodes share one video file; meta/episodes says where each begins. A dataset without that has one episode
    a video, which begins with it. None without a video.
    """
    cameras = sorted(path.name for path in (folder / "videos").glob("*") if path.is_dir())
    if not cameras:
        return None
    fields = {name: f"videos/{cameras[0]}/{name}" for name in ("chunk_index", "file_index", "from_timestamp")}
    for row in _episode_rows(folder, ("episode_index", *fields.values())):
        if row["episode_index"] == number:
            chunk, file, begin = (row[field] for field in fields.values())
            path = folder / "videos" / cameras[0] / f"chunk-{int(chunk):03d}" / f"file-{int(file):03d}.mp4"
            return (path, float(begin)) if path.is_file() else None
    first = next(iter(sorted(folder.glob(FIRST_VIDEO))), None)
    return (first, 0.0) if first and not number else None


def _episode_rows(folder: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield those columns of each row of meta/episodes; nothing where they are missing or damaged."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    try:
        for path in sorted(folder.glob(EPISODE_FILES)):
            yield from parquet.read_table(path, columns=list(columns)).to_pylist()
    except (arrow.ArrowException, OSError, ValueError, KeyError):
        return


def _names(folder: Path) -> list[str]:
    """Return the names of the state's values; LeRobot's ".pos" at their ends is dropped."""
    try:
        info = parse_json((folder / INFO).read_text("utf-8"))
        version, names = str(info["codebase_version"]), info["features"][STATE]["names"]
        names = [name for group in names.values() for name in group] if isinstance(names, dict) else list(names)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EpisodeError(f"{folder.name}/{INFO} does not describe {STATE}: {reason_of(error)}") from None
    if not version.startswith("v3"):
        raise EpisodeError(f"{folder.name} is a LeRobot dataset of version {version!r:.60}; convert it to v3.0")
    return [str(name).removesuffix(".pos") for name in names]


def _batches(folder: Path, number: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Yield times (n,), states (n, J) and actions (n, U) of one episode."""
    import pyarrow.parquet as parquet

    files = sorted((folder / "data").glob("chunk-*/file-*.parquet"))
    if not files:
        raise EpisodeError(f"{folder.name} has no data/chunk-*/file-*.parquet")
    for path in files:
        file = parquet.ParquetFile(path)
        wanted = [name for name in (STATE, ACTION) if name in file.schema_arrow.names]
        for batch in file.iter_batches(ROWS, columns=["timestamp", "episode_index", *wanted]):
            chosen = batch.column("episode_index").to_numpy(zero_copy_only=False) == number
            if not chosen.any():
                continue
            commands = _stack(batch.column(ACTION))[chosen] if ACTION in wanted else None
            times = batch.column("timestamp").to_numpy(zero_copy_only=False).astype(float)
            yield times[chosen], _stack(batch.column(STATE))[chosen], commands


def _stack(column: Any) -> np.ndarray:
    """Return a column of lists as an array of shape (rows, values)."""
    values = column.flatten().to_numpy(zero_copy_only=False).astype(float)
    if len(column) and (not len(values) or len(values) % len(column)):
        raise ValueError("its rows have different lengths")
    return values.reshape(len(column), -1)

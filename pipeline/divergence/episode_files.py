"""Files of episodes: CSV and NPZ are read in blocks, so that a file of any length fits into memory.

.csv  a column `t` in seconds and one column a joint
.npz  t (T,), q (T, J), names (J,); optional u (T, U), arms and events (JSON texts), objects (K,) with
      object_poses (T, K, 7): metres and quaternion wxyz
.bag .mcap .db3, ROS 2 folder  by robot_logs, message by message
"""

import csv
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from pipeline.divergence.episode import ArmJoints, Episode, EpisodeBuilder, EpisodeError
from pipeline.divergence.lerobot import episode_numbers, is_lerobot, read_lerobot, split_number
from pipeline.divergence.lerobot_writer import write_lerobot
from pipeline.divergence.project_episodes import is_project, read_project
from pipeline.divergence.robot_logs import is_log, read_log, split_topics, topic_choices, with_topics
from pipeline.divergence.table import Table
from pipeline.store import atomic_write, parse_json

BLOCK_ROWS = 1 << 17
MAX_NAME_BYTES = 1 << 20
"""Of the arrays that hold text."""
MAX_POSE_BYTES = 1 << 28
"""Of the poses of all objects."""


def read_episode(path: Path) -> Episode:
    """Read a CSV or NPZ file, a log of a robot, a LeRobot v3 folder, a project (its solution), or one of its rounds.

    LOG#/topic chooses a topic of a log, FOLDER#3 an episode of a LeRobot folder (else its first). Raises EpisodeError:
    no such file, not an episode, no finite numbers, time going back, nothing in it.
    """
    path, topics = split_topics(Path(path))
    path, number = split_number(path)
    if number and not is_lerobot(path):
        raise EpisodeError(f"{path.name} is no LeRobot folder; only that has episodes to choose")
    if topics and not is_log(path):
        raise EpisodeError(f"{path.name} is no log (.bag, .mcap, a ROS 2 folder); only a log has topics to choose")
    if path.is_dir():
        if is_log(path):
            return read_log(path, topics)
        if is_lerobot(path):
            return read_lerobot(path, number)
        if is_project(path):
            return read_project(path)
        files = "meta/info.json (LeRobot), metadata.yaml (ROS 2), solution.json or record.npz"
        raise EpisodeError(f"{path} is no episode: it has no {files}")
    if not path.is_file():
        raise EpisodeError(f"there is no episode {path}")
    if not path.stat().st_size:
        raise EpisodeError(f"{path.name} is empty")
    if is_log(path):
        return read_log(path, topics)
    readers = {".csv": _read_csv, ".npz": _read_npz}
    if path.suffix.lower() not in readers:
        kinds = ".csv, .npz, .bag, .mcap, a folder of LeRobot or ROS 2, or a project"
        raise EpisodeError(f"{path.name} is no episode; it takes {kinds}")
    with _as_episode_error(path.name):
        return readers[path.suffix.lower()](path)


def selection_choices(path: Path) -> dict[str, tuple[str, ...]]:
    """Return what there is to choose from: topics of "joints" and "commands" of a log, "episodes" of a dataset.

    {} where there is no choice. Raises EpisodeError for a damaged log.
    """
    if is_log(path):
        return topic_choices(path)
    numbers = episode_numbers(path) if is_lerobot(path) else ()
    return {"episodes": tuple(map(str, numbers))} if len(numbers) > 1 else {}


def with_selection(path: Path, chosen: Sequence[str]) -> Path:
    """Return the path as `read_episode` takes it: LOG#/topic,/topic or FOLDER#3; unchanged if nothing is chosen."""
    if not chosen:
        return path
    return with_topics(path, chosen) if is_log(path) else Path(f"{path}#{chosen[0]}")


def write_episode(episode: Episode, path: Path) -> None:
    """Write an episode as .npz, as .csv with times and joint positions only, or to a new folder as a LeRobot dataset.

    Raises EpisodeError, StoreError.
    """
    path = Path(path)
    if not path.suffix:
        return write_lerobot(episode, path)
    if path.suffix.lower() not in (".csv", ".npz"):
        raise EpisodeError(f"an episode cannot be written as {path.name}; name a .csv or .npz file, or a new folder")
    with atomic_write(path) as temporary:
        (_write_csv if path.suffix.lower() == ".csv" else _write_npz)(episode, temporary)


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write an .npz array by array; a function in place of an array is called when its turn comes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(value() if callable(value) else value))


def parse_arms(text: str, source: str) -> dict[str, ArmJoints]:
    """Return the arms of a JSON text {arm: {"joints", "gripper", "tool"}}. Raises EpisodeError."""
    try:
        data = parse_json(text or "{}")
        return {
            str(name): ArmJoints(
                tuple(map(str, arm["joints"])),
                str(arm["gripper"]) if arm.get("gripper") else None, str(arm["tool"]) if arm.get("tool") else None,
                float(arm["open"]) if arm.get("open") is not None else None,
            )
            for name, arm in data.items()
        }  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise EpisodeError(
            f'{source}: arms have to be {{"left": {{"joints": [...], "gripper": name, "tool": name}}}} ({error})'
        ) from None


def _read_csv(path: Path) -> Episode:
    import pandas as pd

    with path.open(newline="", encoding="utf-8-sig") as file:
        header = [name.strip() for name in next(csv.reader(file), [])]
    if "t" not in header:
        raise EpisodeError(f"{path.name} has no column t (seconds); its first line names {', '.join(header[:8])}")
    t = header.index("t")
    builder = EpisodeBuilder([name for i, name in enumerate(header) if i != t], path.name)
    numbers = [i for i in range(len(header)) if i != t]
    blocks = pd.read_csv(
        path, header=None, skiprows=1, names=range(len(header)), dtype=np.float64, chunksize=BLOCK_ROWS,
        encoding="utf-8-sig", index_col=False,
    )  # fmt: skip
    with blocks:
        for frame in blocks:
            block = frame.to_numpy()
            builder.append(block[:, t], block[:, numbers])
    return builder.episode()


def _read_npz(path: Path) -> Episode:
    with zipfile.ZipFile(path) as archive:
        members = {Path(name).stem: name for name in archive.namelist() if name.endswith(".npy")}
        if missing := [name for name in ("t", "q", "names") if name not in members]:
            raise EpisodeError(f"{path.name} lacks {', '.join(missing)}; an episode has t, q and names")
        names = [str(name) for name in np.atleast_1d(_small(archive, members["names"], MAX_NAME_BYTES))]
        texts = {
            key: str(_small(archive, members[key], MAX_NAME_BYTES)) for key in ("arms", "events") if key in members
        }
        builder = EpisodeBuilder(names, path.name)
        with _rows(archive, members["t"]) as times, _rows(archive, members["q"]) as positions:
            _append_all(builder, times, positions, path.name)
        fields: dict[str, Any] = {"events": tuple(parse_json(texts.get("events", "[]")))}
        if "u" in members:
            fields["actions"] = _actions(archive, members["u"])
        if "objects" in members and "object_poses" in members:
            objects = [str(name) for name in np.atleast_1d(_small(archive, members["objects"], MAX_NAME_BYTES))]
            poses = np.asarray(_small(archive, members["object_poses"], MAX_POSE_BYTES), float)
            fields["objects"] = {name: poses[:, i] for i, name in enumerate(objects)}
            if "contacts" in members:
                contacts = np.asarray(_small(archive, members["contacts"], MAX_POSE_BYTES), bool)
                fields["contacts"] = {name: contacts[:, i] for i, name in enumerate(objects)}
    episode = builder.episode(parse_arms(texts.get("arms", ""), path.name) or None, **fields)
    for name, pose in episode.objects.items():
        if pose.shape != (len(episode.times), 7) or not np.isfinite(pose).all():
            raise EpisodeError(f"{path.name}: the poses of {name} need shape ({len(episode.times)}, 7), all finite")
    for name, touched in episode.contacts.items():
        if touched.shape != (len(episode.times), 2):
            raise EpisodeError(f"{path.name}: the contacts of {name} need shape ({len(episode.times)}, 2)")
    if episode.actions is not None and len(episode.actions) != len(episode.times):
        raise EpisodeError(f"{path.name}: u has {len(episode.actions)} rows, t has {len(episode.times)}")
    return episode


def _append_all(
    builder: EpisodeBuilder, times: tuple[tuple, Iterator], positions: tuple[tuple, Iterator], source: str
) -> None:
    (t_shape, t_blocks), (q_shape, q_blocks) = times, positions
    if len(t_shape) != 1 or len(q_shape) != 2 or t_shape[0] != q_shape[0]:
        raise EpisodeError(f"{source}: t has shape {t_shape} and q {q_shape}; they need (T,) and (T, J)")
    for t, q in zip(t_blocks, q_blocks, strict=True):
        builder.append(t[:, 0], q)


def _actions(archive: zipfile.ZipFile, member: str) -> Table:
    with _rows(archive, member) as (shape, blocks):
        if len(shape) != 2:
            raise EpisodeError(f"u has shape {shape}; it needs (T, U)")
        table = Table(shape[1])
        for block in blocks:
            table.append(block)
        return table


@contextmanager
def _rows(archive: zipfile.ZipFile, member: str) -> Iterator[tuple[tuple, Iterator[np.ndarray]]]:
    """Yield the shape of an array in an .npz and its rows in blocks of float64, of shape (n, columns)."""
    with archive.open(member) as file:
        shape, fortran, dtype = _header(file)
        if dtype.kind not in "fiub":
            raise EpisodeError(f"{member.removesuffix('.npy')} holds no numbers ({dtype})")
        columns = shape[1] if len(shape) == 2 else 1
        yield shape, (_fortran_blocks if fortran and columns > 1 else _blocks)(file, dtype, shape[0], columns)


def _header(file: IO[bytes]) -> tuple[tuple, bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if len(shape) not in (1, 2):
        raise EpisodeError(f"an array of shape {shape} is none of an episode's")
    return shape, fortran, dtype


def _blocks(file: IO[bytes], dtype: np.dtype, rows: int, columns: int) -> Iterator[np.ndarray]:
    for start in range(0, rows, BLOCK_ROWS):
        count = min(BLOCK_ROWS, rows - start) * columns
        data = file.read(count * dtype.itemsize)
        yield np.frombuffer(data, dtype, count).astype(np.float64).reshape(-1, columns)


def _fortran_blocks(file: IO[bytes], dtype: np.dtype, rows: int, columns: int) -> Iterator[np.ndarray]:
    """Yield blocks of an array that is stored column by column."""
    stored = Table(1)
    for block in _blocks(file, dtype, rows * columns, 1):
        stored.append(block)
    for start in range(0, rows, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, rows)
        parts = [stored.rows(column * rows + start, column * rows + stop) for column in range(columns)]
        yield np.hstack(parts)


def _small(archive: zipfile.ZipFile, member: str, max_bytes: int) -> np.ndarray:
    """Return an array of bounded size; pickled objects are refused with ValueError."""
    if archive.getinfo(member).file_size > max_bytes:
        raise EpisodeError(f"{member.removesuffix('.npy')} takes more than {max_bytes >> 20} MB")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _write_csv(episode: Episode, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("t", *episode.names))
        for start, block in episode.positions.blocks():
            times = episode.times[start : start + len(block), None]
            rows.writerows([map(repr, row) for row in np.hstack((times, block)).tolist()])


def _write_npz(episode: Episode, path: Path) -> None:
    arms = {
        name: {"joints": arm.joints, "gripper": arm.gripper, "tool": arm.tool}
        | ({} if arm.open_value is None else {"open": arm.open_value})
        for name, arm in episode.arms.items()
    }
    arrays: dict[str, Any] = {
        "t": episode.times, "names": np.array(episode.names), "arms": json.dumps(arms),
        "events": json.dumps(episode.events),
    }  # fmt: skip
    if episode.objects:
        arrays["objects"] = np.array(list(episode.objects))
        arrays["object_poses"] = np.stack(list(episode.objects.values()), axis=1)
        if set(episode.contacts) == set(episode.objects):
            arrays["contacts"] = np.stack([episode.contacts[name] for name in episode.objects], axis=1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, table in (("q", episode.positions), ("u", episode.actions)):
            if table is not None:
                _write_table(archive, name, table)
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(value))


def _write_table(archive: zipfile.ZipFile, name: str, table: Table) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        header = {"descr": "<f8", "fortran_order": False, "shape": table.shape}
        np.lib.format.write_array_header_1_0(member, header)
        for _, block in table.blocks():
            member.write(block.astype("<f8").tobytes())


@contextmanager
def _as_episode_error(name: str) -> Iterator[None]:
    """Turn what readers raise for damaged files into an EpisodeError."""
    try:
        yield
    except EpisodeError as error:
        raise error if name in str(error) else EpisodeError(f"{name}: {error}") from None
    except (ValueError, KeyError, TypeError, EOFError, OSError, IndexError, NotImplementedError, zipfile.BadZipFile,
            zipfile.zlib.error, csv.Error) as error:  # fmt: skip
        reason = " ".join(str(error).split()) or type(error).__name__
        raise EpisodeError(f"{name} cannot be read as an episode: {reason}") from None

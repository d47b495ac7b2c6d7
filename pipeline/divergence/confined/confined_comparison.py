"""Compares two episodes from outside in a confined child, so that a broken or hostile file cannot harm the studio."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np

from pipeline.confinement import SYSTEM_LIBRARIES
from pipeline.divergence.alignment import Method
from pipeline.divergence.episode import EpisodeError
from pipeline.divergence.report.video import video_beside
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Progress

LIMITS = Limits(seconds=900, is_wall_clock=False, memory_mb=8192, file_mb=16384)
"""MuJoCo, pandas and pyarrow reserve two gigabytes before a file is read; rosbags unpacks compressed logs to a file."""
FUNCTION = "pipeline.divergence.confined.comparison_child:compare_files"
JPEG = b"\xff\xd8"
"""First bytes of the format."""
SIDES = ("real", "sim")
CHOICES = ("joints", "commands", "episodes")
SOLIDS = ("plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
"""Shapes of a drawing, by MuJoCo's names."""


@dataclass(frozen=True)
class ComparisonSources:
    """What is compared; files or folders."""

    real: Path
    sim: Path
    robot: Path | None = None
    method: Method = "clock"
    real_selection: tuple[str, ...] = ()
    """Topics of a log that are taken where it leaves a choice, or the number of an episode of a LeRobot folder; empty
    for the topics that are plain, or the first episode."""
    sim_selection: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class DrawnShape:
    """One solid of a drawing, in the frame of its body."""

    body: int
    kind: str
    """One of SOLIDS."""
    size: np.ndarray
    """Of shape (3,), as MuJoCo has it for the kind, in metres."""
    pose: np.ndarray
    """Position in metres and quaternion wxyz, of shape (7,)."""
    rgba: np.ndarray
    """Of shape (4,), each in [0, 1]."""
    mesh: int = -1
    """Index into the drawing's meshes."""


@dataclass(frozen=True, eq=False)
class Playback:
    """Both robots as bodies that move freely, on REAL's clock."""

    times: np.ndarray
    """Of shape (T,), in seconds."""
    real: np.ndarray
    """Poses of the bodies, of shape (T, B, 7): metres and quaternion wxyz."""
    sim: np.ndarray
    shapes: tuple[DrawnShape, ...]
    meshes: tuple[tuple[np.ndarray, np.ndarray], ...]
    """Vertices (N, 3) in metres and faces (M, 3) of each mesh."""
    note: str = ""
    """What the drawing leaves out, in one line; empty if nothing."""


@dataclass(frozen=True, eq=False)
class ComparisonProgress:
    """One step of a comparison; the last one has its result."""

    message: str = ""
    result: dict[str, Any] | None = None
    """{"comparison": contents of comparison.json, "curves", "histograms" and "joints" as from report.curves, "notes":
    lines about logs}: seconds on REAL's clock, radians, metres."""
    choices: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """{"real", "sim"}: what there is to choose from, as from `selection_choices`."""
    playback: Playback | None = None
    """None without a robot model that can be drawn."""
    frames: dict[str, list[bytes | None]] = field(default_factory=dict)
    """{"real", "sim"}: the video's frame of each event as JPEG; empty without a video."""


def compare_confined(sources: ComparisonSources, stop: threading.Event) -> Iterator[ComparisonProgress]:
    """Compare two episodes in a confined child; yield its steps and last the result. Ends when `stop` is set.

    Raises EpisodeError with one line.
    """
    paths = {"real": sources.real, "sim": sources.sim, "robot": sources.robot}
    arguments: dict[str, Any] = {name: path and str(path.absolute()) for name, path in paths.items()}
    arguments |= {"real_selection": sources.real_selection, "sim_selection": sources.sim_selection}
    arguments |= {"method": sources.method}
    programs = [Path(imageio_ffmpeg.get_ffmpeg_exe())]  # it reads frames of videos
    with confined.errors_as(EpisodeError, f"{sources.real.name} or {sources.sim.name}"):
        for event in confined.call(
            FUNCTION, arguments, [*_given(sources), *SYSTEM_LIBRARIES], stop, limits=LIMITS, programs=programs
        ):
            value, arrays = event.value, [*event.arrays]
            if isinstance(event, Progress):
                choices = {side: _choices(value["choices"][side]) for side in SIDES} if value["choices"] else {}
                yield ComparisonProgress(str(value["message"])[:200], choices=choices)
            else:
                playback = playback_of(value["playback"], arrays)
                frames = {side: [_frame(arrays) if one else None for one in value["frames"][side]] for side in SIDES}
                yield ComparisonProgress("", dict(value["result"]), {}, playback, frames)


def _given(sources: ComparisonSources) -> list[Path]:
    """Return the files and folders that a comparison reads."""
    folders = [sources.robot.absolute().parent] if sources.robot else []  # its meshes lie there
    episodes = [path for path in (sources.real, sources.sim) for path in (path, video_beside(path)) if path]
    # What lies in a folder that is readable is not named again: its own mount would hide the rest of the folder.
    hidden = [path for path in episodes if any(path.absolute().is_relative_to(folder) for folder in folders)]
    return [*folders, *(path for path in episodes if path not in hidden)]


def _choices(value: dict[str, list[str]]) -> dict[str, list[str]]:
    # Topics of a log or episodes of a dataset, and characters of each, that are shown
    return {kind: [str(one)[:300] for one in value[kind][:1000]] for kind in CHOICES if kind in value}


def _frame(arrays: list[np.ndarray]) -> bytes:
    """Take the first of the arrays, which is a JPEG. Raises ValueError or IndexError if it is none."""
    frame = arrays.pop(0).tobytes()
    _require(frame.startswith(JPEG))
    return frame


def playback_message(playback: Playback | None) -> tuple[dict[str, Any] | None, list[np.ndarray]]:
    """Return a playback as JSON and arrays."""
    if playback is None:
        return None, []
    numbers = ("size", "pose", "rgba")
    shapes = [vars(shape) | {name: getattr(shape, name).tolist() for name in numbers} for shape in playback.shapes]
    value = {"shapes": shapes, "meshes": len(playback.meshes), "note": playback.note}
    meshes = [array for mesh in playback.meshes for array in mesh]
    return value, [playback.times, playback.real, playback.sim, *meshes]


def playback_of(value: dict[str, Any] | None, arrays: list[np.ndarray]) -> Playback | None:
    """Inverse of `playback_message`; takes its arrays from the list. Raises ValueError or IndexError if malformed."""
    if value is None:
        return None
    times, real, sim = (_finite(arrays.pop(0), "<f4") for _ in range(3))
    _require(times.ndim == 1 and len(times) > 1 and bool((np.diff(times) > 0).all()))
    _require(real.shape == sim.shape and real.ndim == 3 and real.shape[0] == len(times) and real.shape[2] == 7)
    meshes = tuple(_mesh(arrays) for _ in range(value["meshes"]))
    shapes = tuple(_shape(one, real.shape[1], len(meshes)) for one in value["shapes"])
    return Playback(times, real, sim, shapes, meshes, str(value["note"])[:300])


def _mesh(arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = _finite(arrays.pop(0), "<f4"), _finite(arrays.pop(0), "<i4")
    _require(vertices.ndim == 2 and vertices.shape[1] == 3 and faces.ndim == 2 and faces.shape[1] == 3)
    _require(len(faces) > 0 and faces.min() >= 0 and faces.max() < len(vertices))
    return vertices, faces


def _finite(array: np.ndarray, kind: str) -> np.ndarray:
    _require(array.dtype == kind and bool(np.isfinite(array).all()))
    return array


def _shape(value: dict[str, Any], bodies: int, meshes: int) -> DrawnShape:
    size, pose, rgba = (np.array(value[name], float) for name in ("size", "pose", "rgba"))
    _require(size.shape == (3,) and pose.shape == (7,) and rgba.shape == (4,))
    _require(all(np.isfinite(numbers).all() for numbers in (size, pose, rgba)))
    body, mesh, kind = int(value["body"]), int(value["mesh"]), str(value["kind"])
    _require(0 <= body < bodies and kind in SOLIDS and (kind != "mesh" or 0 <= mesh < meshes))
    return DrawnShape(body, kind, size, pose, rgba.clip(0, 1), mesh)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError

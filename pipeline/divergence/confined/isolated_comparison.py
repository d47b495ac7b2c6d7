"""Compares two episodes from outside in a confined process, so that a broken or hostile file cannot harm the studio.

The process has no key and no network, reads only the given folders, and its memory and CPU time are limited.
"""

import base64
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.divergence.alignment import Method
from pipeline.divergence.episode import EpisodeError
from pipeline.divergence.report.video import video_beside
from pipeline.store import parse_json
from pipeline.untrusted import worker_process
from pipeline.untrusted.worker_process import WorkerCrashedError, run_worker

MEMORY_LIMIT_MB = 8192
"""Address space: MuJoCo, pandas and pyarrow reserve two gigabytes before a file is read."""
CPU_LIMIT_S = 900
MODULE = "pipeline.divergence.confined.comparison_worker"
JPEG = b"\xff\xd8"
"""First bytes of the format."""
ARRAY_TYPES = ("<f4", "<i4")
SIDES = ("real", "sim")
CHOICES = ("joints", "commands", "episodes")
MAX_CHOICES, MAX_CHOICE = 1000, 300
"""Topics of a log or episodes of a dataset, and characters of each, that are shown."""
Mesh = tuple[np.ndarray, np.ndarray]
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


def compare_isolated(sources: ComparisonSources, stop: threading.Event) -> Iterator[ComparisonProgress]:
    """Compare two episodes in a process of its own; yield its steps and last the result. Ends when `stop` is set.

    Raises EpisodeError with one line.
    """
    paths = {"real": sources.real, "sim": sources.sim, "robot": sources.robot}
    paths |= {f"{side}_video": video_beside(paths[side]) for side in SIDES}
    request: dict[str, Any] = {name: path and str(path.absolute()) for name, path in paths.items()}
    request |= {"real_selection": sources.real_selection, "sim_selection": sources.sim_selection}
    request |= {"method": sources.method}
    request |= {"memory_mb": MEMORY_LIMIT_MB, "seconds": CPU_LIMIT_S}
    meshes: list[Mesh] = []
    with tempfile.TemporaryDirectory(prefix="grs-compare-") as scratch:
        environment = worker_process.ENVIRONMENT | {"TMPDIR": scratch, "HOME": scratch}
        try:
            for line in run_worker(MODULE, request | {"scratch": scratch}, environment, stop):
                event = parse_json(line)
                if "error" in event:
                    raise EpisodeError(" ".join(str(event["error"]).split())[:600])
                if "mesh" in event:
                    meshes.append(mesh_of(event["mesh"]))
                elif "choices" in event:
                    yield ComparisonProgress(choices={side: _choices(event["choices"][side]) for side in SIDES})
                elif "result" in event:
                    result = dict(event["result"])
                    frames = {side: _frames(result["frames"][side]) for side in SIDES}
                    yield ComparisonProgress("", result, {}, playback_of(event["playback"], meshes), frames)
                else:
                    yield ComparisonProgress(str(event["message"])[:200])
        except WorkerCrashedError:
            raise EpisodeError("these files take too much memory or time, or crashed their reader") from None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            raise EpisodeError("the reader of these files answered with nonsense; they may be an attack") from None


def packed(array: np.ndarray) -> dict[str, Any]:
    """Return an array as JSON: its type, shape and base64 of its bytes. Floats become float32, integers int32."""
    compact = np.ascontiguousarray(array, "<i4" if array.dtype.kind in "iu" else "<f4")
    return {"type": compact.dtype.str, "shape": compact.shape, "data": base64.b64encode(compact.tobytes()).decode()}


def unpacked(value: dict[str, Any]) -> np.ndarray:
    """Inverse of `packed`. Raises ValueError for anything else, and for numbers that are not finite."""
    kind, shape = str(value["type"]), tuple(value["shape"])
    if kind not in ARRAY_TYPES or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError
    data = base64.b64decode(value["data"], validate=True)
    if len(data) != prod(shape) * 4:
        raise ValueError
    array = np.frombuffer(data, kind).reshape(shape)
    if not np.isfinite(array).all():
        raise ValueError
    return array


def _choices(value: dict[str, list[str]]) -> dict[str, list[str]]:
    return {kind: [str(one)[:MAX_CHOICE] for one in value[kind][:MAX_CHOICES]] for kind in CHOICES if kind in value}


def _frames(values: list[str | None]) -> list[bytes | None]:
    frames = [None if value is None else base64.b64decode(value, validate=True) for value in values]
    _require(all(frame is None or frame.startswith(JPEG) for frame in frames))
    return frames


def mesh_of(value: dict[str, Any]) -> Mesh:
    """Return the mesh that `drawn_playback` sent. Raises ValueError for anything else."""
    vertices, faces = unpacked(value["vertices"]), unpacked(value["faces"])
    _require(vertices.ndim == 2 and vertices.shape[1] == 3 and faces.ndim == 2 and faces.shape[1] == 3)
    _require(len(faces) > 0 and faces.min() >= 0 and faces.max() < len(vertices))
    return vertices, faces


def playback_of(value: dict[str, Any] | None, meshes: Sequence[Mesh]) -> Playback | None:
    """Return the playback of what `drawn_playback` answered, and its meshes. Raises ValueError if malformed."""
    if value is None:
        return None
    times, real, sim = (unpacked(value[name]) for name in ("times", "real", "sim"))
    _require(times.ndim == 1 and len(times) > 1 and bool((np.diff(times) > 0).all()))
    _require(real.shape == sim.shape and real.ndim == 3 and real.shape[0] == len(times) and real.shape[2] == 7)
    shapes = tuple(_shape(one, real.shape[1], len(meshes)) for one in value["shapes"])
    return Playback(times, real, sim, shapes, tuple(meshes), str(value["note"])[:300])


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

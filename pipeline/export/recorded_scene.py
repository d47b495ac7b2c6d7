"""What a recording for a viewer of logs holds of a project: its story in words, names, points and motions."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from pipeline.errors import StudioError, reason_of
from pipeline.export.twin_model import TwinModel
from pipeline.geometry import transform
from pipeline.project import Project
from pipeline.scene.evidence import summarise
from pipeline.scene.mjcf.recorded_models import is_earlier_twin
from pipeline.solving import save_model
from pipeline.store import read_json
from pipeline.tracking.motion import joint_positions
from pipeline.tracking.track import TrackError
from pipeline.tracking.track_files import newest_track, read_track

POSES_HZ = 30.0


@dataclass(frozen=True, eq=False)
class RecordedRollout:
    """The motion of a model's bodies, 30 times a second and at its end."""

    name: str
    """"solution", "failure" for the first that failed, or "track" for what a recording shows."""
    twin: TwinModel
    times: np.ndarray
    """Of shape (T,), in seconds."""
    positions: np.ndarray
    """World positions of the bodies, of shape (T, bodies, 3), in metres."""
    rotations: np.ndarray
    """Rotation matrices row by row, of shape (T, bodies, 9), world from body."""
    moving: tuple[int, ...]
    """Bodies that change their pose."""


def about(project: Project) -> str:
    """Return what is known of the project, in Markdown."""
    task, solution, evidence = project.task(), project.solution(), project.evidence()
    lines = [f"# {project.name}", task.instruction if task else "No task yet."]
    if solution:
        verdict = "Not solved" if not solution.solved else "Doubtful" if project.doubts(solution) else "Solved"
        lines.append(f"{verdict}: {sum(solution.success)} of {len(solution.success)} seeds, by the {solution.source}.")
    lines += [summarise(evidence)] if evidence else []
    folder = newest_track(project.folder)
    contents = read_json(folder / "track.json") if folder else None
    if isinstance(contents, dict) and is_earlier_twin(str(contents.get("twin", "")), project.folder):
        lines.append("The recording moves an earlier twin of this project.")
    lines += [f"Doubtful: {doubt}" for doubt in project.doubts(solution)]
    return "\n\n".join(lines)


def mask_names(project: Project) -> dict[int, str]:
    """Return the name of each mask's object by the mask's id."""
    scene = project.scene()
    names = {p.segment_id: p.name for p in scene.placements} if scene else {}
    return {segment.id: names.get(segment.id, "unnamed") for segment in project.segments() or ()}


def known_points(project: Project) -> tuple[np.ndarray, np.ndarray]:
    """Return the photograph's points of known depth in the world frame (N, 3), and their colours (N, 3), uint8."""
    frame = project.frame
    known = frame.depth > 0
    return transform(project.support.world_from_camera, frame.points[known]), frame.rgb[known]


def recorded_rollouts(project: Project) -> Iterator[RecordedRollout]:
    """Yield the rollout that the solution shows, the first that failed, and the newest track of a recording.

    Raises TrackError for a damaged track.
    """
    solution, scene = project.solution(), project.folder / "scene"
    if solution and solution.shown:
        yield _recorded("solution", TwinModel(scene / "solution.xml"), solution.shown.times, solution.shown.qpos)
    if solution and solution.failed:
        yield _recorded("failure", TwinModel(scene / "failure.xml"), solution.failed.times, solution.failed.qpos)
    if folder := newest_track(project.folder):
        yield _tracked(project, folder)


def _tracked(project: Project, folder: Path) -> RecordedRollout:
    track = read_track(folder)
    try:
        xml = (folder / "twin.xml").read_text("utf-8")
        path = save_model(xml, project.folder, f"track_{os.getpid()}")
        try:
            twin = TwinModel(path)
        finally:
            path.unlink(missing_ok=True)
        qpos = joint_positions(twin.model, track)
    except (OSError, ValueError, KeyError, StudioError) as error:
        why = reason_of(error)
        raise TrackError(f"{folder.name} has no twin that can be read ({why}); follow the recording again") from None
    return _recorded("track", twin, track.times, qpos)


def _recorded(name: str, twin: TwinModel, times: np.ndarray, qpos: np.ndarray) -> RecordedRollout:
    data = mujoco.MjData(twin.model)
    wanted = np.arange(times[0], times[-1], 1 / POSES_HZ)
    rows = np.unique(np.append(np.searchsorted(times, wanted), len(times) - 1))
    positions, rotations = np.empty((len(rows), twin.model.nbody, 3)), np.empty((len(rows), twin.model.nbody, 9))
    for row, each in enumerate(qpos[rows]):
        data.qpos[:] = each
        mujoco.mj_kinematics(twin.model, data)
        positions[row], rotations[row] = data.xpos, data.xmat
    change = np.maximum(np.ptp(positions, axis=0).max(-1), np.ptp(rotations, axis=0).max(-1))
    moving = tuple(np.flatnonzero(change > 0).tolist())
    return RecordedRollout(name, twin, times[rows], positions, rotations, moving)

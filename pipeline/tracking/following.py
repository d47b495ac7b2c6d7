"""Follow a twin through the frames of a recording."""

from collections.abc import Generator, Iterable
from dataclasses import replace

import numpy as np

from pipeline.frame import Frame
from pipeline.geometry import Pose
from pipeline.scene.placement import Scene
from pipeline.segmentation import Segment
from pipeline.tracking.events import find_events
from pipeline.tracking.fit import TOLERANCE_M, Evidence
from pipeline.tracking.track import CAMERA_MOVES, STATES, Track, TrackError
from pipeline.tracking.tracker import Tracker

Shot = tuple[float, Frame, np.ndarray | None]
"""Seconds, the frame, and the camera's pose in the twin's world (4, 4); None where the camera stands still."""


def follow(scene: Scene, shots: Iterable[Shot], segments: Iterable[Segment] = ()) -> Generator[int, None, Track]:
    """Yield the number of frames done; return the track of all objects.

    The first frame is the one that the twin was made of. Raises TrackError without two frames, SceneError for a mesh
    that cannot be read, FrameError as the frames do.
    """
    tracker: Tracker | None = None
    times, poses, states, errors, has_camera = [], [], [], [], False
    for number, (time, frame, camera) in enumerate(shots):
        if tracker is None:
            if not scene.placements:
                raise TrackError("the twin has no objects to follow")
            tracker = Tracker(scene, frame, segments)
        else:
            tracker.step(frame, time, camera)
        has_camera |= camera is not None
        times.append(time)
        poses.append([_row(one.pose) for one in tracker.objects])
        states.append([STATES.index(one.state) for one in tracker.objects])
        errors.append(
            [_error(one.evidence) if one.state in ("still", "tracked") else np.nan for one in tracker.objects]
        )
        yield number + 1
    if tracker is None or len(times) < 2:
        raise TrackError("a track needs a recording of two frames or more")
    names = tuple(one.model.name for one in tracker.objects)
    seconds = np.array(times) - times[0]
    track = Track(names, seconds, np.array(poses), np.array(states, np.uint8), np.array(errors))
    doubts = (CAMERA_MOVES,) if track.seems_carried_whole and not has_camera else ()
    return replace(track, events=find_events(track, scene), doubts=doubts)


def _row(pose: np.ndarray) -> np.ndarray:
    found = Pose.from_matrix(pose)
    return np.concatenate([found.pos, found.quat_wxyz])


def _error(found: Evidence | None) -> float:
    """Return the root mean square of the depth errors that a pose leaves, in metres; NaN where nothing agrees."""
    if found is None or not found.agree:
        return float("nan")
    return TOLERANCE_M * float(np.sqrt(found.spread / found.agree))

"""Poses of objects in a log, at the rows of its joint positions: geometry_msgs/PoseStamped and tf."""

import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from pipeline.divergence.episode import EpisodeError, interpolated, require_size
from pipeline.divergence.robot_logs.bag import POSE, Bag, stamp_of
from pipeline.divergence.robot_logs.joint_states import Clock

FIXED_FRAMES = ("world", "map", "base", "base_link")
"""Frames whose poses are taken."""
_FRAME = re.compile(r"/?objects?[/_]([\w.-]+)")
_TOPIC = re.compile(r"(?:.*/)?objects?/([\w.-]+?)(?:[/_]pose)?")


class _Track:
    """Poses of one object over the time of the rows."""

    def __init__(self, frame: str, rows: np.ndarray) -> None:
        self.frame, self._rows, self._last = frame, rows, -1
        self._times, self._poses = [], []

    def append(self, time: int, pose: np.ndarray) -> None:
        if time <= self._last:  # tf repeats what it knows
            return
        if self._poses and pose[3:] @ self._poses[-1][3:] < 0:
            pose[3:] *= -1
        self._last = time
        self._times.append(time)
        self._poses.append(pose)

    def at_rows(self) -> np.ndarray:
        """Return the poses at the rows, linear between those in the log and held outside, of shape (T, 7)."""
        times = np.array(self._times, np.int64)
        poses = interpolated((self._rows - times[0]) * 1e-9, (times - times[0]) * 1e-9, np.array(self._poses))
        poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        return poses


def object_of_topic(topic: str) -> str | None:
    """Return the object that a topic names: cup of /objects/cup and /objects/cup/pose."""
    found = _TOPIC.fullmatch(topic)
    return found[1] if found else None


def read_object_poses(bag: Bag, topics: Collection[str], clock: Clock) -> dict[str, np.ndarray]:
    """Return the poses of the objects on topics at each row, of shape (T, 7): metres and quaternion wxyz.

    Poses in a frame that moves, such as a camera's, are left. Raises EpisodeError.
    """
    tracks: dict[str, _Track] = {}
    for name, logged, header, position, rotation in _poses(bag, topics):
        frame = header.frame_id.strip("/")
        if frame not in FIXED_FRAMES or (name in tracks and frame != tracks[name].frame):
            continue
        rows, time = clock.by(stamp_of(header), logged)
        if name not in tracks:
            require_size((len(tracks) + 1) * len(rows) * 7 * 8, f"{bag.name} (poses of objects)")
            tracks[name] = _Track(frame, rows)
        pose = np.array([position.x, position.y, position.z, rotation.w, rotation.x, rotation.y, rotation.z], float)
        if not np.isfinite(pose).all() or not 0.5 < np.linalg.norm(pose[3:]) < 2:
            raise EpisodeError(f"{bag.name}: a pose of {name} is none (position {pose[:3]}, rotation wxyz {pose[3:]})")
        tracks[name].append(time, pose)
    return {name: track.at_rows() for name, track in tracks.items()}


def _poses(bag: Bag, topics: Collection[str]) -> Iterator[tuple[str, int, Any, Any, Any]]:
    """Yield the object's name, the time of logging, the header, the position and the rotation of each pose."""
    for topic, logged, message in bag.messages(topics):
        if bag.topics[topic] == POSE:
            name = object_of_topic(topic) or topic.strip("/").removesuffix("/pose").removesuffix("_pose").split("/")[-1]
            yield name, logged, message.header, message.pose.position, message.pose.orientation
            continue
        for one in message.transforms:
            if found := _FRAME.fullmatch(one.child_frame_id):
                yield found[1], logged, one.header, one.transform.translation, one.transform.rotation

"""Logs of ROS 1 and ROS 2, written by rosbags as a robot's recorder would."""

from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rosbags import rosbag1, rosbag2
from rosbags.typesys import Stores, get_typestore

from pipeline.divergence import Episode

START_NS = 1_700_000_000_123_456_789
KINDS = ("one.bag", "sqlite", "mcap", "mcap/mcap.mcap")
"""What is read: a file of ROS 1, folders of ROS 2, and a file of ROS 2 alone."""


@dataclass
class Log:
    writer: Any
    types: Any
    ros1: bool

    def __post_init__(self):
        self._connections = {}

    def make(self, kind: str, **fields: Any) -> Any:
        return self.types.types[kind](**fields)

    def header(self, stamp: int, frame: str = "") -> Any:
        time = self.make("builtin_interfaces/msg/Time", sec=stamp // 10**9, nanosec=stamp % 10**9)
        return self.make("std_msgs/msg/Header", stamp=time, frame_id=frame, **({"seq": 0} if self.ros1 else {}))

    def write(self, topic: str, time: int, message: Any) -> None:
        kind = message.__msgtype__
        if topic not in self._connections:
            self._connections[topic] = self.writer.add_connection(topic, kind, typestore=self.types)
        encode = self.types.serialize_ros1 if self.ros1 else self.types.serialize_cdr
        self.writer.write(self._connections[topic], time, encode(message, kind))

    def joints(self, topic: str, time: int, names: Iterable[str], positions: Any, stamp: int | None = None) -> None:
        """Write a JointState; stamp 0 means none."""
        none = np.zeros(0)
        self.write(topic, time, self.make(
            "sensor_msgs/msg/JointState", header=self.header(time if stamp is None else stamp), name=list(names),
            position=np.asarray(positions, float), velocity=none, effort=none,
        ))  # fmt: skip

    def numbers(self, topic: str, time: int, values: Any) -> None:
        layout = self.make("std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)
        data = np.asarray(values, float)
        self.write(topic, time, self.make("std_msgs/msg/Float64MultiArray", layout=layout, data=data))

    def trajectory(self, topic: str, time: int, names: Iterable[str], points: dict[float, Any], stamp: int = 0) -> None:
        """Write a JointTrajectory of positions by seconds from its start."""
        none, made = np.zeros(0), []
        for seconds, positions in points.items():
            span = self.make("builtin_interfaces/msg/Duration", sec=int(seconds), nanosec=round(seconds % 1 * 10**9))
            made.append(self.make(
                "trajectory_msgs/msg/JointTrajectoryPoint", positions=np.asarray(positions, float), velocities=none,
                accelerations=none, effort=none, time_from_start=span,
            ))  # fmt: skip
        self.write(topic, time, self.make(
            "trajectory_msgs/msg/JointTrajectory", header=self.header(stamp), joint_names=list(names), points=made
        ))  # fmt: skip

    def placed(self, pose: Any, kind: str, point: str, place: str, turn: str) -> Any:
        x, y, z, qw, qx, qy, qz = map(float, pose)
        made = {place: self.make(f"geometry_msgs/msg/{point}", x=x, y=y, z=z)}
        made[turn] = self.make("geometry_msgs/msg/Quaternion", x=qx, y=qy, z=qz, w=qw)
        return self.make(f"geometry_msgs/msg/{kind}", **made)

    def pose(self, topic: str, time: int, pose: Any) -> None:
        """Write a PoseStamped of metres and quaternion wxyz."""
        made = self.placed(pose, "Pose", "Point", "position", "orientation")
        self.write(
            topic, time, self.make("geometry_msgs/msg/PoseStamped", header=self.header(time, "world"), pose=made)
        )

    def transform(self, time: int, child: str, pose: Any, frame: str = "world") -> None:
        made = self.placed(pose, "Transform", "Vector3", "translation", "rotation")
        more = {"header": self.header(time, frame), "child_frame_id": child, "transform": made}
        stamped = self.make("geometry_msgs/msg/TransformStamped", **more)
        self.write("/tf", time, self.make("tf2_msgs/msg/TFMessage", transforms=[stamped]))


@contextmanager
def log(folder: Path, kind: str = "one.bag"):
    """Open a log in a folder, of one of KINDS; it is read at folder / kind."""
    if kind.endswith(".bag"):
        with rosbag1.Writer(folder / kind) as writer:
            yield Log(writer, get_typestore(Stores.ROS1_NOETIC), True)
        return
    plugin = rosbag2.StoragePlugin.SQLITE3 if kind == "sqlite" else rosbag2.StoragePlugin.MCAP
    with rosbag2.Writer(folder / kind.split("/")[0], version=9, storage_plugin=plugin) as writer:
        yield Log(writer, get_typestore(Stores.LATEST), False)


def nanoseconds(seconds: float) -> int:
    return START_NS + round(seconds * 10**9)


def write_log(episode: Episode, folder: Path, kind: str) -> Path:
    """Write an episode's positions as one topic, and its actions as plain numbers."""
    with log(folder, kind) as written:
        for row, (seconds, positions) in enumerate(zip(episode.times, episode.positions, strict=True)):
            written.joints("/joint_states", nanoseconds(seconds), episode.names, positions)
            if episode.actions is not None:
                written.numbers("/commands", nanoseconds(seconds), episode.actions[row])
    return folder / kind

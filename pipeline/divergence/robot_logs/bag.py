"""Bag: an open log of ROS 1 or ROS 2, of whose messages some are read as an episode."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.divergence.episode import EpisodeError
from pipeline.untrusted.ros_log import Bag, RosLogError, open_ros_log, stamp_of

__all__ = ["Bag", "open_bag", "stamp_of"]

JOINT_STATE = "sensor_msgs/msg/JointState"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
NUMBERS = "std_msgs/msg/Float64MultiArray"
POSE = "geometry_msgs/msg/PoseStamped"
TRANSFORMS = "tf2_msgs/msg/TFMessage"
READ_TYPES = (JOINT_STATE, TRAJECTORY, NUMBERS, POSE, TRANSFORMS)


@contextmanager
def open_bag(path: Path) -> Iterator[Bag]:
    """Open a file or a folder. Raises EpisodeError: rosbags is missing, the log is damaged or of another kind."""
    try:
        with open_ros_log(path) as bag:
            yield bag
    except RosLogError as error:
        raise EpisodeError(str(error)) from None

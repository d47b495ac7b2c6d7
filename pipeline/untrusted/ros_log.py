"""An open log of ROS 1 or ROS 2, whose messages are decoded one at a time.

Only standard messages are decoded, by the definitions that come with rosbags: those in a file, from which rosbags would
generate code, are never used.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError


class RosLogError(StudioError):
    """A log that cannot be read."""


class Bag:
    """A log that is open."""

    def __init__(self, path: Path, reader: Any, is_ros1: bool) -> None:
        from rosbags.typesys import Stores, get_typestore

        self.name, self._path, self._is_ros1 = path.name, path, is_ros1
        self._connections = [one for one in reader.connections if one.topic.isprintable() and one.msgtype.isprintable()]
        self._reader, self._types = reader, get_typestore(Stores.ROS1_NOETIC if is_ros1 else Stores.LATEST)
        filled = sorted((one.topic, _full_type(one.msgtype)) for one in self._connections if one.msgcount)
        self.topics = dict(filled)
        """Type of each topic with messages, as package/msg/Name, by name."""

    def messages(self, topics: Collection[str], at: int | None = None) -> Iterator[tuple[str, int, Any]]:
        """Yield topic, time of logging in nanoseconds, and message, in the order of logging. Raises RosLogError.

        With `at`, only those that were logged at that time.
        """
        chosen = [one for one in self._connections if one.topic in topics]
        for one in chosen:
            self._check_definition(one)
        if not chosen:
            return
        decode = self._types.deserialize_ros1 if self._is_ros1 else self._types.deserialize_cdr
        with _one_line(self._path):
            for connection, time, data in self._reader.messages(chosen, start=at, stop=None if at is None else at + 1):
                # Nanoseconds; more is no time
                if not 0 <= time < (1 << 62):
                    raise RosLogError(f"{self.name}: a message on {connection.topic} has no time")
                yield connection.topic, time, decode(data, _full_type(connection.msgtype))

    def _check_definition(self, connection: Any) -> None:
        """Refuse a message that has the name of a standard one, and other fields."""
        kind = _full_type(connection.msgtype)
        own = self._types.generate_msgdef(kind)[1] if self._is_ros1 else self._types.hash_rihs01(kind)
        if kind != self.topics.get(connection.topic, kind) or connection.digest not in ("", "*", None, own):
            raise RosLogError(f"{self.name}: messages on {connection.topic} are not the standard {kind}")


@contextmanager
def open_ros_log(path: Path) -> Iterator[Bag]:
    """Open a file or a folder. Raises RosLogError: rosbags is missing, the log is damaged or of another kind."""
    try:
        from rosbags import rosbag1, rosbag2
    except ImportError:
        raise RosLogError(
            f'{path.name}: rosbags is missing, which reads logs; install it by: pip install "grs-studio[logs]"'
        ) from None
    is_ros1 = path.suffix.lower() == ".bag" and path.is_file()
    with _one_line(path):
        reader = rosbag1.Reader(path) if is_ros1 else rosbag2.Reader(path)
        reader.open()
    try:
        yield Bag(path, reader, is_ros1)
    finally:
        reader.close()


def stamp_of(header: Any) -> int:
    """Return the time in a message's header in nanoseconds; 0 if it has none."""
    return header.stamp.sec * 10**9 + header.stamp.nanosec


def _full_type(name: str) -> str:
    return name.replace("/", "/msg/") if name.count("/") == 1 else name


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Turn whatever the library raises for a damaged file into a RosLogError."""
    try:
        yield
    except RosLogError:
        raise
    except Exception as error:  # of six libraries: assertions, struct.error, those of SQLite, YAML, LZ4 and Zstandard
        reason = " ".join(str(error).replace(str(path), path.name).split())[:200].rstrip(".") or type(error).__name__
        if isinstance(error, MemoryError):  # by a length that was damaged
            reason = "it asks for more memory than there is"
        raise RosLogError(
            f"{path.name} cannot be read as a log of ROS: {reason}; if its recording was cut off, repair it "
            "(rosbag reindex, ros2 bag reindex, mcap recover)"
        ) from None

"""Read image topics of ROS 2 in an .mcap log: colour, depth and camera_info of one camera.

https://docs.ros.org/en/rolling/p/sensor_msgs; depth in 16UC1 is in millimetres, in 32FC1 in metres (REP 118).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.camera import camera_from_json
from pipeline.frame.formats.intrinsics import intrinsics_from_matrix
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.rgbd_pairs import DEPTH_WORD, pair_by_time
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import check_pixel_count, read_depth, read_rgb
from pipeline.untrusted.ros_log import Bag, RosLogError, open_ros_log, stamp_of

IMAGES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
CHANNELS = {"rgb8": (0, 1, 2), "bgr8": (2, 1, 0), "rgba8": (0, 1, 2), "bgra8": (2, 1, 0), "mono8": (0, 0, 0)}
"""Channels of red, green and blue by encoding."""
PIXEL_BYTES = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}
DEPTH_TYPES = {"16UC1": ("u2", 0.001), "mono16": ("u2", 0.001), "32FC1": ("f4", 1.0)}
"""Number type and metres per unit by encoding."""
MAX_MESSAGES = 100_000
PNG = b"\x89PNG\r\n\x1a\n"
EXPECTED = "it should hold sensor_msgs/Image or CompressedImage of colour and of depth, and the colour's CameraInfo"


@dataclass(frozen=True)
class _Topics:
    colour: str
    depth: str
    camera: str


def open_mcap(path: Path) -> Recording:
    """Open the log. Raises FrameError, also for one without colour, depth and camera_info."""
    with _bag(path) as bag:
        topics = _choose_topics(bag)
        stamps: dict[str, list[tuple[float, str]]] = {topics.colour: [], topics.depth: []}
        for count, (topic, time, message) in enumerate(bag.messages(stamps)):
            stamps[topic].append(((stamp_of(message.header) or time) * 1e-9, str(time)))
            if count > MAX_MESSAGES:
                raise FrameError(f"{path.name} holds more than {MAX_MESSAGES:,} images; cut it (mcap filter).")
        info = next(message for _, _, message in bag.messages([topics.camera]))
    pairs = pair_by_time(sorted(stamps[topics.colour]), sorted(stamps[topics.depth]))
    if not pairs:
        raise FrameError(f"{path.name}: no image of {topics.depth} is as old as one of {topics.colour}.")
    intrinsics = {"width": int(info.width), "height": int(info.height)} | intrinsics_from_matrix(info.k, topics.camera)

    def read(index: int) -> Frame:
        with _bag(path) as bag:
            colour, depth = (
                next(message for _, _, message in bag.messages([topic], at=int(time)))
                for topic, time in zip((topics.colour, topics.depth), pairs[index][1:], strict=True)
            )
        raw_depth, scale = _depth(depth, topics.depth)
        camera = camera_from_json(intrinsics | {"depth_scale": scale}, topics.camera)
        return assemble_frame(_colour(colour, topics.colour), raw_depth, camera, path.name)

    times = tuple(pair[0] - pairs[0][0] for pair in pairs)
    names, colours = tuple(f"{time:.2f} s" for time in times), partial(_read_colours, path, topics.colour)
    return Recording("log of ROS 2", names, read, times, colours=partial(colours, [int(pair[1]) for pair in pairs]))


def _read_colours(path: Path, topic: str, times: list[int], every: int) -> Iterator[np.ndarray]:
    """Yield colour (H, W, 3), uint8, of every n-th of the images logged at these times. Raises FrameError."""
    wanted = set(times[::every])
    with _bag(path) as bag:
        for _, time, message in bag.messages([topic]):
            if time in wanted:
                yield _colour(message, topic)


@contextmanager
def _bag(path: Path) -> Iterator[Bag]:
    try:
        with open_ros_log(path) as bag:
            yield bag
    except RosLogError as error:
        raise FrameError(str(error)) from None


def _choose_topics(bag: Bag) -> _Topics:
    """Return the topics of one camera: depth that is aligned to colour if there is any. Raises FrameError."""
    images = [topic for topic, kind in bag.topics.items() if kind in IMAGES]
    depths = sorted(
        (topic for topic in images if DEPTH_WORD.search(topic)),
        key=lambda topic: (not any(word in topic for word in ("aligned", "registered", "rect")), topic),
    )
    colours = [topic for topic in images if topic not in depths and not any(w in topic for w in ("infra", "/ir"))]
    infos = [topic for topic, kind in bag.topics.items() if kind == CAMERA_INFO and not DEPTH_WORD.search(topic)]
    if not depths or not colours or not infos:
        raise FrameError(f"{bag.name}: it has the topics {', '.join(bag.topics)[:200] or 'of nothing'}; {EXPECTED}.")
    colour = max(colours, key=lambda topic: ("color" in topic or "rgb" in topic, "rect" in topic, -len(topic)))
    return _Topics(colour, depths[0], max(infos, key=lambda topic: _shared_names(topic, colour)))


def _shared_names(topic: str, other: str) -> int:
    """Return how many names of two topics agree from the start: those of one camera share its namespace."""
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(topic.split("/"), other.split("/"), strict=False))])


def _colour(message: Any, topic: str) -> np.ndarray:
    """Return colour of shape (H, W, 3), uint8. Raises FrameError."""
    if message.__msgtype__ == IMAGES[1]:
        return read_rgb(message.data.tobytes(), topic)
    channels = CHANNELS.get(message.encoding)
    if channels is None:
        raise FrameError(f"{topic} is encoded as {message.encoding[:40]!r}, not as one of {', '.join(CHANNELS)}.")
    pixels = _rows(message, topic, PIXEL_BYTES[message.encoding])
    return np.ascontiguousarray(pixels.reshape(message.height, message.width, -1)[..., channels])


def _depth(message: Any, topic: str) -> tuple[np.ndarray, float]:
    """Return depth in its own numbers, of shape (H, W), and metres per unit. Raises FrameError."""
    if message.__msgtype__ == IMAGES[1]:
        raw = message.data[:100].tobytes()  # compressed_depth_image_transport puts 12 bytes before the PNG
        if PNG not in raw or "32FC1" in message.format:
            raise FrameError(f"{topic} is compressed as {message.format[:40]!r}; record it uncompressed, or as PNG.")
        return read_depth(message.data[raw.index(PNG) :].tobytes(), topic), DEPTH_TYPES["16UC1"][1]
    if message.encoding not in DEPTH_TYPES:
        raise FrameError(f"{topic} is encoded as {message.encoding[:40]!r}, not as one of {', '.join(DEPTH_TYPES)}.")
    kind, scale = DEPTH_TYPES[message.encoding]
    number = np.dtype((">" if message.is_bigendian else "<") + kind)
    values = _rows(message, topic, number.itemsize).view(number).astype(number.newbyteorder("="))
    return values.reshape(message.height, message.width), scale


def _rows(message: Any, topic: str, pixel_bytes: int) -> np.ndarray:
    """Return an image's bytes without padding, of shape (H, W * pixel_bytes). Raises FrameError."""
    check_pixel_count(message.width, message.height, topic)
    width = message.width * pixel_bytes
    if not width or message.step < width or len(message.data) < message.step * message.height:
        raise FrameError(f"An image of {topic} is damaged: {len(message.data)} bytes for {message.height} rows.")
    used = np.asarray(message.data, np.uint8)[: message.step * message.height]
    return np.ascontiguousarray(used.reshape(message.height, message.step)[:, :width])

"""Track: where each object of a twin was at each frame of a recording, and what happened to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pipeline.errors import StudioError
from pipeline.frame import Doubt

CAMERA_MOVES = Doubt(
    "camera",
    "All objects move alike, as they do when the camera moves.",
    "Give a recording that says where its camera was: TUM, BOP, Record3D, or a trajectory of Open3D.",
)
APART_M, ALIKE_M = 0.015, 0.005
"""Objects that all moved farther than the first, and whose distances changed by less than the second, moved alike. The
second is above the 4 mm by which an object at rest may wander (REST_M of the tracker)."""

State = Literal["still", "tracked", "occluded", "lost"]
STATES: tuple[State, ...] = ("still", "tracked", "occluded", "lost")


class TrackError(StudioError):
    """A recording that cannot be tracked, or a track that cannot be read."""


@dataclass(frozen=True)
class Event:
    """A change of what an object rests on, or a contact of two objects."""

    time: float
    """Seconds since the first frame."""
    kind: Literal["picked", "placed", "fell", "touched", "lost", "found"]
    object: str
    on: str = ""
    """What it rests on or touches: an object, a shelf, "table"; "" if nothing is known."""

    def to_json(self) -> dict[str, Any]:
        """Return the event with its time rounded to milliseconds."""
        return {"time": round(self.time, 3), "kind": self.kind, "object": self.object, "on": self.on}


@dataclass(frozen=True, eq=False)
class Track:
    """Poses and states of a twin's objects over time."""

    names: tuple[str, ...]
    """Of the K objects."""
    times: np.ndarray
    """Seconds since the first frame, of shape (T,), rising."""
    poses: np.ndarray
    """world_from_object: metres and quaternion wxyz, of shape (T, K, 7). The last one that was seen where the state is
    "lost" or "occluded"."""
    states: np.ndarray
    """Index into STATES, of shape (T, K), uint8."""
    errors: np.ndarray
    """Estimated error of each pose in metres, of shape (T, K): from the depth that it predicts. NaN where unseen."""
    events: tuple[Event, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    """Why the poses may not be those of the objects."""
    numbers: tuple[int, ...] = ()
    """Of the T frames in their recording; empty if they are 0 to T - 1."""

    @property
    def seems_carried_whole(self) -> bool:
        """Whether at some frame two objects or more, all that there are, moved without moving to one another."""
        places, seen = self.poses[:, :, :3], (self.states <= STATES.index("tracked")).all(1)
        between = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)
        apart = np.linalg.norm(places - places[0], axis=-1).min(1) > APART_M
        return len(self.names) > 1 and bool((seen & apart & (np.abs(between - between[0]).max((1, 2)) < ALIKE_M)).any())

    def state(self, frame: int, number: int) -> State:
        """Return the state of one object at one frame."""
        return STATES[self.states[frame, number]]

    def index_at(self, time: float) -> int:
        """Return the frame nearest to a time in seconds. Raises TrackError outside of the recording."""
        if not self.times[0] - 1e-6 <= time <= self.times[-1] + 0.5:
            raise TrackError(f"there is no instant {time:g} s; the recording lasts from 0 to {self.times[-1]:.2f} s")
        return int(np.abs(self.times - time).argmin())

    def lost_since(self, frame: int, number: int) -> float | None:
        """Return the seconds since which an object is lost at a frame; None if it is not lost then."""
        lost = self.states[: frame + 1, number] == STATES.index("lost")
        if not lost[-1]:
            return None
        seen = np.flatnonzero(~lost)
        return float(self.times[int(seen[-1]) + 1 if len(seen) else 0])


def share_of_states(track: Track, numbers: Sequence[int] | slice = slice(None)) -> dict[str, float]:
    """Return the share of all frames of some objects in each state."""
    states = track.states[:, numbers]
    return {name: float((states == i).mean()) for i, name in enumerate(STATES)}

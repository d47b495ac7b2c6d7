"""Record of one rollout as data, for playback."""

from dataclasses import dataclass

import numpy as np

SOLVED = 0.99
"""A run is solved when its reward is greater, as in GenSim."""


@dataclass(frozen=True)
class Contact:
    """Two objects in contact for some time."""

    a: str
    b: str
    """The other object, or "table"."""
    start: float
    """Simulated seconds."""
    end: float


@dataclass(frozen=True, eq=False)
class GoalProgress:
    """Measurements of every goal at some instants of a rollout."""

    times: np.ndarray
    """Simulated seconds, of shape (S,), rising."""
    misses: np.ndarray
    """How far each goal is from being met, in metres, zero where it is met, of shape (S, G)."""
    contacts: tuple[Contact, ...] = ()
    """Of the objects that the goals name, by start."""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One rollout of the oracle, or of whatever else moved the robot."""

    times: np.ndarray
    """Of shape (T,), in seconds."""
    qpos: np.ndarray
    """Of shape (T, nq)."""
    actions: np.ndarray
    """Of shape (T, nu): the gripper's x, y, z from its home, its yaw and its suction; or the arm's six joint angles and
    the command of its fingers."""
    reward: float = 0.0
    xml: str = ""
    """MJCF of the model; mesh files are in the project's scene folder."""
    events: tuple[dict, ...] = ()
    """The oracle's actions: time, verb, object, target, ok, message."""
    goals: tuple[dict, ...] = ()
    """The goals: name, objects, stage, met, value, miss, nearest_miss, over_time."""
    progress: GoalProgress | None = None
    """The goals over time, in the order of `goals`; None where it was not asked for."""
    seed: int = 0
    """The layout."""
    recipe: dict | None = None
    """How the layout was arranged, as JSON values of a Recipe; None where it was not kept."""


@dataclass(frozen=True, eq=False)
class Observed:
    """What something other than the oracle did, such as a policy; everything is at rest at its end."""

    times: np.ndarray
    """Simulated seconds, of shape (T,), rising."""
    qpos: np.ndarray
    """Of shape (T, nq)."""
    grasps: tuple[tuple[float, str], ...] = ()
    """Time in seconds at which the robot grasped an object, and the object's name."""

    def to_json(self) -> dict:
        """Return the values as JSON."""
        return {"times": self.times.tolist(), "qpos": self.qpos.tolist(), "grasps": [list(one) for one in self.grasps]}

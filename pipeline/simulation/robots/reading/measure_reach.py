"""Finds the home posture of an arm, and how far its gripper reaches over the table while it looks straight down."""

from dataclasses import dataclass, replace

import numpy as np

from pipeline.simulation.robots.arm.kinematics import Kinematics, gripper_pose
from pipeline.simulation.robots.arm.ur5e_kinematics import Ur5eKinematics
from pipeline.simulation.robots.description import ArmModel, Reach
from pipeline.simulation.robots.reading.elements import ModelError
from pipeline.simulation.robots.reading.usual_contacts import LinkContacts

RADII_M = np.arange(0.09, 1.3, 0.03)
HEIGHTS_M = 0.03, 0.13
"""Heights of the gripper above the table: at an object, and where it is lifted to."""
YAWS = (0.0, np.pi / 4, np.pi / 2, -np.pi / 4)
"""Closing directions, from the radius on; either finger may be on either side."""
HOME_SHARES = ((0.5, 0.35), (0.55, 0.25), (0.45, 0.45), (0.6, 0.3), (0.4, 0.3), (0.65, 0.2), (0.35, 0.2))
"""Places of the home as shares of the longest reach: in front of the base, and above it; the first that is free."""
MIN_RING_M = 0.08
"""Least width of that ring: an object and its place side by side."""


@dataclass(frozen=True, eq=False)
class ReachMap:
    """Where the gripper gets while it looks straight down."""

    radii: tuple[float, ...]
    """Distances from the base's axis in metres, N of them."""
    heights: tuple[float, ...]
    """Heights above the table in metres, M of them."""
    reached: np.ndarray
    """Of shape (M, N), bool: with every closing direction."""


def with_home(arm: ArmModel, file: str, keyframe: np.ndarray | None) -> ArmModel:
    """Return an arm with its home: that of the model's keyframe if its gripper looks down there, else one found.

    Raises ModelError.
    """
    limits = Kinematics(replace(arm, home=(0.0,) * len(arm.joints)), np.zeros(3), 0.0).model.jnt_range
    starts = [limits.mean(1)] if keyframe is None else [np.clip(keyframe, *limits.T), limits.mean(1)]
    for start in starts:
        guess = replace(arm, home=tuple(start.tolist()))
        kinematics = Kinematics(guess, np.array([0, 0, arm.base_height]), 0.0)
        length = kinematics.longest_reach()
        for ahead, above in HOME_SHARES:
            point = np.array([ahead * length, 0, arm.base_height + above * length])
            poses = (gripper_pose(point, yaw) for yaw in (np.pi / 2, 0.0, -np.pi / 2, np.pi))
            if found := [q for pose in poses if (q := kinematics.solve(pose)) is not None]:
                best = max(found, key=lambda q: float(_room(q, limits).min()))
                return replace(arm, home=tuple(best.tolist()))
    raise ModelError(f"the arm of {file} cannot look straight down on the table, so it takes nothing from above")


def _room(q: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return how far each joint is from its nearest limit, as a share of its range, of shape (N,)."""
    return np.minimum(q - limits[:, 0], limits[:, 1] - q) / np.ptp(limits, axis=1)


def reach_map(arm: ArmModel) -> ReachMap:
    """Return where an arm reaches without touching itself, in the direction in which its home posture reaches."""
    base = np.array([0, 0, arm.base_height])
    kinematics = Ur5eKinematics(base, 0.0) if arm.analytic == "ur5e" else Kinematics(arm, base, 0.0)
    links = LinkContacts(arm)

    def is_reached(pose: np.ndarray) -> bool:
        q = kinematics.solve(pose)
        return q is not None and not links.at(q)

    reached = np.zeros((len(HEIGHTS_M), len(RADII_M)), bool)
    for row, height in enumerate(HEIGHTS_M):
        for column, radius in enumerate(RADII_M.tolist()):
            point = np.array([radius, 0, height])
            poses = [[gripper_pose(point, yaw + turn) for turn in (0, np.pi)] for yaw in YAWS]
            reached[row, column] = all(any(is_reached(pose) for pose in pair) for pair in poses)
    return ReachMap(tuple(RADII_M.round(3).tolist()), HEIGHTS_M, reached)


def ring_of(reached: ReachMap, file: str) -> Reach:
    """Return the ring in which an arm works easily: the longest run of radii reached at all heights.

    Raises ModelError where it is too narrow.
    """
    radii, both = np.array(reached.radii), np.asarray(reached.reached.all(0))
    runs = np.split(np.arange(len(radii)), np.flatnonzero(np.diff(both.astype(int))) + 1)
    run = max((run for run in runs if both[run[0]]), key=len, default=None)
    if run is None or radii[run[-1]] - radii[run[0]] < MIN_RING_M:
        least = f"{MIN_RING_M * 100:.0f} cm"
        found = 0.0 if run is None else float(radii[run[-1]] - radii[run[0]]) * 100
        raise ModelError(f"the arm of {file} reaches a ring of {found:.0f} cm of the table; it takes {least}")
    near, far = float(radii[run[0]]), float(radii[run[-1]])
    # 0.035: how far the ring in which objects are placed stays off the outermost radius
    margin = min(0.035, (far - near) / 4)
    inner = max(near, 0.15)  # what stands nearer than the post is wide is never easy to reach
    return Reach(
        round(min(inner + margin, far - 2 * margin), 3),
        round(far - margin, 3),
        (round(near, 3), round(far, 3)),
        (round(0.75 * far, 3), round(far, 3)),
    )

"""Refuses episodes in degrees, millimetres or milliseconds before they are compared with others."""

from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.divergence.episode import MAX_ANGLE, ArmJoints, Episode, EpisodeError
from pipeline.divergence.robot_kinematics import RobotKinematics

FACTORS = {180 / np.pi: ("degrees", "radians"), 1000.0: ("millimetres", "metres")}
TIME_FACTORS = {1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds"}
MIN_TRAVEL = 1e-3
"""Radians or metres that a joint travels before its travel is compared."""


def check_units(
    real: Episode,
    sim: Episode,
    arms: Mapping[str, ArmJoints],
    extents: Sequence[np.ndarray],
    robot: RobotKinematics | None,
) -> None:
    """Raise EpisodeError if one of two episodes is in other units than radians, metres and seconds.

    Args:
        extents: smallest and largest position of each column of the arms, of shape (2, n), of both episodes.
    """
    for factor, unit in TIME_FACTORS.items():
        for one, other in ((real, sim), (sim, real)):
            if _near(one.duration / other.duration, factor):
                raise EpisodeError(f"{one.source}: its times look like {unit}; they have to be in seconds")
    names = [name for arm in arms.values() for name in arm.columns]
    joints = np.array([name in arm.joints for arm in arms.values() for name in arm.columns])
    for episode, extent in zip((real, sim), extents, strict=True):
        for name, is_joint, (low, high) in zip(names, joints, extent.T, strict=True):
            width = robot.range_of(name) if robot else None
            reach = max(abs(low), abs(high))
            # 20.0: times the joint's limits that it cannot travel
            if (width and high - low > 20.0 * width) or (is_joint and reach > max(MAX_ANGLE, width or 0)):
                raise EpisodeError(
                    f"{episode.source}: {name} reaches {reach:g}; positions have to be in radians and metres, "
                    "not degrees or millimetres"
                )
    travel_real, travel_sim = (np.ptp(extent, axis=0) for extent in extents)
    for chosen in (joints, ~joints):
        moving = chosen & (travel_real > MIN_TRAVEL) & (travel_sim > MIN_TRAVEL)
        if not moving.any():
            continue
        ratio = float(np.median(travel_real[moving] / travel_sim[moving]))
        for factor, (wrong, right) in FACTORS.items():
            for episode, value in ((real, ratio), (sim, 1 / ratio)):
                if _near(value, factor):
                    raise EpisodeError(
                        f"{episode.source}: its joints travel {value:.0f} times as far as the other's; "
                        f"positions look like {wrong} instead of {right}"
                    )


def _near(value: float, factor: float) -> bool:
    # Share by which a ratio of two episodes may differ from a factor between units
    return abs(value / factor - 1) < 0.08

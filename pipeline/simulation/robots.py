"""The robots that can perform a task, by name."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.errors import StudioError

if TYPE_CHECKING:
    from pipeline.simulation.oracle.robot import Robot


class RobotError(StudioError):
    """A robot that there is not."""


@dataclass(frozen=True)
class RobotKind:
    """One robot as the app and the command line offer it."""

    name: str
    """As in `--robot NAME`."""
    title: str
    note: str
    """How it holds objects, in a few words."""
    phrase: str
    """Follows "solved": "with a floating gripper"."""
    source: str
    """Value of a solution's `source`."""
    floats: bool
    """Whether it reaches everything from above."""
    make: Callable[[bool], "Robot"] = field(repr=False)
    """Imports and returns the robot; planning libraries take a second to import. False: one that plans its moves and
    puts objects where they would go, without moving itself. A robot that floats always moves."""


def _floating_gripper(moves: bool) -> "Robot":
    from pipeline.simulation.oracle.oracle import FloatingGripper

    return FloatingGripper()


def _finger_arm(moves: bool) -> "Robot":
    from pipeline.simulation.arm.arm_robot import Arm

    return Arm(moves)


def _suction_arm(moves: bool) -> "Robot":
    from pipeline.simulation.arm.suction_arm import SuctionArm

    return SuctionArm(moves)


ROBOTS: dict[str, RobotKind] = {
    kind.name: kind
    for kind in (
        RobotKind(
            "gripper", "Floating gripper", "quick: seconds", "with a floating gripper", "oracle, floating gripper",
            True, _floating_gripper,
        ),
        RobotKind(
            "arm", "UR5e arm, 2F-85", "by friction, within reach: about a minute",
            "with a UR5e arm and a 2F-85 gripper", "oracle, UR5e with a 2F-85", False, _finger_arm,
        ),
        RobotKind(
            "arm-suction", "UR5e arm, vacuum gripper", "by suction within its force limits: about a minute",
            "with a UR5e arm and a vacuum gripper", "oracle, UR5e with a vacuum gripper", False, _suction_arm,
        ),
    )
}  # fmt: skip
"""All robots, the quickest first."""


def robot_kind(name: str) -> RobotKind:
    """Return the robot of that name. Raises RobotError that lists the names there are."""
    if name not in ROBOTS:
        raise RobotError(f"There is no robot '{name}'; there are: {', '.join(ROBOTS)}.")
    return ROBOTS[name]

"""The robots that can perform a task, by name."""

import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import StudioError

if TYPE_CHECKING:
    from pipeline.simulation.robots.robot import Robot


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
    entry: str
    """Module and class, imported when it is first used: planning libraries take a second."""

    def make(self, moves: bool) -> "Robot":
        """Return the robot. `moves=False`: it plans its moves and puts objects where they would go, itself at rest.

        A robot that floats always moves.
        """
        robot = pkgutil.resolve_name(f"{__name__}.{self.entry}")
        return robot() if self.floats else robot(moves)


ROBOTS: dict[str, RobotKind] = {
    kind.name: kind
    for kind in (
        RobotKind(
            "gripper", "Floating gripper", "quick: seconds", "with a floating gripper", "oracle, floating gripper",
            True, "gripper.hand:FloatingGripper",
        ),
        RobotKind(
            "arm", "UR5e arm, 2F-85", "by friction, within reach: about a minute",
            "with a UR5e arm and a 2F-85 gripper", "oracle, UR5e with a 2F-85", False,
            "arm.arm_robot:Arm",
        ),
        RobotKind(
            "arm-suction", "UR5e arm, vacuum gripper", "by suction within its force limits: about a minute",
            "with a UR5e arm and a vacuum gripper", "oracle, UR5e with a vacuum gripper", False,
            "arm.arm_robot:SuctionArm",
        ),
    )
}  # fmt: skip
"""All robots, the quickest first."""


def robot_kind(name: str) -> RobotKind:
    """Return the robot of that name. Raises RobotError that lists the names there are."""
    if name not in ROBOTS:
        raise RobotError(f"There is no robot '{name}'; there are: {', '.join(ROBOTS)}.")
    return ROBOTS[name]

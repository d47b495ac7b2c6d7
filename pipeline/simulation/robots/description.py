"""What a robot is: the description that an entry point `grs_studio.robots` or a folder of the workspace gives.

A floating robot needs names and an entry only. An arm also has an `ArmModel`: its elements by name, its fingers as
measured, and how far it reaches. A robot with two arms has a pair of them. Nothing here reads a model; `ArmModel.read`
does when it is called.
"""

import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from pipeline.errors import StudioError

if TYPE_CHECKING:
    import mujoco

    from pipeline.simulation.robots.robot import Robot

SIDES = ("left", "right")
"""Arms of a pair, in their order."""
MIN_APART_M = 0.2
"""Least distance of the bases of a pair: their posts are 0.18 m wide."""
Control = Literal["joint_position", "joint_velocity", "delta_end_effector"]
VISUAL_GROUP, COLLISION_GROUP = 1, 5
"""Geom groups of visual and collision geoms: the oracle's rays ignore both, viewers draw the first."""
SPARE_M = 0.0025
"""Room that an object needs between the open fingers."""


class DescriptionError(StudioError):
    """A robot whose description contradicts itself."""


@dataclass(frozen=True)
class Camera:
    """A camera of a robot."""

    name: str
    """As in the robot's model."""
    mounted_on: str
    """Name of the body that carries it; "" for one that stands beside the robot, posed in the frame of its base."""
    fovy_deg: float = 45.0
    """Vertical field of view."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """In the frame of that body, in metres."""
    quat_wxyz: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Looks along -z, up is y, as MuJoCo's cameras."""


@dataclass(frozen=True)
class ControlMode:
    """One way in which a policy commands a robot."""

    control: Control
    rate_hz: float


@dataclass(frozen=True)
class Reach:
    """Distances from the base's axis in metres, between which the gripper looks straight down over the table."""

    near: float
    """Inner and outer radius of the ring in which objects are placed: all of it is easy to reach."""
    far: float
    places: tuple[float, float]
    """Radii between which objects held up to 15 cm above their foot can be set down and lifted over."""
    parts: tuple[float, float]
    """Distances of a drawer's or door's front at which the gripper can easily take and shut it."""


@dataclass(frozen=True, eq=False)
class Fingers:
    """Two fingers: opening and tip offset as functions of the command. Tables of equal length K, open first.

    Fingers that move on linkages also move away from the palm while closing, so that their tips have an offset.
    """

    actuators: tuple[str, ...]
    """Names of the actuators that close them, without prefix."""
    open_command: np.ndarray
    """Of shape (number of actuators,)."""
    close_command: np.ndarray
    """Closes them with full force."""
    max_opening: float
    """Distance between the pads of the open gripper, in metres."""
    drive: np.ndarray
    """How far they are closed, of shape (K,), increasing from 0."""
    full_drive: float
    """Value of `drive` at the close command with nothing between the pads."""
    widths: np.ndarray
    """Distance between the pads in metres, of shape (K,), decreasing."""
    tips: np.ndarray
    """How far the tips are beyond the pinch point in metres, of shape (K,)."""
    joints: Mapping[str, np.ndarray]
    """Position of each of their joints, of shape (K,), by name without prefix."""
    pads: tuple[tuple[str, ...], ...]
    """Names of the geoms of each finger that touch what is held, without prefix."""
    palm_offset: float
    """Distance from the pinch point to the palm, in metres."""
    pad_half_width: float
    """Half the width of a finger, in metres."""
    depth: float
    """How far a finger extends outwards from its pad above its tip, in metres."""
    torsion: float = 0.0
    """Torsional friction given to the pads in metres; 0 leaves them as they are."""

    @property
    def max_object(self) -> float:
        """Widest object in metres that fits between the open fingers without touching them."""
        return self.max_opening - SPARE_M

    def drive_at(self, width: float) -> float:
        """Return how far they are closed for a distance between the pads in metres."""
        return float(np.interp(-width, -self.widths, self.drive))

    def command(self, width: float) -> np.ndarray:
        """Return the commands, of shape (number of actuators,), that open the pads to a distance in metres."""
        change = self.close_command - self.open_command
        return self.open_command + change * self.drive_at(width) / self.full_drive

    def tip_offset(self, width: float) -> float:
        """Return how far the tips are beyond the pinch point for a distance between the pads, both in metres."""
        return float(np.interp(-width, -self.widths, self.tips))

    def joint_positions(self, width: float) -> dict[str, float]:
        """Return the positions of the joints by name, without prefix, for a distance between the pads in metres."""
        drive = self.drive_at(width)
        return {name: float(np.interp(drive, self.drive, table)) for name, table in self.joints.items()}


@dataclass(frozen=True, eq=False)
class ArmModel:
    """An arm with its tool: which elements of its model are which. All names are without prefix."""

    read: "Callable[[bool], mujoco.MjSpec]"
    """Read arm and tool as one model with its visual (True) or its collision geoms (False)."""
    meshes: Callable[[bool], dict[str, bytes]]
    """Return the mesh files by name: the visual ones (True), or those that collide (False)."""
    joints: tuple[str, ...]
    """The arm's joints from its base to the tool, N of them."""
    servos: tuple[str, ...]
    """The position servo of each."""
    servo_lag: tuple[float, ...]
    """Damping over stiffness of each servo in seconds: the time by which a command must lead a steady motion."""
    servo_friction: tuple[float, ...]
    """Dry friction of each joint over its servo's stiffness in rad: what a command leads by, as controllers do."""
    tool_site: str
    """Site between the fingers or at the cup: z out of the palm, y from finger to finger."""
    hand: str
    """Name of the body with which the gripper begins; the arm's links end before it."""
    links: tuple[str, ...]
    """Beginnings of the names of the bodies that inverse kinematics keeps off the table."""
    fingers: Fingers | None
    """None: a vacuum cup."""
    reach: Reach
    home: tuple[float, ...] = ()
    """Joint angles in rad, of shape (N,), the gripper looking down in front of the base; () for `home_offset`."""
    home_offset: tuple[float, float] = (0.42, 0.30)
    """Without `home`: distance in front of the base and height above it at which the gripper waits, in metres."""
    forward: float = 0.0
    """Direction in the base's frame, in rad, in which the arm reaches from its home."""
    base_height: float = 0.02
    """Height of the base above the table, in metres."""
    analytic: str = ""
    """Closed-form inverse kinematics of robots/arm/: "ur5e"; "" is numeric alone."""
    meshes_prefix: str = ""
    """Beginning of the names of its mesh files."""
    prefix: str = "arm/"
    """Beginning of the names of its elements in a world: "left/" and "right/" for the arms of a pair."""
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Of an arm of a pair: x and y in metres and yaw in rad of its base in the frame of the robot, x forwards."""


@dataclass(frozen=True, eq=False)
class RobotDescription:
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
    entry: str
    """Module and class that acts, "package.module:Class", imported when it is first used: planning libraries take a
    second. An arm's class is called with this description and `moves`, one that floats without arguments."""
    arm: ArmModel | None = None
    """None: it floats, or has two arms."""
    cameras: tuple[Camera, ...] = ()
    control_modes: tuple[ControlMode, ...] = ()
    origin: str = ""
    """Where its model comes from."""
    licence: str = ""
    """Licence of the model; "" if it is not known."""
    folder: str = field(default="", compare=False)
    """Folder of the workspace that holds it; "" for one of an installed package."""
    pair: tuple[ArmModel, ArmModel] | None = None
    """The left and the right arm of a robot with two."""

    def __post_init__(self) -> None:
        """Raise DescriptionError for two arms that cannot stand or hold."""
        if self.pair is None:
            return
        (x, y, _), (to_x, to_y, _) = (arm.place for arm in self.pair)
        require_apart(self.name, math.hypot(to_x - x, to_y - y))
        for side, arm in zip(SIDES, self.pair, strict=True):
            if arm.fingers is None:
                raise DescriptionError(
                    f"the {side} arm of {self.name} has no gripper with two fingers; both arms of a pair need one"
                )

    @property
    def arms(self) -> tuple[ArmModel, ...]:
        """Its arms: none, one, or the left and the right one."""
        return self.pair or ((self.arm,) if self.arm else ())

    @property
    def floats(self) -> bool:
        """Whether it reaches everything from above."""
        return not self.arms

    def make(self, moves: bool) -> "Robot":
        """Return the robot. `moves=False`: it plans its moves and puts objects where they would go, itself at rest.

        A robot that floats always moves.
        """
        robot = pkgutil.resolve_name(self.entry)
        return robot() if self.floats else robot(moves, self)


def require_apart(robot: str, apart: float) -> None:
    """Raise DescriptionError where the bases of two arms are so near, in metres, that the arms stand in each other."""
    if not apart >= MIN_APART_M:
        raise DescriptionError(
            f"the two arms of {robot} stand in each other: their bases are {apart:.2f} m apart; "
            f"place them at least {MIN_APART_M:g} m apart"
        )

"""The interface of a policy: the observation that it reads and the actions that it answers, read from a TOML file.

Files of this folder are built in. A person's own is named by its path.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.closed_loop.policy import PolicyError
from pipeline.errors import reason_of

FOLDER = Path(__file__).parent
MAX_BYTES = 100_000
MAX_PIXELS = 4096
"""Side of a picture; more than any policy reads."""

Number = Annotated[float, Field(ge=-1e6, le=1e6)]
Count = Annotated[int, Field(ge=0, le=100)]
Pixels = Annotated[int, Field(ge=8, le=MAX_PIXELS)]
Key = Annotated[tuple[str, ...], Field(min_length=1, max_length=4)]
Axes = Annotated[int, Field(ge=0, le=3)]


class InterfaceError(PolicyError):
    """An interface that cannot be read, or that does not fit a robot or a message."""


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reading(_Data):
    """Numbers of the robot's state."""

    read: Literal["joints", "gripper", "actuators", "tool_position", "tool_axis_angle", "tool_quat_wxyz", "state",
                  "objects", "seconds", "layout"]  # fmt: skip
    """joints: positions in rad or m; gripper: from `open` to `closed`; actuators: all, as in a LeRobot export; tool_*:
    of the tool in the frame of the robot's base; state, objects: as the environment observes them."""
    names: str = "*"
    """Pattern of the actuators' names, of joints and grippers."""
    count: Count = 0
    """How many numbers the policy expects; 0 for as many as the robot has."""
    open: Number = 0.0
    closed: Number = 1.0
    """Values of an open and of a closed gripper."""


class Entry(_Data):
    """One value of an observation."""

    key: Key
    """Path of keys in nested dictionaries."""
    camera: str = ""
    """A picture of this camera, RGB, uint8, of shape (height, width, 3)."""
    size: tuple[Pixels, Pixels] = (224, 224)
    """Width and height that the policy reads; the picture keeps its aspect, and black fills the rest."""
    drawn: tuple[Pixels, Pixels] = (640, 480)
    """Width and height in which the camera takes it."""
    shadows: bool = True
    """Whether it has shadows; the pictures of a LeRobot export have none."""
    mirrored: bool = False
    channels_first: bool = False
    text: Literal["", "instruction"] = ""
    values: tuple[Reading, ...] = ()
    axes: Axes = 0
    """Axes of length 1 in front, such as batch and time; a text is nested in as many lists."""

    @model_validator(mode="after")
    def _one_kind(self) -> "Entry":
        if bool(self.camera) + bool(self.text) + bool(self.values) != 1:
            raise ValueError(f"the observation {'.'.join(self.key)} needs one of camera, text and values")
        return self


class Column(_Data):
    """Consecutive columns of an action."""

    move: Literal[
        "joint_position", "joint_velocity", "gripper", "actuators", "tool_translation", "tool_rotation", "ignored"
    ]
    """joint_position: rad or m; joint_velocity: times `scale` rad/s, where 1 is the most; actuators: all, as in a
    LeRobot export; tool_*: changes times `scale` in m or rad (a rotation vector) in the frame of the robot's base."""
    names: str = "*"
    """Pattern of the actuators' names, of joints and grippers."""
    count: Count = 0
    """How many columns; 0 for as many as the robot has."""
    scale: Number = 1.0
    open: Number = 0.0
    closed: Number = 1.0
    threshold: Number | None = None
    """Value at which a gripper changes between open and closed; None for anything between."""


class ActionEntry(_Data):
    """One array of an answer, of shape (K, columns)."""

    key: Key
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    axes: Axes = 0


class Interface(_Data):
    """What a policy reads and answers."""

    rate_hz: Annotated[float, Field(gt=0, le=1000)]
    """Actions a second."""
    chunk: Annotated[int, Field(ge=1, le=500)] = 16
    """Actions of an answer that this project serves."""
    replan_after: Annotated[int, Field(ge=1, le=500)]
    """Actions of an answer that are carried out before the policy is asked again."""
    observation: Annotated[tuple[Entry, ...], Field(min_length=1, max_length=50)]
    action: Annotated[tuple[ActionEntry, ...], Field(min_length=1, max_length=20)]
    name: str = ""


def built_in() -> tuple[str, ...]:
    """Return the names of the built-in interfaces."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def read_interface(text: str) -> Interface:
    """Return the interface of a built-in name, or of a TOML file. Raises InterfaceError."""
    path = FOLDER / f"{text}.toml" if text in built_in() else Path(text)
    if path.suffix != ".toml" or not path.is_file():
        raise InterfaceError(f"there is no interface {text!r}; there are: {', '.join(built_in())}, or FILE.toml")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES // 1000} kB")
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
        return Interface(**{**rows, "name": path.stem})
    except ValidationError as error:
        raise InterfaceError(f"{path} is no interface: {reason_of(error)}") from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InterfaceError(f"{path} cannot be read: {reason_of(error)}") from None

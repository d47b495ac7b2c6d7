"""Robots that a person added: each is a folder of the workspace with robot.json, its model and its meshes."""

import functools
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

import mujoco
import numpy as np
from pydantic import AllowInfNan, BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import StudioError
from pipeline.simulation.robots.description import (
    COLLISION_GROUP,
    SIDES,
    VISUAL_GROUP,
    ArmModel,
    Camera,
    ControlMode,
    Fingers,
    Reach,
    RobotDescription,
    require_apart,
)
from pipeline.store import read_json, temporary_beside, write_json

FOLDER, FILE, MODEL, MESHES = "robots", "robot.json", "model.xml", "meshes"
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
MESH_NAME = re.compile(r"[\w.-]{1,120}\.(obj|stl)")
ENTRY = "pipeline.simulation.robots.arm.arm_robot:Arm"
PAIR_ENTRY = "pipeline.simulation.robots.pair.pair_robot:Pair"
SCHEMA = 1
Number = Annotated[float, AllowInfNan(False)]
Text = Annotated[str, Field(max_length=200)]
Names = Annotated[tuple[Text, ...], Field(max_length=64)]
Place = tuple[Number, Number, Number]
Numbers = Annotated[tuple[Number, ...], Field(max_length=64)]


class AddedRobotError(StudioError):
    """A robot of the workspace that there is not, or whose files are damaged."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredFingers(_Strict):
    """`Fingers` as JSON."""

    actuators: Names
    open_command: Numbers
    close_command: Numbers
    max_opening: Number
    drive: Numbers
    full_drive: Number
    widths: Numbers
    tips: Numbers
    joints: Annotated[dict[Text, Numbers], Field(max_length=64)]
    pads: tuple[Names, Names]
    palm_offset: Number
    pad_half_width: Number
    depth: Number
    torsion: Number

    @staticmethod
    def of(fingers: Fingers) -> "StoredFingers":
        """Return fingers as they are stored, lengths to a hundredth of a millimetre."""
        values: dict[str, Any] = {name: getattr(fingers, name) for name in StoredFingers.model_fields}
        values["joints"] = {name: _rounded(table) for name, table in fingers.joints.items()}
        for name in ("open_command", "close_command", "drive", "widths", "tips"):
            values[name] = _rounded(values[name])
        return StoredFingers.model_validate(values)

    def fingers(self) -> Fingers:
        """Inverse of `of`."""
        arrays = {n: np.array(getattr(self, n)) for n in ("open_command", "close_command", "drive", "widths", "tips")}
        values: dict[str, Any] = {n: getattr(self, n) for n in StoredFingers.model_fields} | arrays
        values["joints"] = {name: np.array(table) for name, table in self.joints.items()}
        return Fingers(**values)


class StoredReach(_Strict):
    """`Reach` as JSON."""

    near: Number
    far: Number
    places: tuple[Number, Number]
    parts: tuple[Number, Number]


class StoredCamera(_Strict):
    """`Camera` as JSON."""

    name: Text
    mounted_on: Text
    fovy_deg: Number
    position: tuple[Number, Number, Number]
    quat_wxyz: tuple[Number, Number, Number, Number]


class StoredRobot(_Strict):
    """robot.json."""

    schema_: int = Field(SCHEMA, alias="schema")
    name: Text
    source_file: Text
    """Name of the model's file."""
    joints: Names
    servos: Names
    servo_lag: Numbers
    servo_friction: Numbers
    tool_site: Text
    hand: Text
    links: Names
    fingers: StoredFingers
    reach: StoredReach
    home: Numbers
    base_height: Number
    cameras: Annotated[tuple[StoredCamera, ...], Field(max_length=32)] = ()
    repairs: Annotated[tuple[Text, ...], Field(max_length=100)] = ()
    """Problems of the file that were repaired, one sentence each."""
    pair: tuple[Place, Place] | None = None
    """Places of a left and a right arm of this kind: x, y in metres and yaw in rad, x forwards; None for one arm."""
    right: Annotated[str, Field(pattern=rf"^({NAME.pattern})?$")] = ""
    """Name of the right arm's kind, in a folder of its own inside; "" where both arms are of this kind."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Raise ValueError where lists that belong together differ in length."""
        for_joints = (self.servos, self.servo_lag, self.servo_friction, self.home or self.joints)
        fingers, steps = self.fingers, len(self.fingers.drive)
        tables = (fingers.widths, fingers.tips, *fingers.joints.values())
        ends = (fingers.open_command, fingers.close_command)
        fits = all(len(one) == len(self.joints) for one in for_joints) and steps > 1
        if not (fits and all(len(t) == steps for t in tables) and all(len(e) == len(fingers.actuators) for e in ends)):
            raise ValueError("lists differ in length")
        return self

    def arm(self, folder: Path) -> ArmModel:
        """Return the arm, whose model and meshes are read from a folder when they are used."""
        shared: dict[str, Any] = {
            n: getattr(self, n) for n in ArmModel.__dataclass_fields__ if n in StoredRobot.model_fields
        }
        shared |= {"fingers": self.fingers.fingers(), "reach": Reach(**self.reach.model_dump())}
        read, meshes = functools.partial(_read, folder), functools.partial(_mesh_files, folder)
        return ArmModel(**shared | {"read": read, "meshes": meshes, "meshes_prefix": f"{self.name}."})

    def description(self, folder: Path) -> RobotDescription:
        """Return the robot as the app and the command line offer it."""
        title = self.name.replace("-", " ").capitalize()
        arm = self.arm(folder)
        pair = None
        other = read_stored(folder / self.right) if self.right else self
        if self.pair:
            arms = arm, other.arm(folder / self.right) if self.right else arm
            left, right = (
                replace(one, prefix=f"{side}/", place=place)
                for one, side, place in zip(arms, SIDES, self.pair, strict=True)
            )
            pair = left, right
        return RobotDescription(
            self.name, title, f"added from {self.source_file}", f"with the robot {self.name}", f"oracle, {self.name}",
            PAIR_ENTRY if pair else ENTRY, None if pair else arm, tuple(self._cameras(other)),
            (ControlMode("joint_position", 50.0),), origin=self.source_file, folder=str(folder), pair=pair,
        )  # fmt: skip

    def _cameras(self, right: "StoredRobot") -> Iterator[Camera]:
        """Yield its cameras; of a pair those that its arms carry for each arm, named as in ALOHA's data sets."""
        for stored in self.cameras:
            if not (self.pair and stored.mounted_on):
                yield Camera(**stored.model_dump())
        for side, arm in zip(SIDES, (self, right), strict=True) if self.pair else ():
            for stored in (one for one in arm.cameras if one.mounted_on):
                camera = Camera(**stored.model_dump())
                yield replace(camera, name=f"cam_{side}_{camera.name}", mounted_on=f"{side}/{camera.mounted_on}")


def pair_places(name: str, apart: float, facing: bool) -> tuple[Place, Place]:
    """Return places of a left and a right arm, so many metres apart, side by side or facing each other.

    Raises DescriptionError where they would stand in each other.
    """
    require_apart(name, apart)
    turn = np.pi / 2 if facing else 0.0
    return (0.0, apart / 2, -turn), (0.0, -apart / 2, turn)


def robots_folder() -> Path:
    """Return the folder of added robots: `robots` of GRS_WORKSPACE, else of ./workspace."""
    return Path(os.environ.get("GRS_WORKSPACE") or "workspace").absolute() / FOLDER


def added_names() -> Iterator[str]:
    """Yield the names of the added robots."""
    for path in sorted(robots_folder().glob(f"*/{FILE}")):
        if NAME.fullmatch(path.parent.name):
            yield path.parent.name


def read_added(folder: Path) -> RobotDescription:
    """Return the robot of a folder. Raises AddedRobotError."""
    return read_stored(folder).description(folder)


def read_stored(folder: Path) -> StoredRobot:
    """Return what robot.json of a folder says. Raises AddedRobotError."""
    try:
        values = read_json(folder / FILE, SCHEMA)
        stored = StoredRobot.model_validate(values)
        if stored.name != folder.name:
            raise ValueError
        return stored
    except (ValueError, OSError, ValidationError):
        raise AddedRobotError(f"The robot {folder.name} is damaged; delete {folder} and add it again.") from None


def read_right_arm(name: str) -> StoredRobot:
    """Return the added robot of one arm that is to be the right arm of a pair. Raises AddedRobotError."""
    if name not in tuple(added_names()):
        raise AddedRobotError(
            f"--right {name} is no robot that was added; there are: {', '.join(added_names()) or 'none'}."
        )
    stored = read_stored(robots_folder() / name)
    if stored.pair:
        raise AddedRobotError(f"--right {name} has two arms; give a robot with one.")
    return stored


def write_added(stored: StoredRobot, xml: str, meshes: Mapping[str, bytes], replace: bool) -> Path:
    """Write a robot's folder and return it. Raises AddedRobotError where there is one of that name."""
    folder = robots_folder() / stored.name
    if folder.exists() and not replace:
        raise AddedRobotError(f"There is a robot {stored.name}; choose another with --name, or add --replace.")
    if not all(MESH_NAME.fullmatch(name) for name in meshes):
        raise AddedRobotError(f"{stored.source_file} has meshes with strange names, so it may be an attack.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(folder) as part:
        part.mkdir()
        fill_folder(part, stored, xml, meshes)
        if stored.right:
            shutil.copytree(robots_folder() / stored.right, part / stored.right)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    return folder


def fill_folder(folder: Path, stored: StoredRobot, xml: str, meshes: Mapping[str, bytes]) -> None:
    """Write a robot's files to an empty folder."""
    (folder / MESHES).mkdir()
    for name, data in meshes.items():
        (folder / MESHES / name).write_bytes(data)
    (folder / MODEL).write_text(xml, "utf-8")
    write_json(folder / FILE, stored.model_dump(mode="json", by_alias=True))


def remove_added(name: str) -> None:
    """Delete a robot's folder. Raises AddedRobotError."""
    if name not in tuple(added_names()):
        raise AddedRobotError(f"There is no added robot '{name}'; there are: {', '.join(added_names()) or 'none'}.")
    shutil.rmtree(robots_folder() / name)


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    return tuple(np.asarray(values).round(7).tolist())


def _read(folder: Path, visual: bool) -> mujoco.MjSpec:
    """Return the model with its visual or its collision geoms."""
    spec = mujoco.MjSpec.from_string((folder / MODEL).read_text("utf-8"), assets=dict(_mesh_files(folder, visual)))
    for geom in list(spec.geoms):
        if geom.group != (VISUAL_GROUP if visual else COLLISION_GROUP):
            spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in used:
            spec.delete(mesh)
    return spec


@functools.cache
def _mesh_files(folder: Path, visual: bool) -> dict[str, bytes]:
    suffix = ".stl" if visual else ".obj"
    return {path.name: path.read_bytes() for path in sorted((folder / MESHES).glob(f"*{suffix}"))}

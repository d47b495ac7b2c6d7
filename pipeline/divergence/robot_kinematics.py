"""Forward kinematics and joint ranges of a robot: of its MJCF or URDF, compiled by MuJoCo, or of a table."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import mujoco
import numpy as np

from pipeline.divergence.episode import ArmJoints
from pipeline.errors import StudioError, reason_of, single_line
from pipeline.store import parse_json

_WITHOUT_POSITION = (int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL))
"""Kinds of joints without a single position, as numbers: an array's element is in no tuple of MuJoCo's enums."""


class RobotModelError(StudioError):
    """A robot model that cannot be read, or that lacks a joint or a tool."""


class RobotKinematics(Protocol):
    """What a comparison asks of a robot's model."""

    def range_of(self, joint: str) -> float | None:
        """Return the width of a joint's limits, in radians or metres; None if it has none."""
        ...

    def pose(self, name: str, arm: ArmJoints, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p (T, 3) in metres and R (T, 3, 3) of an arm's tool for joint positions of shape (T, joints)."""
        ...


@dataclass(frozen=True, eq=False)
class MujocoRobot:
    """A robot of a compiled model. Its joints that an arm does not name stay at their reference positions."""

    model: mujoco.MjModel
    name: str = "the robot model"
    control_ranges: dict[str, float] = field(default_factory=dict)
    """Width of the control range by actuator, for grippers that a tendon drives."""

    def range_of(self, joint: str) -> float | None:
        """Return the width of a joint's limits, else of an actuator's control range; None if there is neither."""
        number = self._number(mujoco.mjtObj.mjOBJ_JOINT, joint)
        if number >= 0 and self.model.jnt_limited[number]:
            return float(np.ptp(self.model.jnt_range[number]))
        return self.control_ranges.get(joint)

    def pose(self, name: str, arm: ArmJoints, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p (T, 3) in metres and R (T, 3, 3) of the tool in the world (F6), by mj_kinematics for each sample.

        Raises RobotModelError for a joint or tool that the model lacks.
        """
        model, data = self.model, mujoco.MjData(self.model)
        addresses = model.jnt_qposadr[[self._joint(joint) for joint in arm.joints]]
        tool = self._tool(arm, data)
        points, rotations = np.empty((len(positions), 3)), np.empty((len(positions), 9))
        for row, q in enumerate(positions):
            data.qpos[addresses] = q
            mujoco.mj_kinematics(model, data)
            points[row], rotations[row] = tool.xpos, tool.xmat
        return points, rotations.reshape(-1, 3, 3)

    def _joint(self, name: str) -> int:
        number = self._number(mujoco.mjtObj.mjOBJ_JOINT, name)
        if number < 0:
            names = [self.model.joint(i).name for i in range(self.model.njnt)]
            raise RobotModelError(f"{self.name} has no joint {name!r:.60}; it has {', '.join(filter(None, names))}")
        if self.model.jnt_type[number] in _WITHOUT_POSITION:
            raise RobotModelError(f"{self.name}: joint {name!r:.60} has no single position; name hinges and slides")
        return number

    def _number(self, kind: mujoco.mjtObj, name: str) -> int:
        """Return the number of an element; -1 if the model has none of that name."""
        try:
            return mujoco.mj_name2id(self.model, kind, name)
        except TypeError:  # JSON may hold a name that is no UTF-8
            return -1

    def _tool(self, arm: ArmJoints, data: mujoco.MjData) -> Any:
        """Return the view of the tool's site or body, with `xpos` and `xmat` in the world.

        Without a tool: the only site on the body that the last joint moves, else that body.
        """
        model = self.model
        if arm.tool is None:
            body = int(model.jnt_bodyid[self._joint(arm.joints[-1])])
            sites = np.flatnonzero(model.site_bodyid == body)
            return data.site(int(sites[0])) if len(sites) == 1 else data.body(body)
        if self._number(mujoco.mjtObj.mjOBJ_SITE, arm.tool) >= 0:
            return data.site(arm.tool)
        if self._number(mujoco.mjtObj.mjOBJ_BODY, arm.tool) < 0:
            raise RobotModelError(f"{self.name} has no site or body {arm.tool!r:.60}; name the arm's tool after one")
        return data.body(arm.tool)


@dataclass(frozen=True, eq=False)
class DhArm:
    """An arm by its table of Denavit-Hartenberg parameters: T(q) = (prod_i T_i(q_i)) T_5,flange T_flange,tool (F4)."""

    links: np.ndarray
    """Rows a (m), alpha (rad), d (m) and theta (rad, at position 0) in the standard convention, of shape (n, 4)."""
    world_from_base: np.ndarray = field(default_factory=lambda: np.eye(4))
    flange: np.ndarray = field(default_factory=lambda: np.eye(4))
    """T_5,flange: the flange in the last link's frame, of shape (4, 4)."""
    tool: np.ndarray = field(default_factory=lambda: np.eye(4))
    """T_flange,tool: the tool's centre point in the flange's frame, of shape (4, 4)."""

    def pose(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p (T, 3) in metres and R (T, 3, 3) of the end effector (F4, F6) for positions of shape (T, links)."""
        transform = np.broadcast_to(self.world_from_base, (len(positions), 4, 4))
        for link, q in zip(self.links, np.asarray(positions, float).T, strict=True):
            transform = transform @ _link_transform(link, q)
        transform = transform @ self.flange @ self.tool
        return transform[:, :3, 3], transform[:, :3, :3]


@dataclass(frozen=True, eq=False)
class DhRobot:
    """A robot of one Denavit-Hartenberg table an arm."""

    arms: dict[str, DhArm]
    ranges: dict[str, float]
    name: str = "the table"

    def range_of(self, joint: str) -> float | None:
        """Return the width of a joint's limits if the file gives them."""
        return self.ranges.get(joint)

    def pose(self, name: str, arm: ArmJoints, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p (T, 3) in metres and R (T, 3, 3) of the tool. Raises RobotModelError for an arm without a table."""
        table = self.arms.get(name)
        if table is None or len(table.links) != positions.shape[1]:
            raise RobotModelError(f"{self.name} has no table of {positions.shape[1]} links for arm {name}")
        return table.pose(positions)


def dh_arm(rows: Sequence[Sequence[float]], **frames: np.ndarray) -> DhArm:
    """Return an arm of rows (a, alpha, d) or (a, alpha, d, theta), in metres and radians."""
    return DhArm(np.array([[*row, 0.0][:4] for row in rows], float), **frames)


def _link_transform(link: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return T_i(q_i) (F5) for joint angles of shape (T,), of shape (T, 4, 4).

    [[cos t, -sin t cos alpha,  sin t sin alpha, a cos t],
     [sin t,  cos t cos alpha, -cos t sin alpha, a sin t],
     [0,      sin alpha,        cos alpha,       d],
     [0,      0,                0,               1]]      with t = theta + q
    """
    a, alpha, d, theta = link
    c, s, ca, sa = np.cos(theta + q), np.sin(theta + q), np.cos(alpha), np.sin(alpha)
    transform = np.zeros((len(q), 4, 4))
    transform[:, 0] = np.stack((c, -s * ca, s * sa, a * c), axis=-1)
    transform[:, 1] = np.stack((s, c * ca, -c * sa, a * s), axis=-1)
    transform[:, 2:] = [[0, sa, ca, d], [0, 0, 0, 1]]
    return transform


def load_robot(path: Path) -> RobotKinematics:
    """Read an MJCF or URDF file, or a table of Denavit-Hartenberg parameters as JSON. Raises RobotModelError.

    The JSON is {"arms": {name: {"dh": [[a, alpha, d, theta], ...], "base", "flange", "tool": 4x4}},
    "ranges": {joint: width}}; all but "dh" may be left out.
    """
    path = Path(path)
    if not os.path.isfile(path):  # false for a name that no file can have
        raise RobotModelError(
            f"there is no robot model {single_line(str(path))[:300]}; "
            "give an .xml (MJCF), .urdf or .json (DH table) file"
        )
    if path.suffix.lower() == ".json":
        return _dh_robot(path)
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except (ValueError, OSError) as error:
        raise RobotModelError(f"{path.name} is no MJCF or URDF: {reason_of(error)}") from None
    widths = {actuator.name: float(np.ptp(actuator.ctrlrange)) for actuator in spec.actuators}
    ranges = {name: width for name, width in widths.items() if width > 0}
    return MujocoRobot(compile_kinematics(spec, path.name), path.name, ranges)


def compile_kinematics(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    """Compile the bodies, joints and sites of a model without its shapes, so that missing meshes do not matter.

    Bodies of a URDF that fixed joints join stay apart, since one of them may be the tool. Raises RobotModelError.
    """
    spec.compiler.fusestatic = False
    spec.compiler.boundmass = spec.compiler.boundinertia = 1e-6  # links without inertia do not matter either
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    actuators = [actuator for actuator in spec.actuators if actuator.trntype != mujoco.mjtTrn.mjTRN_JOINT]
    groups = (
        spec.equalities, spec.tendons, spec.sensors, spec.pairs, spec.excludes, spec.skins, spec.keys, actuators,
        spec.geoms, spec.cameras, spec.lights, spec.meshes, spec.materials, spec.textures, spec.hfields,
    )  # fmt: skip
    for element in [element for group in groups for element in group]:
        spec.delete(element)
    try:
        return spec.compile()
    except ValueError as error:
        raise RobotModelError(f"{name} cannot be compiled: {reason_of(error)}") from None


def _dh_robot(path: Path) -> DhRobot:
    try:
        data = parse_json(path.read_text("utf-8"))
        arms = {}
        for name, arm in data["arms"].items():
            frames = {"base": "world_from_base", "flange": "flange", "tool": "tool"}
            given = {field: np.array(arm[key], float).reshape(4, 4) for key, field in frames.items() if key in arm}
            arms[name] = dh_arm(arm["dh"], **given)
        return DhRobot(arms, {joint: float(width) for joint, width in data.get("ranges", {}).items()}, path.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RobotModelError(f"{path.name} is no table of DH parameters: {reason_of(error)}") from None

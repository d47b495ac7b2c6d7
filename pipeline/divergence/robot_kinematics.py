"""Forward kinematics and joint ranges of a robot's MJCF or URDF, compiled by MuJoCo."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.divergence.denavit_hartenberg import DhArm, dh_arm
from pipeline.divergence.episode import ArmJoints
from pipeline.errors import StudioError
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
        number = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, joint)
        if number >= 0 and self.model.jnt_limited[number]:
            return float(np.ptp(self.model.jnt_range[number]))
        return self.control_ranges.get(joint)

    def pose(self, name: str, arm: ArmJoints, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return p (T, 3) in metres and R (T, 3, 3) of the tool in the world (F6).

        The same steps as MuJoCo's mj_kinematics (Computation, "Kinematics"), for all samples at once: 10 million
        samples would take minutes one by one. Raises RobotModelError for a joint or tool that the model lacks.
        """
        given = {self._joint(joint): column for column, joint in enumerate(arm.joints)}
        body, offset, turn = self._tool(arm)
        chain = []
        while body:
            chain.append(body)
            body = int(self.model.body_parentid[body])
        point, rotation = np.zeros((len(positions), 3)), np.broadcast_to(np.eye(3), (len(positions), 3, 3))
        for number in reversed(chain):
            point, rotation = self._through_body(number, point, rotation, given, positions)
        return point + rotation @ offset, rotation @ turn

    def _through_body(
        self, body: int, point: np.ndarray, rotation: np.ndarray, given: dict[int, int], positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the frame of a body, from the frame of its parent."""
        model = self.model
        point = point + rotation @ model.body_pos[body]
        rotation = rotation @ _matrix(model.body_quat[body])
        first = int(model.body_jntadr[body])
        for joint in range(first, first + int(model.body_jntnum[body])):
            address = int(model.jnt_qposadr[joint])
            kind = model.jnt_type[joint]
            if kind in _WITHOUT_POSITION:
                continue  # at its reference, which is the body's own pose
            if joint not in given:
                continue
            q = positions[:, given[joint]] - model.qpos0[address]
            axis = model.jnt_axis[joint]
            if kind == mujoco.mjtJoint.mjJNT_SLIDE:
                point = point + (rotation @ axis) * q[:, None]
            else:
                anchor = point + rotation @ model.jnt_pos[joint]
                rotation = rotation @ Rotation.from_rotvec(q[:, None] * axis).as_matrix()
                point = anchor - rotation @ model.jnt_pos[joint]
        return point, rotation

    def _joint(self, name: str) -> int:
        number = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, name)
        if number < 0:
            names = [self.model.joint(i).name for i in range(self.model.njnt)]
            raise RobotModelError(f"{self.name} has no joint {name}; it has {', '.join(filter(None, names))}")
        if self.model.jnt_type[number] in _WITHOUT_POSITION:
            raise RobotModelError(f"{self.name}: joint {name} has no single position; name hinges and slides")
        return number

    def _tool(self, arm: ArmJoints) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the tool's body, its position (3,) and its rotation (3, 3) there.

        Without a tool: the only site on the body that the last joint moves, else that body.
        """
        model = self.model
        if arm.tool is None:
            body = int(model.jnt_bodyid[self._joint(arm.joints[-1])])
            sites = np.flatnonzero(model.site_bodyid == body)
            return self._site(int(sites[0])) if len(sites) == 1 else (body, np.zeros(3), np.eye(3))
        site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, arm.tool)
        if site >= 0:
            return self._site(site)
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, arm.tool)
        if body < 0:
            raise RobotModelError(f"{self.name} has no site or body {arm.tool}; name the arm's tool after one")
        return body, np.zeros(3), np.eye(3)

    def _site(self, site: int) -> tuple[int, np.ndarray, np.ndarray]:
        return int(self.model.site_bodyid[site]), self.model.site_pos[site], _matrix(self.model.site_quat[site])


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


def load_robot(path: Path) -> RobotKinematics:
    """Read an MJCF or URDF file, or a table of Denavit-Hartenberg parameters as JSON. Raises RobotModelError.

    The JSON is {"arms": {name: {"dh": [[a, alpha, d, theta], ...], "base", "flange", "tool": 4x4}},
    "ranges": {joint: width}}; all but "dh" may be left out.
    """
    path = Path(path)
    if not path.is_file():
        raise RobotModelError(f"there is no robot model {path}; give an .xml (MJCF), .urdf or .json (DH table) file")
    if path.suffix.lower() == ".json":
        return _dh_robot(path)
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except (ValueError, OSError) as error:
        raise RobotModelError(f"{path.name} is no MJCF or URDF: {_one_line(error)}") from None
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
    whole = (spec.equalities, spec.tendons, spec.sensors, spec.pairs, spec.excludes, spec.skins, spec.keys)
    shapes = (spec.geoms, spec.cameras, spec.lights, spec.meshes, spec.materials, spec.textures, spec.hfields)
    kept = {mujoco.mjtTrn.mjTRN_JOINT}
    actuators = [actuator for actuator in spec.actuators if actuator.trntype not in kept]
    for element in [*(e for group in whole for e in group), *actuators, *(e for group in shapes for e in group)]:
        spec.delete(element)
    try:
        return spec.compile()
    except ValueError as error:
        raise RobotModelError(f"{name} cannot be compiled: {_one_line(error)}") from None


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
        raise RobotModelError(f"{path.name} is no table of DH parameters: {_one_line(error)}") from None


def _matrix(quat_wxyz: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(quat_wxyz, scalar_first=True).as_matrix()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__

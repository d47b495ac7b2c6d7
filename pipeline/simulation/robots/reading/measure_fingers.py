"""Measures a gripper on its reduced model: where its fingers close, along which axis, and how far at each command.

The arm is held still without gravity, and the gripper's actuators are commanded from open to closed, step by step,
until it rests. Widths are taken from points on the fingers' surfaces near their tips.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
import trimesh

from pipeline.assets.importers.compiled_model import geom_mesh
from pipeline.geometry import homogeneous
from pipeline.simulation.robots.arm.robot_model import PAD_TORSION_M
from pipeline.simulation.robots.description import Fingers
from pipeline.simulation.robots.reading.elements import Elements, ModelError
from pipeline.simulation.robots.reading.plain_model import PlainModel

STEPS = 13
"""Commands from open to closed at which the fingers are measured."""
REST_SECONDS = 0.8
BAND_M = 0.002, 0.025
"""Depths behind the tips between which the distance of the pads is measured."""
PINCH_DEPTH_M = 0.012
"""Depth of the pinch point behind the tips of the half-open fingers."""
MIN_OPENING_M = 0.005
SNAP_COSINE = np.cos(np.radians(20))
"""An axis that is this near to one of the hand's own is that one: those are exact."""


@dataclass(frozen=True, eq=False)
class MeasuredGripper:
    """A gripper's fingers, and where they close."""

    fingers: Fingers
    hand_from_pinch: np.ndarray
    """Pose of the pinch point in the hand's frame, of shape (4, 4): z out of the palm, y from finger to finger."""


def measure_gripper(plain: PlainModel, elements: Elements, file: str) -> MeasuredGripper:
    """Measure the gripper of a reduced robot. Raises ModelError."""
    bench = _Bench(plain, elements, file)
    shown, hidden = bench.extremes()
    y, sides = bench.closing(shown, hidden, file)
    frame = bench.frame(shown, y, sides)
    table = [bench.at(shown + share * (hidden - shown), frame, sides) for share in np.linspace(0, 1, STEPS)]
    widths = np.array([row.width for row in table])
    count = int(np.argmax(widths < 0.001)) + 1 if (widths < 0.001).any() else STEPS
    count = max(count, 2)
    widths = np.maximum(widths[:count], 0.0)
    opening = float(widths[0])
    if opening < MIN_OPENING_M:
        raise ModelError(
            f"the gripper of {file} opens by {opening * 1000:.1f} mm; does another actuator close it? "
            "Name it with --gripper"
        )
    widths = np.minimum.accumulate(widths) - np.arange(count) * 1e-6
    drive = np.linspace(0, 1, STEPS)[:count]
    middle = table[int(np.argmin(np.abs(widths - opening / 2)))]
    pinch = frame @ homogeneous(np.eye(3), np.array([middle.across, middle.centre, middle.tip - PINCH_DEPTH_M]))
    joints = {name: np.array([row.joints[i] for row in table[:count]]) for i, name in enumerate(elements.finger_joints)}
    fingers = Fingers(
        actuators=plain.grippers, open_command=shown, close_command=hidden, max_opening=opening - 2e-4, drive=drive,
        full_drive=1.0, widths=widths, tips=np.array([row.tip for row in table[:count]]) - middle.tip + PINCH_DEPTH_M,
        joints=joints, pads=tuple(tuple(bench.names(side)) for side in sides),
        palm_offset=max(middle.tip - PINCH_DEPTH_M - middle.palm, 0.02), pad_half_width=middle.half_width,
        depth=middle.depth, torsion=PAD_TORSION_M,
    )  # fmt: skip
    return MeasuredGripper(fingers, pinch)


@dataclass(frozen=True, eq=False)
class _Row:
    """The gripper at rest under one command; lengths in the frame of its axes, in metres."""

    width: float
    centre: float
    across: float
    tip: float
    palm: float
    half_width: float
    depth: float
    joints: np.ndarray


class _Bench:
    """The gripper on an arm that is held still."""

    def __init__(self, plain: PlainModel, elements: Elements, file: str):
        spec = mujoco.MjSpec.from_string(plain.xml, assets=plain.meshes)
        for actuator in list(spec.actuators):
            if actuator.name not in plain.grippers:
                spec.delete(actuator)
        for joint in list(spec.joints):
            if joint.name in elements.joints:
                spec.delete(joint)
        spec.option.gravity, spec.option.timestep = [0, 0, 0], 0.002
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        for geom in spec.geoms:
            geom.contype = geom.conaffinity = int(bool(geom.contype or geom.conaffinity))
        self.model, self.file, self.elements = spec.compile(), file, elements
        self.solid = np.flatnonzero((self.model.geom_contype > 0) | (self.model.geom_conaffinity > 0))
        self.model.geom_contype[:] = self.model.geom_conaffinity[:] = 0  # the fingers may close through each other
        self.hand = self.model.body(elements.hand).id
        self.actuators = [self.model.actuator(name).id for name in plain.grippers]
        moving = {int(self.model.joint(name).bodyid[0]) for name in elements.finger_joints}
        self.fingers = [int(g) for g in self.solid if self._hangs_on(int(self.model.geom_bodyid[g]), moving)]
        if not self.fingers:
            raise ModelError(f"the fingers of {file} have no shape that collides, so they hold nothing")

    def _hangs_on(self, body: int, ancestors: set[int]) -> bool:
        while body and body not in ancestors:
            body = int(self.model.body_parentid[body])
        return body in ancestors

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the commands (number of actuators,) that open and that close it."""
        ranges = []
        for number in self.actuators:
            name = self.model.actuator(number).name
            low, high = self.model.actuator_ctrlrange[number]
            if not self.model.actuator_ctrllimited[number] or high - low < 1e-9:
                joint = int(self.model.actuator_trnid[number, 0])
                low, high = self.model.jnt_range[joint]
                if not self.model.jnt_limited[joint] or high - low < 1e-9:
                    raise ModelError(
                        f"the actuator {name} of {self.file} has the range {low:g} to {high:g}; give it a ctrlrange"
                    )
            ranges.append((low, high))
        ends = np.array(ranges)
        middle, shown, hidden = ends.mean(1), ends[:, 0].copy(), ends[:, 1].copy()
        for i in range(len(ends)):
            spreads = []
            for end in ends[i]:
                command = middle.copy()
                command[i] = end
                centres = self._centres(self._rest(command))
                spreads.append(float(np.linalg.norm(centres - centres.mean(0), axis=1).mean()))
            shown[i], hidden[i] = ends[i] if spreads[0] > spreads[1] else ends[i][::-1]
        return shown, hidden

    def _rest(self, command: np.ndarray) -> mujoco.MjData:
        data = mujoco.MjData(self.model)
        data.ctrl[self.actuators] = command
        mujoco.mj_step(self.model, data, nstep=round(REST_SECONDS / self.model.opt.timestep))
        if not np.isfinite(data.qpos).all() or data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            raise ModelError(f"the gripper of {self.file} is unstable in MuJoCo; check its masses and actuators")
        return data

    def _centres(self, data: mujoco.MjData) -> np.ndarray:
        """Return the centres of the fingers' geoms in the hand's frame, of shape (number, 3)."""
        turn, origin = data.xmat[self.hand].reshape(3, 3), data.xpos[self.hand]
        return (data.geom_xpos[self.fingers] - origin) @ turn

    def closing(self, shown: np.ndarray, hidden: np.ndarray, file: str) -> tuple[np.ndarray, list[list[int]]]:
        """Return the unit vector (3,) in the hand's frame along which it closes, and the geoms of both sides."""
        first, last = (self._centres(self._rest(command)) for command in (shown, hidden))
        moved = last - first
        if np.abs(moved).max() < MIN_OPENING_M / 2:
            names = ", ".join(self.model.actuator(a).name for a in self.actuators)
            raise ModelError(f"the fingers of {file} do not move with {names}; name what closes them with --gripper")
        axis = _snapped(np.linalg.svd(moved)[2][0])
        off = first @ axis - np.median(first @ axis) if np.ptp(first @ axis) else first @ axis
        side = -np.sign(moved @ axis)
        side[np.abs(moved @ axis) < 1e-4] = np.sign(off)[np.abs(moved @ axis) < 1e-4]
        sides = [[g for g, s in zip(self.fingers, side, strict=True) if s == sign] for sign in (1, -1)]
        if not all(sides):  # one jaw moves, the other is part of the hand
            fixed = [
                int(g)
                for g in self.solid
                if g not in self.fingers and self._hangs_on(int(self.model.geom_bodyid[g]), {self.hand})
            ]
            sides = [one or fixed for one in sides]
        if not all(sides):
            raise ModelError(f"the gripper of {file} has one finger; it takes two that close on an object")
        return axis, sides

    def frame(self, shown: np.ndarray, y: np.ndarray, sides: list[list[int]]) -> np.ndarray:
        """Return the gripper's axes in the hand's frame (4, 4): z from the hand's root to the fingers, y as given."""
        data = self._rest(shown)
        points = np.concatenate([self._points(data, side) for side in sides])
        away = points.mean(0) - (self._root(data) if np.linalg.norm(points.mean(0)) < 0.02 else 0)
        z = _snapped(away - (away @ y) * y)
        z = z - (z @ y) * y
        z /= np.linalg.norm(z)
        return homogeneous(np.stack([np.cross(y, z), y, z], -1), np.zeros(3))

    def _root(self, data: mujoco.MjData) -> np.ndarray:
        """Return where the hand's parent is, in the hand's frame, of shape (3,)."""
        parent = int(self.model.body_parentid[self.hand])
        return (data.xpos[parent] - data.xpos[self.hand]) @ data.xmat[self.hand].reshape(3, 3)

    def _points(self, data: mujoco.MjData, geoms: list[int]) -> np.ndarray:
        """Return points on the surface of geoms, in the hand's frame, of shape (number, 3)."""
        meshes = [mesh.convex_hull for g in geoms if (mesh := geom_mesh(self.model, data, g)) is not None]
        joined = trimesh.util.concatenate(meshes)
        # Points on the surface of each finger
        sampled = np.asarray(trimesh.sample.sample_surface(joined, 3000, seed=0)[0])
        points = np.concatenate([sampled, joined.vertices])
        return (points - data.xpos[self.hand]) @ data.xmat[self.hand].reshape(3, 3)

    def at(self, command: np.ndarray, frame: np.ndarray, sides: list[list[int]]) -> _Row:
        """Measure it at rest under a command."""
        data = self._rest(command)
        points = [self._points(data, side) @ frame[:3, :3] for side in sides]
        tip = min(float(side[:, 2].max()) for side in points)
        near, far = tip - BAND_M[1], tip - BAND_M[0]
        bands = [side[(side[:, 2] > near) & (side[:, 2] < far)] for side in points]
        across = float(np.mean([(band[:, 0].min() + band[:, 0].max()) / 2 for band in bands]))
        # Half the width of the strip in the middle of the fingers that counts as pad
        pads = [band[np.abs(band[:, 0] - across) < 0.008] for band in bands]
        upper, lower = float(pads[0][:, 1].min()), float(pads[1][:, 1].max())
        faces = [band[np.abs(band[:, 1] - face) < 0.003] for band, face in zip(bands, (upper, lower), strict=True)]
        half_width = min(float(np.ptp(face[:, 0])) / 2 for face in faces)
        back = [side[(side[:, 2] < tip - 0.008) & (side[:, 2] > tip - 0.045)] for side in points]
        depth = max(float(back[0][:, 1].max()) - upper, lower - float(back[1][:, 1].min()))
        joints = np.array([data.joint(name).qpos[0] for name in self.elements.finger_joints])
        palm = self._palm(data, frame, across, (upper + lower) / 2)
        return _Row(
            upper - lower, (upper + lower) / 2, across, tip, palm, float(np.clip(half_width, 0.004, 0.02)),
            float(np.clip(depth, 0.005, 0.06)), joints,
        )  # fmt: skip

    def _palm(self, data: mujoco.MjData, frame: np.ndarray, across: float, centre: float) -> float:
        """Return how far the palm extends between the fingers along z, in metres."""
        below = {self.hand}
        palm = [
            int(g)
            for g in self.solid
            if g not in self.fingers and self._hangs_on(int(self.model.geom_bodyid[g]), below)
        ]
        if not palm:
            return 0.0
        points = self._points(data, palm) @ frame[:3, :3]
        between = (np.abs(points[:, 1] - centre) < 0.02) & (np.abs(points[:, 0] - across) < 0.02)
        return float(points[between, 2].max(initial=0.0))

    def names(self, geoms: list[int]) -> list[str]:
        return [self.model.geom(g).name for g in geoms]


def _snapped(vector: np.ndarray) -> np.ndarray:
    """Return a unit vector (3,), one of the hand's axes if it is near to one."""
    unit = vector / max(float(np.linalg.norm(vector)), 1e-12)
    main = int(np.abs(unit).argmax())
    return np.sign(unit[main]) * np.eye(3)[main] if abs(unit[main]) > SNAP_COSINE else unit

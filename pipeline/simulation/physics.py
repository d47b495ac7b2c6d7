"""The running world: one MuJoCo model stepped, watched and recorded."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.errors import StudioError
from pipeline.simulation.joints import moving_parts, shown
from pipeline.simulation.objects import Object, Region, hull
from pipeline.simulation.robot import Robot
from pipeline.simulation.state import State, Zone

TIMESTEP = 0.002
"""In seconds."""
EVERY = 16
"""Steps between two recorded instants: 31.25 Hz."""
TOUCH = 0.0005
"""Metres that still count as touching: what rests need not press at every instant."""
GRIPPER = "gripper"
BROKEN = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)


class UnstableError(StudioError):
    """The physics left the numbers it can handle."""


@dataclass(frozen=True, eq=False)
class Bench:
    """A compiled world and who is who in it."""

    model: mujoco.MjModel
    xml: str
    """The model as MJCF; its mesh paths are relative to the project's scene folder."""
    objects: Mapping[str, Object]
    """As placed at the start."""
    zones: Mapping[str, Zone]
    table: Region
    right: np.ndarray
    away: np.ndarray
    home: np.ndarray
    """Where the gripper's tip waits, of shape (3,)."""
    robot: Robot
    """Who acts."""


@dataclass(eq=False)
class Record:
    """What happened, at 31.25 Hz."""

    times: list[float] = field(default_factory=list)
    qpos: list[np.ndarray] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=list)


class Physics:
    """Steps the model and answers what is where and what touches what."""

    def __init__(self, bench: Bench):
        self.bench, self.model = bench, bench.model
        self.data = mujoco.MjData(self.model)
        self.parts = moving_parts(self.model, bench.objects)
        """By the names of object and part."""
        for (thing, part), moving in self.parts.items():
            self.data.qpos[moving.address] = bench.objects[thing].part(part).value
        bench.robot.ready(self.model, self.data)
        self.record = Record()
        self._feeler = copy.copy(self.model)
        self._feeler.geom_margin[:] = TOUCH
        self._probe = mujoco.MjData(self._feeler)
        self._names = [*bench.objects, GRIPPER, "table", "floor"]
        self._bodies = {name: self.model.body(name).id for name in bench.objects}
        self.gripper = len(bench.objects)
        self.label = np.array([self._labelled(g) for g in range(self.model.ngeom)])
        """Index into the names for every geom, of shape (ngeom,)."""
        mujoco.mj_kinematics(self._feeler, self._probe)
        self._shapes = {name: self._shape(name) for name in bench.objects}
        """The outermost points of each object by the body whose frame they are in."""
        joints = {n: int(self.model.body_jntadr[b]) for n, b in self._bodies.items() if self.model.body_jntnum[b]}
        self.addresses = {name: int(self.model.jnt_qposadr[j]) for name, j in joints.items()}
        """Where each movable object's position starts in qpos."""
        speeds = [int(self.model.jnt_dofadr[j]) for j in joints.values()]
        self._dofs = np.array([d + k for d in speeds for k in range(6)], int)
        self._swinging = np.array([moving.dof for moving in self.parts.values()], int)
        mujoco.mj_forward(self.model, self.data)
        self.keep()

    def _shape(self, name: str) -> dict[int, np.ndarray]:
        own = self._bodies[name]
        geoms = np.flatnonzero(self.model.body_rootid[self.model.geom_bodyid] == self.model.body_rootid[own])
        shapes = {}
        for moving in [self.parts[name, part.name] for part in self.bench.objects[name].parts]:
            shapes[moving.body] = _support_points(self._feeler, self._probe, moving.body, moving.geoms)
            geoms = np.setdiff1d(geoms, moving.geoms)
        return {own: _support_points(self._feeler, self._probe, own, geoms)} | shapes

    def _labelled(self, geom: int) -> int:
        body = int(self.model.geom_bodyid[geom])
        while self.model.body_parentid[body] != 0:
            body = int(self.model.body_parentid[body])
        name = self.model.body(body).name
        if name in self._names:
            return self._names.index(name)
        return len(self._names) - (1 if "floor" in self.model.geom(geom).name else 2)

    @property
    def time(self) -> float:
        """Simulated seconds."""
        return float(self.data.time)

    def index(self, name: str) -> int:
        """The label of an object's geoms."""
        return self._names.index(name)

    def step(self) -> None:
        """One time step under the present controls. Raises UnstableError."""
        mujoco.mj_step(self.model, self.data)
        if round(self.data.time / TIMESTEP) % EVERY == 0:
            self.keep()

    def keep(self) -> None:
        if any(self.data.warning[w].number for w in BROKEN):
            raise UnstableError(
                f"the physics blew up at {self.time:.2f} s: objects overlap or are squeezed at the start"
            )
        if self.record.times and self.time <= self.record.times[-1]:
            return
        self.record.times.append(self.time)
        self.record.qpos.append(self.data.qpos.copy())
        self.record.actions.append(self.data.ctrl.copy())

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds / TIMESTEP)):
            self.step()

    def settle(self, most: float = 2.0) -> bool:
        """Waits until everything has been still for a tenth of a second; False if it never was."""
        calm = 0.0
        for _ in range(round(most / 0.02)):
            self.wait(0.02)
            calm = calm + 0.02 if self.still() else 0.0
            if calm >= 0.1:
                return True
        return False

    def still(self) -> bool:
        """Nothing moves faster than 1 cm/s or turns faster than 0.2 rad/s."""
        speed, swing = self.data.qvel[self._dofs].reshape(-1, 6), np.abs(self.data.qvel[self._swinging])
        most = [0.01 if moving.kind == "slide" else 0.2 for moving in self.parts.values()]
        calm = (np.linalg.norm(speed[:, :3], axis=1) < 0.01).all() and (np.abs(speed[:, 3:]) < 0.2).all()
        return bool(calm and (swing < most).all())

    def contacts(self, label: int) -> list[tuple[int, float]]:
        """What geoms of that label touch now: (label, vertical part of the contact's normal in [0, 1])."""
        pairs = self.label[self.data.contact.geom]
        hits = np.flatnonzero((pairs == label).sum(1) == 1)
        upright = np.abs(self.data.contact.frame[hits, 2])
        return [(int(pairs[i].sum() - label), float(n)) for i, n in zip(hits, upright, strict=True)]

    def touched_by_hand(self) -> np.ndarray:
        """The geoms that the gripper's own touch now, of shape (N,), int."""
        geoms = self.data.contact.geom
        own = self.label[geoms] == self.gripper
        return geoms[(own.sum(1) == 1)[:, None] & ~own]

    def name(self, label: int) -> str:
        return self._names[label]

    def pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) and rotation (3, 3) of an object now."""
        body = self.data.body(self._bodies[name])
        return body.xpos.copy(), body.xmat.reshape(3, 3).copy()

    def surface(self, points: np.ndarray, without: str = "") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Looks straight down on collision shapes at points (N, 2), past the gripper and one object.

        Returns heights (N,) in metres, NaN where there is nothing; labels (N,), -1 there; and the normals' z (N,).
        """
        heights, labels, normals = np.full(len(points), np.nan), np.full(len(points), -1), np.zeros(len(points))
        geom, normal, down = np.zeros(1, np.int32), np.zeros(3), np.array([0, 0, -1.0])
        groups = np.array([1, 0, 0, 1, 1, 0], np.uint8)  # looks live in group 2, robots in groups 1 and 5
        skip = self._bodies.get(without, -1)
        for i, (x, y) in enumerate(points):
            start = np.array([x, y, 2.0])
            far = mujoco.mj_ray(self.model, self.data, start, down, groups, 1, skip, geom, normal)
            if far >= 0:
                heights[i], labels[i], normals[i] = 2.0 - far, self.label[geom[0]], abs(normal[2])
        return heights, labels, normals

    def state(self) -> State:
        """Everything now. What is nearer than TOUCH touches."""
        bench, probe = self.bench, self._probe
        probe.qpos[:] = self.data.qpos
        mujoco.mj_kinematics(self._feeler, probe)
        mujoco.mj_comPos(self._feeler, probe)
        mujoco.mj_collision(self._feeler, probe)
        pairs = {frozenset(self._names[i] for i in pair) for pair in self.label[probe.contact.geom]}
        objects = {name: self._object(name, probe) for name in bench.objects}
        touching = frozenset(p for p in pairs if len(p) == 2 and GRIPPER not in p)
        return State(objects, touching, bench.zones, bench.table, bench.right, bench.away, self.time)

    def _object(self, name: str, data: mujoco.MjData) -> Object:
        thing, body = self.bench.objects[name], data.body(self._bodies[name])
        pos, rotation = body.xpos.copy(), body.xmat.reshape(3, 3)
        each = {b: p @ data.xmat[b].reshape(3, 3).T + data.xpos[b] for b, p in self._shapes[name].items() if len(p)}
        points = np.concatenate(list(each.values()))
        moving = [(part, self.parts[name, part.name]) for part in thing.parts]
        return replace(
            thing,
            position=pos,
            quat_wxyz=Rotation.from_matrix(rotation).as_quat(scalar_first=True),
            parts=tuple(shown(part, one, each[one.body], data) for part, one in moving if one.body in each),
            outline=hull(points[:, :2]),
            top=float(points[:, 2].max()),
            bottom=float(points[:, 2].min()),
        )


def _support_points(model: mujoco.MjModel, home: mujoco.MjData, body: int, geoms: np.ndarray) -> np.ndarray:
    """The outermost points of those geoms that collide, in the body's frame, of shape (N, 3)."""
    directions = _directions(400)
    middle, turn = home.xpos[body], home.xmat[body].reshape(3, 3)
    clouds = [np.zeros((0, 3))]
    for geom in geoms.tolist():
        if model.geom_contype[geom] or model.geom_conaffinity[geom]:
            rotation = turn.T @ home.geom_xmat[geom].reshape(3, 3)
            points = _geom_points(model, geom, directions @ rotation)
            clouds.append(points @ rotation.T + (home.geom_xpos[geom] - middle) @ turn)
    points = np.unique(np.concatenate(clouds).round(6), axis=0)
    return points[np.unique((points @ directions.T).argmax(0))] if len(points) else points


def _geom_points(model: mujoco.MjModel, geom: int, directions: np.ndarray) -> np.ndarray:
    """Farthest points of a geom in the given directions, in its own frame."""
    kind, size = mujoco.mjtGeom(int(model.geom_type[geom])), model.geom_size[geom]
    types = mujoco.mjtGeom
    if kind == types.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        start = int(model.mesh_vertadr[mesh])
        return model.mesh_vert[start : start + int(model.mesh_vertnum[mesh])].astype(float)
    if kind == types.mjGEOM_BOX:
        return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size
    if kind in (types.mjGEOM_SPHERE, types.mjGEOM_ELLIPSOID):
        radii = size if kind == types.mjGEOM_ELLIPSOID else np.full(3, size[0])
        scaled = directions * radii
        return scaled * radii / np.linalg.norm(scaled, axis=1, keepdims=True)
    if kind in (types.mjGEOM_CYLINDER, types.mjGEOM_CAPSULE):
        level = np.linalg.norm(directions[:, :2], axis=1, keepdims=True)
        if kind == types.mjGEOM_CAPSULE:
            return directions * size[0] + np.sign(directions) * [0, 0, size[1]]
        rim = directions[:, :2] / np.maximum(level, 1e-9) * size[0]
        return np.concatenate([rim, np.sign(directions[:, 2:]) * size[1]], 1)
    raise UnstableError(
        f"geom {model.geom(geom).name!r} has a shape the kit cannot measure: use box, sphere, cylinder, mesh"
    )


def _directions(count: int) -> np.ndarray:
    """Unit vectors spread evenly (Fibonacci's spiral), with the six axes and the equator, of shape (N, 3)."""
    z = 1 - (2 * np.arange(count) + 1) / count
    angle = np.pi * (1 + 5**0.5) * np.arange(count)
    spiral = np.stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z], -1)
    turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    equator = np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1)
    return np.concatenate([spiral, equator, np.eye(3), -np.eye(3)])

"""The running world: one MuJoCo model that is stepped, measured and recorded."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import mujoco
import numpy as np

from pipeline.errors import StudioError
from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.objects import MeasuredObject, Object, Region
from pipeline.simulation.state import State, Zone

TIMESTEP = 0.002
"""In seconds."""
STEPS_PER_RECORD = 16
"""Steps between two recorded instants: 31.25 Hz."""
TOUCH_DISTANCE = 0.0005
"""Gap in metres that still counts as contact: resting objects do not press at every instant."""
GRIPPER = "gripper"
_SOLID_GROUPS = np.array([1, 0, 0, 1, 1, 0], np.uint8)  # visual geoms are in group 2, robots in groups 1 and 5
UNSTABLE_WARNINGS = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


class UnstableError(StudioError):
    """The physics became numerically unstable."""


class Actor(Protocol):
    """A robot (robots/robot.py) as far as a running world knows it."""

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Bring itself to its home in a world that has not begun."""
        ...

    def hand(self, physics: "Physics") -> Any:
        """Return its hand in a running world."""
        ...


@dataclass(frozen=True, eq=False)
class PartJoint:
    """A part's joint in a compiled model."""

    joint: int
    body: int
    kind: str
    address: int
    """Index into qpos."""
    dof: int
    """Index into qvel."""
    geoms: np.ndarray
    """Ids of all geoms that move with it, of shape (N,), int."""


@dataclass(frozen=True, eq=False)
class CompiledWorld:
    """A compiled model and the names of what is in it."""

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
    """World position of the gripper's tip at the start, of shape (3,)."""
    robot: Actor
    """The robot that acts."""
    walls: Sequence[Object] = ()
    """Walls of the bin on whose floor the objects stand; not among `objects`."""


@dataclass(eq=False)
class RolloutLog:
    """States and commands recorded at 31.25 Hz."""

    times: list[float] = field(default_factory=list)
    qpos: list[np.ndarray] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=list)


class _Shapes(dict[str, dict[int, np.ndarray]]):
    """Shapes by an object's name, each computed when it is first needed."""

    def __init__(self, compute: Callable[[str], dict[int, np.ndarray]]):
        super().__init__()
        self._compute = compute

    def __missing__(self, name: str) -> dict[int, np.ndarray]:
        found = self[name] = self._compute(name)
        return found


class Physics:
    """Steps the model and measures poses and contacts."""

    def __init__(self, world: CompiledWorld, shapes: _Shapes | None = None):
        """`shapes` are those of an earlier run of the same world, which take long to compute."""
        self.world, self.model = world, world.model
        self.data = mujoco.MjData(self.model)
        self.parts = part_joints(self.model, world.objects)
        """Joints of articulated parts by the names of object and part."""
        for (name, part), joint in self.parts.items():
            self.data.qpos[joint.address] = world.objects[name].part(part).value
        world.robot.ready(self.model, self.data)
        self.log = RolloutLog()
        self.after_step: Callable[[], None] | None = None
        """Called after every time step, by a robot that watches its forces."""
        self._contact_model = copy.copy(self.model)
        self._contact_model.geom_margin[:] = self._contact_model.body_margin[:] = TOUCH_DISTANCE
        self._contact_data = mujoco.MjData(self._contact_model)
        self._names = [*world.objects, GRIPPER, "table", "floor"]
        self._bodies = {name: self.model.body(name).id for name in world.objects}
        names = [field.name for field in fields(Object) if field.name != "outline"]
        self._placed = {o.name: {name: getattr(o, name) for name in names} for o in world.objects.values()}
        self.gripper = len(world.objects)
        self.label = np.array([self._label_geom(g) for g in range(self.model.ngeom)])
        """Index into the names for each geom, of shape (ngeom,)."""
        self.shapes = _Shapes(self._shape) if shapes is None else shapes
        """Outermost points (N, 3) of each object, by the body in whose frame they are."""
        joints = {n: int(self.model.body_jntadr[b]) for n, b in self._bodies.items() if self.model.body_jntnum[b]}
        self.addresses = {name: int(self.model.jnt_qposadr[j]) for name, j in joints.items()}
        """Index into qpos of each movable object's position."""
        speeds = [int(self.model.jnt_dofadr[j]) for j in joints.values()]
        self._dofs = np.array([d + k for d in speeds for k in range(6)], int)
        self._part_dofs = np.array([joint.dof for joint in self.parts.values()], int)
        mujoco.mj_forward(self.model, self.data)
        self.record_instant()

    def _shape(self, name: str) -> dict[int, np.ndarray]:
        own, home = self._bodies[name], mujoco.MjData(self._contact_model)
        mujoco.mj_kinematics(self._contact_model, home)
        geoms = np.flatnonzero(self.model.body_rootid[self.model.geom_bodyid] == self.model.body_rootid[own])
        shapes = {}
        for joint in [self.parts[name, part.name] for part in self.world.objects[name].parts]:
            shapes[joint.body] = _support_points(self._contact_model, home, joint.body, joint.geoms)
            geoms = np.setdiff1d(geoms, joint.geoms)
        return {own: _support_points(self._contact_model, home, own, geoms)} | shapes

    def _label_geom(self, geom: int) -> int:
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

    def label_of(self, name: str) -> int:
        """Return the label of an object's geoms."""
        return self._names.index(name)

    def step(self) -> None:
        """Simulate one time step under the present controls. Raises UnstableError."""
        mujoco.mj_step(self.model, self.data)
        if self.after_step is not None:
            self.after_step()
        if round(self.data.time / TIMESTEP) % STEPS_PER_RECORD == 0:
            self.record_instant()

    def advance(self, steps: int) -> None:
        """Simulate several time steps under the present controls without recording them. Raises UnstableError."""
        self.follow([self.data.ctrl.copy()], steps)

    def follow(self, commands: Iterable[np.ndarray], steps: int) -> None:
        """Simulate several time steps under each command (nu,) without recording them. Raises UnstableError."""
        for command in commands:
            self.data.ctrl[:] = command
            if self.after_step is None:
                mujoco.mj_step(self.model, self.data, nstep=steps)
            for _ in range(steps if self.after_step else 0):
                mujoco.mj_step(self.model, self.data)
                self.after_step()  # type: ignore[misc]
        self._require_stable()

    def _require_stable(self) -> None:
        if any(self.data.warning[w].number for w in UNSTABLE_WARNINGS):
            raise UnstableError(
                f"the physics blew up at {self.time:.2f} s: objects overlap or are squeezed at the start"
            )

    def record_instant(self) -> None:
        """Append the present state to the log. Raises UnstableError."""
        self._require_stable()
        if self.log.times and self.time <= self.log.times[-1]:
            return
        self.log.times.append(self.time)
        self.log.qpos.append(self.data.qpos.copy())
        self.log.actions.append(self.data.ctrl.copy())

    def wait(self, seconds: float) -> None:
        """Simulate under the present controls."""
        for _ in range(round(seconds / TIMESTEP)):
            self.step()

    def settle(self, limit: float = 2.0) -> bool:
        """Simulate until everything was still for 0.1 s, at most `limit` seconds. Return whether it was."""
        calm = 0.0
        for _ in range(round(limit / 0.02)):
            self.wait(0.02)
            calm = calm + 0.02 if self.still() else 0.0
            if calm >= 0.1:
                return True
        return False

    def still(self) -> bool:
        """Return whether nothing moves faster than 1 cm/s or turns faster than 0.2 rad/s."""
        speed, part_speed = self.data.qvel[self._dofs].reshape(-1, 6), np.abs(self.data.qvel[self._part_dofs])
        limits = [0.01 if joint.kind == "slide" else 0.2 for joint in self.parts.values()]
        calm = (np.linalg.norm(speed[:, :3], axis=1) < 0.01).all() and (np.abs(speed[:, 3:]) < 0.2).all()
        return bool(calm and (part_speed < limits).all())

    def contacts(self, label: int) -> list[tuple[int, float]]:
        """Return what geoms of a label touch now: (label, vertical component of the contact normal in [0, 1])."""
        pairs = self.label[self.data.contact.geom]
        hits = np.flatnonzero((pairs == label).sum(1) == 1)
        upright = np.abs(self.data.contact.frame[hits, 2])
        return [(int(pairs[i].sum() - label), float(n)) for i, n in zip(hits, upright, strict=True)]

    def geoms_touching_gripper(self) -> np.ndarray:
        """Return the ids of the geoms that the gripper touches now, of shape (N,), int."""
        geoms = self.data.contact.geom
        own = self.label[geoms] == self.gripper
        return geoms[(own.sum(1) == 1)[:, None] & ~own]

    def label_name(self, label: int) -> str:
        """Return the name of the object with that label. Inverse of `label_of`."""
        return self._names[label]

    def pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return position (3,) and rotation (3, 3) of an object now, in world."""
        body = self.data.body(self._bodies[name])
        return body.xpos.copy(), body.xmat.reshape(3, 3).copy()

    @contextmanager
    def shifted(self, name: str, offset: np.ndarray) -> Iterator[None]:
        """Let an object be elsewhere by an offset (3,) meanwhile, to look at what would be there; nothing may move."""
        address = self.addresses[name]
        before = self.data.qpos[address : address + 3].copy()
        try:
            self.data.qpos[address : address + 3] = before + offset
            mujoco.mj_kinematics(self.model, self.data)
            yield
        finally:
            self.data.qpos[address : address + 3] = before
            mujoco.mj_kinematics(self.model, self.data)

    def centre_of_mass(self, name: str) -> np.ndarray:
        """Return an object's centre of mass in world, of shape (3,), at the state of the last step."""
        return self.data.subtree_com[self._bodies[name]].copy()

    def surface(self, points: np.ndarray, without: str = "") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cast rays straight down on collision shapes at points (N, 2), ignoring the gripper and one object.

        Return heights (N,) in metres, NaN where there is nothing; labels (N,), -1 there; and the normals' z (N,).
        """
        heights, labels, normals = np.full(len(points), np.nan), np.full(len(points), -1), np.zeros(len(points))
        geom, normal, down = np.zeros(1, np.int32), np.zeros(3), np.array([0, 0, -1.0])
        skip = self._bodies.get(without, -1)
        starts = np.column_stack([points, np.full(len(points), 2.0)])
        for i, start in enumerate(starts):
            distance = mujoco.mj_ray(self.model, self.data, start, down, _SOLID_GROUPS, 1, skip, geom, normal)
            if distance >= 0:
                heights[i], labels[i], normals[i] = 2.0 - distance, self.label[geom[0]], abs(normal[2])
        return heights, labels, normals

    def ray(self, start: np.ndarray, direction: np.ndarray) -> tuple[float, int, np.ndarray]:
        """Cast a ray on collision shapes, ignoring the gripper: distance in metres (-1: nothing), label and normal."""
        distance, geom, normal = self.ray_to_geom(start, direction)
        return distance, int(self.label[geom]) if distance >= 0 else -1, normal

    def ray_to_geom(self, start: np.ndarray, direction: np.ndarray) -> tuple[float, int, np.ndarray]:
        """Cast a ray as `ray` does: distance in metres (-1: nothing), id of the geom, and normal (3,)."""
        geom, normal = np.zeros(1, np.int32), np.zeros(3)
        distance = mujoco.mj_ray(self.model, self.data, start, direction, _SOLID_GROUPS, 1, -1, geom, normal)
        return float(distance), int(geom[0]), normal

    def state(self, names: Iterable[str] | None = None) -> State:
        """Return the state now; what is nearer than TOUCH_DISTANCE is in contact.

        `names` are the objects to measure; None for all.
        """
        return self.state_at(self.data.qpos, self.time, names)

    def state_at(self, qpos: np.ndarray, time: float, names: Iterable[str] | None = None) -> State:
        """Return the state at recorded coordinates (nq,) and a time in seconds; the simulation is left as it is."""
        world, data = self.world, self._contact_data
        data.qpos[:] = qpos
        mujoco.mj_kinematics(self._contact_model, data)
        mujoco.mj_comPos(self._contact_model, data)
        mujoco.mj_collision(self._contact_model, data)
        labels = set(map(tuple, self.label[data.contact.geom].tolist()))
        pairs = {frozenset(self._names[i] for i in pair) for pair in labels}
        objects = {name: self._object(name, data) for name in (world.objects if names is None else names)}
        touching = frozenset(p for p in pairs if len(p) == 2 and GRIPPER not in p)
        return State(objects, touching, world.zones, world.table, world.right, world.away, time)

    def _object(self, name: str, data: mujoco.MjData) -> Object:
        placed, body = self.world.objects[name], data.body(self._bodies[name])
        clouds = {b: p @ data.xmat[b].reshape(3, 3).T + data.xpos[b] for b, p in self.shapes[name].items() if len(p)}
        points = np.concatenate(list(clouds.values()))
        joints = [(part, self.parts[name, part.name]) for part in placed.parts]
        parts = tuple(part_at(part, joint, clouds[joint.body], data) for part, joint in joints if joint.body in clouds)
        measured = object.__new__(MeasuredObject)
        vars(measured).update(
            self._placed[name], ground_points=points[:, :2], position=body.xpos.copy(), quat_wxyz=body.xquat.copy(),
            parts=parts, top=float(points[:, 2].max()), bottom=float(points[:, 2].min()),
        )  # fmt: skip
        return measured


def part_joints(model: mujoco.MjModel, objects: Mapping[str, Object]) -> dict[tuple[str, str], PartJoint]:
    """Return the joints of all parts by the names of object and part."""
    return {(o.name, part.name): _part_joint(model, part) for o in objects.values() for part in o.parts}


def _part_joint(model: mujoco.MjModel, part: ArticulatedPart) -> PartJoint:
    joint = model.joint(part.joint)
    body = int(joint.bodyid[0])
    geoms = [g for g in range(model.ngeom) if body in ancestors(model, int(model.geom_bodyid[g]))]
    return PartJoint(joint.id, body, part.kind, int(joint.qposadr[0]), int(joint.dofadr[0]), np.array(geoms, int))


def part_at(part: ArticulatedPart, joint: PartJoint, points: np.ndarray, data: mujoco.MjData) -> ArticulatedPart:
    """Return the part with its joint as in `data` and these outermost world points (N, 3)."""
    axis, anchor = data.xaxis[joint.joint].copy(), data.xanchor[joint.joint].copy()
    return replace(part, value=float(data.qpos[joint.address]), axis=axis, anchor=anchor, corners=points)


def ancestors(model: mujoco.MjModel, body: int) -> list[int]:
    """Return a body and all its ancestors."""
    chain = [body]
    while chain[-1]:
        chain.append(int(model.body_parentid[chain[-1]]))
    return chain


def _support_points(model: mujoco.MjModel, home: mujoco.MjData, body: int, geoms: np.ndarray) -> np.ndarray:
    """Return the outermost points of those geoms that collide, in the body's frame, of shape (N, 3)."""
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
    """Return the farthest points of a geom in the given directions (N, 3), in its own frame."""
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
    """Return unit vectors spread evenly (Fibonacci spiral), with the six axes and the equator, of shape (N, 3)."""
    z = 1 - (2 * np.arange(count) + 1) / count
    angle = np.pi * (1 + 5**0.5) * np.arange(count)
    spiral = np.stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z], -1)
    turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    equator = np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1)
    return np.concatenate([spiral, equator, np.eye(3), -np.eye(3)])

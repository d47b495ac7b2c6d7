"""Bring a scene to rest gently: separate overlapping objects, then simulate with high damping and without."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import cv2
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import Pose
from pipeline.scene.contact_groups import contact_groups
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.mesh_export import modified_ns
from pipeline.scene.placement import Placement, Scene
from pipeline.store import digest

REPORTED_SHIFT_M = 0.01
"""Motion of an object above which it is reported."""
TOPPLE_ANGLE_RAD = float(np.radians(15))
"""Rotation above which an object is reported, or tilt above which it has toppled."""
DAMPING_PHASES = ((60.0, 0.6), (8.0, 0.8), (0.0, 3.0))
"""Damping in 1/s and longest duration in s of each phase of the simulation."""
MAX_LIFT_M = 0.04
"""Distance by which an object is lifted off another at most. Beyond it, the object is moved sideways."""
MIN_MISFIT_M = 0.001
"""Misfits below this count as equal when overlapping objects are separated."""
STEPS_BETWEEN_LOOKS = 50
"""Steps of the simulation between two looks at whether everything is at rest."""


class _Rest(NamedTuple):
    """How an object came to rest, by the names of a Placement's fields."""

    world_from_object: Pose
    foot: bool
    fixed: bool


_settled: dict[str, tuple[_Rest, ...]] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class SettleReport:
    """What settling changed about one object."""

    name: str
    moved: float
    """Metres between the pose before settling and the pose at rest."""
    turned: float
    """Radians between them."""
    message: str
    """One sentence for the person."""
    held: bool = False
    """Whether the object would not rest and was fixed where it was observed."""


def settle(scene: Scene) -> tuple[Scene, tuple[SettleReport, ...]]:
    """Return the scene at rest, and a report of each object that moved by more than a centimetre or got help.

    An object that would topple from its observed pose gets a flat foot, and one that would leave the table is fixed:
    the photograph is the evidence that it stands there. Objects that cannot touch settle apart, so that time grows with
    their number only, and what settled before is known. Raises SceneError.
    """
    groups = contact_groups(scene.placements)
    while True:
        placements = list(scene.placements)
        for group in groups:
            alone = replace(scene, placements=tuple(scene.placements[i] for i in group))
            for index, rested in zip(group, _settled_group(alone, scene), strict=True):
                placements[index] = rested
        former = groups
        if any(q.fixed and not p.fixed for p, q in zip(scene.placements, placements, strict=True)):
            groups = (tuple(range(len(placements))),)  # one left the table, and may have met any other
        else:
            # those that came near one another settle together; 0.005: metres, less than between what begins apart
            groups = contact_groups(placements, scene.placements, groups, apart=0.005)
        if groups == former:
            break
    settled = replace(scene, placements=tuple(placements))
    pairs = zip(scene.placements, settled.placements, strict=True)
    return settled, tuple(report for p, q in pairs if (report := _report(p, q)))


def _settled_group(scene: Scene, whole: Scene) -> tuple[Placement, ...]:
    """Return the placements at rest of a scene with some objects of another, from memory if they settled before."""
    key = _physics_key(scene, whole)
    with _lock:
        known = _settled.get(key)
    if known is None:
        settled, toppled = _settle_on_table(scene, whole)
        if toppled:
            helped = tuple(replace(p, foot=True) if p.name in toppled else p for p in scene.placements)
            settled, _ = _settle_on_table(replace(scene, placements=helped), whole)
        known = tuple(_Rest(p.world_from_object, p.foot, p.fixed) for p in settled.placements)
        with _lock:
            _settled[key] = known
            # Groups that are remembered; the oldest is forgotten first
            while len(_settled) > 256:
                del _settled[next(iter(_settled))]
    return tuple(replace(p, **rest._asdict()) for p, rest in zip(scene.placements, known, strict=True))


def _physics_key(scene: Scene, whole: Scene) -> str:
    """Return a hash of all of a scene that decides how it settles."""
    objects = [
        (
            p.segment_id, p.scale, p.size, p.world_from_object.pos, p.world_from_object.quat_wxyz, p.mass, p.friction,
            p.fixed, p.foot, p.prop, p.misfit,
            [(path, modified_ns(path)) for path in (p.mesh, *p.collision, *([p.model] if p.model else []))],
        )
        for p in scene.placements
    ]  # fmt: skip
    shelves = [(shelf.outline, shelf.height) for shelf in scene.shelves]
    walls = [(wall.outline, wall.height, wall.lean, wall.not_touched) for wall in scene.walls]
    slabs = [builder.table_slab(whole), *(builder.shelf_slab(whole, shelf) for shelf in whole.shelves)]
    return digest(scene.table, [list(slab) for slab in slabs], objects, shelves, walls)


def _settle_on_table(scene: Scene, whole: Scene) -> tuple[Scene, set[str]]:
    """Return the scene at rest, objects that would leave the table fixed, and the names of those that topple."""
    while True:
        settled, toppled, lost = _simulate(scene, whole)
        if not lost:
            return settled, toppled
        held = tuple(replace(p, fixed=True) if p.name in lost else p for p in scene.placements)
        scene = replace(scene, placements=held)


def _simulate(scene: Scene, whole: Scene) -> tuple[Scene, set[str], set[str]]:
    """Return the scene at rest, the objects that toppled or would at a nudge, and those that left the table."""
    world = SettlingWorld(scene, whole)
    world.separate_overlaps()
    world.simulate_to_rest()
    settled = world.current_scene()
    if lost := _lost(settled):
        return settled, set(), lost
    world.nudge()
    nudged = world.current_scene()
    toppled = _toppled(scene, settled) | _toppled(settled, nudged)
    if any(_slid_while_leaning(p, q) for p, q in zip(settled.placements, nudged.placements, strict=True)):
        world.simulate_to_rest()
        settled = world.current_scene()
    return settled, toppled, _lost(settled)


def _lost(scene: Scene) -> set[str]:
    """Return the names of the free objects that are no longer on the table."""
    return {p.name for p in scene.placements if not p.fixed and not _is_on_table(p)}


def _slid_while_leaning(before: Placement, after: Placement) -> bool:
    """Whether an object leant on another so lightly that a nudge moved it."""
    a, b = before.world_from_object, after.world_from_object
    # Cosine of the tilt, five degrees, above which an object leans
    leaning = float(np.abs(a.rotation[2]).max()) < 0.996
    return leaning and float(np.linalg.norm(b.pos - a.pos)) > MIN_MISFIT_M


def _toppled(before: Scene, after: Scene) -> set[str]:
    return {p.name for p, q in zip(before.placements, after.placements, strict=True) if _has_toppled(p, q)}


def _has_toppled(before: Placement, after: Placement) -> bool:
    """Whether an upright object is no longer upright. A rotation about the vertical does not count."""
    up, now = before.world_from_object.rotation[:, 2], after.world_from_object.rotation[:, 2]
    return bool(up[2] > 0.9 and up @ now < np.cos(TOPPLE_ANGLE_RAD))


def _separating_direction(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the unit direction (2,) across a side of a footprint in which the second leaves the first soonest."""
    directions = []
    for corners in (first, second):
        a, b, c, _ = cv2.boxPoints(cv2.minAreaRect(corners.astype(np.float32)))
        directions += [a - b, b - a, b - c, c - b]
    units = np.array(directions) / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-9)
    overlap = (first @ units.T).max(0) - (second @ units.T).min(0)
    return units[overlap.argmin()]


def _is_on_table(p: Placement) -> bool:
    pos = p.world_from_object.pos
    return bool(np.isfinite(pos).all() and pos[2] > -builder.TABLE_THICKNESS_M)


def _report(before: Placement, after: Placement) -> SettleReport | None:
    """Return what a person should know of the change; None if it is not worth a report."""
    a, b = before.world_from_object, after.world_from_object
    name, moved = after.name, float(np.linalg.norm(b.pos - a.pos))
    turned = float(Rotation.from_matrix(a.rotation.T @ b.rotation).magnitude())
    if after.fixed and not before.fixed:
        message = f"{name} would not rest on the table and was fixed where the photograph shows it"
        return SettleReport(name, 0.0, 0.0, f"{message}; move it, or choose another asset", held=True)
    if after.foot and not before.foot:
        return SettleReport(name, moved, turned, f"{name} would topple; a flat foot was added")
    fell = float(a.pos[2] - b.pos[2])
    if fell > REPORTED_SHIFT_M and fell > 0.7 * moved and turned < TOPPLE_ANGLE_RAD:
        advice = "no support was found under it; add a mask for its support, or split a mask"
        return SettleReport(name, moved, turned, f"{name} sank {fell * 100:.1f} cm: {advice}")
    if moved > REPORTED_SHIFT_M or turned > TOPPLE_ANGLE_RAD:
        rotation = f" and {np.degrees(turned):.0f} degrees" if turned > TOPPLE_ANGLE_RAD else ""
        message = f"{name} moved {moved * 100:.1f} cm{rotation} until it came to rest"
        return SettleReport(name, moved, turned, message)
    return None


class SettlingWorld:
    """A compiled scene whose free bodies are separated and simulated."""

    def __init__(self, scene: Scene, whole: Scene | None = None):
        """Compile the collision shapes of a scene, on table and shelves of the `whole` one. Raises SceneError."""
        self.scene = scene
        self.model = builder.compile_spec(builder.build_spec(scene, visuals=False, whole=whole))
        self.data = mujoco.MjData(self.model)
        self.free = [p.name for p in scene.placements if not p.fixed]
        self.qpos = {name: int(self.model.joint(name).qposadr[0]) for name in self.free}
        self.dof = {name: int(self.model.joint(name).dofadr[0]) for name in self.free}
        self.body = {name: int(self.model.body(name).id) for name in self.free}
        self.initial = {p.name: p for p in scene.placements}
        self.mobility = {p.name: max(p.misfit, MIN_MISFIT_M) ** 2 for p in scene.placements}
        self.lifted = dict.fromkeys(self.free, 0.0)

    def current_scene(self) -> Scene:
        """Return the scene with the present poses."""
        return replace(self.scene, placements=tuple(self._current_placement(p) for p in self.scene.placements))

    def _current_placement(self, p: Placement) -> Placement:
        if p.fixed:
            return p
        qpos = self.data.qpos[self.qpos[p.name] : self.qpos[p.name] + 7].copy()
        quat = qpos[3:] / np.linalg.norm(qpos[3:])
        return replace(p, world_from_object=Pose(qpos[:3], quat if quat[0] >= 0 else -quat))

    def separate_overlaps(self, rounds: int = 80) -> None:
        """Push overlapping objects apart: sideways if they stand side by side, upwards if one lies on the other.

        Of two side by side, the one with the larger misfit moves more.
        """
        name_of_body = {body: name for name, body in self.body.items()}
        for _ in range(rounds):
            mujoco.mj_forward(self.model, self.data)
            step: dict[str, np.ndarray] = {}
            for contact in self.data.contact[: self.data.ncon]:
                # Overlap that the contacts themselves resolve gently
                if contact.dist < -0.0003:
                    names = [name_of_body.get(int(self.model.geom_bodyid[g])) for g in contact.geom]
                    for name, push in self._pushes(names, contact.frame[:3], -float(contact.dist)):
                        if np.linalg.norm(push) > np.linalg.norm(step.get(name, np.zeros(3))):
                            step[name] = push
            if not step:
                break
            for name, push in step.items():
                self.data.qpos[self.qpos[name] : self.qpos[name] + 3] += push
                self.lifted[name] += max(push[2], 0.0)

    def _pushes(self, names: list[str | None], normal: np.ndarray, depth: float) -> list[tuple[str, np.ndarray]]:
        """Return the displacements (3,) that resolve one contact, by object.

        `names` are its two objects, None for one that cannot move; `normal` points from the first to the second.
        """
        first, second = names
        flat = np.array([normal[0], normal[1], 0.0])
        if abs(normal[2]) > 0.7:
            lower, upper = (first, second) if normal[2] > 0 else (second, first)
            sideways = self._sideways(lower, upper)
            if sideways is None:
                return [(upper, np.array([0, 0, depth]))] if upper else []
            flat = sideways if normal[2] > 0 else -sideways
        flat *= 1.1 * depth / max(float(np.linalg.norm(flat)), 1e-9)
        mobility = {name: self.mobility[name] for name in names if name}
        total = sum(mobility.values())
        return [(name, sign * mobility[name] / total * flat) for name, sign in ((first, -1), (second, 1)) if name]

    def _sideways(self, lower: str | None, upper: str | None) -> np.ndarray | None:
        """Return the horizontal direction (3,) in which the upper object leaves the lower; None if it lies on it."""
        if lower not in self.initial or upper not in self.initial:
            return None
        a, b = self.initial[lower], self.initial[upper]
        if self.lifted.get(upper, 0.0) > MAX_LIFT_M:
            return np.append(_separating_direction(a.footprint, b.footprint), 0.0)
        # Height of its bottom above table or shelf up to which an object stands beside what it overlaps, not on top of
        # it
        if b.bottom - self.scene.floor_under(b) > 0.005:
            return None
        hull = cv2.convexHull(a.footprint.astype(np.float32))
        if cv2.pointPolygonTest(hull, b.world_from_object.pos[:2].tolist(), False) >= 0:
            return None
        return np.append(_separating_direction(a.footprint, b.footprint), 0.0)

    def simulate_to_rest(self, phases: Sequence[tuple[float, float]] = DAMPING_PHASES) -> None:
        """Simulate until nothing moves, with high damping first so that nothing is flung away.

        `phases` are the damping in 1/s and the longest duration in s of each.
        """
        for damping, seconds in phases:
            self.model.dof_damping[:] = damping * self._inertia()
            self.step(seconds)

    def nudge(self, seconds: float = 0.8) -> None:
        """Rock all free bodies a little: what balances on a point topples, everything else sways back."""
        for name in self.free:
            self.data.qvel[self.dof[name] + 3 : self.dof[name] + 5] += 0.15
        self.step(seconds)

    def step(self, seconds: float) -> None:
        """Simulate for so long, or until everything is at rest."""
        left = int(seconds / self.model.opt.timestep)
        while left > 0:
            steps = min(left, STEPS_BETWEEN_LOOKS)
            mujoco.mj_step(self.model, self.data, nstep=steps)
            left -= steps
            # 2e-4: speed in m/s and rad/s below which everything is at rest
            if steps == STEPS_BETWEEN_LOOKS and np.abs(self.data.qvel).max(initial=0.0) < 2e-4:
                break

    def _inertia(self) -> np.ndarray:
        """Return mass or largest moment of inertia of each degree of freedom, of shape (nv,)."""
        inertia = np.zeros(self.model.nv)
        for name, dof in self.dof.items():
            inertia[dof : dof + 3] = self.model.body_mass[self.body[name]]
            inertia[dof + 3 : dof + 6] = self.model.body_inertia[self.body[name]].max()
        return inertia

"""Bring a scene to rest without throwing it about: part what overlaps, then let go in treacle, then in air."""

from dataclasses import dataclass, replace

import cv2
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import Pose
from pipeline.scene import mjcf
from pipeline.scene.placement import Placement, Scene

NOTEWORTHY = 0.01
"""Metres an object may move before a person is told."""
TOPPLED = float(np.radians(15))
LEVEL = 0.996
"""Cosine of the tilt, five degrees, from which a thing leans."""
OVERLAP = 0.0003
"""Metres of overlap that the contacts themselves resolve gently."""
PHASES = ((60.0, 0.6), (8.0, 0.8), (0.0, 3.0))
"""Damping in 1/s and the longest time in s of each phase."""
BESIDE = 0.005
"""Metres above the table up to which a thing stands on it, beside what it overlaps and not upon it."""
LIFT = 0.04
"""Metres by which one thing is lifted off another at most: what needs more stands in it, and goes aside."""
SURE = 0.001
"""Metres of misfit below which one thing is no surer than another."""
STILL = 2e-4
"""Metres (and radians) a second below which things are at rest."""


@dataclass(frozen=True)
class Settled:
    """What settling did to one object that a person should know of."""

    name: str
    moved: float
    """Metres between the pose it was given and the one it rests in."""
    turned: float
    """Radians."""
    note: str
    """One sentence."""
    held: bool = False
    """It would not rest, and was fixed where it was seen."""


def settle(scene: Scene) -> tuple[Scene, tuple[Settled, ...]]:
    """The scene at rest, and what moved by more than a centimetre or had to be helped. Raises SceneError.

    What would topple from the pose it was seen in is given a flat foot, and what would leave the table is fixed: the
    photograph is the evidence that it stands there.
    """
    rested, fallen = _kept(scene)
    if fallen:
        helped = tuple(replace(p, foot=True) if p.name in fallen else p for p in scene.placements)
        rested, _ = _kept(replace(scene, placements=helped))
    pairs = zip(scene.placements, rested.placements, strict=True)
    return rested, tuple(s for p, q in pairs if (s := _said(p, q)))


def _kept(scene: Scene) -> tuple[Scene, set[str]]:
    """At rest with all on the table, and the names of those that fell over on the way or would at a nudge."""
    while True:
        rested, fallen, lost = _rest(scene)
        if not lost:
            return rested, fallen
        held = tuple(replace(p, fixed=True) if p.name in lost else p for p in scene.placements)
        scene = replace(scene, placements=held)


def _rest(scene: Scene) -> tuple[Scene, set[str], set[str]]:
    """At rest, the names of those that fell over on the way or would at a nudge, and of those that left the table."""
    world = _World(scene)
    world.part()
    world.fall()
    rested = world.placed()
    if lost := {p.name for p in rested.placements if not p.fixed and not _sane(p)}:
        return rested, set(), lost
    world.nudge()
    nudged = world.placed()
    fallen = _fallen(scene, rested) | _fallen(rested, nudged)
    if any(_leaned(p, q) for p, q in zip(rested.placements, nudged.placements, strict=True)):
        world.fall()
        rested = world.placed()
    return rested, fallen, {p.name for p in rested.placements if not p.fixed and not _sane(p)}


def _leaned(before: Placement, after: Placement) -> bool:
    """Whether a thing leant on another by so little that a nudge moved it on."""
    a, b = before.world_from_object, after.world_from_object
    tilted = float(np.abs(a.rotation[2]).max()) < LEVEL
    return tilted and float(np.linalg.norm(b.pos - a.pos)) > SURE


def _fallen(before: Scene, after: Scene) -> set[str]:
    return {p.name for p, q in zip(before.placements, after.placements, strict=True) if _toppled(p, q)}


def _toppled(before: Placement, after: Placement) -> bool:
    """Whether an upright thing no longer is. A turn about the vertical is no fall."""
    up, now = before.world_from_object.rotation[:, 2], after.world_from_object.rotation[:, 2]
    return bool(up[2] > 0.9 and up @ now < np.cos(TOPPLED))


def _apart(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The way in which the second footprint leaves the first soonest, of shape (2,): across one of their sides."""
    ways = []
    for corners in (first, second):
        a, b, c, _ = cv2.boxPoints(cv2.minAreaRect(corners.astype(np.float32)))
        ways += [a - b, b - a, b - c, c - b]
    units = np.array(ways) / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)
    overlap = (first @ units.T).max(0) - (second @ units.T).min(0)
    return units[overlap.argmin()]


def _sane(p: Placement) -> bool:
    pos = p.world_from_object.pos
    return bool(np.isfinite(pos).all() and pos[2] > -mjcf.THICKNESS)


def _said(before: Placement, after: Placement) -> Settled | None:
    a, b = before.world_from_object, after.world_from_object
    moved = float(np.linalg.norm(b.pos - a.pos))
    turned = float(Rotation.from_matrix(a.rotation.T @ b.rotation).magnitude())
    if after.fixed and not before.fixed:
        why = "it is held where it was seen; move it, or choose another asset"
        return Settled(after.name, 0.0, 0.0, f"{after.name} would not rest on the table; {why}", held=True)
    if after.foot and not before.foot:
        return Settled(after.name, moved, turned, f"{after.name} would have toppled; it was given a flat foot")
    fell = float(a.pos[2] - b.pos[2])
    if fell > NOTEWORTHY and fell > 0.7 * moved and turned < TOPPLED:
        why = "nothing was found under it; add a mask for what holds it, or split one"
        return Settled(after.name, moved, turned, f"{after.name} sank {fell * 100:.1f} cm: {why}")
    if moved > NOTEWORTHY or turned > TOPPLED:
        how = f"{moved * 100:.1f} cm" + (f" and {np.degrees(turned):.0f} degrees" if turned > TOPPLED else "")
        return Settled(after.name, moved, turned, f"{after.name} moved {how} until it came to rest")
    return None


class _World:
    """A compiled scene whose free bodies are moved about."""

    def __init__(self, scene: Scene):
        self.scene = scene
        self.model = mjcf.compile_spec(mjcf.build(scene, looks=False))
        self.data = mujoco.MjData(self.model)
        self.free = [p.name for p in scene.placements if not p.fixed]
        self.qpos = {name: int(self.model.joint(name).qposadr[0]) for name in self.free}
        self.dof = {name: int(self.model.joint(name).dofadr[0]) for name in self.free}
        self.body = {name: int(self.model.body(name).id) for name in self.free}
        self.laid = {p.name: p for p in scene.placements}
        self.loose = {p.name: max(p.misfit, SURE) ** 2 for p in scene.placements}
        self.lifted = dict.fromkeys(self.free, 0.0)

    def placed(self) -> Scene:
        """The scene as it is now."""
        return replace(self.scene, placements=tuple(self._placed(p) for p in self.scene.placements))

    def _placed(self, p: Placement) -> Placement:
        if p.fixed:
            return p
        qpos = self.data.qpos[self.qpos[p.name] : self.qpos[p.name] + 7].copy()
        quat = qpos[3:] / np.linalg.norm(qpos[3:])
        return replace(p, world_from_object=Pose(qpos[:3], quat if quat[0] >= 0 else -quat))

    def part(self, rounds: int = 80) -> None:
        """Push what overlaps apart: sideways where it stands side by side, upwards where one lies on the other.

        Of two side by side, the one that fits what was seen worse gives way more.
        """
        of_body = {body: name for name, body in self.body.items()}
        for _ in range(rounds):
            mujoco.mj_forward(self.model, self.data)
            step: dict[str, np.ndarray] = {}
            for contact in self.data.contact[: self.data.ncon]:
                if contact.dist < -OVERLAP:
                    joined = [of_body.get(int(self.model.geom_bodyid[g])) for g in contact.geom]
                    for name, push in self._pushes(joined, contact.frame[:3], -float(contact.dist)):
                        if np.linalg.norm(push) > np.linalg.norm(step.get(name, np.zeros(3))):
                            step[name] = push
            if not step:
                break
            for name, push in step.items():
                self.data.qpos[self.qpos[name] : self.qpos[name] + 3] += push
                self.lifted[name] += max(push[2], 0.0)

    def _pushes(self, joined: list[str | None], normal: np.ndarray, depth: float) -> list[tuple[str, np.ndarray]]:
        """What one contact asks of the two it joins, its normal from the first to the second; None cannot move."""
        first, second = joined
        flat = np.array([normal[0], normal[1], 0.0])
        if abs(normal[2]) > 0.7:
            lower, upper = (first, second) if normal[2] > 0 else (second, first)
            aside = self._beside(lower, upper)
            if aside is None:
                return [(upper, np.array([0, 0, depth]))] if upper else []
            flat = aside if normal[2] > 0 else -aside
        flat *= 1.1 * depth / max(float(np.linalg.norm(flat)), 1e-9)
        loose = {name: self.loose[name] for name in joined if name}
        total = sum(loose.values())
        return [(name, sign * loose[name] / total * flat) for name, sign in ((first, -1), (second, 1)) if name]

    def _beside(self, lower: str | None, upper: str | None) -> np.ndarray | None:
        """The flat way out for a thing beside one that it overlaps, of shape (3,); None where it lies upon that."""
        if lower not in self.laid or upper not in self.laid:
            return None
        a, b = self.laid[lower], self.laid[upper]
        if self.lifted.get(upper, 0.0) > LIFT:
            return np.append(_apart(a.footprint, b.footprint), 0.0)
        if b.bottom > BESIDE:
            return None
        hull = cv2.convexHull(a.footprint.astype(np.float32))
        if cv2.pointPolygonTest(hull, b.world_from_object.pos[:2].tolist(), False) >= 0:
            return None
        return np.append(_apart(a.footprint, b.footprint), 0.0)

    def fall(self) -> None:
        """Physics until nothing moves, damped first so that nothing is flung."""
        for damping, seconds in PHASES:
            self.model.dof_damping[:] = damping * self._inertia()
            self._step(seconds)

    def nudge(self, seconds: float = 0.8) -> None:
        """Rock everything a little: what balances on a point falls over, all else sways back."""
        for name in self.free:
            self.data.qvel[self.dof[name] + 3 : self.dof[name] + 5] += 0.15
        self._step(seconds)

    def _step(self, seconds: float) -> None:
        for step in range(int(seconds / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)
            if step % 50 == 49 and np.abs(self.data.qvel).max(initial=0.0) < STILL:
                break

    def _inertia(self) -> np.ndarray:
        inertia = np.zeros(self.model.nv)
        for name, dof in self.dof.items():
            inertia[dof : dof + 3] = self.model.body_mass[self.body[name]]
            inertia[dof + 3 : dof + 6] = self.model.body_inertia[self.body[name]].max()
        return inertia

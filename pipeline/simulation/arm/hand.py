"""The arm as the oracle's hand: chooses a grasp, takes hold by friction, carries and sets down.

What it cannot do it says: no grasp, out of reach, would collide, slipped.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pipeline.simulation import landing
from pipeline.simulation.arm import body, fingers
from pipeline.simulation.arm.clearance import Clearance, Held
from pipeline.simulation.arm.grasps import WIDEST, Grasp, grasps
from pipeline.simulation.arm.kinematics import Kinematics, nearest, pose
from pipeline.simulation.arm.motion import Motion
from pipeline.simulation.arm.paths import path
from pipeline.simulation.goals import Inside
from pipeline.simulation.moves import Move, Pull
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics

LIFT = 0.10
"""How far a thing is lifted straight up, and the gripper comes down straight, in metres."""
RELEASE = 0.010
"""How much wider than the thing the fingers open to let go on either side where there is room, in metres."""
PITCH = 0.02
"""Metres between two postures on a straight line of the gripper's."""
DOWN = 0.06
"""Speed while setting down, in m/s."""
DROPS = (0.0, 0.012, 0.025, 0.04, 0.055, 0.075, 0.095)
"""From how high a thing may be let fall into a container whose walls leave the fingers no room, in metres."""
MOST = 16
"""Grasps that are thought through for one pick."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A grasp with the postures it takes."""

    grasp: Grasp
    above: np.ndarray
    at: np.ndarray
    way: list[np.ndarray]
    drop: float
    """How far above what is under it the thing is let go, in metres."""


class ArmHand:
    """Carries one object at a time."""

    gap = 0.036

    def __init__(self, physics: Physics, kinematics: Kinematics, home: np.ndarray):
        self.physics, self.kinematics, self.home = physics, kinematics, home
        self.motion, self.clearance = Motion(physics), Clearance(physics)
        self.width = fingers.WIDEST
        """How far the fingers are open."""
        self._failed: dict[str, list[Grasp]] = {}
        self._held: Held | None = None
        self._drop = 0.0

    # ------------------------------------------------------------------ the oracle's verbs

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        thing = self.physics.state()[move.object]
        found = grasps(self.physics, thing)
        if not found.found:
            if found.barred_by and found.barred_by != move.object:
                covers[move.object] = found.barred_by
                return f"no grasp: {found.barred_by} leaves no room for the fingers at {move.object}"
            return _too_wide(thing, found.narrowest)
        failed = self._failed.setdefault(move.object, [])
        fresh = [g for g in found.found if not any(_alike(g, f) for f in failed)] or list(found.found)
        self.clearance.refresh()
        troubles: list[str] = []
        for grasp in fresh[:MOST]:
            plan = self._think(grasp, thing, move)
            if isinstance(plan, Plan):
                message = self._take(plan, thing)
                if message:
                    failed.append(grasp)
                return message
            troubles.append(plan)
        failed.clear()
        trouble = max(set(troubles), key=troubles.count)
        if (bar := _barring(trouble)) in self.physics.addresses and bar != move.object:
            covers[move.object] = bar
        return trouble

    def place(self, move: Move) -> str:
        held, physics = self._held, self.physics
        assert held is not None
        self.clearance.refresh()
        thing = physics.state()[move.object]
        target, top, low = self._target(thing, move, held)
        if target is None:
            return self._let_go_here(f"{move.object} cannot be turned as it should stand within the arm's reach")
        above = _raised(target, LIFT)
        q_above = self.kinematics.solve(above, None)
        if q_above is None:
            return self._let_go_here(f"out of reach: the arm cannot hold {move.object} over its place")
        message = self._go(q_above, held)
        if message:
            return self._let_go_here(message)
        if not self.motion.holds(move.object):
            return self._let_go_here(f"{move.object} slipped out of the gripper on the way")
        depth = above[2, 3] - target[2, 3] - max(self._drop, 0.012)
        self._line(np.array([0, 0, -depth]), depth / 0.25)
        if not self._drop:
            self._line(np.array([0, 0, -(top - low + 0.032)]), (top - low + 0.032) / DOWN, self._touching(move.object))
        self._release()
        return ""

    def pull(self, pull: Pull) -> str:
        return f"the arm does not {pull.verb} things yet; the floating gripper does: choose it for {pull.target}"

    def retreat(self) -> None:
        self._go(self.home, None)

    # ------------------------------------------------------------------ thinking

    def _think(self, grasp: Grasp, thing: Object, move: Move) -> Plan | str:
        """Postures for a grasp and for setting down after it, or why there are none."""
        name, reason = move.object, "out of reach"
        for half in (0.0, np.pi):
            hand = pose(self._pinch(grasp.point, grasp.width), grasp.turn + half)
            above = hand.copy()
            above[2, 3] += LIFT
            q_at = self.kinematics.solve(hand)
            q_above = self.kinematics.solve(above)
            if q_at is None or q_above is None:
                reason = f"out of reach: {name} is {self._far(grasp.point):.2f} m from the arm's base"
                continue
            limits = self.kinematics.model.jnt_range
            q_above = nearest(q_above, self.motion.commanded, limits)
            q_at = nearest(q_at, q_above, limits)
            hit = self.clearance.hit(q_at, grasp.opening) or self.clearance.hit(q_above, grasp.opening)
            if hit:
                reason = f"the arm would collide with {hit} when it takes {name}"
                continue
            drop = self._drop_at(hand, grasp, thing, move)
            if isinstance(drop, str):
                reason = drop
                continue
            self._rise(None)
            way = path(self.motion.commanded, q_above, lambda q: not self.clearance.hit(q, self.width), limits)
            if way is None:
                reason = f"the arm finds no way to {name} without a collision"
                continue
            return Plan(grasp, q_above, q_at, way, drop)
        return reason

    def _drop_at(self, hand: np.ndarray, grasp: Grasp, thing: Object, move: Move) -> float | str:
        """How far it would be let fall at its place after this grasp, in metres; or why it cannot be set down there."""
        held = Held(thing.name, np.linalg.inv(hand) @ _pose(thing))
        target, _, _ = self._target(thing, move, held)
        if target is None:
            return f"out of reach: the place for {thing.name} is {self._far(move.xy):.2f} m from the arm's base"
        q_above = self.kinematics.solve(_raised(target, LIFT))
        hit, opening = "", min(grasp.width + 0.006, fingers.WIDEST)
        for drop in DROPS if isinstance(move.goal, Inside) and move.verb == "place" else DROPS[:1]:
            q = self.kinematics.solve(_raised(target, drop))
            if q is None or q_above is None:
                return f"out of reach: the place for {thing.name} is {self._far(move.xy):.2f} m from the arm's base"
            hit = hit_now = self.clearance.hit(q, opening, None, (thing.name,))
            if not hit_now:
                over = self.clearance.hit(q_above, grasp.width, held)
                return f"{thing.name} would collide with {over} over its place" if over else drop
        return f"the gripper would collide with {hit} when it sets {thing.name} down"

    def _target(self, thing: Object, move: Move, held: Held) -> tuple[np.ndarray | None, float, float]:
        """World from gripper where the thing touches what is under its place; highest and lowest of that."""
        upright = _upright(thing, move)
        top, low = landing.under(self.physics, upright, move.xy)
        rest = _pose(upright)
        rest[:3, 3] += [*(move.xy - upright.position[:2]), top - upright.bottom + 0.002]
        target = rest @ np.linalg.inv(held.hand_from_object)
        return (target if self.kinematics.guess(target) is not None else None), top, low

    def _pinch(self, point: np.ndarray, width: float) -> np.ndarray:
        return point + np.array([0, 0, fingers.tip(width)])

    def _far(self, point: np.ndarray) -> float:
        return float(np.linalg.norm(point[:2] - self.kinematics.base[:2]))

    # ------------------------------------------------------------------ doing

    def _take(self, plan: Plan, thing: Object) -> str:
        motion, physics = self.motion, self.physics
        motion.along(plan.way[1:])
        motion.open(plan.grasp.opening)
        self.width = plan.grasp.opening
        self._line(np.array([0, 0, -LIFT]), 0.9)
        motion.close()
        if not motion.holds(thing.name):
            self._back_off(plan.grasp.opening)
            return f"the fingers closed without a hold on {thing.name}"
        self._line(np.array([0, 0, LIFT]), 1.0)
        risen = physics.state()[thing.name].position[2] - thing.position[2]
        if not motion.holds(thing.name) or risen < 0.6 * LIFT:
            self._back_off(plan.grasp.opening)
            return f"{thing.name} slipped out of the gripper when it was lifted"
        self._held = Held(thing.name, np.linalg.inv(self._hand_now()) @ _pose(physics.state()[thing.name]))
        self.width, self._drop = plan.grasp.width, plan.drop
        return ""

    def _go(self, q: np.ndarray, held: Held | None) -> str:
        """Along a free way; the reason where there is none."""
        limits = self.kinematics.model.jnt_range
        q = nearest(q, self.motion.commanded, limits)
        self.clearance.refresh()
        self._rise(held)
        way = path(self.motion.commanded, q, lambda p: not self.clearance.hit(p, self.width, held), limits)
        if way is None:
            hit = self.clearance.hit(q, self.width, held) or "something on the way"
            what = held.name if held else "the arm"
            return f"{what} would collide with {hit}"
        self.motion.along(way[1:])
        return ""

    def _rise(self, held: Held | None) -> None:
        """Straight up until nothing is nearer than it may be, or it goes no further."""
        for _ in range(8):
            if not self.clearance.hit(self.motion.commanded, self.width, held):
                return
            self._line(np.array([0, 0, 0.04]), 0.4)

    def _line(self, by: np.ndarray, seconds: float, until=None) -> bool:
        """Moves the gripper straight; whether `until` stopped it."""
        start = self.kinematics.forward(self.motion.commanded)
        count = max(1, int(np.ceil(np.linalg.norm(by) / PITCH)))
        way, q = [], self.motion.commanded
        for share in np.linspace(0, 1, count + 1)[1:]:
            target = start.copy()
            target[:3, 3] += share * by
            found = self.kinematics.solve(target, q)
            if found is None:
                break
            q = found
            way.append(q)
        return self.motion.along(way, max(seconds, 0.1), until) if way else False

    def _release(self) -> None:
        opening = min(self.width + 2 * RELEASE, fingers.WIDEST)
        q = self.motion.commanded
        self.clearance.refresh()
        past = (self._held.name,) if self._held else ()
        for wider in (opening, min(self.width + 0.01, fingers.WIDEST)):
            opening = wider
            if not self.clearance.hit(q, wider, None, past):
                break
        self._back_off(opening)
        self.physics.settle(1.5)

    def _back_off(self, opening: float) -> None:
        """Lets go and goes straight up."""
        self.motion.open(opening)
        self.width, self._held = opening, None
        self._line(np.array([0, 0, LIFT]), 0.9)

    def _let_go_here(self, message: str) -> str:
        """Sets down what is held where it is, as softly as it can."""
        held, physics = self._held, self.physics
        if held is not None and self.motion.holds(held.name):
            thing = physics.state()[held.name]
            top, _ = landing.under(physics, thing, thing.position[:2])
            drop = max(thing.bottom - top, 0.0) + 0.02
            self._line(np.array([0, 0, -drop]), drop / 0.15, self._touching(held.name))
        self._release()
        return message

    def _touching(self, name: str) -> Callable[[], bool]:
        """Whether what is held stands on something."""
        physics, label = self.physics, self.physics.index(name)
        return lambda: any(other != physics.gripper and up > 0.3 for other, up in physics.contacts(label))

    def _hand_now(self) -> np.ndarray:
        site = self.physics.data.site(body.PINCH)
        made = np.eye(4)
        made[:3, :3], made[:3, 3] = site.xmat.reshape(3, 3), site.xpos
        return made


def _pose(thing: Object) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = thing.rotation, thing.position
    return made


def _raised(target: np.ndarray, by: float) -> np.ndarray:
    above = target.copy()
    above[2, 3] += by
    return above


def _upright(thing: Object, move: Move) -> Object:
    """As it should stand: turned as asked."""
    return thing if move.yaw is None else thing.moved(yaw=move.yaw)


def _barring(trouble: str) -> str:
    """Name of what a gripper would collide with, empty for none."""
    _, found, rest = trouble.partition("would collide with ")
    return rest.split()[0] if found else ""


def _alike(a: Grasp, b: Grasp) -> bool:
    return bool(np.linalg.norm(a.point - b.point) < 0.012 and abs(np.sin(a.turn - b.turn)) < 0.3)


def _too_wide(thing: Object, narrowest: float) -> str:
    opens = f"the gripper takes {WIDEST * 100:.1f} cm at most"
    if np.isfinite(narrowest):
        return f"no grasp: {thing.name} is {narrowest * 100:.1f} cm wide where it is narrowest, {opens}"
    return f"no grasp: no two opposite sides of {thing.name} can be reached from above; {opens}"

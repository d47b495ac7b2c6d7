"""The arm as the oracle's hand: choose a grasp, take hold, carry and set down, with fingers or a vacuum cup.

Every failure has a message: no grasp, out of reach, a collision, a slip.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pipeline.simulation.arm import robot_model
from pipeline.simulation.arm.collision import CollisionChecker, HeldObject
from pipeline.simulation.arm.kinematics import Kinematics, nearest_equivalent
from pipeline.simulation.arm.motion import Motion
from pipeline.simulation.arm.part_motion import move_part
from pipeline.simulation.arm.path_planning import plan_level_path, plan_path
from pipeline.simulation.arm.tools.grasp import DroppedGrasp, Grasp, GraspSearch, turned
from pipeline.simulation.arm.tools.tool import Tool
from pipeline.simulation.goals.inside import Inside
from pipeline.simulation.objects import Object
from pipeline.simulation.oracle import placement
from pipeline.simulation.oracle.moves import Move, PartMotion
from pipeline.simulation.physics import Physics

LIFT_M = 0.10
"""Length of the approach and of the vertical lift."""
LINE_STEP_M = 0.02
"""Distance between postures on a straight line of the gripper."""
LOWERING_SPEED_M_S = 0.06
FEEL_SPEED_M_S = 0.03
"""Speed while the cup feels for contact."""
DROP_HEIGHTS_M = (0.0, 0.012, 0.025, 0.04, 0.055, 0.075, 0.095)
"""Heights from which an object may be dropped into a container whose walls leave no room for the fingers."""
PLACE_REACH_M = 0.2, 0.82
"""Distances from the base between which objects held up to 15 cm above their foot can be set down and lifted over."""
REACH_CHECKS = 6
"""Grasps whose reach is checked before a task is proposed."""
EASY_LOAD_KG_M = 0.02
"""Mass times its distance from the tool up to which a load is carried at full speed."""
STEEP_RAD = np.radians(45)
"""Tilt of the gripper up to which it lets go upwards; beyond, it moves back as it came."""
MAX_GRASPS = 24
"""Grasps that are planned for one pick."""


@dataclass(frozen=True, eq=False)
class GraspPlan:
    """A grasp with its joint angles."""

    grasp: Grasp
    path: list[np.ndarray]
    """Joint angles from the current posture to before the grasp, each of shape (6,)."""
    drop: float
    """Height above the support at which the object is released, in metres."""


class ArmHand:
    """Carries one object at a time."""

    gap = 0.036

    def __init__(self, physics: Physics, kinematics: Kinematics, motion: Motion, tool: Tool, home: np.ndarray):
        self.physics, self.kinematics, self.home = physics, kinematics, home
        self.motion, self.tool, self.clearance = motion, tool, CollisionChecker(physics)
        self._failed: dict[str, list[Grasp]] = {}
        self._held: HeldObject | None = None
        self._stood: Object | None = None
        """The held object as it stood before: it is set down level again, however it hangs."""
        self._drop = 0.0

    # ------------------------------------------------------------------ actions of the oracle

    def reaches(self, points: np.ndarray) -> np.ndarray:
        """Return at which points (N, 2) it can set an object of usual height down, of shape (N,)."""
        distance = np.linalg.norm(points - self.kinematics.base[:2], axis=-1)
        return (distance > PLACE_REACH_M[0]) & (distance < PLACE_REACH_M[1])

    def why_not_picked(self, name: str) -> str:
        """Return why there is no grasp of an object within reach; empty if there is, or if others are in its way."""
        target = self.physics.state()[name]
        search = self.tool.find_grasps(target)
        if not search.grasps:
            return search.refusal
        hands = [turned(grasp.hand, turn) for grasp in search.grasps[:REACH_CHECKS] for turn in grasp.turns]
        if any(self.kinematics.solve(hand) is not None for hand in hands):
            return ""
        return f"out of reach: {name} is {self.distance(target.position):.2f} m from the arm's base"

    def search(self, name: str) -> GraspSearch:
        """Return the grasps of an object where it stands, without those that the arm does not reach or collides at."""
        self.clearance.refresh()
        search = self.tool.find_grasps(self.physics.state()[name])
        kept, dropped = [], list(search.dropped)
        for grasp in search.grasps:
            postures = [q for turn in grasp.turns if (q := self.kinematics.solve(turned(grasp.hand, turn))) is not None]
            hits = [self.clearance.first_collision(q, grasp.opening) for q in postures]
            if postures and not all(hits):
                kept.append(grasp)
            else:
                dropped.append(DroppedGrasp(grasp.hand, grasp.width, "blocked" if hits else "reach", (*hits, "")[0]))
        return replace(search, grasps=tuple(kept), dropped=tuple(dropped))

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        """Pick up an object; return why not, empty on success. Adds to `covers` the object that blocks it."""
        target_object = self.physics.state()[move.object]
        search = self.tool.find_grasps(target_object)
        if not search.grasps:
            if search.blocked_by and search.blocked_by != move.object:
                covers[move.object] = search.blocked_by
                return f"no grasp: {search.blocked_by} leaves no room for the gripper at {move.object}"
            return search.refusal
        failed = self._failed.setdefault(move.object, [])
        untried = [g for g in search.grasps if not any(g.similar(f) for f in failed)] or list(search.grasps)
        self.clearance.refresh()
        failures: list[str] = []
        for grasp in untried[:MAX_GRASPS]:
            plan = self._plan(grasp, target_object, move)
            if isinstance(plan, GraspPlan):
                message = self._execute(plan, target_object)
                if message:
                    failed.append(grasp)
                return message
            failures.append(plan)
        failed.clear()
        failure = max(set(failures), key=failures.count)
        if (blocker := _blocker(failure)) in self.physics.addresses and blocker != move.object:
            covers[move.object] = blocker
        return failure

    def place(self, move: Move) -> str:
        """Carry the held object to its place and release it; return what went wrong, empty on success."""
        held = self._held
        assert held is not None
        self.clearance.refresh()
        assert self._stood is not None
        target, top, low = self._target(self._stood, move, held)
        if target is None:
            return self._put_down_here(f"{move.object} cannot be turned as it should stand within the arm's reach")
        above = _raised(target, LIFT_M)
        q_above = self.kinematics.solve(above, None)
        if q_above is None:
            return self._put_down_here(f"out of reach: the arm cannot hold {move.object} over its place")
        message = self._go_to(q_above, held)
        if message:
            return self._put_down_here(message)
        if not self.tool.is_holding(move.object):
            return self._put_down_here(f"{self.tool.loss(move.object)} on the way")
        depth = above[2, 3] - target[2, 3] - max(self._drop, 0.012)
        self.line(np.array([0, 0, -depth]), depth / 0.25)
        if not self._drop:
            self.line(
                np.array([0, 0, -(top - low + 0.032)]),
                (top - low + 0.032) / LOWERING_SPEED_M_S,
                self._touching(move.object),
            )
        self._release()
        return ""

    def pull(self, motion: PartMotion) -> str:
        """Open or shut a part from the front; return why it failed, empty when it did what it could."""
        return move_part(self, motion)

    def retreat(self) -> None:
        """Return to the home posture."""
        self._go_to(self.home, None)

    # ------------------------------------------------------------------ planning

    def _plan(self, grasp: Grasp, target_object: Object, move: Move) -> GraspPlan | str:
        """Return a plan for a grasp after which the object can also be set down, or why there is none."""
        name, reason = move.object, "out of reach"
        limits = self.kinematics.model.jnt_range
        for turn in grasp.turns:
            hand = turned(grasp.hand, turn)
            before = hand.copy()
            before[:3, 3] -= LIFT_M * grasp.approach
            q_at = self.kinematics.solve(hand)
            q_before = self.kinematics.solve(before)
            if q_at is None or q_before is None:
                reason = f"out of reach: {name} is {self.distance(grasp.point):.2f} m from the arm's base"
                continue
            q_before = nearest_equivalent(q_before, self.motion.commanded, limits)
            q_at = nearest_equivalent(q_at, q_before, limits)
            hit = self.clearance.first_collision(q_at, grasp.opening) or self.clearance.first_collision(
                q_before, grasp.opening
            )
            if hit:
                reason = f"the arm would collide with {hit} when it takes {name}"
                continue
            drop = self._drop_height(hand, grasp, target_object, move)
            if isinstance(drop, str):
                reason = drop
                continue
            self._rise(None)
            path = self.way(q_before, None)
            if path is None:
                reason = f"the arm finds no way to {name} without a collision"
                continue
            return GraspPlan(grasp, path, drop)
        return reason

    def _drop_height(self, hand: np.ndarray, grasp: Grasp, target_object: Object, move: Move) -> float | str:
        """Return the height from which it must be dropped after this grasp, in metres, or why it cannot be set down."""
        held = HeldObject(target_object.name, np.linalg.inv(hand) @ pose_of(target_object))
        target, _, _ = self._target(target_object, move, held)
        distance = self.distance(move.xy)
        out_of_reach = f"out of reach: the place for {target_object.name} is {distance:.2f} m from the arm's base"
        if target is None:
            return out_of_reach
        q_above = self.kinematics.solve(_raised(target, LIFT_M))
        hit, opening = "", grasp.width + 0.006
        for drop in DROP_HEIGHTS_M if isinstance(move.goal, Inside) and move.verb == "place" else DROP_HEIGHTS_M[:1]:
            q = self.kinematics.solve(_raised(target, drop))
            if q is None or q_above is None:
                return out_of_reach
            hit = self.clearance.first_collision(q, opening, None, (target_object.name,))
            if not hit:  # the gripper must also get away
                back = _raised(target, drop)
                back[:3, 3] += LIFT_M * _way_back(back)
                q_back = self.kinematics.solve(back)
                if q_back is None:
                    return out_of_reach
                hit = self.clearance.first_collision(q_back, opening, None, (target_object.name,))
            if not hit:
                over = self.clearance.first_collision(q_above, grasp.width, held)
                return f"{target_object.name} would collide with {over} over its place" if over else drop
        return f"the gripper would collide with {hit} when it sets {target_object.name} down"

    def _target(self, target_object: Object, move: Move, held: HeldObject) -> tuple[np.ndarray | None, float, float]:
        """Return world-from-gripper with the object on its place (None if out of reach), highest and lowest z there."""
        upright = _upright(target_object, move)
        top, low = placement.surface_heights(self.physics, upright, move.xy)
        rest = pose_of(upright)
        rest[:3, 3] += [*(move.xy - upright.position[:2]), top - upright.bottom + 0.002]
        target = rest @ np.linalg.inv(held.hand_from_object)
        return (target if self.kinematics.solve(target) is not None else None), top, low

    def way(self, q: np.ndarray, held: HeldObject | None) -> list[np.ndarray] | None:
        """Return a free path to joint angles (6,), from the commanded ones on, level with a load if there is one.

        None if no path was found.
        """
        width, start, limits = self.tool.width, self.motion.commanded, self.kinematics.model.jnt_range

        def is_free(q: np.ndarray) -> bool:
            return not self.clearance.first_collision(q, width, held)

        level = plan_level_path(start, q, is_free, limits) if held else None
        return level or plan_path(start, q, is_free, limits)

    def distance(self, point: np.ndarray) -> float:
        """Return the level distance of a point (2,) or (3,) from the arm's base, in metres."""
        return float(np.linalg.norm(point[:2] - self.kinematics.base[:2]))

    # ------------------------------------------------------------------ motion

    def _execute(self, plan: GraspPlan, target_object: Object) -> str:
        name, tool, approach = target_object.name, self.tool, plan.grasp.approach
        self.motion.follow(plan.path[1:])
        self.motion.arrive()
        tool.prepare(plan.grasp)
        self.line(LIFT_M * approach, 0.9)
        if tool.feel_m:
            self.line(tool.feel_m * approach, tool.feel_m / FEEL_SPEED_M_S, lambda: tool.touches(name))
        if failure := tool.hold(name, plan.grasp):
            self._back_off(-approach)
            return failure
        self.line(np.array([0, 0, LIFT_M]), 1.0)
        risen = self.physics.state()[name].position[2] - target_object.position[2]
        if not tool.is_holding(name) or risen < 0.6 * LIFT_M:
            failure = f"{tool.loss(name)} when it was lifted"
            self._back_off(np.array([0, 0, 1.0]))
            return failure
        self._held = HeldObject(name, np.linalg.inv(self._gripper_pose()) @ pose_of(self.physics.state()[name]))
        self._drop, self._stood = plan.drop, target_object
        return ""

    def _go_to(self, q: np.ndarray, held: HeldObject | None) -> str:
        """Move to joint angles on a free path; return why not, empty on success."""
        limits = self.kinematics.model.jnt_range
        q = nearest_equivalent(q, self.motion.commanded, limits)
        self.clearance.refresh()
        self._rise(held)
        path = self.way(q, held)
        if path is None:
            hit = self.clearance.first_collision(q, self.tool.width, held) or "something on the way"
            mover = held.name if held else "the arm"
            return f"{mover} would collide with {hit}"
        if held is None:
            self.motion.follow(path[1:])
        else:  # a corner at full speed would jerk the load off
            for corner in path[1:]:
                self.motion.follow([corner], speed=self._carry_speed(held.name))
        return ""

    def _carry_speed(self, name: str) -> float:
        """Return the mean speed in rad/s for a load: its inertia about the tool grows with the square of the speed."""
        arm = float(np.linalg.norm(self.physics.centre_of_mass(name) - self._gripper_pose()[:3, 3]))
        lever = max(self.physics.state()[name].mass * arm, 1e-6)
        return self.tool.carry_speed * min(1.0, float(np.sqrt(EASY_LOAD_KG_M / lever)))

    def _rise(self, held: HeldObject | None) -> None:
        """Move straight up until the posture is free of collisions, at most eight steps."""
        for _ in range(8):
            if not self.clearance.first_collision(self.motion.commanded, self.tool.width, held):
                return
            self.line(np.array([0, 0, 0.04]), 0.4)

    def line(self, offset: np.ndarray, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """Move the gripper in a straight line; return whether `until` became true and stopped it."""
        start = self.kinematics.forward(self.motion.commanded)
        count = max(1, int(np.ceil(np.linalg.norm(offset) / LINE_STEP_M)))
        path, q = [], self.motion.commanded
        for fraction in np.linspace(0, 1, count + 1)[1:]:
            target = start.copy()
            target[:3, 3] += fraction * offset
            solution = self.kinematics.solve(target, q)
            if solution is None:
                break
            q = solution
            path.append(q)
        return self.motion.follow(path, max(seconds, 0.1), until) if path else False

    def _release(self) -> None:
        """Let go, move back, and let the objects settle."""
        self._back_off(_way_back(self._gripper_pose()))
        self.physics.settle(1.5)

    def _back_off(self, direction: np.ndarray) -> None:
        """Let go and move back along a unit vector (3,)."""
        self.clearance.refresh()
        q, ignored = self.motion.commanded, (self._held.name,) if self._held else ()
        self.tool.release(lambda opening: not self.clearance.first_collision(q, opening, None, ignored))
        self._held = None
        self.line(LIFT_M * direction, 0.9)

    def _put_down_here(self, message: str) -> str:
        """Set down the held object where it is, as gently as possible, and return the message."""
        held, physics = self._held, self.physics
        if held is not None and self.tool.is_holding(held.name):
            target_object = physics.state()[held.name]
            top, _ = placement.surface_heights(physics, target_object, target_object.position[:2])
            drop = max(target_object.bottom - top, 0.0) + 0.02
            self.line(np.array([0, 0, -drop]), drop / 0.15, self._touching(held.name))
        self._release()
        return message

    def _touching(self, name: str) -> Callable[[], bool]:
        """Return a function that says whether the object stands on something."""
        physics, label = self.physics, self.physics.label_of(name)
        return lambda: any(other != physics.gripper and up > 0.3 for other, up in physics.contacts(label))

    def _gripper_pose(self) -> np.ndarray:
        site = self.physics.data.site(robot_model.PINCH_SITE)
        world_from_gripper = np.eye(4)
        world_from_gripper[:3, :3], world_from_gripper[:3, 3] = site.xmat.reshape(3, 3), site.xpos
        return world_from_gripper


def pose_of(target_object: Object) -> np.ndarray:
    """Return world-from-object of shape (4, 4)."""
    world_from_object = np.eye(4)
    world_from_object[:3, :3], world_from_object[:3, 3] = target_object.rotation, target_object.position
    return world_from_object


def _raised(target: np.ndarray, height: float) -> np.ndarray:
    above = target.copy()
    above[2, 3] += height
    return above


def _way_back(world_from_gripper: np.ndarray) -> np.ndarray:
    """Return the unit vector (3,) in which a gripper at a pose (4, 4) leaves what it held: straight up if it can."""
    approach = world_from_gripper[:3, 2]
    return np.array([0, 0, 1.0]) if approach[2] < -np.cos(STEEP_RAD) else -approach


def _upright(target_object: Object, move: Move) -> Object:
    """Return the object with the yaw that the move asks for."""
    return target_object if move.yaw is None else target_object.moved(yaw=move.yaw)


def _blocker(message: str) -> str:
    """Return the name of what the gripper would collide with; empty for other failures."""
    _, found, rest = message.partition("would collide with ")
    return rest.split()[0] if found else ""

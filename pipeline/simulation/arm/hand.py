"""The arm as the oracle's hand: choose a grasp, take hold, carry and set down, with fingers or a vacuum cup.

Every failure has a message: no grasp, out of reach, a collision, a slip.
"""

from collections.abc import Callable

import numpy as np

from pipeline.simulation.arm import robot_model
from pipeline.simulation.arm.carry_plans import LIFT_M, GraspPlan, plan_carry, pose_of, raised, way_back, why_not_taken
from pipeline.simulation.arm.collision import CollisionChecker, HeldObject
from pipeline.simulation.arm.edge_motion import PushPlan, execute_push, nudge, push_to_edge
from pipeline.simulation.arm.edge_postures import laid_down
from pipeline.simulation.arm.kinematics import Kinematics, nearest_equivalent
from pipeline.simulation.arm.motion import Motion
from pipeline.simulation.arm.part_motion import move_part
from pipeline.simulation.arm.path_planning import plan_level_path, plan_path
from pipeline.simulation.arm.reachable_grasps import why_not_picked
from pipeline.simulation.arm.tools.grasp import Grasp
from pipeline.simulation.arm.tools.tool import Tool
from pipeline.simulation.objects import Object
from pipeline.simulation.oracle import placement
from pipeline.simulation.oracle.moves import Move, PartMotion
from pipeline.simulation.physics import Physics

LINE_STEP_M = 0.02
"""Distance between postures on a straight line of the gripper."""
LOWERING_SPEED_M_S = 0.06
FEEL_SPEED_M_S = 0.03
"""Speed while the cup feels for contact."""
PLACE_REACH_M = 0.2, 0.82
"""Distances from the base between which objects held up to 15 cm above their foot can be set down and lifted over."""
EASY_LOAD_KG_M = 0.02
"""Mass times its distance from the tool up to which a load is carried at full speed."""
AT_EDGE_COSINE = 0.8
"""Vertical component of the closing direction from which on an object is held from above and below."""
FROM_BELOW_SECONDS = 0.25
"""Duration of the retreat of a finger from below an object: slower, it drags the object along."""
MAX_GRASPS = 24
"""Grasps that are planned for one pick."""


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
        return why_not_picked(self, name)

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        """Pick up an object; return why not, empty on success. Adds to `covers` the object that blocks it."""
        target_object, reason = self.physics.state()[move.object], ""
        search = self.tool.find_grasps(target_object)
        self.clearance.refresh()
        unfit = (grasp.at_edge and why_not_taken(self, grasp, target_object, move) for grasp in search.grasps)
        if not search.blocked_by and all(unfit) and not (reason := push_to_edge(self, move)):
            target_object = self.physics.state()[move.object]
            search = self.tool.find_grasps(target_object)
        if not search.grasps:
            self._name_blocker(reason, move, covers)
            if search.blocked_by and search.blocked_by != move.object:
                covers[move.object] = search.blocked_by
                return f"no grasp: {search.blocked_by} leaves no room for the gripper at {move.object}"
            return "; ".join(filter(None, (search.refusal, reason)))
        failed = self._failed.setdefault(move.object, [])
        untried = [g for g in search.grasps if not any(g.similar(f) for f in failed)] or list(search.grasps)
        self.clearance.refresh()
        failures: list[str] = []
        for grasp in untried[:MAX_GRASPS]:
            plan = plan_carry(self, grasp, target_object, move)
            if isinstance(plan, GraspPlan):
                message = self._execute(plan, target_object)
                if message:
                    failed.append(grasp)
                return message
            failures.append(plan)
        failed.clear()
        failure = max(set(failures), key=failures.count)
        self._name_blocker(failure, move, covers)
        return failure

    def _name_blocker(self, failure: str, move: Move, covers: dict[str, str]) -> None:
        if (blocker := _blocker(failure)) in self.physics.addresses and blocker != move.object:
            covers[move.object] = blocker

    def place(self, move: Move) -> str:
        """Carry the held object to its place and release it; return what went wrong, empty on success."""
        held = self._held
        assert held is not None
        self.clearance.refresh()
        assert self._stood is not None
        target, top, low = self.target_pose(self._stood, move, held)
        if target is None:
            return self._put_down_here(f"{move.object} cannot be turned as it should stand within the arm's reach")
        above = raised(target, LIFT_M)
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
        below = self._holds_from_below()
        self._release()
        if below:
            nudge(self, move.object, move.xy)
        return ""

    def pull(self, motion: PartMotion) -> str:
        """Open or shut a part from the front; return why it failed, empty when it did what it could."""
        return move_part(self, motion)

    def push(self, plan: PushPlan, name: str) -> str:
        """Push an object to an edge; return why not, empty on success."""
        return execute_push(self, plan, name)

    def retreat(self) -> None:
        """Return to the home posture."""
        self._go_to(self.home, None)

    # ------------------------------------------------------------------ planning

    def target_pose(
        self, target_object: Object, move: Move, held: HeldObject
    ) -> tuple[np.ndarray | None, float, float]:
        """Return world-from-gripper with the object on its place (None if out of reach), highest and lowest z there."""
        upright = _upright(target_object, move)
        top, low = placement.surface_heights(self.physics, upright, move.xy)
        rest = pose_of(upright)
        rest[:3, 3] += [*(move.xy - upright.position[:2]), top - upright.bottom + 0.002]
        target = rest @ np.linalg.inv(held.hand_from_object)
        if abs(target[2, 1]) > AT_EDGE_COSINE:
            target = laid_down(self, upright.moved(move.xy, top), target)
            return target, top, low
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
        self.motion.follow(plan.path[1:])
        self.motion.arrive()
        self.tool.prepare(plan.grasp)
        with self.kinematics.above_or_beside(plan.grasp.at_edge):
            return self._take(plan, target_object)

    def _take(self, plan: GraspPlan, target_object: Object) -> str:
        """Close in, take hold and lift; return why not, empty on success."""
        name, tool, approach = target_object.name, self.tool, plan.grasp.approach
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
        self.rise(held)
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

    def rise(self, held: HeldObject | None) -> None:
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
        self._back_off(way_back(self._gripper_pose()))
        self.physics.settle(1.5)

    def _back_off(self, direction: np.ndarray) -> None:
        """Let go and move back along a unit vector (3,)."""
        self.clearance.refresh()
        q, ignored = self.motion.commanded, (self._held.name,) if self._held else ()
        self.tool.release(lambda opening: not self.clearance.first_collision(q, opening, None, ignored))
        self._held = None
        self.line(LIFT_M * direction, FROM_BELOW_SECONDS if self._holds_from_below() else 0.9)

    def _holds_from_below(self) -> bool:
        return abs(float(self._gripper_pose()[2, 1])) > AT_EDGE_COSINE

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


def _upright(target_object: Object, move: Move) -> Object:
    """Return the object with the yaw that the move asks for."""
    return target_object if move.yaw is None else target_object.moved(yaw=move.yaw)


def _blocker(message: str) -> str:
    """Return the name of what the gripper would collide with; empty for other failures."""
    _, found, rest = message.partition("would collide with ")
    return rest.split()[0] if found else ""

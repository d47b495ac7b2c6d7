"""The arm as the oracle's hand: choose a grasp, take hold, carry and set down, with fingers or a vacuum cup.

Every failure has a message: no grasp, out of reach, a collision, a slip.
"""

from collections.abc import Callable

import numpy as np

from pipeline.simulation.goals.goal import Move, PartMotion
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.carry_plans import (
    GraspPlan,
    plan_carry,
    pose_of,
    postures_above,
    raised,
    target_pose,
    way_back,
    why_not_taken,
)
from pipeline.simulation.robots.arm.collision import HeldObject
from pipeline.simulation.robots.arm.controlled_arm import ControlledArm
from pipeline.simulation.robots.arm.edge_motion import PushPlan, execute_push, nudge, push_plans
from pipeline.simulation.robots.arm.kinematics import Kinematics, nearest_equivalent
from pipeline.simulation.robots.arm.motion import Motion
from pipeline.simulation.robots.arm.part_motion import FEEL_SPEED_M_S, move_part
from pipeline.simulation.robots.arm.reachable_grasps import why_not_picked
from pipeline.simulation.robots.arm.straight_ways import APPROACH_M, AT_EDGE_COSINE
from pipeline.simulation.robots.arm.tools.grasp import Grasp
from pipeline.simulation.robots.arm.tools.tool import Tool
from pipeline.simulation.robots.description import ArmModel
from pipeline.simulation.robots.oracle import placement

LOWERING_SPEED_M_S = 0.06


class ArmHand(ControlledArm):
    """Carries one object at a time."""

    gap = 0.036

    def __init__(self, physics: Physics, arm: ArmModel, kinematics: Kinematics, motion: Motion, tool: Tool):
        super().__init__(physics, arm, kinematics, motion, tool)
        self.home = kinematics.home()
        self._failed: dict[str, list[Grasp]] = {}
        self._held: HeldObject | None = None
        self._stood: Object | None = None
        """The held object as it stood before: it is set down level again, however it hangs."""
        self._drop = 0.0

    # ------------------------------------------------------------------ actions of the oracle

    def why_not_picked(self, name: str) -> str:
        """Return why there is no grasp of an object within reach; empty if there is, or if others are in its way."""
        return why_not_picked(self, name)

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        """Pick up an object; return why not, empty on success. Adds to `covers` the object that blocks it."""
        target_object, reason = self.physics.state()[move.object], ""
        search = self.tool.find_grasps(target_object)
        self.clearance.refresh()
        unfit = (grasp.at_edge and why_not_taken(self, grasp, target_object, move) for grasp in search.grasps)
        if not search.blocked_by and all(unfit) and not (reason := self._push_to_edge(move)):
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
        # Grasps that are planned for one pick
        for grasp in untried[:24]:
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

    def _push_to_edge(self, move: Move) -> str:
        """Push an object until the fingers can take it at an edge. Return why not; empty on success."""
        reason = ""
        # Pushes of one object before one pick
        for _ in range(2):
            refusals: list[str] = []
            for plan in push_plans(self, move.object, move):
                if not isinstance(plan, str):
                    break
                refusals.append(plan)
            else:
                return refusals[0]
            if reason := self.push(plan, move.object):
                return reason
            if self.tool.find_grasps(self.physics.state()[move.object]).grasps:
                return ""
            reason = f"{move.object} does not overhang the edge enough after a push"
        return reason

    def _name_blocker(self, failure: str, move: Move, covers: dict[str, str]) -> None:
        if (blocker := _blocker(failure)) in self.physics.addresses and blocker != move.object:
            covers[move.object] = blocker

    def place(self, move: Move) -> str:
        """Carry the held object to its place and release it; return what went wrong, empty on success."""
        held = self._held
        assert held is not None
        self.clearance.refresh()
        assert self._stood is not None
        target, top, low = target_pose(self, self._stood, move, held)
        if target is None:
            return self._put_down_here(f"{move.object} cannot be turned as it should stand within the arm's reach")
        above = raised(target, APPROACH_M)
        if message := self._move_over(target, held):
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

    def _move_over(self, target: np.ndarray, held: HeldObject) -> str:
        """Carry the held object over its place, world-from-gripper (4, 4); return why not, empty on success.

        To the first posture to which it can be kept level: on other ways heavy objects turn in the fingers and slip.
        """
        self.rise(held)
        found: list[np.ndarray] = []
        for one in postures_above(self, held, self.tool.width, target, (self._drop,)):
            if not isinstance(one, str):
                found.append(nearest_equivalent(one[0], self.motion.commanded, self.kinematics.model.jnt_range))
                if path := self.level_way(found[-1], held):
                    self._follow(path, held)
                    return ""
        q = found[0] if found else self.kinematics.solve(raised(target, APPROACH_M))
        return f"out of reach: the arm cannot hold {held.name} over its place" if q is None else self.move_to(q, held)

    def pull(self, motion: PartMotion) -> str:
        """Open or shut a part from the front; return why it failed, empty when it did what it could."""
        return move_part(self, motion)

    def push(self, plan: PushPlan, name: str) -> str:
        """Push an object to an edge; return why not, empty on success."""
        return execute_push(self, plan, name)

    def retreat(self) -> None:
        """Return to the home posture."""
        self.move_to(self.home, None)

    # ------------------------------------------------------------------ two arms

    @property
    def held(self) -> HeldObject | None:
        """What it holds."""
        return self._held

    @property
    def stood(self) -> Object | None:
        """The held object as it is set down."""
        return self._stood

    def receive(self, name: str, stood: Object) -> None:
        """Go on holding an object that another arm has passed; `stood` is how it is set down."""
        self._held = HeldObject(name, np.linalg.inv(self.gripper_pose()) @ pose_of(self.physics.state()[name]))
        self._drop, self._stood = 0.0, stood

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
        self.line(APPROACH_M * approach, 0.9)
        if tool.feel_m:
            self.line(tool.feel_m * approach, tool.feel_m / FEEL_SPEED_M_S, lambda: tool.touches(name))
        if failure := tool.hold(name, plan.grasp):
            self.back_off(-approach)
            return failure
        self.line(np.array([0, 0, APPROACH_M]), 1.0)
        risen = self.physics.state()[name].position[2] - target_object.position[2]
        if not tool.is_holding(name) or risen < 0.6 * APPROACH_M:
            failure = f"{tool.loss(name)} when it was lifted"
            self.back_off(np.array([0, 0, 1.0]))
            return failure
        self._held = HeldObject(name, np.linalg.inv(self.gripper_pose()) @ pose_of(self.physics.state()[name]))
        self._drop, self._stood = plan.drop, target_object
        return ""

    def move_to(self, q: np.ndarray, held: HeldObject | None) -> str:
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
        self._follow(path, held)
        return ""

    def _follow(self, path: list[np.ndarray], held: HeldObject | None) -> None:
        if held is None:
            self.motion.follow(path[1:])
        else:  # a corner at full speed would jerk the load off
            for corner in path[1:]:
                self.motion.follow([corner], speed=self._carry_speed(held.name))
        self.motion.arrive()  # before a straight line begins

    def _carry_speed(self, name: str) -> float:
        """Return the mean speed in rad/s for a load: its inertia about the tool grows with the square of the speed."""
        arm = float(np.linalg.norm(self.physics.centre_of_mass(name) - self.gripper_pose()[:3, 3]))
        lever = max(self.physics.state()[name].mass * arm, 1e-6)
        # Mass times its distance from the tool up to which a load is carried at full speed
        return self.tool.carry_speed * min(1.0, float(np.sqrt(0.02 / lever)))

    def _release(self) -> None:
        """Let go, move back, and let the objects settle."""
        self.back_off(way_back(self.gripper_pose()))
        self.physics.settle(1.5)

    def back_off(self, direction: np.ndarray) -> None:
        """Let go and move back along a unit vector (3,)."""
        self.clearance.refresh()
        q, ignored = self.motion.commanded, (self._held.name,) if self._held else ()
        self.tool.release(lambda opening: not self.clearance.first_collision(q, opening, None, ignored))
        self._held = None
        # 0.25: duration of the retreat of a finger from below an object: slower, it drags the object along
        self.line(APPROACH_M * direction, 0.25 if self._holds_from_below() else 0.9)

    def _holds_from_below(self) -> bool:
        return abs(float(self.gripper_pose()[2, 1])) > AT_EDGE_COSINE

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


def _blocker(message: str) -> str:
    """Return the name of what the gripper would collide with; empty for other failures."""
    _, found, rest = message.partition("would collide with ")
    return rest.split()[0] if found else ""

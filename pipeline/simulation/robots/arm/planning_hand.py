"""The arm's hand without motion: it plans each move and puts the object where the arm would set it down.

A task is tried with it before it is proposed: grasp, reach, posture and place are planned as in a rollout, in a tenth
of the time. It does not find what only motion shows: a slip, or that there is no way around obstacles.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import shifted
from pipeline.simulation.goals.goal import Move, PartMotion
from pipeline.simulation.objects import Object
from pipeline.simulation.robots.arm.carry_plans import GraspPlan, pose_of, target_pose
from pipeline.simulation.robots.arm.collision import HeldObject
from pipeline.simulation.robots.arm.edge_motion import PushPlan
from pipeline.simulation.robots.arm.hand import ArmHand
from pipeline.simulation.robots.arm.part_motion import part_plans
from pipeline.simulation.robots.arm.straight_ways import APPROACH_M
from pipeline.simulation.robots.oracle import placement

SETTLE_SECONDS = 0.5
"""Simulated time in which an object comes to rest where it was put."""


class PlanningHand(ArmHand):
    """Plans for one object at a time; the arm stays in its home posture."""

    def place(self, move: Move) -> str:
        """Put the held object on its place; return why the arm could not, empty on success."""
        held, stood = self._held, self._stood
        assert held is not None and stood is not None
        self._held = None
        target, _, _ = target_pose(self, stood, move, held)
        if target is None:
            return f"{move.object} cannot be turned as it should stand within the arm's reach"
        target[2, 3] += self._drop
        if move.goal.rests == "on":
            outwards = target[:2, 3] - self.kinematics.base[:2]
            # 0.004: usual error of a place, outwards: a stack that stands only without it is not proposed
            target[:2, 3] += 0.004 * outwards / np.linalg.norm(outwards)
        self._put(move.object, target @ held.hand_from_object)
        return ""

    def pull(self, motion: PartMotion) -> str:
        """Set a part's joint; return why the arm could not move it, empty on success."""
        part, reason = self.physics.state()[motion.object].part(motion.part), ""
        for plan in part_plans(self, motion, part):
            if not isinstance(plan, str):
                joint = self.physics.parts[motion.object, motion.part]
                self._set(joint.address, [motion.share * part.end])
                return ""
            reason = plan
        return reason

    def push(self, plan: PushPlan, name: str) -> str:
        """Put an object where a push would bring it."""
        self._put(name, shifted(pose_of(self.physics.state()[name]), plan.push.motion))
        return ""

    def retreat(self) -> None:
        """Do nothing: the arm is in its home posture."""

    def _execute(self, plan: GraspPlan, target_object: Object) -> str:
        hand = shifted(self.kinematics.forward(plan.path[-1]), APPROACH_M * plan.grasp.approach)
        self._held = HeldObject(target_object.name, np.linalg.inv(hand) @ pose_of(target_object))
        self._drop, self._stood = plan.drop, target_object
        return ""

    def way(self, q: np.ndarray, held: HeldObject | None) -> list[np.ndarray] | None:
        return [q]

    def rise(self, held: HeldObject | None) -> None:
        pass

    def put_down(self, stood: Object, xy: np.ndarray) -> None:
        """Put an object as it stood on a place (2,)."""
        top, _ = placement.surface_heights(self.physics, stood, xy)
        self._put(
            stood.name, shifted(pose_of(stood), np.array([*(xy - stood.position[:2]), top - stood.bottom + 0.002]))
        )

    def _put(self, name: str, world_from_object: np.ndarray) -> None:
        quat = Rotation.from_matrix(world_from_object[:3, :3]).as_quat(scalar_first=True)
        self._set(self.physics.addresses[name], [*world_from_object[:3, 3], *quat])

    def _set(self, address: int, values: Sequence[float]) -> None:
        """Set coordinates from an address on, stop everything, and let it settle."""
        data = self.physics.data
        data.qpos[address : address + len(values)] = values
        data.qvel[:] = 0
        self.physics.settle(SETTLE_SECONDS)

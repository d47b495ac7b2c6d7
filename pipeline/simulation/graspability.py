"""Which objects of a scene a robot can pick up where they stand, and with which grasps.

No task is proposed that the robot cannot begin; a person looks at the grasps, kept and dropped with the reason.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from pipeline.geometry import homogeneous
from pipeline.simulation.objects import KitError
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.robots.arm.arm_robot import Arm
from pipeline.simulation.robots.arm.hand import ArmHand
from pipeline.simulation.robots.arm.planning_hand import SETTLE_SECONDS
from pipeline.simulation.robots.arm.reachable_grasps import reachable_grasps
from pipeline.simulation.robots.arm.tools.grasp import DroppedGrasp
from pipeline.simulation.robots.pair.pair_hand import PairHand
from pipeline.simulation.robots.pair.pair_robot import Pair
from pipeline.simulation.scene import Scene
from pipeline.simulation.world import Simulation

MAX_DROPPED = 24
"""Dropped candidates that are returned, taken evenly from each cause."""


def why_not_picked(scene: Scene, robot: str) -> dict[str, str]:
    """Return the reason by the name of each movable object that the robot has no grasp of or does not reach.

    Empty for a robot that floats. Another object in the way is no reason: it can be moved. Raises RobotError for an
    unknown robot, KitError for a scene that cannot be built.
    """
    return {} if robot_kind(robot).floats else reasons_not_picked(scene, settled(scene, robot))


def settled(scene: Scene, robot: str) -> Physics:
    """Return the photographed layout at rest beside an arm that only plans."""
    physics = Physics(Simulation(replace(scene, robot=robot_kind(robot).make(False))).bench())
    physics.settle(SETTLE_SECONDS)
    return physics


def reasons_not_picked(scene: Scene, physics: Physics) -> dict[str, str]:
    """Return `why_not_picked` of an arm in its world."""
    hand = physics.world.robot.hand(physics)
    names = [o.name for o in scene.objects if o.name in physics.addresses and not o.fixed]
    return {name: reason for name in names if (reason := hand.why_not_picked(name))}


@dataclass(frozen=True, eq=False)
class GraspCandidate:
    """One candidate."""

    object_from_gripper: np.ndarray
    """Pose of the pinch point, of shape (4, 4): z is the approach, y the direction in which the fingers close."""
    opening: float
    """Distance between the open fingers in metres; 0 for a cup."""
    reason: str
    """Why it was dropped; empty for a grasp."""


def grasp_candidates(scene: Scene, robot: str, name: str) -> tuple[GraspCandidate, ...]:
    """Return what an arm of robots.ROBOTS found for an object of the settled scene, the grasps first.

    Empty where nothing can be sampled. Raises KitError for a robot that floats and for an object that it cannot carry.
    """
    arm = robot_kind(robot).make(False)
    if not isinstance(arm, Arm | Pair):
        raise KitError("The floating gripper tries no grasps. Choose a robot arm on the Review page.")
    physics = Physics(Simulation(replace(scene, robot=arm)).bench())
    physics.settle(SETTLE_SECONDS)
    if name not in physics.addresses:
        raise KitError(f"{name} cannot be carried.")
    hands = arm.hand(physics)
    at = physics.state()[name].position
    hand = hands.nearest_first(at)[0] if isinstance(hands, PairHand) else hands
    search = reachable_grasps(hand, name)
    object_from_world = np.linalg.inv(_pose(physics, name))
    kept = [GraspCandidate(object_from_world @ g.hand, g.opening, "") for g in search.grasps]
    chosen = _evenly(search.dropped)
    return (*kept, *(GraspCandidate(object_from_world @ d.hand, d.width, _reason(d, hand)) for d in chosen))


def _evenly(dropped: tuple[DroppedGrasp, ...]) -> list[DroppedGrasp]:
    """Return at most MAX_DROPPED candidates, spread over each cause."""
    causes = Counter((d.cause, d.blocker) for d in dropped)
    chosen: list[DroppedGrasp] = []
    for key in causes:
        of_cause = [d for d in dropped if (d.cause, d.blocker) == key]
        count = max(1, MAX_DROPPED // len(causes))
        chosen += [of_cause[i] for i in np.unique(np.linspace(0, len(of_cause) - 1, count).astype(int))]
    return chosen[:MAX_DROPPED]


def _reason(dropped: DroppedGrasp, hand: ArmHand) -> str:
    if dropped.cause == "wide":
        return f"too wide: {dropped.width * 100:.1f} cm"
    if dropped.cause == "blocked":
        return f"no room: {dropped.blocker.replace('_', ' ')} is in the way"
    if dropped.cause == "reach":
        return f"out of the arm's reach at {hand.distance(dropped.hand[:3, 3]):.2f} m"
    return "the faces slope"


def _pose(physics: Physics, name: str) -> np.ndarray:
    position, rotation = physics.pose(name)
    return homogeneous(rotation, position)

"""The two-finger gripper as a tool of the arm: it holds by friction."""

from collections.abc import Callable

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.collision import CollisionChecker
from pipeline.simulation.robots.arm.motion import Motion
from pipeline.simulation.robots.arm.tools.edge_pushes import EdgePush, edge_pushes
from pipeline.simulation.robots.arm.tools.finger_grasps import find_grasps
from pipeline.simulation.robots.arm.tools.grasp import Grasp, GraspSearch
from pipeline.simulation.robots.arm.tools.part_grasps import handle_grasps
from pipeline.simulation.robots.description import ArmModel


class FingerTool:
    """Two fingers."""

    carry_speed = 1.6
    feel_m = 0.0

    def __init__(self, physics: Physics, motion: Motion, arm: ArmModel):
        assert arm.fingers is not None
        self.physics, self.motion, self.fingers = physics, motion, arm.fingers
        self.width, self.tip_m = arm.fingers.max_opening, arm.fingers.tip_offset(0.0)
        self._clearance = CollisionChecker(physics, arm)

    def find_grasps(self, target: Object) -> GraspSearch:
        """Return distinct grasps of an object at its current pose, best first."""
        return find_grasps(self.physics, target, self.fingers, self._clearance)

    def find_pushes(self, target: Object) -> tuple[tuple[EdgePush, ...], str]:
        """Return straight pushes that let an object overhang an edge, the shortest first; if none, why not."""
        others = [o for o in self.physics.state().objects.values() if o.name != target.name]
        return edge_pushes(self.physics, target, others, self.fingers)

    def find_part_grasps(self, name: str, part: ArticulatedPart) -> tuple[Grasp, ...]:
        """Return grasps of a part's handle."""
        return handle_grasps(self.physics, name, part, self.fingers)

    def part_refusal(self, name: str, part: ArticulatedPart) -> str:
        """Return why there is no grasp of a part."""
        return f"{part.name} of {name} has no handle that the fingers close around"

    def prepare(self, grasp: Grasp) -> None:
        """Open the fingers as wide as the grasp asks for."""
        self._open(grasp.opening)

    def touches(self, name: str) -> bool:
        """Whether both fingers touch an object."""
        return self.motion.is_pinching(name)

    def hold(self, name: str, grasp: Grasp) -> str:
        """Close the fingers."""
        self.motion.close()
        self.width = grasp.width
        return "" if self.motion.is_pinching(name) else f"the fingers closed without a hold on {name}"

    def is_holding(self, name: str) -> bool:
        """Whether both fingers touch an object."""
        return self.motion.is_pinching(name)

    def loss(self, name: str) -> str:
        """Return how an object was lost."""
        return f"{name} slipped out of the gripper"

    def release(self, is_free: Callable[[float], bool]) -> None:
        """Open the fingers as wide as there is room."""
        # 0.010: how much the fingers open on either side to release an object, if there is room
        wide, narrow = (min(self.width + gap, self.fingers.max_opening) for gap in (2 * 0.010, 0.01))
        self._open(wide if is_free(wide) else narrow)

    def _open(self, width: float) -> None:
        self.motion.open(width)
        self.width = width

"""Protocol of what is mounted on the arm's flange."""

from collections.abc import Callable
from typing import Protocol

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.objects import Object
from pipeline.simulation.robots.arm.tools.edge_pushes import EdgePush
from pipeline.simulation.robots.arm.tools.grasp import Grasp, GraspSearch


class Tool(Protocol):
    """Holds one object at a time in a running world."""

    width: float
    """Present opening in metres, for collision checks."""
    carry_speed: float
    """Mean speed of the fastest joint while something is held, in rad/s."""
    feel_m: float
    """Length of the last stretch of the approach, moved slowly until the tool touches; 0 to go all the way at once."""
    tip_m: float
    """Distance from the pinch point to the end of the tool when nothing is held, for pushes."""

    def find_grasps(self, target: Object) -> GraspSearch:
        """Return distinct grasps of an object at its current pose, best first."""
        ...

    def find_pushes(self, target: Object) -> tuple[tuple[EdgePush, ...], str]:
        """Return pushes after which it can take an object at an edge, the shortest first; if none, why not.

        Empty without a reason for a tool that does not push.
        """
        ...

    def find_part_grasps(self, name: str, part: ArticulatedPart) -> tuple[Grasp, ...]:
        """Return grasps of a drawer or door of an object from the front, best first."""
        ...

    def part_refusal(self, name: str, part: ArticulatedPart) -> str:
        """Return why there is no grasp of a part."""
        ...

    def prepare(self, grasp: Grasp) -> None:
        """Bring the tool into shape for a grasp, before the approach."""
        ...

    def touches(self, name: str) -> bool:
        """Whether the tool touches an object."""
        ...

    def hold(self, name: str, grasp: Grasp) -> str:
        """Take hold of an object. Return why it failed; empty on success."""
        ...

    def is_holding(self, name: str) -> bool:
        """Whether the tool holds an object."""
        ...

    def loss(self, name: str) -> str:
        """Return how an object that is no longer held was lost."""
        ...

    def release(self, is_free: Callable[[float], bool]) -> None:
        """Let go. `is_free` says whether an opening in metres collides with nothing."""
        ...

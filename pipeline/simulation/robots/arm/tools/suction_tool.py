"""The vacuum cup as a tool of the arm."""

from collections.abc import Callable

import numpy as np

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.tools.edge_pushes import EdgePush
from pipeline.simulation.robots.arm.tools.grasp import Grasp, GraspSearch
from pipeline.simulation.robots.arm.tools.part_grasps import cup_grasps
from pipeline.simulation.robots.arm.tools.seals import STANDOFF_M, find_seals
from pipeline.simulation.robots.arm.tools.vacuum import Vacuum


class SuctionTool:
    """One bellows cup."""

    carry_speed = 0.8
    feel_m = STANDOFF_M + 0.012
    tip_m = 0.0

    def __init__(self, physics: Physics):
        self.physics, self.vacuum = physics, Vacuum(physics)
        self.width = 0.0

    def find_grasps(self, target: Object) -> GraspSearch:
        """Return places of an object where the cup seals, best first."""
        return find_seals(self.physics, target)

    def find_pushes(self, target: Object) -> tuple[tuple[EdgePush, ...], str]:
        """Return no pushes: the cup takes flat objects from above."""
        return (), ""

    def find_part_grasps(self, name: str, part: ArticulatedPart) -> tuple[Grasp, ...]:
        """Return places on a part's front where the cup seals."""
        return cup_grasps(self.physics, name, part)

    def part_refusal(self, name: str, part: ArticulatedPart) -> str:
        """Return why there is no grasp of a part."""
        return f"{part.name} of {name} has no smooth place of 2.5 cm that the cup gets to from the front"

    def prepare(self, grasp: Grasp) -> None:
        """Do nothing: a cup has no opening."""

    def touches(self, name: str) -> bool:
        """Whether the cup touches an object."""
        label = self.physics.label_of(name)
        return bool((self.physics.label[self.vacuum.touched()] == label).any())

    def hold(self, name: str, grasp: Grasp) -> str:
        """Switch the vacuum on where the cup touches the object."""
        if not self.touches(name):
            hit = self.vacuum.touched()
            other = self.physics.label_name(int(self.physics.label[hit[0]])) if len(hit) else "nothing"
            return f"the cup came down on {other} instead of {name}"
        if not grasp.part:
            self.vacuum.grip(name)
        else:
            joint = self.physics.parts[name, grasp.part]
            if not np.isin(self.vacuum.touched(), joint.geoms).any():
                return f"the cup touched {name} beside its {grasp.part}"
            self.vacuum.grip(self.physics.model.body(joint.body).name)
        return "" if self.vacuum.on else self.loss(name)

    def is_holding(self, name: str) -> bool:
        """Whether the vacuum is on."""
        return self.vacuum.on

    def loss(self, name: str) -> str:
        """Return how an object was lost."""
        return f"{name} {self.vacuum.lost or 'is not held by the cup'}"

    def release(self, is_free: Callable[[float], bool]) -> None:
        """Switch the vacuum off."""
        self.physics.wait(0.04)
        self.vacuum.release()
        self.physics.wait(0.04)

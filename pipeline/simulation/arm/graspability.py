"""Which objects of a scene a robot can pick up where they stand, so that no task is proposed that it cannot begin."""

from dataclasses import replace

from pipeline.simulation.objects import Scene
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.world import Simulation


def why_not_picked(scene: Scene, robot: str) -> dict[str, str]:
    """Return the reason by the name of each movable object that the robot has no grasp of or does not reach.

    Empty for a robot that floats. Another object in the way is no reason: it can be moved. Raises RobotError for an
    unknown robot, KitError for a scene that cannot be built.
    """
    kind = robot_kind(robot)
    if kind.floats:
        return {}
    simulation = Simulation(replace(scene, robot=kind.make(False)))
    physics = Physics(simulation.bench())
    physics.settle(0.5)
    hand = physics.world.robot.hand(physics)
    names = [o.name for o in scene.objects if o.name in physics.addresses and not o.fixed]
    return {name: reason for name in names if (reason := hand.why_not_picked(name))}

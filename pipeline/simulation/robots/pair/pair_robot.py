"""Two arms with two-finger grippers as one robot of the oracle."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pipeline.geometry import planar_rotation, quat_about_z
from pipeline.simulation.cameras import Camera
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import GRIPPER, Physics
from pipeline.simulation.robots.arm.arm_robot import ROBOT_MARK, Arm
from pipeline.simulation.robots.arm.robot_model import FLOOR_M, add_arm
from pipeline.simulation.robots.description import RobotDescription
from pipeline.simulation.robots.pair.pair_hand import PairHand
from pipeline.simulation.robots.pair.pair_mount import PairMount, place_pair
from pipeline.simulation.robots.robot import Mount


class Pair:
    """A left and a right arm, each on a post beside the table or on the table."""

    def __init__(self, moves: bool, description: RobotDescription) -> None:
        """`moves`: whether it acts; otherwise it plans each move and puts the object where it would go."""
        assert description.pair is not None
        self.description, self.pair = description, description.pair
        self.left, self.right = (Arm(moves, description, arm) for arm in description.pair)

    @property
    def cameras(self) -> tuple[Camera, ...]:
        """Cameras of its description: on bodies of its arms, or in the frame of the robot."""
        return tuple(
            Camera(one.name, one.mounted_on or GRIPPER, one.position, one.quat_wxyz, float(np.radians(one.fovy_deg)))
            for one in self.description.cameras
        )

    def mount(self, objects: Sequence[Object], table: Region, away: np.ndarray) -> PairMount:
        """Return where its bases stand to reach these objects."""
        return place_pair(objects, table, away, self.pair)

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, mount: Mount | None) -> np.ndarray:
        """Add both arms on their mount. Return the middle of the grippers' home positions, world, of shape (3,)."""
        assert mount is not None
        robot = spec.worldbody.add_body(name=GRIPPER, pos=[*mount.base, 0.0], quat=quat_about_z(mount.yaw))
        for side in (self.left, self.right):
            x, y, yaw = side.arm.place
            base = mount.base + planar_rotation(mount.yaw) @ np.array([x, y])
            side.base, side.yaw = np.array([*base, side.arm.base_height]), mount.yaw + yaw
            # 0.06: distance from the table from which on a post stands on the floor
            floor = FLOOR_M if table.depth(base[None])[0] < -0.06 else 0.0
            add_arm(spec, side.arm, np.array([x, y, side.arm.base_height]), yaw, floor, robot)
        spec.add_text(name=ROBOT_MARK, data=self.description.name)
        return np.mean([side.kinematics().home_pose()[:3, 3] for side in (self.left, self.right)], axis=0)

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Set the joints and controls of a new world to the home postures, the fingers open."""
        for side in (self.left, self.right):
            side.ready(model, data)

    def hand(self, physics: Physics) -> PairHand:
        """Return both hands in a running world."""
        return PairHand(physics, self.left.hand(physics), self.right.hand(physics))

"""An arm of three joints whose forward kinematics is written out."""

import numpy as np
from scipy.spatial.transform import Rotation

JOINTS = ("turn", "shoulder", "elbow")
ARM_XML = """<mujoco><worldbody><body name="base"><body name="column" pos="0 0 0.2"><joint name="turn" axis="0 0 1"/>
 <geom size=".02"/><body name="upper"><joint name="shoulder" axis="0 1 0"/><geom size=".02"/>
 <body name="lower" pos="0 0 0.3"><joint name="elbow" axis="0 1 0"/><geom size=".02"/><site name="tip" pos="0 0 0.25"/>
 </body></body></body></body></worldbody></mujoco>"""


def tool_in_base(q: np.ndarray) -> np.ndarray:
    """Return the tip (3,) in the base's axes for joint angles (3,)."""
    turn, shoulder, elbow = (Rotation.from_rotvec(angle * np.array(axis)).as_matrix()
                             for angle, axis in zip(q, ([0, 0, 1], [0, 1, 0], [0, 1, 0]), strict=True))  # fmt: skip
    return np.array([0, 0, 0.2]) + turn @ shoulder @ (np.array([0, 0, 0.3]) + elbow @ np.array([0, 0, 0.25]))

"""The motion of a track's twin: positions of its model's joints over time."""

import mujoco
import numpy as np

from pipeline.tracking.track import Track


def joint_positions(model: mujoco.MjModel, track: Track) -> np.ndarray:
    """Return MuJoCo's generalised positions (T, nq) of the twin that was followed; what is fixed stays where it is."""
    rows = np.tile(model.qpos0, (len(track.times), 1))
    for number, name in enumerate(track.names):
        if (first := free_joint(model, name)) is not None:
            rows[:, first : first + 7] = track.poses[:, number]
    return rows


def free_joint(model: mujoco.MjModel, name: str) -> int | None:
    """Return where the seven positions of a body's free joint begin; None of a body without one."""
    body = model.body(name).id
    joint = model.body_jntadr[body]
    if not model.body_jntnum[body] or model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
        return None
    return int(model.jnt_qposadr[joint])

"""The poses of one instant as the viewer gets them; static/viewer/connection.js decodes them."""

import struct

import mujoco
import numpy as np

from studio.viewer.motion import Layout, LivePhysics, RecordedMotion

_MAX_CONTACTS = 100


def encode_snapshot(motion: LivePhysics | RecordedMotion | Layout, moving: np.ndarray, with_contacts: bool) -> bytes:
    """Return the present poses of the moving bodies, little-endian.

    float64 time, first and last time to seek to in s, uint32 bodies, uint32 contacts; then per moving body float32
    position (3) and quaternion wxyz (4), world, m; then per contact float32 position (3) and force in N (3), world.

    Args:
        motion: whose data is encoded; its kinematics are computed anew.
        moving: ids of the bodies, of shape (N,).
        with_contacts: adds up to 100 contacts.
    """
    data, contacts = motion.data, _contact_rows(motion) if with_contacts else np.empty((0, 6), "<f4")
    mujoco.mj_kinematics(motion.model, data)  # mj_step leaves the poses from before its last step
    poses = np.hstack([data.xpos[moving], data.xquat[moving]]).astype("<f4")
    head = struct.pack("<dddII", motion.time, *motion.span, len(poses), len(contacts))
    return head + poses.tobytes() + contacts.tobytes()


def _contact_rows(motion: LivePhysics | RecordedMotion | Layout) -> np.ndarray:
    """Return position and force of each contact, of shape (C, 6), on the later body, as MuJoCo draws it."""
    model, data, rows, force = motion.model, motion.data, [], np.zeros(6)
    for i in range(min(data.ncon, _MAX_CONTACTS)):
        contact = data.contact[i]
        mujoco.mj_contactForce(model, data, i, force)
        first, second = model.geom_bodyid[contact.geom]
        sign = 0 if motion.recorded else 1 if first < second else -1  # a recording has poses but no forces
        rows.append(np.concatenate([contact.pos, sign * contact.frame.reshape(3, 3).T @ force[:3]]))
    return np.array(rows, "<f4").reshape(-1, 6)

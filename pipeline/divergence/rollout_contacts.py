"""What touches the objects of a rollout: the robot, and anything else."""

from pathlib import Path

import mujoco
import numpy as np


def rollout_contacts(xml: str, meshes: Path, qpos: np.ndarray) -> dict[str, np.ndarray]:
    """Return for each free body whether the robot touches it, and whether anything else does: (T, 2), bool.

    Contacts are those of MuJoCo's collision detection at the recorded positions. {} if a mesh cannot be read.

    Args:
        xml: the rollout's model.
        meshes: folder of the files that it names.
        qpos: of shape (T, nq).
    """
    try:
        files = {path.name: path.read_bytes() for path in meshes.glob("*") if path.is_file() and path.suffix != ".xml"}
        model = mujoco.MjModel.from_xml_string(xml, files)
    except (OSError, ValueError):
        return {}
    tree = model.body_rootid[model.geom_bodyid]
    free = {int(model.jnt_bodyid[j]) for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE}
    driven = model.actuator_trnid[model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT, 0]
    robot = {int(model.body_rootid[model.jnt_bodyid[joint]]) for joint in driven} - free
    found = {body: np.zeros((len(qpos), 2), bool) for body in free}
    data = mujoco.MjData(model)
    for row, positions in enumerate(qpos):
        data.qpos[:] = positions
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        for one, other in tree[data.contact.geom]:
            for body, toucher in ((int(one), int(other)), (int(other), int(one))):
                if body in found and body != toucher:
                    found[body][row, 0 if toucher in robot else 1] = True
    return {model.body(body).name: touched for body, touched in found.items()}

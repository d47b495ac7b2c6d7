"""Episodes of a project: its solution, or a round as it was judged."""

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from pipeline.divergence.episode import ArmJoints, Episode, EpisodeError
from pipeline.divergence.robot_kinematics import compile_kinematics
from pipeline.router.round_record import FILE, read_record
from pipeline.simulation.controlled_world import REACH_M
from pipeline.solving import read_solution

COMMAND = "gripper_command"
"""Column of the last action: suction, or the command of the fingers."""


def is_project(folder: Path) -> bool:
    """Whether a folder holds a solution, or is a round with a record."""
    return (folder / "solution.json").is_file() or (folder / FILE).is_file()


def read_project(folder: Path) -> Episode:
    """Read the solution of a project folder, or the first layout of a round's folder. Raises EpisodeError."""
    if (folder / FILE).is_file():
        return round_episode(folder)
    solution = read_solution(folder)
    if solution is None or not solution.shown:
        raise EpisodeError(f"{folder.name} has no rollout; solve its task first")
    shown = solution.shown
    return rollout_episode(
        shown.times, shown.qpos, shown.actions, shown.xml, shown.events, f"{folder.name} (solution)",
        folder / "scene",
    )  # fmt: skip


def round_episode(folder: Path, layout: int | None = None) -> Episode:
    """Return the episode of a round's folder. Raises EpisodeError.

    Args:
        layout: its seed; the layout that the checks judged if None.
    """
    records = read_record(folder)
    chosen = next((record for record in records if layout in (None, record.seed)), None)
    if chosen is None:
        seeds = ", ".join(str(record.seed) for record in records) or "none"
        raise EpisodeError(f"round {folder.name} has no record of layout {layout}; it has {seeds}")
    return rollout_episode(
        chosen.times, chosen.qpos, chosen.actions, chosen.xml, chosen.events, f"round {folder.name}",
        folder.parents[1] / "scene",
    )  # fmt: skip


def rollout_episode(
    times: np.ndarray,
    qpos: np.ndarray,
    actions: np.ndarray,
    xml: str,
    events: Sequence[dict],
    source: str,
    meshes: Path | None = None,
) -> Episode:
    """Return a rollout of the oracle as an episode; free bodies become objects. Raises EpisodeError.

    The robot's joints are those that position or motor actuators drive; the last action is the gripper's column.

    Args:
        times, qpos, actions: of shape (T,), (T, nq) and (T, nu).
        xml: the rollout's model.
        meshes: folder of the files that it names; without it contacts are unknown.
    """
    try:
        spec = mujoco.MjSpec.from_string(xml)
    except ValueError as error:
        raise EpisodeError(f"{source}: its model cannot be read ({error})") from None
    driven = {a.target for a in spec.actuators if a.trntype == mujoco.mjtTrn.mjTRN_JOINT}
    model = compile_kinematics(spec, source)
    if qpos.shape[1:] != (model.nq,):
        raise EpisodeError(f"{source}: its positions have {qpos.shape[1:]} values, its model has {model.nq}")
    joints = [model.joint(number) for number in range(model.njnt)]
    robot = [joint for joint in joints if joint.name in driven]
    if not robot:
        raise EpisodeError(f"{source}: its model has no robot joint with an actuator")
    free = [joint for joint in joints if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE]
    columns = [qpos[:, joint.qposadr[0]] for joint in robot]
    names = [joint.name for joint in robot]
    gripper = COMMAND if actions.shape[1] else None
    if gripper:
        columns, names = [*columns, actions[:, -1]], [*names, COMMAND]
    rising = np.concatenate(([True], np.diff(times) > 0))  # a rollout records the instant of an event twice
    poses = {
        model.body(joint.bodyid[0]).name: qpos[:, joint.qposadr[0] : joint.qposadr[0] + 7][rising] for joint in free
    }
    arm = ArmJoints(tuple(joint.name for joint in robot), gripper)
    return Episode.from_arrays(
        times[rising], np.stack(columns, axis=1)[rising], names, {"arm": arm}, source,
        actions=np.asarray(actions[rising], float), events=tuple(events), objects=poses,
        contacts=_contacts(xml, meshes, qpos[rising]) if meshes else {},
    )  # fmt: skip


def _contacts(xml: str, meshes: Path, qpos: np.ndarray) -> dict[str, np.ndarray]:
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
    if (cup := mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "cup")) >= 0:
        # the suction holds from there, by a weld and without a contact; bodies are told apart by their own margin first
        model.geom_margin[cup] = model.body_margin[model.geom_bodyid[cup]] = REACH_M
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

"""Episodes of a project: its solution, or a round as it was judged."""

from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from pipeline.divergence.episode import ArmJoints, Episode, EpisodeBuilder, EpisodeError
from pipeline.divergence.robot_kinematics import compile_kinematics
from pipeline.divergence.rollout_contacts import rollout_contacts
from pipeline.divergence.table import Table
from pipeline.router.round_record import FILE, read_record
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
    builder = EpisodeBuilder(names, source)
    builder.append(times[rising], np.stack(columns, axis=1)[rising])
    poses = {
        model.body(joint.bodyid[0]).name: qpos[:, joint.qposadr[0] : joint.qposadr[0] + 7][rising] for joint in free
    }
    arm = ArmJoints(tuple(joint.name for joint in robot), gripper)
    return builder.episode(
        {"arm": arm}, actions=Table.from_array(actions[rising]), events=tuple(events), objects=poses,
        contacts=rollout_contacts(xml, meshes, qpos[rising]) if meshes else {},
    )  # fmt: skip

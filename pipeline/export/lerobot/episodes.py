"""Solved rollouts as episodes of a dataset: state, action and objects at a constant rate."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.divergence.episode import interpolated
from pipeline.export.gym_env.dataset_control import FPS, ActuatorUnits
from pipeline.export.rollouts import SolvedRollout
from pipeline.simulation.robots.description import SIDES


@dataclass(frozen=True, eq=False)
class EpisodeData:
    """One episode."""

    seed: int
    times: np.ndarray
    """Of shape (T,), in seconds, k / FPS."""
    qpos: np.ndarray
    """Of shape (T, nq), for drawing."""
    state: np.ndarray
    """Positions of what the robot's actuators move, of shape (T, A), in metres, radians or the actuator's unit."""
    action: np.ndarray
    """Commands of the actuators for the next frame, of shape (T, A), in the same units."""
    objects: np.ndarray
    """Position and quaternion wxyz of each object that can move, of shape (T, 7 N)."""
    reward: np.ndarray
    """1 at the last frame, 0 before, of shape (T,)."""


def actuator_names(model: mujoco.MjModel) -> tuple[str, ...]:
    """Return a name for each actuator, without the prefixes of the robot's model; of two arms with their side."""
    names = (model.actuator(number).name or f"actuator_{number}" for number in range(model.nu))
    parted = ((name.partition("/")[0], name.removeprefix("gripper_").rpartition("/")[2]) for name in names)
    return tuple(f"{first}_{name}" if first in SIDES else name for first, name in parted)


def episode(rollout: SolvedRollout, model: mujoco.MjModel, objects: Sequence[str]) -> EpisodeData:
    """Return a rollout at FPS, from linear interpolation between its instants at 31.25 Hz.

    Args:
        rollout: the recorded run.
        model: of the run.
        objects: names of the objects to include.
    """
    record = rollout.record
    times = np.arange(max(2, int(np.ceil(record.times[-1] * FPS)))) / FPS
    qpos, commands = interpolated(times, record.times, record.qpos), interpolated(times, record.times, record.actions)
    following = interpolated(times + 1 / FPS, record.times, record.actions)
    for joint in np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        quat = slice(model.jnt_qposadr[joint] + 3, model.jnt_qposadr[joint] + 7)
        qpos[:, quat] /= np.linalg.norm(qpos[:, quat], axis=1, keepdims=True)
    units = ActuatorUnits(model)
    state, action = units.state(qpos, commands), units.action(following)
    addresses = [int(model.jnt_qposadr[model.body(name).jntadr[0]]) for name in objects]
    poses = [qpos[:, address : address + 7] for address in addresses]
    placed = np.concatenate(poses, axis=1) if poses else np.zeros((len(times), 0))
    reward = np.zeros(len(times))
    reward[-1] = 1.0
    return EpisodeData(rollout.seed, times, qpos, state, action, placed, reward)

"""A trial: an episode's actions applied to a model, and what the episode measured meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout

from pipeline.calibration.parameters import CalibrationError
from pipeline.divergence import Episode
from pipeline.divergence.episode import interpolated

MAX_STEPS = 400_000
"""Simulated steps of one episode; a longer one has to be cut."""
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
SINGLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
"""As numbers: an element of an array is in no tuple of MuJoCo's enums."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One episode prepared for one model. Times are seconds after the episode's first sample."""

    name: str
    times: np.ndarray
    """Of the samples, of shape (T,)."""
    measured: np.ndarray
    """Of shape (T, C): joint positions, then three coordinates and three rotations an object."""
    controls: np.ndarray
    """Mean action over each time step, of shape (steps, nu)."""
    actions: np.ndarray
    """At the samples, of shape (T, nu)."""
    qpos: np.ndarray
    """Start, of shape (nq,)."""
    addresses: np.ndarray
    """Index into qpos of each measured joint, of shape (J,)."""
    objects: tuple[int, ...]
    """Index into qpos of each measured object's position."""
    channels: tuple[str, ...]
    """Names of the C columns."""
    rest: int
    """Number of samples at the start before anything moves, of which the start is the mean."""
    course: str = "held"
    """How actions go on between their samples, one of COURSES."""

    def refined(self, timestep: float) -> "Trial":
        """Return the trial for another time step in seconds."""
        steps = int(np.ceil(self.times[-1] / timestep)) + 1
        return replace(self, controls=COURSES[self.course](self.times, self.actions, steps, timestep))

    def on_course(self, course: str, timestep: float) -> "Trial":
        """Return the trial with another of COURSES between the samples of its actions."""
        controls = COURSES[course](self.times, self.actions, len(self.controls), timestep)
        return replace(self, controls=controls, course=course)

    @property
    def joints(self) -> int:
        """Number of measured joints."""
        return len(self.addresses)

    def predict(self, states: np.ndarray, delay: float, timestep: float) -> np.ndarray:
        """Return what sensors `delay` seconds late report, of shape (..., T, C).

        Args:
            states: start and the state after each step, of shape (..., steps + 1, nq).
        """
        last = states.shape[-2] - 1
        place = np.clip((self.times - delay) / timestep, 0, last)
        before = np.minimum(place.astype(int), last - 1)
        share = (place - before)[:, None]
        qpos = states[..., before, :] * (1 - share) + states[..., before + 1, :] * share
        columns = [qpos[..., self.addresses]]
        for address in self.objects:
            columns.append(qpos[..., address : address + 3])
            columns.append(_turn(self.qpos[address + 3 : address + 7], qpos[..., address + 3 : address + 7]))
        return np.concatenate(columns, axis=-1)


def _turn(start: np.ndarray, quat: np.ndarray) -> np.ndarray:
    """Return the rotation vector from a start (4,) to orientations (..., 4), wxyz, of shape (..., 3) in radians."""
    w, v = quat[..., :1], quat[..., 1:]  # scipy's Rotation refuses the NaN of an unstable model
    w0, v0 = start[0], start[1:]
    vector = w0 * v - w * v0 - np.cross(v0, v)
    scalar = w0 * w + (v @ v0)[..., None]
    vector = np.where(scalar < 0, -vector, vector)
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = 2 * np.arctan2(length, np.abs(scalar))
    return vector * np.where(length > 1e-9, angle / np.maximum(length, 1e-9), 2.0)


def prepare(model: mujoco.MjModel, episode: Episode) -> Trial:
    """Return the trial of an episode on a model. Raises CalibrationError where they do not fit."""
    if episode.actions is None:
        raise CalibrationError(f"{episode.source} has no actions (u); calibration replays them on the model")
    actions = episode.actions
    if actions.shape[1] != model.nu or not model.nu:
        raise CalibrationError(
            f"{episode.source} has {actions.shape[1]} actions a sample, the model has {model.nu} actuators"
        )
    if not np.isfinite(actions).all():
        raise CalibrationError(f"{episode.source}: an action is no finite number")
    times = episode.times - episode.times[0]
    steps = int(np.ceil(times[-1] / model.opt.timestep)) + 1
    if steps > MAX_STEPS:
        raise CalibrationError(
            f"{episode.source} lasts {times[-1]:.0f} s; cut it to {MAX_STEPS * model.opt.timestep:.0f} s or less"
        )
    joints = [model.joint(i) for i in range(model.njnt)]
    single = {joint.name: joint for joint in joints if int(joint.type[0]) in SINGLE and joint.name}
    names = [name for name in episode.names if name in single]
    bodies = {model.body(j.bodyid[0]).name: j for j in joints if j.type[0] == mujoco.mjtJoint.mjJNT_FREE}
    objects = [name for name in episode.objects if name in bodies]
    if not names and not objects:
        raise CalibrationError(
            f"{episode.source} and the model share no joint; the model has {', '.join(single) or 'none with a name'}"
        )
    positions = episode.positions[:, episode.columns(names)]
    addresses = np.array([single[name].qposadr[0] for name in names], int)
    object_addresses = tuple(int(bodies[name].qposadr[0]) for name in objects)
    qpos, rest = model.qpos0.copy(), _at_rest(times, positions)
    qpos[addresses] = positions[:rest].mean(axis=0)
    for name, address in zip(objects, object_addresses, strict=True):
        poses = episode.objects[name]
        qpos[address : address + 3] = np.median(poses[:rest, :3], axis=0)
        qpos[address + 3 : address + 7] = poses[0, 3:] / np.linalg.norm(poses[0, 3:])
    measured = [positions]
    for name, address in zip(objects, object_addresses, strict=True):
        poses = episode.objects[name]
        measured += [poses[:, :3], _turn(qpos[address + 3 : address + 7], poses[:, 3:])]
    channels = (*names, *(f"{name}.{axis}" for name in objects for axis in ("x", "y", "z", "rx", "ry", "rz")))
    controls = held_actions(times, actions, steps, model.opt.timestep)
    return Trial(
        episode.source, times, np.hstack(measured), controls, actions, qpos, addresses, object_addresses, channels, rest
    )


def held_actions(times: np.ndarray, actions: np.ndarray, steps: int, timestep: float) -> np.ndarray:
    """Return the mean of actions (T, U) over each of the steps, of shape (steps, U).

    An action holds from its sample's time to the next one. The mean keeps the instant at which it changes, which the
    action at the step's beginning would shift by up to a step: half a degree at 2 rad/s and 4 ms.
    """
    total = np.vstack((np.zeros(actions.shape[1]), np.cumsum(actions[:-1] * np.diff(times)[:, None], axis=0)))
    edges = np.arange(steps + 1) * timestep
    at = np.clip(np.searchsorted(times, edges, side="right") - 1, 0, len(times) - 1)
    integral = total[at] + actions[at] * (edges - times[at])[:, None]
    return np.diff(integral, axis=0) / timestep


def linear_actions(times: np.ndarray, actions: np.ndarray, steps: int, timestep: float) -> np.ndarray:
    """Return actions (T, U) that move linearly between their samples, at the middle of each step, (steps, U)."""
    middles = (np.arange(steps) + 0.5) * timestep
    return interpolated(middles, times, actions)


def smooth_actions(times: np.ndarray, actions: np.ndarray, steps: int, timestep: float) -> np.ndarray:
    """Return actions (T, U) on a spline through their samples that does not overshoot (PCHIP), of shape (steps, U)."""
    from scipy.interpolate import PchipInterpolator

    middles = (np.arange(steps) + 0.5) * timestep
    return PchipInterpolator(times, actions)(np.minimum(middles, times[-1]))


def nearest_actions(times: np.ndarray, actions: np.ndarray, steps: int, timestep: float) -> np.ndarray:
    """Return actions (T, U) that jump half-way between their samples, of shape (steps, U)."""
    middles = (np.arange(steps) + 0.5) * timestep
    return actions[np.searchsorted((times[1:] + times[:-1]) / 2, middles)]


COURSES = {"held": held_actions, "linear": linear_actions, "smooth": smooth_actions, "nearest": nearest_actions}
"""Courses of actions between their samples."""


def _at_rest(times: np.ndarray, positions: np.ndarray) -> int:
    """Return the number of samples at the start before anything moves by more than the noise, at least one."""
    noise = channel_noise(positions)
    # Seconds at the start over which positions at rest are averaged, at most
    window = positions[: max(int(np.searchsorted(times, 0.2, side="right")), 1)]
    middle = np.median(window[:5], axis=0) if len(window) else 0.0
    moved = np.flatnonzero((np.abs(window - middle) > 4 * noise + 1e-9).any(axis=1))
    return max(int(moved[0]) - 1 if len(moved) else len(window), 1)


def channel_noise(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of white noise on smooth signals (T, C), from second differences, of shape (C,)."""
    if len(values) < 5:
        return np.full(values.shape[1], 1e-3)
    second = np.diff(values, 2, axis=0) / np.sqrt(6)
    return np.maximum(1.4826 * np.median(np.abs(second - np.median(second, axis=0)), axis=0), 1e-6)


def simulate(
    models: Sequence[mujoco.MjModel], trial: Trial, starts: np.ndarray, workers: Sequence[mujoco.MjData]
) -> np.ndarray:
    """Return qpos at the start and after each step, of shape (N, steps + 1, nq); NaN after an instability.

    Args:
        models: N of one structure.
        starts: qpos of each, of shape (N, nq).
    """
    model, steps = models[0], len(trial.controls)
    size = mujoco.mj_stateSize(model, STATE)
    # 1 << 28: batch of the states of one call of mujoco.rollout
    block = max(1, (1 << 28) // (8 * size * steps))
    results = []
    for first in range(0, len(models), block):
        chosen = list(models[first : first + block])
        initial = np.stack([_state(model, workers[0], q) for q in starts[first : first + block]])
        rolled: Any = rollout.rollout(chosen, list(workers), initial, trial.controls[None], persistent_pool=True)
        states = rolled[0]
        qpos = states[:, :, 1 : 1 + model.nq].copy()
        qpos[states[:, -1, 0] < (steps - 0.5) * model.opt.timestep] = np.nan  # rollout stops at a warning
        results.append(np.concatenate((starts[first : first + block, None], qpos), axis=1))
    return np.concatenate(results)


def _state(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray) -> np.ndarray:
    mujoco.mj_resetData(model, data)
    data.qpos[:] = qpos
    state = np.empty(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, data, state, STATE)
    return state

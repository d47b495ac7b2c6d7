"""Logs of a real robot under the conditions of an evaluation, and their success as far as the twin can measure it.

real/CONDITION.npz holds the episode on a clock that begins at 0, real/CONDITION.json what is known of it.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import mujoco
import numpy as np
from pydantic import TypeAdapter, ValidationError

from pipeline.closed_loop.policy import PolicyError
from pipeline.divergence import Episode, write_episode
from pipeline.errors import reason_of
from pipeline.export.gym_env.twin_world import TwinWorld
from pipeline.simulation.program import Program
from pipeline.simulation.rollout import observed_run
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.store import read_json, write_json
from pipeline.variation import VariationStudy

FOLDER = "real"
SINGLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
"""Kinds of joints with one coordinate."""
MAX_SAMPLES = 20_000
"""Of a log that is played: eleven minutes at 30 Hz."""
REST_S, REST_M = 0.2, 0.002
"""An object that moves farther in the last part of a log is not at rest: 1 cm/s, as in the sandbox."""


@dataclass(frozen=True)
class RealLog:
    """What is known of a log."""

    file: str
    """Name of the file that it was read from."""
    seconds: float
    success: bool | None
    """Whether the task's goals are met, measured in the twin; None where the log lacks what the goals are about."""
    reason: str
    """Why it is not solved, or why that is not known; empty after a success."""


def log_path(out: Path, id: str) -> Path:
    """Return the file of the log of a condition."""
    return out / FOLDER / f"{id}.npz"


def add_log(
    log: Episode, out: Path, study: VariationStudy, id: str, program: Program, robot: str, sandbox: Sandbox
) -> None:
    """Keep the log of a condition, in place of a former one, with what the twin measures of it.

    Raises PolicyError for a log of another robot, SandboxError, StoreError.
    """
    from pipeline.closed_loop.conditions import SEED, arrange_start  # with what the extra for policies brings

    log = replace(log, times=log.times - log.times[0], actions=None)
    with tempfile.TemporaryDirectory(prefix="grs-") as folder:
        start = Path(folder) / "start"
        study.write(id, start)
        if fault := arrange_start(robot, program, sandbox, start):
            raise PolicyError(f"the start of condition {id} cannot be built: {fault}")
        success, reason = measured_success(log, TwinWorld(start, SEED))
    write_episode(log, log_path(out, id))
    write_json(log_path(out, id).with_suffix(".json"), asdict(RealLog(log.source, log.duration, success, reason)))


def read_logs(out: Path) -> dict[str, RealLog]:
    """Return what is known of each log, by condition. Raises PolicyError, StoreError."""
    found = {}
    for path in sorted((out / FOLDER).glob("*.json")):
        try:
            found[path.stem] = TypeAdapter(RealLog).validate_python(read_json(path))
        except ValidationError as error:
            raise PolicyError(f"{FOLDER}/{path.name} is damaged ({reason_of(error)}); add the log again") from None
    return found


def remove_log(out: Path, id: str) -> None:
    """Remove the log of a condition."""
    for suffix in (".json", ".npz"):
        log_path(out, id).with_suffix(suffix).unlink(missing_ok=True)


def twin_positions(log: Episode, model: mujoco.MjModel, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return times (T,) in seconds and qpos (T, nq) of a log on a model.

    What the log lacks stays as in `start` (nq,). Raises PolicyError if it has no joint of the model.
    """
    joints = joint_addresses(model)
    known = [name for name in log.names if name in joints]
    if not known:
        raise PolicyError(f"{log.source} has no joint of the twin's robot; it needs some of: {', '.join(joints)}")
    times = log.times
    if len(times) > MAX_SAMPLES:
        times = np.linspace(times[0], times[-1], MAX_SAMPLES)
    qpos = np.repeat(np.asarray(start, float)[None], len(times), 0)
    qpos[:, [joints[name] for name in known]] = log.at(times, log.columns(known))
    rows = np.searchsorted(log.times, times, side="right") - 1
    for name, address in free_addresses(model).items():
        if name in log.objects:
            qpos[:, address : address + 7] = log.objects[name][rows]
    return times, qpos


def joint_addresses(model: mujoco.MjModel) -> dict[str, int]:
    """Return the index in qpos of each hinge's and slide's coordinate, by the joint's name."""
    single = np.flatnonzero(np.isin(model.jnt_type, SINGLE))
    return {model.joint(number).name: int(model.jnt_qposadr[number]) for number in single}


def free_addresses(model: mujoco.MjModel) -> dict[str, int]:
    """Return the index in qpos at which each free body's pose begins, by the body's name."""
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    return {model.body(model.jnt_bodyid[joint]).name: int(model.jnt_qposadr[joint]) for joint in free}


def missing_objects(log: Episode, model: mujoco.MjModel) -> list[str]:
    """Return the names of a model's objects whose poses a log lacks."""
    return [name for name in free_addresses(model) if name not in log.objects]


def measured_success(log: Episode, world: TwinWorld) -> tuple[bool | None, str]:
    """Return whether the goals are met by the poses of a log, and why not or why that is not known."""
    times, qpos = twin_positions(log, world.model, world.data.qpos)
    goals = [goal for _, goals in world.stages for goal in goals]
    needed = sorted({name for goal in goals for name in goal.objects} & free_addresses(world.model).keys())
    if missing := [name for name in needed if name not in log.objects]:
        return None, f"the log has no poses of {', '.join(missing)}"
    parts = {world.physics.parts[part].address for goal in goals for part in goal.joints}
    needed_joints = [name for name, address in joint_addresses(world.model).items() if address in parts]
    if missing := [name for name in needed_joints if name not in log.names]:
        return None, f"the log has no joint {', '.join(missing)}"
    if moving := _moving(log, needed):
        return False, f"{moving} still moves at its end"
    run = observed_run(world.world, world.stages, times, qpos, ())
    return run.solved, "" if run.solved else run.why


def _moving(log: Episode, names: Sequence[str]) -> str:
    """Return the name of an object that moves at the end of a log; empty if none does."""
    late = log.times >= log.times[-1] - REST_S
    ranges = {name: float(np.ptp(log.objects[name][late, :3], axis=0).max()) for name in names}
    return next((name for name, moved in ranges.items() if moved > REST_M), "")

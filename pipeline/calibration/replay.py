"""Drive a model with an episode's actions, open loop: what the model's robot does in place of the recorded one."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import mujoco
import numpy as np

from pipeline.calibration.parameters import (
    FIELDS,
    OBJECT_TYPES,
    CalibrationError,
    ModelParameter,
    with_values,
)
from pipeline.calibration.trial import prepare, simulate
from pipeline.divergence import ArmJoints, Episode
from pipeline.geometry import Pose
from pipeline.simulation.physics import GRIPPER


def replay(model: mujoco.MjModel, episode: Episode) -> Episode:
    """Return what the model's joints do under the episode's actions, at its samples. Raises CalibrationError.

    The start is the episode's. Columns that are no joint of the model, such as the command of a gripper, are left out;
    suction that a program closes by an equality is not part of the actions, so what it carried stays where it was.
    """
    trial = prepare(model, episode)
    (states,) = simulate([model], trial, trial.qpos[None], [mujoco.MjData(model)])
    if not np.isfinite(states).all():
        raise CalibrationError(f"the model is unstable under the actions of {episode.source}")
    predicted = trial.predict(states, 0.0, model.opt.timestep)[:, : trial.joints]
    names = trial.channels[: trial.joints]
    if not names:
        raise CalibrationError(f"{episode.source} and the model share no joint, so that nothing can be compared")
    arms, source = _arms_within(episode, names), f"{episode.source} (replayed)"
    return Episode.from_arrays(episode.times, predicted, names, arms, source, actions=trial.actions)


def within(episode: Episode, names: Sequence[str]) -> Episode:
    """Return an episode with these columns only, and the arms that have joints among them."""
    positions = episode.positions[:, episode.columns(names)]
    return Episode.from_arrays(
        episode.times, positions, names, _arms_within(episode, names), episode.source, actions=episode.actions,
        events=episode.events, objects=episode.objects,
    )  # fmt: skip


def _arms_within(episode: Episode, names: Sequence[str]) -> dict[str, ArmJoints]:
    return {
        name: ArmJoints(joints, arm.gripper if arm.gripper in names else None, arm.tool, arm.open_value)
        for name, arm in episode.arms.items()
        if (joints := tuple(joint for joint in arm.joints if joint in names))
    }


def at_base(model: mujoco.MjModel, world_from_base: np.ndarray) -> mujoco.MjModel:
    """Return the model with the foot of the twin's arm at a pose (4, 4); unchanged if its gripper floats."""
    foot = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, GRIPPER)
    if foot < 0 or model.body_parentid[foot] != 0 or model.body_dofnum[foot] or model.body_mocapid[foot] >= 0:
        return model
    moved, base = copy(model), Pose.from_matrix(np.asarray(world_from_base, float))
    moved.body_pos[foot], moved.body_quat[foot] = base.pos, base.quat_wxyz
    return moved


def decided_values(model: mujoco.MjModel, decided: Sequence[Sequence[object]]) -> mujoco.MjModel:
    """Return the model with the parameters of each decision "calibrate", in order. Unknown elements are skipped."""
    for parameters_of_decision in decided:
        rows: list[Any] = [row for row in parameters_of_decision if _is_known(model, row)]
        parameters = [ModelParameter(row["kind"], row["element"], row["field"]) for row in rows]
        model = with_values(model, parameters, [float(row["value"]) for row in rows])
    return model


def _is_known(model: mujoco.MjModel, row: object) -> bool:
    return (
        isinstance(row, dict)
        and row.get("field") in FIELDS.get(str(row.get("kind")), ())
        and isinstance(row.get("value"), int | float)
        and mujoco.mj_name2id(model, OBJECT_TYPES[str(row["kind"])], str(row.get("element"))) >= 0
    )

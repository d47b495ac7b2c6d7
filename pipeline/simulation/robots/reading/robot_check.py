"""Measures a robot as it will act: collisions with itself at home, and how well its servos follow a motion."""

from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from pipeline.geometry import shifted
from pipeline.simulation.physics import TIMESTEP
from pipeline.simulation.robots.arm.kinematics import Kinematics
from pipeline.simulation.robots.arm.motion import SLOW_RAD_S
from pipeline.simulation.robots.arm.robot_model import ARM_PREFIX, add_arm, bodies_below, prefixed
from pipeline.simulation.robots.arm.ur5e_kinematics import Ur5eKinematics
from pipeline.simulation.robots.description import SIDES, ArmModel, RobotDescription
from pipeline.simulation.robots.reading.measure_reach import reach_map

TEST_OFFSETS_M = ((0.0, 0.1, -0.1), (0.0, -0.1, -0.1), (0.0, 0.05, -0.05), (0.05, 0.0, 0.0))


@dataclass(frozen=True)
class Tracking:
    """How well the servos follow a test motion from home."""

    largest_deg: float
    """Largest error of a joint on the way."""
    tip_end_mm: float
    """Distance of the gripper from where it should be, half a second after the motion."""


def self_collisions(arm: ArmModel) -> list[str]:
    """Return pairs of bodies that collide in the home posture, each as "a with b"."""
    model, data = _at_home(arm)
    hand = bodies_below(model, f"{ARM_PREFIX}{arm.hand}")[model.geom_bodyid]
    mujoco.mj_collision(model, data)
    found = set()
    for pair, distance in zip(data.contact.geom, data.contact.dist, strict=True):
        if hand[pair].all():
            continue
        names = sorted(model.body(int(model.geom_bodyid[g])).name.removeprefix(ARM_PREFIX) for g in pair)
        # Depth from which on two links at home collide: hulls of neighbours may touch
        if distance < -0.001:
            found.add(f"{names[0]} with {names[1]}")
    return sorted(found)


def track_test_motion(arm: ArmModel) -> Tracking:
    """Simulate a motion of 10 cm from home, with gravity compensated as in every world, and measure its errors."""
    kinematics = _kinematics(arm)
    home = kinematics.home()
    ends = (kinematics.solve(shifted(kinematics.forward(home), np.array(o)), home) for o in TEST_OFFSETS_M)
    end = next((q for q in ends if q is not None), home)
    model, data = _at_home(arm)
    model.opt.timestep = TIMESTEP
    servos = [model.actuator(name).id for name in prefixed(arm.servos)]
    joints = [int(model.joint(name).qposadr[0]) for name in prefixed(arm.joints)]
    data.ctrl[servos] = home
    mujoco.mj_step(model, data, nstep=100)
    # 1.2: duration of the test motion: 10 cm down and 10 cm aside
    steps = round(1.2 / TIMESTEP)
    t = np.arange(1, steps + 1)[:, None] / steps
    path = home + (t**3 * (10 - 15 * t + 6 * t**2)) * (end - home)
    speeds = np.gradient(path, TIMESTEP, axis=0)
    largest, friction = 0.0, np.array(arm.servo_friction)
    for q, speed in zip(path, speeds, strict=True):
        data.ctrl[servos] = q + np.array(arm.servo_lag) * speed + friction * np.clip(speed / SLOW_RAD_S, -1, 1)
        mujoco.mj_step(model, data)
        largest = max(largest, float(np.abs(data.qpos[joints] - q).max()))
    data.ctrl[servos] = end
    mujoco.mj_step(model, data, nstep=250)
    reached = kinematics.forward(data.qpos[joints])[:3, 3]
    off = float(np.linalg.norm(reached - kinematics.forward(end)[:3, 3]))
    return Tracking(round(float(np.degrees(largest)), 2), round(off * 1000, 2))


def _kinematics(arm: ArmModel) -> Kinematics:
    base = np.array([0, 0, arm.base_height])
    return Ur5eKinematics(base, 0.0) if arm.analytic == "ur5e" else Kinematics(arm, base, 0.0)


def _at_home(arm: ArmModel) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return the arm alone in an empty world, at home with open fingers."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10
    add_arm(spec, arm, np.array([0, 0, arm.base_height]), 0.0)
    model = spec.compile()
    data = mujoco.MjData(model)
    for name, angle in zip(prefixed(arm.joints), _kinematics(arm).home(), strict=True):
        data.joint(name).qpos = angle
    if fingers := arm.fingers:
        for name, value in fingers.joint_positions(fingers.max_opening).items():
            data.joint(f"{ARM_PREFIX}{name}").qpos = value
        for name, value in zip(prefixed(fingers.actuators), fingers.open_command, strict=True):
            data.actuator(name).ctrl = value
    mujoco.mj_forward(model, data)
    return model, data


def check(robot: RobotDescription) -> dict[str, Any]:
    """Return the measurements of a robot as JSON values: reach, collisions with itself, opening, tracking, cameras.

    Those of two arms are under "left" and "right".
    """
    arms = [_check_arm(replace(arm, prefix=ARM_PREFIX)) for arm in robot.arms]
    of_arms: dict[str, Any] = dict(zip(SIDES, arms, strict=True)) if robot.pair else arms[0]
    return {
        "name": robot.name,
        **of_arms,
        "cameras": [{"name": c.name, "mounted_on": c.mounted_on or "base"} for c in robot.cameras],
        "control_modes": [{"control": mode.control, "rate_hz": mode.rate_hz} for mode in robot.control_modes],
        "source": robot.origin,
        "licence": robot.licence or None,
    }


def _check_arm(arm: ArmModel) -> dict[str, Any]:
    reached, tracking = reach_map(arm), track_test_motion(arm)
    radii = np.array(reached.radii)
    rows = zip(reached.heights, reached.reached, strict=True)
    return {
        "joints": len(arm.joints),
        "reach": {
            "ring_m": [arm.reach.near, arm.reach.far],
            "radii_m_by_height_m": {f"{height:g}": " ".join(f"{r:g}" for r in radii[row]) for height, row in rows},
        },
        "self_collisions_at_home": self_collisions(arm),
        "gripper_opening_mm": round(arm.fingers.max_opening * 1000, 1) if arm.fingers else None,
        "tracking": {"largest_joint_error_deg": tracking.largest_deg, "tip_error_mm": tracking.tip_end_mm},
    }

"""Episodes of arms that reach, grasp, lift, carry, place and return, and a six-joint arm as MJCF, URDF and DH table."""

import json
import math
from typing import Any

import numpy as np

from pipeline.divergence import ArmJoints, Episode
from pipeline.divergence.robot_kinematics import DhArm, dh_arm

DH = ((0.0, math.pi / 2, 0.1625), (-0.425, 0.0, 0.0), (-0.3922, 0.0, 0.0), (0.0, math.pi / 2, 0.1333),
      (0.0, -math.pi / 2, 0.0997), (0.0, 0.0, 0.0996))  # fmt: skip
"""a (m), alpha (rad), d (m) of Universal Robots' UR5e."""
JOINTS = tuple(f"joint_{number}" for number in range(1, 7))
KEYS = (0.0, 2.0, 2.6, 4.6, 6.6, 7.2, 10.0)
"""Seconds: start, above the object, gripper closed, lifted and carried, down, gripper open, home."""


def dh_table() -> DhArm:
    return dh_arm(DH, tool=np.block([[np.eye(3), np.array([[0.0], [0.0], [0.15]])], [np.zeros((1, 3)), 1.0]]))


def mjcf() -> str:
    """The table as MJCF: each link's frame follows from a rotation about z and a fixed transform."""
    bodies, end = "", ""
    for number, name in enumerate(JOINTS):
        pose = 'pos="0 0 0"' if not number else _mjcf_frame(*DH[number - 1])
        bodies += f'<body {pose}><joint name="{name}" axis="0 0 1" range="-3 3"/><geom size=".01"/>'
        end += "</body>"
    tool = f'<body {_mjcf_frame(*DH[-1])}><site name="tool" pos="0 0 .15"/></body>'
    return f'<mujoco><compiler angle="radian"/><worldbody>{bodies}{tool}{end}</worldbody></mujoco>'


def _mjcf_frame(a: float, alpha: float, d: float) -> str:
    return f'pos="{a} 0 {d}" quat="{math.cos(alpha / 2)!r} {math.sin(alpha / 2)!r} 0 0"'


def urdf() -> str:
    mesh = '<visual><geometry><mesh filename="package://arm/missing.stl"/></geometry></visual>'
    parts = [f'<link name="link_0">{mesh}</link>']
    frames = [(0.0, 0.0, 0.0), *DH, (0.0, 0.0, 0.15)]
    for number, (name, (a, alpha, d)) in enumerate(zip((*JOINTS, "to_flange", "to_tool"), frames, strict=True), 1):
        link, kind = (f"link_{number}", "revolute") if name in JOINTS else (name.removeprefix("to_"), "fixed")
        before = f"link_{number - 1}" if number <= 7 else "flange"
        parts.append(
            f'<link name="{link}">{mesh * (name in JOINTS)}</link><joint name="{name}" type="{kind}">'
            f'<parent link="{before}"/><child link="{link}"/><origin xyz="{a!r} 0 {d!r}" rpy="{alpha!r} 0 0"/>'
            '<axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        )
    return f'<robot name="arm">{"".join(parts)}</robot>'


def smooth(times: np.ndarray, keys: tuple[float, ...], values: np.ndarray) -> np.ndarray:
    """Move from value to value between the keys with zero velocity at each, of shape (T, n)."""
    segment = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 2)
    start, stop = np.take(keys, segment), np.take(keys, segment + 1)
    share = np.clip((times - start) / (stop - start), 0, 1)
    share = share**3 * (10 - 15 * share + 6 * share**2)
    return values[segment] + share[:, None] * (values[segment + 1] - values[segment])


def course(times: np.ndarray, joints: int = 6, seed: int = 0) -> np.ndarray:
    """Positions of one arm over a pick and place, of shape (T, joints + 1); the gripper last, 0.08 m open."""
    random = np.random.default_rng(seed)
    home, above, carried, down = random.uniform(-1.5, 1.5, (4, joints))
    poses = np.stack((home, above, above, carried, down, down, home))
    gripper = np.array([0.08, 0.08, 0.03, 0.03, 0.03, 0.08, 0.08])
    return smooth(times, KEYS, np.column_stack((poses, gripper)))


def episode(positions, times, source: str = "real", arms: dict[str, ArmJoints] | None = None) -> Episode:
    """An episode of one six-joint arm with a gripper, or of the arms given."""
    arms = arms or {"arm": ArmJoints(JOINTS, "gripper", "tool")}
    names = [name for arm in arms.values() for name in arm.columns]
    return Episode.from_arrays(times, positions, names, arms, source)


def two_arms() -> dict[str, ArmJoints]:
    return {
        side: ArmJoints(tuple(f"{side}_{n}" for n in range(1, 6)), f"{side}_gripper") for side in ("left", "right")
    }  # fmt: skip


def rounded(value: Any) -> Any:
    """Return a value as JSON gives it back, to nine decimals: the last digit of a sum depends on the process."""
    return json.loads(json.dumps(value), parse_float=lambda text: round(float(text), 9))

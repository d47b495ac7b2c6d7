"""Make sample_scenes/episodes: two arms pick, pass and place, as a twin and as a stand-in for the real robot.

`python sample_scenes/make_episodes.py` writes real.npz, sim.npz and robot.xml. "Real" is no recording: it is a second
MuJoCo model with other damping, friction and payload, sensor noise, a delay and an encoder's steps.
"""

import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from pipeline.divergence import ArmJoints, Episode, write_episode

FOLDER = Path(__file__).parent / "episodes"
JOINTS = ("turn", "shoulder", "elbow", "wrist", "gripper")
KEYS = {
    "left": ((0, (0, -0.6, 1.2, 0.4, 1)), (3, (0.7, 0.2, 0.9, 0.4, 1)), (4, (0.7, 0.2, 0.9, 0.4, 0)),
             (6, (0.5, -0.4, 1.0, 0.4, 0)), (9, (-0.5, -0.2, 0.8, 0.4, 0)), (11, (-0.5, -0.2, 0.8, 0.4, 0)),
             (12, (-0.5, -0.2, 0.8, 0.4, 1)), (15, (0, -0.6, 1.2, 0.4, 1)), (20, (0, -0.6, 1.2, 0.4, 1))),
    "right": ((0, (0, -0.6, 1.2, 0.4, 1)), (6, (0, -0.6, 1.2, 0.4, 1)), (9, (0.5, -0.2, 0.8, 0.4, 1)),
              (10, (0.5, -0.2, 0.8, 0.4, 1)), (11, (0.5, -0.2, 0.8, 0.4, 0)), (13, (0.2, -0.4, 1.0, 0.4, 0)),
              (15.5, (-0.7, 0.2, 0.9, 0.4, 0)), (16.5, (-0.7, 0.2, 0.9, 0.4, 1)), (19, (0, -0.6, 1.2, 0.4, 1)),
              (20, (0, -0.6, 1.2, 0.4, 1))),
}  # fmt: skip
"""Seconds and positions of the joints of each arm; the gripper from 0 (shut) to 1 (open), 4 cm."""
RATE_HZ, SECONDS, OPEN_M = 50, 20.0, 0.04
NOISE_RAD, NOISE_M, STEP_RAD, STEP_M, DELAY_S = 0.002, 0.0002, 0.0005, 0.0001, 0.02


def robot_xml(damping: float = 1.0, friction: float = 0.4, hand: float = 0.5) -> str:
    """Return both arms as MJCF: damping in N m s, friction loss in N m, mass of each hand in kg."""
    bodies, motors = "", ""
    for side, y in (("left", 0.3), ("right", -0.3)):
        joint = f'damping="{damping}" frictionloss="{friction}" armature="0.05" range="-2.9 2.9"'
        links = 'contype="0" conaffinity="0"'
        bodies += f"""<body name="{side}_base" pos="0 {y} .2"><joint name="{side}_turn" axis="0 0 1" {joint}/>
         <geom type="cylinder" size=".06 .05" mass="2" {links}/>
         <body name="{side}_upper"><joint name="{side}_shoulder" axis="0 1 0" {joint}/>
          <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="1.2" {links}/>
          <body name="{side}_fore" pos=".3 0 0"><joint name="{side}_elbow" axis="0 1 0" {joint}/>
           <geom type="capsule" fromto="0 0 0 .25 0 0" size=".025" mass=".8" {links}/>
           <body name="{side}_hand" pos=".25 0 0"><joint name="{side}_wrist" axis="0 1 0" {joint}/>
            <geom size=".03" mass="{hand}" {links}/><site name="{side}_tool" pos=".08 0 0"/>
            <body name="{side}_finger"><joint name="{side}_gripper" type="slide" axis="0 1 0" damping="5"
             armature=".1" range="-.005 .045"/>
             <geom size=".01" mass=".05" {links}/></body></body></body></body></body>"""
        gains = dict(zip(JOINTS, (80, 120, 80, 40, 200), strict=True))
        motors += "".join(f'<position name="{side}_{j}" joint="{side}_{j}" kp="{kp}"/>' for j, kp in gains.items())
    return (
        '<mujoco model="two_arms"><compiler angle="radian"/><option timestep="0.002" integrator="implicitfast"/>'
        f"<worldbody>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def commands(times: np.ndarray) -> np.ndarray:
    """Return the commands of both arms at times (T,), of shape (T, 10), in radians and metres."""
    columns = []
    for keys in KEYS.values():
        at, values = np.array([key[0] for key in keys], float), np.array([key[1] for key in keys], float)
        for column in values.T:
            number = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 2)
            share = np.clip((times - at[number]) / (at[number + 1] - at[number]), 0, 1)
            blend = share**3 * (10 - 15 * share + 6 * share**2)
            columns.append(column[number] + blend * (column[number + 1] - column[number]))
    result = np.stack(columns, axis=1)
    result[:, [4, 9]] *= OPEN_M
    return result


def run(xml: str) -> np.ndarray:
    """Return the positions of all joints each millisecond after settling, of shape (20001, 10)."""
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep = 0.001
    data = mujoco.MjData(model)
    course = commands(np.floor(np.arange(int(SECONDS * 1000)) / 1000 * RATE_HZ + 1e-9) / RATE_HZ)
    data.qpos[:] = data.ctrl[:] = course[0]
    mujoco.mj_step(model, data, 3000)
    states = [data.qpos.copy()]
    for command in course:
        data.ctrl[:] = command
        mujoco.mj_step(model, data)
        states.append(data.qpos.copy())
    return np.array(states)


def episode(states: np.ndarray, source: str, real: bool) -> Episode:
    """Return an episode at 50 Hz; with the errors of sensors if it stands for the real robot."""
    times, clock = np.arange(0, SECONDS, 1 / RATE_HZ), np.arange(len(states)) / 1000
    late = np.stack([np.interp(times - DELAY_S * real, clock, column) for column in states.T], axis=1)
    if real:
        slides = np.arange(10) % 5 == 4
        step = np.where(slides, STEP_M, STEP_RAD)
        noise = np.random.default_rng(0).normal(size=late.shape) * np.where(slides, NOISE_M, NOISE_RAD)
        late = np.round((late + noise) / step) * step
    names = [f"{side}_{joint}" for side in KEYS for joint in JOINTS]
    arms = {
        side: ArmJoints(tuple(f"{side}_{j}" for j in JOINTS[:-1]), f"{side}_gripper", f"{side}_tool", OPEN_M)
        for side in KEYS
    }
    made = Episode.from_arrays(times, late, names, arms, source)
    label = {"time": 0.0, "name": "label", "text": source}
    return replace(made, actions=commands(times), events=(label,))


def main() -> None:
    """Write the pair, the robot's model and the README."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "robot.xml").write_text(robot_xml() + "\n", encoding="utf-8")
    stand_in = "simulated stand-in for a real robot: second MuJoCo model, noise, delay, quantisation; no recording"
    write_episode(episode(run(robot_xml(1.5, 0.6, 0.8)), stand_in, True), FOLDER / "real.npz")
    write_episode(episode(run(robot_xml()), "twin", False), FOLDER / "sim.npz")
    (FOLDER / "label.json").write_text(json.dumps({"real.npz": stand_in, "sim.npz": "twin"}, indent=1) + "\n")


if __name__ == "__main__":
    main()

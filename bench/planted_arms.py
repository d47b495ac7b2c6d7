"""A planted truth: a second MuJoCo model with other parameters, sensor noise, delay and quantisation.

It stands for a real robot, and is none. The calibration is given neither the parameters nor noise, delay or steps.
"""

from dataclasses import replace

import mujoco
import numpy as np

from pipeline.divergence import Episode

RATE_HZ = 100
NOISE, QUANTUM, DELAY_S = 0.002, 0.0005, 0.013
"""Radians (white), radians of the encoder, seconds. The delay is no multiple of the sample time."""
MASSES = {"upper": 1.2, "fore": 0.8, "payload": 0.5}
DAMPINGS, FRICTIONS = (1.5, 1.0, 0.6), (0.8, 0.6, 0.3)


def arm_xml(masses=MASSES, dampings=DAMPINGS, frictions=FRICTIONS) -> str:
    """Return a three-joint arm with position actuators: a turntable, a shoulder and an elbow under gravity."""
    joint = 'name="{}" axis="{}" damping="{}" frictionloss="{}" armature="0.05"'
    turn, shoulder, elbow = (
        joint.format(name, axis, d, f)
        for name, axis, d, f in zip(
            ("turn", "shoulder", "elbow"), ("0 0 1", "0 1 0", "0 1 0"), dampings, frictions, strict=True
        )
    )
    return f"""<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody>
      <body name="base"><joint {turn}/><geom type="cylinder" size=".06 .05" mass="2"/>
       <body name="upper" pos="0 0 .1"><joint {shoulder}/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="{masses["upper"]}" contype="0" conaffinity="0"/>
        <body name="fore" pos=".3 0 0"><joint {elbow}/>
         <geom type="capsule" fromto="0 0 0 .25 0 0" size=".025" mass="{masses["fore"]}" contype="0" conaffinity="0"/>
         <body name="payload" pos=".27 0 0"><geom size=".03" mass="{masses["payload"]}" contype="0" conaffinity="0"/>
         </body></body></body></body></worldbody>
     <actuator><position name="a1" joint="turn" kp="60"/><position name="a2" joint="shoulder" kp="80"/>
      <position name="a3" joint="elbow" kp="50"/></actuator></mujoco>"""


def motion(times: np.ndarray, random: np.random.Generator, joints: int = 3) -> np.ndarray:
    """Return commands (T, joints): steps and sines of different speeds after half a second at rest."""
    commands = np.zeros((len(times), joints))
    for joint in range(joints):
        for _ in range(3):
            size, speed, phase = random.uniform(0.15, 0.5), random.uniform(1.5, 6), random.uniform(0, 6.28)
            commands[:, joint] += size * (np.sin(speed * times + phase) - np.sin(phase))
        for start in random.uniform(0.5, max(times[-1] - 0.5, 0.6), 3):
            commands[:, joint] += random.uniform(-0.4, 0.4) * (times > start)
    ramp = np.clip((times - 0.4) / 0.3, 0, 1)[:, None]
    return commands * ramp


def record(xml: str, seed: int, seconds: float = 4.0, still: tuple[str, ...] = ()) -> Episode:
    """Return an episode of the model, as a robot's log: sampled, late, noisy, quantised; `still` joints stay."""
    random = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.timestep = 0.001  # the truth is finer than the model that is calibrated
    data = mujoco.MjData(model)
    times = np.arange(0, seconds, 1 / RATE_HZ)
    commands = motion(times, random, model.nu)
    joints = [model.joint(int(number)) for number in model.actuator_trnid[:, 0]]
    moved = np.array([joint.name not in still for joint in joints])
    addresses = [int(joint.qposadr[0]) for joint in joints]
    data.qpos[addresses] = random.uniform(-0.3, 0.3, model.nu) * moved
    commands = commands * moved + data.qpos[addresses]
    data.ctrl[:] = commands[0]
    for _ in range(3000):  # at rest under the first command
        mujoco.mj_step(model, data)
    fine = [data.qpos.copy()]
    for number in range(int(seconds * 1000)):
        data.ctrl[:] = commands[min(number // (1000 // RATE_HZ), len(commands) - 1)]
        mujoco.mj_step(model, data)
        fine.append(data.qpos.copy())
    fine = np.array(fine)
    clock = np.arange(len(fine)) / 1000
    late = np.stack([np.interp(times - DELAY_S, clock, column) for column in fine[:, addresses].T], axis=1)
    measured = np.round((late + random.normal(0, NOISE, late.shape)) / QUANTUM) * QUANTUM
    episode = Episode.from_arrays(times, measured, [j.name for j in joints], source=f"simulated truth {seed}")
    return replace(episode, actions=commands)

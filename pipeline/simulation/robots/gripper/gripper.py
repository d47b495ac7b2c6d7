"""The floating gripper: a suction cup on three slides and a hinge about the vertical, moved by position actuators.

It grips by a weld that is closed where the cup touches, at the relative pose of that moment, and opened to release.
Nothing is ever teleported.
"""

from collections.abc import Mapping

import mujoco
import numpy as np

from pipeline.simulation.physics import GRIPPER, TIMESTEP, Physics

CUP_RADIUS = 0.008
"""In metres."""
SHAFT_LENGTH = 0.3
"""Length above the cup in metres."""
FEEL_SPEED = 0.08
"""Speed while feeling for contact, in m/s."""
AXES = ("x", "y", "z")
STIFFNESS, DAMPING, FORCE = 10000.0, 360.0, 300.0
"""Of the slide actuators, in N/m, N s/m and N. Critically damped; 1.5 kg sags by 1.5 mm."""
INERTIA, TURN_INERTIA = 2.0, 0.1
"""Armature of the slides and the hinge, in kg and kg m2. Without it, a weld to the light hand shakes loose."""


def add_gripper(spec: mujoco.MjSpec, home: np.ndarray, bodies: Mapping[str, str]) -> None:
    """Add the hand with its cup's tip at home, and one open weld for each of `bodies`, by the name of what it holds."""
    hand = spec.worldbody.add_body(name=GRIPPER, pos=home, gravcomp=1)
    hand.mass, hand.inertia, hand.explicitinertial = 1.0, [0.02, 0.02, 0.02], True
    for i, axis in enumerate(AXES):
        hand.add_joint(name=f"{GRIPPER}_{axis}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=np.eye(3)[i], armature=INERTIA)
    hand.add_joint(name=f"{GRIPPER}_yaw", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1], armature=TURN_INERTIA)
    cylinder = mujoco.mjtGeom.mjGEOM_CYLINDER
    hand.add_geom(
        name="cup", type=cylinder, size=[CUP_RADIUS, 0.006, 0], pos=[0, 0, 0.006], group=1, rgba=[0.15, 0.15, 0.17, 1]
    )
    shaft = {"size": [CUP_RADIUS * 0.7, SHAFT_LENGTH / 2, 0], "pos": [0, 0, SHAFT_LENGTH / 2 + 0.012]}
    hand.add_geom(name="shaft", type=cylinder, group=1, rgba=[0.75, 0.77, 0.8, 1], **shaft)
    looks = {"type": cylinder, "group": 1, "contype": 0, "conaffinity": 0}
    hand.add_geom(
        name="lip", size=[CUP_RADIUS * 1.9, 0.0015, 0], pos=[0, 0, 0.0035], rgba=[0.15, 0.15, 0.17, 1], **looks
    )
    hand.add_geom(
        name="bellows", size=[CUP_RADIUS * 1.4, 0.007, 0], pos=[0, 0, 0.016], rgba=[0.25, 0.25, 0.28, 1], **looks
    )
    hand.add_geom(name="flange", size=[0.028, 0.012, 0], pos=[0, 0, SHAFT_LENGTH], rgba=[0.2, 0.22, 0.26, 1], **looks)
    for axis in AXES:
        servo = spec.add_actuator(name=f"{GRIPPER}_{axis}", target=f"{GRIPPER}_{axis}", forcerange=[-FORCE, FORCE])
        servo.trntype, servo.forcelimited = mujoco.mjtTrn.mjTRN_JOINT, True
        servo.set_to_position(kp=STIFFNESS, kv=DAMPING)
    servo = spec.add_actuator(name=f"{GRIPPER}_yaw", target=f"{GRIPPER}_yaw", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.set_to_position(kp=400.0, kv=14.0)
    # Carries no force: it records suction on and off among the actions.
    valve = spec.add_actuator(name="suction", target=f"{GRIPPER}_z", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    valve.gainprm[0] = 0
    for name, body in bodies.items():
        weld = spec.add_equality(name=f"grip {name}", type=mujoco.mjtEq.mjEQ_WELD, active=False)
        weld.name1, weld.name2, weld.objtype = GRIPPER, body, mujoco.mjtObj.mjOBJ_BODY
        weld.data[:11] = [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
        weld.solref, weld.solimp = [0.005, 1], [0.98, 0.999, 0.001, 0.5, 2]


def minimum_jerk(steps: int) -> np.ndarray:
    """Return the share of a smooth motion that is done after each of its steps, of shape (steps,), up to 1."""
    s = np.arange(1, steps + 1) / steps
    return 10 * s**3 - 15 * s**4 + 6 * s**5


def _held(physics: Physics) -> str | None:
    """Return what an active weld holds: a policy may hand over to the oracle with something in its hand."""
    model = physics.model
    names = [model.equality(number).name for number in np.flatnonzero(physics.data.eq_active)]
    return next((name.removeprefix("grip ") for name in names if name.startswith("grip ")), None)


class SuctionGripper:
    """The hand in a running world; each motion steps the physics until it is done."""

    def __init__(self, physics: Physics):
        self.physics, self.home = physics, physics.world.home
        self.holding: str | None = _held(physics)
        """Name of what it holds."""

    @property
    def tip(self) -> np.ndarray:
        """Commanded position of the cup's tip, world, of shape (3,)."""
        return self.physics.data.ctrl[:3] + self.home

    @property
    def turn(self) -> float:
        """Commanded turn about the vertical, in radians."""
        return float(self.physics.data.ctrl[3])

    def go(self, tip: np.ndarray, turn: float | None = None) -> None:
        """Move the tip to a position along a minimum-jerk path, turning on the way."""
        start = self.physics.data.ctrl[:4].copy()
        end = np.array([*(np.asarray(tip, float) - self.home), start[3] if turn is None else turn])
        distance, angle = np.linalg.norm(end[:3] - start[:3]), abs(end[3] - start[3])
        if distance < 1e-4 and angle < 1e-3:
            return
        # 0.9: mean speed of free motions in m/s; the peak of a minimum-jerk motion is 1.9 times that
        # 2.5: mean turning speed in rad/s
        steps = round(max(0.12 + distance / 0.9, angle / 2.5) / TIMESTEP)
        for command in start + minimum_jerk(steps)[:, None] * (end - start):
            self.physics.data.ctrl[:4] = command
            self.physics.step()

    def feel(self, lowest: float) -> str | None:
        """Lower the tip slowly until the cup, or what it holds, rests on something, at most to the height `lowest`.

        Return the name of what was touched, None for nothing.
        """
        physics, label = self.physics, self.physics.gripper
        if self.holding:
            label = physics.label_of(self.holding)
        while self.tip[2] > lowest:
            physics.data.ctrl[2] -= FEEL_SPEED * TIMESTEP
            physics.step()
            hits = [other for other, upright in physics.contacts(label) if upright > 0.4 and other != physics.gripper]
            if hits:
                self.stop()
                return physics.label_name(hits[0])
        self.stop()
        return None

    def stop(self) -> None:
        """Command the present position."""
        self.physics.data.ctrl[:3] = self.physics.data.qpos[self._slides]

    @property
    def _slides(self) -> np.ndarray:
        model = self.physics.model
        return np.array([model.joint(f"{GRIPPER}_{axis}").qposadr[0] for axis in AXES])

    def grip(self, name: str) -> None:
        """Switch the suction on: an object or part is held at its present pose relative to the cup."""
        physics = self.physics
        held = physics.model.equality(f"grip {name}")
        body = physics.data.body(int(physics.model.eq_obj2id[held.id]))
        pos, rotation = body.xpos, body.xmat.reshape(3, 3)
        hand = physics.data.body(GRIPPER)
        turned = hand.xmat.reshape(3, 3).T
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, (turned @ rotation).ravel())
        weld = held.id
        physics.model.eq_data[weld, :10] = [0, 0, 0, *(turned @ (pos - hand.xpos)), *quat]
        physics.data.eq_active[weld] = 1
        physics.data.ctrl[4] = 1
        self.holding = name
        physics.wait(0.03)

    def release(self) -> None:
        """Switch the suction off."""
        if self.holding:
            self.physics.wait(0.04)
            self.physics.data.eq_active[self.physics.model.equality(f"grip {self.holding}").id] = 0
            self.physics.data.ctrl[4] = 0
            self.holding = None
            self.physics.wait(0.04)

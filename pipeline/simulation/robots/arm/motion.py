"""Motion of the arm in a running world: command its servos along joint paths, step by step."""

from collections.abc import Callable, Sequence

import numpy as np

from pipeline.simulation.physics import TIMESTEP, Physics
from pipeline.simulation.robots.arm.robot_model import prefixed
from pipeline.simulation.robots.description import ArmModel

SLOW_RAD_S = 0.05
"""Speed from which on a command leads by all of a joint's dry friction."""


class Motion:
    """The servos of the arm and of its fingers, if it has them."""

    def __init__(self, physics: Physics, arm: ArmModel):
        self.physics, self.fingers = physics, arm.fingers
        model = physics.model
        names = [model.actuator(i).name for i in range(model.nu)]
        self._servos = np.array([names.index(name) for name in prefixed(arm.servos, arm.prefix)])
        self._lag, self._friction = np.array(arm.servo_lag), np.array(arm.servo_friction)
        grips = prefixed(arm.fingers.actuators if arm.fingers else (), arm.prefix)
        self._grip = np.array([names.index(name) for name in grips], int)
        self._joints = np.array([model.joint(name).qposadr[0] for name in prefixed(arm.joints, arm.prefix)])
        geoms = [model.geom(g).name for g in range(model.ngeom)]
        sides = arm.fingers.pads if arm.fingers else ((),)
        pads = [[geoms.index(name) for name in prefixed(side, arm.prefix)] for side in sides]
        self._pads = [np.isin(np.arange(model.ngeom), side) for side in pads]
        self.commanded = physics.data.qpos[self._joints].copy()
        """Commanded joint angles, of shape (N,)."""

    @property
    def q(self) -> np.ndarray:
        """Current joint angles, of shape (N,)."""
        return self.physics.data.qpos[self._joints].copy()

    def follow(
        self,
        path: Sequence[np.ndarray],
        seconds: float | None = None,
        until: Callable[[], bool] | None = None,
        speed: float | None = None,
    ) -> bool:
        """Follow joint angles with a minimum-jerk profile; return whether `until` became true and stopped it.

        Takes `seconds`, or as long as the fastest joint needs at a mean `speed` in rad/s.
        """
        points = np.array([self.commanded, *path])
        lengths = np.abs(np.diff(points, axis=0)).max(1)
        points, lengths = points[np.r_[True, lengths > 1e-9]], lengths[lengths > 1e-9]
        if not len(lengths):
            return False
        distances = np.concatenate([[0], np.cumsum(lengths)])
        # 1.6: mean speed of the fastest joint on a free path
        # 0.35: minimum duration of a motion
        needed = max(0.35, float(distances[-1]) / (speed or 1.6))
        steps = max(2, round((needed if seconds is None else seconds) / TIMESTEP))
        t = np.arange(1, steps + 1) / steps
        fraction = _minimum_jerk(t)
        trajectory = np.stack(
            [np.interp(fraction * distances[-1], distances, points[:, j]) for j in range(points.shape[1])], -1
        )
        for number, (q, command) in enumerate(zip(trajectory, self._leading(trajectory), strict=True)):
            self.physics.data.ctrl[self._servos] = command
            self.physics.step()
            if until is not None and number % 5 == 4 and until():
                self.stop(q)
                return True
        self.stop(trajectory[-1])
        return False

    def _leading(self, trajectory: np.ndarray) -> np.ndarray:
        """Return commands (T, N) that make the joints follow a trajectory (T, N).

        Servo damping and friction oppose the speed; leading by them removes the lag.
        """
        velocities = np.gradient(trajectory, TIMESTEP, axis=0)
        return trajectory + self._lag * velocities + self._friction * np.clip(velocities / SLOW_RAD_S, -1, 1)

    def stop(self, q: np.ndarray) -> None:
        """Hold a posture."""
        self.commanded = np.array(q, float)
        self.physics.data.ctrl[self._servos] = self.commanded

    def arrive(self, seconds: float = 3.0) -> None:
        """Wait until the joints are where they were commanded, at most `seconds`: a wrist that turns far may lag."""
        for _ in range(round(seconds / TIMESTEP)):
            # Largest error of a joint that has arrived
            if np.abs(self.q - self.commanded).max() < 0.02:
                return
            self.physics.step()

    def open(self, width: float) -> None:
        """Open the fingers to a distance in metres."""
        assert self.fingers is not None
        self._command_fingers(self.fingers.command(width), 0.3)

    def close(self) -> None:
        """Close the fingers."""
        assert self.fingers is not None
        # From fully open, the fingers of a 2F-85 then move at 137 mm/s, of at most 150 by its data sheet
        self._command_fingers(self.fingers.close_command, 1.0)

    def _command_fingers(self, command: np.ndarray, seconds: float) -> None:
        data, start = self.physics.data, self.physics.data.ctrl[self._grip].copy()
        steps = round(seconds / TIMESTEP)
        for k in range(1, steps + 1):
            data.ctrl[self._grip] = start + min(1.0, 1.6 * k / steps) * (command - start)
            self.physics.step()

    def is_pinching(self, name: str) -> bool:
        """Whether both fingers touch an object; False for an arm without fingers."""
        label, pairs = self.physics.label == self.physics.label_of(name), self.physics.data.contact.geom
        touching = [bool(((pad[pairs].any(1)) & (label[pairs].any(1))).any()) for pad in self._pads]
        return all(touching)


def follow_together(
    motions: Sequence[Motion],
    paths: Sequence[Sequence[np.ndarray]],
    seconds: float,
    until: Callable[[], bool] | None = None,
) -> bool:
    """Let arms follow paths of equally many postures in step; return whether `until` became true and stopped them."""
    points = [np.array([motion.commanded, *path]) for motion, path in zip(motions, paths, strict=True)]
    steps = max(2, round(seconds / TIMESTEP))
    shares = _minimum_jerk(np.arange(1, steps + 1) / steps) * (len(points[0]) - 1)
    numbers = np.arange(len(points[0]))
    ways = [np.stack([np.interp(shares, numbers, joint) for joint in one.T], -1) for one in points]
    commands = [motion._leading(way) for motion, way in zip(motions, ways, strict=True)]
    physics = motions[0].physics
    for step in range(steps):
        for motion, command in zip(motions, commands, strict=True):
            physics.data.ctrl[motion._servos] = command[step]
        physics.step()
        stopped = until is not None and step % 5 == 4 and until()
        if stopped or step == steps - 1:
            for motion, way in zip(motions, ways, strict=True):
                motion.stop(way[step])
            return stopped
    return False


def _minimum_jerk(t: np.ndarray) -> np.ndarray:
    """Return the share of a smooth motion that is done after shares of its time, both in [0, 1]."""
    return t**3 * (10 - 15 * t + 6 * t**2)

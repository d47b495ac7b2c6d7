"""Moves the arm of a running world: commands its servos along postures, step by step."""

from collections.abc import Callable, Sequence

import numpy as np

from pipeline.simulation.arm import body, fingers
from pipeline.simulation.physics import TIMESTEP, Physics

SPEED = 1.6
"""Mean speed of the fastest joint on a free way, in rad/s."""
LEAST = 0.35
"""Seconds any motion takes at least."""


class Motion:
    """The arm's servos and the gripper's."""

    def __init__(self, physics: Physics):
        self.physics = physics
        model = physics.model
        names = [model.actuator(i).name for i in range(model.nu)]
        self._servos = np.array([names.index(n.removesuffix("_joint")) for n in body.JOINTS])
        self._grip = names.index(f"{body.HAND}fingers_actuator")
        self._joints = np.array([model.joint(name).qposadr[0] for name in body.JOINTS])
        pads = [[model.geom(name).id for name in side] for side in body.PADS]
        self._pads = [np.isin(np.arange(model.ngeom), side) for side in pads]
        self.commanded = physics.data.qpos[self._joints].copy()
        """Where the arm is told to be, of shape (6,)."""

    @property
    def q(self) -> np.ndarray:
        """Where the arm is, of shape (6,)."""
        return self.physics.data.qpos[self._joints].copy()

    def along(
        self, way: Sequence[np.ndarray], seconds: float | None = None, until: Callable[[], bool] | None = None
    ) -> bool:
        """Follows postures with a smooth start and end; stops where `until` says so, and tells whether it did."""
        points = np.array([self.commanded, *way])
        lengths = np.abs(np.diff(points, axis=0)).max(1)
        points, lengths = points[np.r_[True, lengths > 1e-9]], lengths[lengths > 1e-9]
        if not len(lengths):
            return False
        marks = np.concatenate([[0], np.cumsum(lengths)])
        seconds = max(LEAST, marks[-1] / SPEED) if seconds is None else seconds
        steps = max(2, round(seconds / TIMESTEP))
        t = np.arange(1, steps + 1) / steps
        share = t**3 * (10 - 15 * t + 6 * t**2)  # minimum jerk
        course = np.stack([np.interp(share * marks[-1], marks, points[:, j]) for j in range(6)], -1)
        speeds = np.gradient(course, TIMESTEP, axis=0)
        for number, (q, speed) in enumerate(zip(course, speeds, strict=True)):
            # the servos' damping acts against the speed: leading by it makes them follow without a lag
            self.physics.data.ctrl[self._servos] = q + body.SERVO_LAG * speed
            self.physics.step()
            if until is not None and number % 5 == 4 and until():
                self.stop(q)
                return True
        self.stop(course[-1])
        return False

    def stop(self, q: np.ndarray) -> None:
        """Stays at a posture."""
        self.commanded = np.array(q, float)
        self.physics.data.ctrl[self._servos] = self.commanded

    def open(self, width: float) -> None:
        """Brings the fingers that far apart."""
        self._fingers(fingers.command(width), 0.3)

    def close(self) -> None:
        """Closes the fingers on whatever is between them."""
        self._fingers(fingers.CLOSED, 0.5)

    def _fingers(self, goal: float, seconds: float) -> None:
        data, start = self.physics.data, float(self.physics.data.ctrl[self._grip])
        steps = round(seconds / TIMESTEP)
        for k in range(1, steps + 1):
            data.ctrl[self._grip] = start + min(1.0, 1.6 * k / steps) * (goal - start)
            self.physics.step()

    def holds(self, name: str) -> bool:
        """Whether both fingers touch it."""
        label, pairs = self.physics.label == self.physics.index(name), self.physics.data.contact.geom
        touched = [bool(((pad[pairs].any(1)) & (label[pairs].any(1))).any()) for pad in self._pads]
        return all(touched)

"""What the arm, and what it holds, would hit in a posture: MuJoCo's own collisions, without a step of physics."""

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.simulation.arm import body, fingers
from pipeline.simulation.physics import Physics

LINKS, HAND, THINGS = 0.006, 0.0005, 0.002
"""Kept between the arm's links, the gripper, what it holds, and everything else, in metres."""
_THING, _ROBOT, _LINK = 1, 2, 4


@dataclass(frozen=True, eq=False)
class Held:
    """Something between the fingers."""

    name: str
    hand_from_object: np.ndarray
    """Of shape (4, 4)."""


class Clearance:
    """Looks at postures in a running world; `refresh` when things have moved."""

    def __init__(self, physics: Physics):
        self.physics = physics
        self.model = copy.copy(physics.model)
        self.data = mujoco.MjData(self.model)
        at = {self.model.joint(j).name: int(self.model.jnt_qposadr[j]) for j in range(self.model.njnt)}
        self._arm = np.array([at[name] for name in body.JOINTS])
        self._fingers = {n.removeprefix(body.HAND): a for n, a in at.items() if n.startswith(body.HAND)}
        self._robot = (physics.label == physics.gripper) & (self.model.geom_contype > 0)
        owners = [self.model.body(b).name for b in self.model.geom_bodyid]
        self._hand = self._robot & np.array([name.startswith(body.HAND) for name in owners])
        self._solid = (self.model.geom_contype > 0) | (self.model.geom_conaffinity > 0)
        self._pinch = self.model.site(body.PINCH).id

    def refresh(self) -> None:
        """Takes over where everything is now."""
        self.data.qpos[:] = self.physics.data.qpos

    def hit(self, q: np.ndarray, width: float, held: Held | None = None, past: tuple[str, ...] = ()) -> str:
        """Name of what would be hit with the arm at q (6,) and the fingers that far open, not looking at `past`.

        "itself" where the arm would hit itself; empty where it is free.
        """
        model, data = self.model, self.data
        self._mask(held, past)
        kept = data.qpos.copy()
        data.qpos[self._arm] = q
        for name, value in fingers.joints(width).items():
            data.qpos[self._fingers[name]] = value
        mujoco.mj_kinematics(model, data)
        if held:
            self._carry(held)
            mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        data.qpos[:] = kept
        return self._first(held)

    def _first(self, held: Held | None) -> str:
        labels = self.physics.label
        ours = self._robot | (labels == self._label(held)) if held else self._robot
        for pair in self.data.contact.geom:
            others = [g for g in pair if not ours[g]]
            return self.physics.name(int(labels[others[0]])) if others else "itself"
        return ""

    def _label(self, held: Held) -> int:
        return self.physics.index(held.name)

    def _carry(self, held: Held) -> None:
        hand = np.eye(4)
        hand[:3, :3] = self.data.site_xmat[self._pinch].reshape(3, 3)
        hand[:3, 3] = self.data.site_xpos[self._pinch]
        thing = hand @ held.hand_from_object
        at = self.physics.addresses[held.name]
        self.data.qpos[at : at + 3] = thing[:3, 3]
        self.data.qpos[at + 3 : at + 7] = Rotation.from_matrix(thing[:3, :3]).as_quat(scalar_first=True)

    def _mask(self, held: Held | None, past: tuple[str, ...]) -> None:
        """Only robot against things, link against link, and what is held against things are looked at."""
        model, label = self.model, self.physics.label
        kind, sees, margin = np.full(model.ngeom, _THING), np.full(model.ngeom, _ROBOT), np.zeros(model.ngeom)
        links = self._robot & ~self._hand
        kind[self._robot], sees[self._robot] = _ROBOT, _THING
        kind[links], sees[links] = _ROBOT | _LINK, _THING | _LINK
        margin[links], margin[self._hand] = LINKS, HAND
        if held:
            own = label == self._label(held)
            kind[own], sees[own], margin[own] = _ROBOT, _THING, THINGS
        hidden = ~self._solid
        for name in past:
            hidden |= label == self.physics.index(name)
        kind[hidden] = sees[hidden] = 0
        model.geom_contype[:], model.geom_conaffinity[:], model.geom_margin[:] = kind, sees, margin

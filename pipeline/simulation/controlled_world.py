"""A world that is stepped by normalised actions, for exported environments and for learning.

An action changes the commands of the robot's actuators; suction takes hold of what the cup nearly touches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.stages import is_superseded
from pipeline.simulation.physics import GRIPPER, STEPS_PER_RECORD, CompiledWorld, Physics
from pipeline.simulation.rollout import Stages, reward
from pipeline.simulation.state import State

REACH_M = 0.004
"""Gap in metres between suction cup and object at which the suction takes hold."""
GRIP = "grip "
"""Prefix of the welds that the floating gripper closes."""


@dataclass(frozen=True)
class ControlRate:
    """How an action becomes commands."""

    steps: int = STEPS_PER_RECORD
    """Physics steps of one control step."""
    ramp: int = STEPS_PER_RECORD
    """Number of equal changes by which a command gets to its new value; divides `steps`."""
    slide_m: float = 0.06
    """Largest change of a slide's command in one control step; the oracle's fastest motion needs 0.055 m at 31 Hz."""
    turn_rad: float = 0.16
    """The same of a hinge; the oracle needs 0.152 rad."""
    lead_m: float = np.inf
    """Most metres by which a slide's command may be ahead of its position when an action begins: bounds the force."""


class ControlledWorld:
    """One world with its robot and its goals."""

    def __init__(
        self,
        world: CompiledWorld,
        stages: Stages = (),
        rate: ControlRate = ControlRate(),
        measured: Sequence[str] | None = None,
    ):
        """`measured` are the objects in the states that `measure` returns; None for all."""
        self.world, self.model, self.stages, self.rate, self._measured = world, world.model, stages, rate, measured
        self._welds = {w: int(self.model.eq_obj2id[w]) for w in range(self.model.neq) if self._is_grip(w)}
        self._geoms = {weld: self._geoms_of(body) for weld, body in self._welds.items()}
        self.suction = int(self.model.actuator("suction").id) if self._welds else -1
        """Index of the command that switches the suction; -1 for a robot without."""
        self._low, self._high, self._step, self._is_absolute = self._ranges()
        self._slides = np.flatnonzero(np.isclose(self._step, rate.slide_m) & ~self._is_absolute)
        self.positions = self.model.jnt_qposadr[self.model.actuator_trnid[self._slides, 0]]
        """Indices into qpos of the slides, in the order of their commands."""
        self._shapes = None
        self._bodies = np.array([self.model.body(name).id for name in world.objects], int)
        self.counts_while_moving = len(stages) > 1 or any(g.throughout for _, goals in stages for g in goals)
        """Whether what happens before the end counts: several stages, or a goal that holds throughout."""
        self.reset()
        names = world.objects if measured is None else measured
        parts = [joint.address for (name, _), joint in self.physics.parts.items() if name in names]
        poses = [at + k for name, at in self.physics.addresses.items() if name in names for k in range(7)]
        self._object_coordinates = np.array([*poses, *parts], int)

    def _is_grip(self, weld: int) -> bool:
        return self.model.equality(weld).name.startswith(GRIP)

    def _ranges(self) -> tuple[np.ndarray, ...]:
        """Return the lowest and highest command and the largest change of each actuator, and which take a value."""
        model = self.model
        limited = model.actuator_ctrllimited.astype(bool)
        low, high = np.where(limited[:, None], model.actuator_ctrlrange, [-np.inf, np.inf]).T
        kinds = model.jnt_type[np.maximum(model.actuator_trnid[:, 0], 0)]
        of_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
        step = np.where(kinds == mujoco.mjtJoint.mjJNT_SLIDE, self.rate.slide_m, self.rate.turn_rad)
        is_absolute = ~of_joint
        if self.suction >= 0:
            is_absolute[self.suction], low[self.suction], high[self.suction] = True, 0.0, 1.0
        return low, high, step, is_absolute

    def reset(self) -> None:
        """Return to the start of the world."""
        self.physics = Physics(self.world, self._shapes)
        self._shapes = self.physics.shapes
        self.data = self.physics.data
        self.holding = -1
        """Weld that holds an object; -1 for none."""
        self.reached = 1

    def step(self, action: np.ndarray) -> None:
        """Simulate one control step under a normalised action (nu,) in [-1, 1]. Raises UnstableError."""
        self.physics.follow(self.ramp(action), self.rate.steps // self.rate.ramp)
        self.arrive(action)

    def ramp(self, action: np.ndarray) -> np.ndarray:
        """Return the commands of a control step, one after the other, of shape (ramp, nu); suction does not change."""
        if np.isfinite(self.rate.lead_m):
            here, lead = self.data.qpos[self.positions], self.rate.lead_m
            self.data.ctrl[self._slides] = np.clip(self.data.ctrl[self._slides], here - lead, here + lead)
        start, end = self.data.ctrl.copy(), self.command(action)
        if self.suction >= 0:
            end[self.suction] = start[self.suction]
        return start + np.arange(1, self.rate.ramp + 1)[:, None] / self.rate.ramp * (end - start)

    def arrive(self, action: np.ndarray) -> None:
        """End a control step: switch the suction as its action says."""
        if self.suction < 0:
            return
        is_on = float(action[self.suction]) > 0  # the middle of its range
        self.data.ctrl[self.suction] = float(is_on)
        self._switch_suction(bool(is_on))

    def command(self, action: np.ndarray) -> np.ndarray:
        """Return the actuators' next commands (nu,) of a normalised action: a change, or a value between limits."""
        action = np.clip(np.asarray(action, float), -1, 1)
        change = self.data.ctrl + action * self._step
        with np.errstate(invalid="ignore"):
            value = self._low + (action + 1) / 2 * (self._high - self._low)
        return np.clip(np.where(self._is_absolute, value, change), self._low, self._high)

    def action(self, command: np.ndarray) -> np.ndarray:
        """Return the normalised action (nu,) that leads to these commands (nu,). Inverse of `command`."""
        change = (command - self.data.ctrl) / self._step
        with np.errstate(invalid="ignore"):
            value = 2 * (command - self._low) / (self._high - self._low) - 1
        return np.clip(np.where(self._is_absolute, value, change), -1, 1)

    @property
    def actions(self) -> int:
        """Number of components of an action."""
        return int(self.model.nu)

    @property
    def tip(self) -> np.ndarray:
        """World position of the cup's tip, of shape (3,), in metres."""
        return self.data.body(GRIPPER).xpos.copy()

    @property
    def lag(self) -> np.ndarray:
        """Metres by which the slides' commands are ahead of their positions, of shape (3,)."""
        return self.data.ctrl[self._slides] - self.data.qpos[self.positions]

    def go_home(self) -> None:
        """Bring the robot to its home, in a world that has not begun."""
        self.world.robot.ready(self.model, self.data)

    @property
    def held(self) -> str:
        """Name of what the suction holds: an object, or "object part"; empty for none."""
        return self.model.equality(self.holding).name.removeprefix(GRIP) if self.holding >= 0 else ""

    def _switch_suction(self, is_on: bool) -> None:
        if not is_on and self.holding >= 0:
            self.data.eq_active[self.holding] = 0
            self.holding = -1
        elif is_on and self.holding < 0 and (weld := self._weld_in_reach()) >= 0:
            hand = self.data.body(self.model.eq_obj1id[weld])
            held = self.data.body(self.model.eq_obj2id[weld])
            inverse, quat = np.zeros(4), np.zeros(4)
            mujoco.mju_negQuat(inverse, hand.xquat)
            mujoco.mju_mulQuat(quat, inverse, held.xquat)
            offset = hand.xmat.reshape(3, 3).T @ (held.xpos - hand.xpos)
            self.model.eq_data[weld, :10] = [0, 0, 0, *offset, *quat]
            self.data.eq_active[weld] = 1
            self.holding = weld

    def _weld_in_reach(self) -> int:
        """Return the weld of the body nearest to the cup, -1 if none is within reach."""
        cup, line = self.model.geom("cup").id, np.zeros(6)
        distances = {}
        for weld, geoms in self._geoms.items():
            gaps = [mujoco.mj_geomDistance(self.model, self.data, cup, g, 2 * REACH_M, line) for g in geoms]
            distances[weld] = min(gaps, default=np.inf)
        nearest = min(distances, key=distances.__getitem__, default=-1)
        return nearest if nearest >= 0 and distances[nearest] <= REACH_M else -1

    def _geoms_of(self, body: int) -> list[int]:
        """Return the colliding geoms of a body, and of those below it that no other weld holds."""
        model = self.model
        collide = np.flatnonzero(model.geom_contype | model.geom_conaffinity).tolist()
        return [g for g in collide if self._held_body(int(model.geom_bodyid[g])) == body]

    def _held_body(self, body: int) -> int:
        """Return the nearest ancestor that a weld can hold; the world if there is none."""
        while body and body not in self._welds.values():
            body = int(self.model.body_parentid[body])
        return body

    # ------------------------------------------------------------------ measuring

    @property
    def reached(self) -> int:
        """Number of stages whose goals count. Setting it to 1 begins again."""
        return self._reached

    @reached.setter
    def reached(self, number: int) -> None:
        self._reached = number
        if number == 1:
            self._broken = set[Goal]()

    def measure(self) -> State:
        """Return the state now; count the stages that have been reached, and note what did not hold throughout."""
        state = self.physics.state(self._measured)
        lasting = [
            g for _, goals in self.stages for g in goals if g.throughout and state.objects.keys() >= {*g.objects}
        ]
        self._broken |= {goal for goal in lasting if not goal.met(state)}
        while self.reached < len(self.stages) and all(g.met(state) for g in self.stages[self.reached - 1][1]):
            self.reached += 1
        return state

    def goals(self, state: State) -> dict[str, float]:
        """Return by goal how far it is from being met, in metres, zero when met; "stage: goal" with several stages."""
        several = len(self.stages) > 1
        return {
            f"{name}: {goal.name}" if several else goal.name: goal.missed(state)
            for name, goals in self.stages
            for goal in goals
        }

    def share(self, state: State) -> float:
        """Return the share of all goals met, in [0, 1]; a stage counts once those before it were met."""
        return reward(state, self.stages, self.reached, self._broken)

    def closeness(self, state: State) -> float:
        """Return the mean over all goals of a value in [0, 1] that falls smoothly with the distance still to go."""
        values = [
            0.0 if number >= self.reached else 1.0 if self._is_over(goal, number) else goal.value(state)
            for number, (_, goals) in enumerate(self.stages)
            for goal in goals
        ]
        return sum(values) / len(values) if values else 0.0

    def _is_over(self, goal: Goal, number: int) -> bool:
        """Return whether a goal of a stage was met and a stage reached since carries its object elsewhere."""
        return is_superseded(goal, [other for _, goals in self.stages[number + 1 : self.reached] for other in goals])

    def is_at_rest(self) -> bool:
        """Whether nothing moves and the gripper holds nothing."""
        return self.holding < 0 and self.physics.still()

    def object_coordinates(self) -> np.ndarray:
        """Return the coordinates of the measured objects and their parts, of shape (N,)."""
        return self.data.qpos[self._object_coordinates]

    def objects(self) -> dict[str, np.ndarray]:
        """Return position and quaternion wxyz (7,) of each object by name."""
        poses = np.concatenate([self.data.xpos[self._bodies], self.data.xquat[self._bodies]], axis=1)
        return dict(zip(self.world.objects, poses, strict=True))

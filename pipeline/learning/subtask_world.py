"""One subtask in a running world: starts, control steps at 10 Hz, the potential of its reward, and its success.

Success is measured by goals on the physics alone; the reward has no part in it.
"""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from pipeline.learning.layouts import Layout, Layouts
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import LearningError, Subtask
from pipeline.learning.terms import Moment
from pipeline.simulation.controlled_world import ControlledWorld, ControlRate
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.physics import CompiledWorld
from pipeline.simulation.robots.gripper.articulation import grasp_points
from pipeline.simulation.robots.gripper.gripper import CUP_RADIUS
from pipeline.simulation.robots.gripper.hand import FloatingGripper
from pipeline.simulation.state import HandState, State

RATE = ControlRate(steps=50, ramp=5, slide_m=0.05, turn_rad=0.25, lead_m=0.015)
"""10 Hz, at most 0.5 m/s and 2.5 rad/s; the hand presses with at most 150 N beyond what its motion needs."""
STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)


@dataclass(frozen=True, eq=False)
class _GraspPoint:
    """Where the tip takes hold of a part."""

    body: int
    offset: np.ndarray
    """In the body's frame, of shape (3,)."""


class SubtaskWorld:
    """A compiled world of the task's layouts, and the subtask that is pursued in it."""

    def __init__(self, layouts: Layouts, subtask: Subtask, control: ControlledWorld | None = None):
        """Args:
        layouts: of the task.
        subtask: with objects and parts that the layouts have.
        control: the running world of another subtask, to go on in; None for a new one.
        """
        self.layouts, self.subtask = layouts, subtask
        self.control = control or _control(layouts.world())
        self.physics, self.model = self.control.physics, self.control.model
        self.data = self.physics.data
        self.names = tuple(name for name in subtask.objects if name in layouts.base.objects)
        """Objects that are measured."""
        self._bodies = np.array([self.model.body(name).id for name in layouts.base.objects])
        self._places = np.zeros((len(self._bodies), 3))
        moving = [joint for joint in subtask.joints if joint[1] not in layouts.base.objects[joint[0]].affordances]
        self._grasp_points = {joint: self._grasp_point(*joint) for joint in moving}
        self.layout = layouts.base
        self.bound: dict[Goal, Goal] = {}
        """The layout's own form of each of the task's goals in the base layout."""
        self._success, self._reward = subtask.success, subtask.reward
        self._calm, self._effort = 0, 0.0
        self._start: State | None = None

    # ------------------------------------------------------------------ starting

    def settled(self, layout: Layout) -> StartState:
        """Return the state of a layout after everything has settled. Raises UnstableError."""
        self._put(layout)
        # Simulated before an episode on a layout, as in a rollout of the oracle
        self.physics.settle(0.5)
        for kept in (self.physics.log.times, self.physics.log.qpos, self.physics.log.actions):
            kept.clear()
        return self.snapshot()

    def snapshot(self) -> StartState:
        """Return the present state."""
        state = np.zeros(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, self.data, state, STATE)
        weld = self.control.holding
        return StartState(self.layout.seed, state, weld, self.model.eq_data[weld].copy() if weld >= 0 else None)

    def begin(self, start: StartState) -> Moment:
        """Begin an episode. Raises LearningError for a state of another world."""
        (layout,) = self.layouts.get([start.layout])
        if len(start.state) != mujoco.mj_stateSize(self.model, STATE) or start.holding >= self.model.neq:
            raise LearningError("the start states are of another scene; learn the former subtask again")
        self._put(layout)
        mujoco.mj_setState(self.model, self.data, start.state, STATE)
        if start.grasp is not None:
            self.model.eq_data[start.holding] = start.grasp
        self.control.holding = start.holding
        mujoco.mj_forward(self.model, self.data)
        return self.pursue(layout)

    def pursue(self, layout: Layout | None = None) -> Moment:
        """Begin an episode at the present state: a chain goes on with its next subtask."""
        self.layout = layout or self.layout
        self.bound = dict(zip(self.layouts.base.goals, self.layout.goals, strict=True))
        bound = self.subtask.bound_to(self.bound)
        self._success, self._reward = bound.success, bound.reward
        self._calm, self._effort = 0, 0.0
        self._places = self.data.xpos[self._bodies].copy()
        self._start = self._measure()
        return self._moment()

    def _put(self, layout: Layout) -> None:
        """Place all objects as in a layout, with the hand at home."""
        mujoco.mj_resetData(self.model, self.data)
        self.control.holding = -1
        self.physics.world = replace(self.physics.world, objects=layout.objects, zones=layout.zones)
        for name, placed in layout.objects.items():
            pose = np.concatenate([placed.position, placed.quat_wxyz])
            if name in self.physics.addresses:
                first = self.physics.addresses[name]
                self.data.qpos[first : first + 7] = pose
            else:
                body = self.model.body(name).id
                self.model.body_pos[body], self.model.body_quat[body] = pose[:3], pose[3:]
            for part in placed.parts:
                self.data.qpos[self.physics.parts[name, part.name].address] = part.value
        self.control.go_home()
        mujoco.mj_forward(self.model, self.data)
        self.layout = layout

    # ------------------------------------------------------------------ stepping and measuring

    def step(self, action: np.ndarray) -> Moment:
        """Simulate 0.1 s under a normalised action (5,): changes of x, y, z and yaw, and suction.

        Raises UnstableError.
        """
        self.control.step(action)
        return self._stepped(action)

    def _stepped(self, action: np.ndarray) -> Moment:
        """Measure after a control step."""
        self._effort += float(np.mean(np.square(np.clip(action[:4], -1, 1))))
        self._calm = self._calm + 1 if self.control.is_at_rest() else 0
        return self._moment()

    def _moment(self) -> Moment:
        shifts = np.linalg.norm(self.data.xpos[self._bodies] - self._places, axis=1)
        state = self._measure()
        misses = np.array([goal.miss(state) for goal in self._success])
        by_name = dict(zip(self.layouts.base.objects, shifts, strict=True))
        return Moment(state, self._start or state, self._effort, by_name, misses)

    def is_solved(self, moment: Moment) -> bool:
        """Whether the subtask's goals hold; without goals about the hand also at rest and with nothing held."""
        # Control steps at rest before a subtask without the hand counts as solved: 0.2 s
        if self.subtask.needs_rest and self._calm < 2:
            return False
        return bool((moment.misses <= 0).all())

    def is_lost(self, moment: Moment) -> bool:
        """Whether a measured object has left the table, so that the subtask cannot be solved any more."""
        # An object whose lowest point is below this height has left the table
        return any(moment.state[name].bottom < -0.03 for name in self.names)

    def potentials(self, moment: Moment) -> np.ndarray:
        """Return the weighted potential of each term, of shape (T,)."""
        return np.array([one.weight * one.term.potential(moment) for one in self._reward])

    def _measure(self) -> State:
        data = self.data
        points = {
            joint: data.xmat[one.body].reshape(3, 3) @ one.offset + data.xpos[one.body]
            for joint, one in self._grasp_points.items()
        }
        return replace(self.physics.state(self.names), hand=HandState(self.control.tip, self.control.held, points))

    def _grasp_point(self, name: str, part: str) -> _GraspPoint:
        """Return the best place to take hold of a part from the side. Raises LearningError where there is none."""
        self._put(self.layouts.base)
        one = self.physics.state([name])[name]
        if part not in {moving.name for moving in one.parts}:
            raise LearningError(f"{name} has no part {part!r} here")
        points = grasp_points(self.physics, name, one.part(part))
        if not points:
            raise LearningError(f"there is no place on {part} of {name} that the hand gets to from the side")
        # 0.006: cup middle from the cup's tip to its middle, where it touches a side
        tip = points[0].position + CUP_RADIUS * points[0].outwards - [0, 0, 0.006]
        body = self.physics.parts[name, part].body
        return _GraspPoint(body, self.data.xmat[body].reshape(3, 3).T @ (tip - self.data.xpos[body]))


def _control(world: CompiledWorld) -> ControlledWorld:
    """Return the control of a world's robot: the floating gripper, or the arm."""
    if isinstance(world.robot, FloatingGripper):
        return ControlledWorld(world, rate=RATE)
    from pipeline.learning.arm_control import ArmControl

    return ArmControl(world, RATE)

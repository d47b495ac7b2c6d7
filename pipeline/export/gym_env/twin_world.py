"""The simulated world of an exported environment: one layout of the twin, its robot, and the goals of its task.

The commands of the actuators are changed at 31.25 Hz, in a straight line over the 16 physics steps between.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.spec import goal_classes
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import STEPS_PER_RECORD, TIMESTEP, CompiledWorld, Physics
from pipeline.simulation.state import State, Zone

CONTROL_SECONDS = STEPS_PER_RECORD * TIMESTEP
SLIDE_STEP_M, TURN_STEP_RAD = 0.06, 0.16
"""Largest change of a command in one control step; the oracle's fastest motion needs 0.055 m and 0.152 rad."""
REACH_M = 0.004
"""Gap in metres between suction cup and object at which the suction takes hold."""
GRIP = "grip "
"""Prefix of the welds that the floating gripper closes."""


class TwinWorld:
    """One layout, stepped by normalised actions."""

    def __init__(self, folder: Path, seed: int):
        self.layout = json.loads((folder / "layouts" / f"{seed:03d}.json").read_text(encoding="utf-8"))
        self.model = _model(folder / "scene" / f"layout_{seed:03d}.xml")
        self._welds = {w: int(self.model.eq_obj2id[w]) for w in range(self.model.neq) if self._is_grip(w)}
        self.suction = int(self.model.actuator("suction").id) if self._welds else -1
        """Index of the command that switches the suction; -1 for a robot without."""
        self.stages = [(name, [_goal(goal) for goal in goals]) for name, goals in self.layout["stages"]]
        self._low, self._high, self._step, self._is_absolute = self._ranges()
        self.reset()

    def _is_grip(self, weld: int) -> bool:
        return self.model.equality(weld).name.startswith(GRIP)

    def _ranges(self) -> tuple[np.ndarray, ...]:
        """Return the lowest and highest command and the largest change of each actuator, and which take a value."""
        model = self.model
        limited = model.actuator_ctrllimited.astype(bool)
        low, high = np.where(limited[:, None], model.actuator_ctrlrange, [-np.inf, np.inf]).T
        kinds = model.jnt_type[np.maximum(model.actuator_trnid[:, 0], 0)]
        of_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
        step = np.where(kinds == mujoco.mjtJoint.mjJNT_SLIDE, SLIDE_STEP_M, TURN_STEP_RAD)
        is_absolute = ~of_joint
        if self.suction >= 0:
            is_absolute[self.suction], low[self.suction], high[self.suction] = True, 0.0, 1.0
        return low, high, step, is_absolute

    def reset(self) -> None:
        """Return to the start of the layout."""
        start = self.layout
        objects = {row["name"]: _object(row) for row in start["objects"]}
        zones = {row["name"]: _zone(row) for row in start["zones"]}
        vectors = [np.array(start[key], float) for key in ("right", "away", "home")]
        table = Region(np.array(start["table"], float))
        robot: Any = _StartPose(start)
        world = CompiledWorld(self.model, "", objects, zones, table, *vectors, robot=robot)
        self.physics = Physics(world)
        self.data = self.physics.data
        self.holding = -1
        """Weld that holds an object; -1 for none."""
        self.reached = 1
        """Number of stages whose goals count."""

    def step(self, action: np.ndarray) -> None:
        """Simulate one control step under a normalised action (nu,) in [-1, 1]."""
        start, end = self.data.ctrl.copy(), self.command(action)
        if self.suction >= 0:
            end[self.suction] = 1.0 if end[self.suction] > 0.5 else 0.0
        for share in np.arange(1, STEPS_PER_RECORD + 1) / STEPS_PER_RECORD:
            self.data.ctrl[:] = start + share * (end - start)
            if self.suction >= 0:
                self.data.ctrl[self.suction] = start[self.suction]
            self.physics.step()
        self.data.ctrl[:] = end
        if self.suction >= 0:
            self._switch_suction(bool(end[self.suction]))
        for kept in (self.physics.log.times, self.physics.log.qpos, self.physics.log.actions):
            del kept[:-1]

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
        for weld, body in self._welds.items():
            geoms = self._geoms_of(body)
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

    def measure(self) -> State:
        """Return the state now, and count the stages that have been reached."""
        state = self.physics.state()
        while self.reached < len(self.stages) and all(g.met(state) for g in self.stages[self.reached - 1][1]):
            self.reached += 1
        return state

    def goals(self, state: State) -> dict[str, float]:
        """Return by goal how far it is from being met, in metres, zero when met; "stage: goal" with several stages."""
        several = len(self.stages) > 1
        return {
            f"{name}: {goal.name}" if several else goal.name: goal.miss(state)
            for name, goals in self.stages
            for goal in goals
        }

    def share(self, state: State) -> float:
        """Return the share of all goals met, in [0, 1]; a stage counts once those before it were met."""
        total = sum(len(goals) for _, goals in self.stages)
        return sum(goal.share(state) for _, goals in self.stages[: self.reached] for goal in goals) / max(total, 1)

    def closeness(self, state: State) -> float:
        """Return the mean over all goals of a value in [0, 1] that falls smoothly with the distance still to go."""
        values = [
            goal.value(state) if number < self.reached else 0.0
            for number, (_, goals) in enumerate(self.stages)
            for goal in goals
        ]
        return float(np.mean(values)) if values else 0.0

    def is_at_rest(self) -> bool:
        """Whether nothing moves and the gripper holds nothing."""
        return self.holding < 0 and self.physics.still()

    def objects(self) -> dict[str, np.ndarray]:
        """Return position and quaternion wxyz (7,) of each object by name."""
        poses = {}
        for name in self.physics.world.objects:
            body = self.data.body(name)
            poses[name] = np.concatenate([body.xpos, body.xquat])
        return poses


class _StartPose:
    """Puts the robot at its start in a new world."""

    def __init__(self, layout: Mapping[str, Any]):
        self._qpos, self._ctrl = np.array(layout["qpos"], float), np.array(layout["ctrl"], float)

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.qpos[:], data.ctrl[:] = self._qpos, self._ctrl
        mujoco.mj_forward(model, data)


@lru_cache(maxsize=32)
def _model(path: Path) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_path(str(path))


def _goal(row: Mapping[str, Any]) -> Goal:
    values = {key: _hashable(value) for key, value in row.items() if key != "goal"}
    return goal_classes()[row["goal"]](**values)


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return _goal(value) if isinstance(value, dict) else value


def _arrays(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with its lists of numbers as arrays."""
    is_numbers = {key: isinstance(value, list) and key not in ("parts", "rgb") for key, value in row.items()}
    return {key: np.array(value, float) if is_numbers[key] else value for key, value in row.items()}


def _object(row: Mapping[str, Any]) -> Object:
    values: dict[str, Any] = _arrays(row)
    values |= {"parts": tuple(ArticulatedPart(**_arrays(part)) for part in row["parts"]), "rgb": tuple(row["rgb"])}
    return Object(**values)


def _zone(row: Mapping[str, Any]) -> Zone:
    values: dict[str, Any] = _arrays(row)
    values["size"] = tuple(row["size"])
    return Zone(**values)


def to_json(value: Object | ArticulatedPart | Zone) -> dict[str, Any]:
    """Return the fields of an object, part or zone as JSON values; what `TwinWorld` reads."""
    row = {}
    for field in fields(value):
        content = getattr(value, field.name)
        if field.name == "parts":
            row["parts"] = [to_json(part) for part in content]
            continue
        row[field.name] = np.asarray(content).tolist() if isinstance(content, np.ndarray | tuple) else content
    return row

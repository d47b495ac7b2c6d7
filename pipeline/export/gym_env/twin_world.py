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
from pipeline.simulation.controlled_world import ControlledWorld
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.spec import goal_classes
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import STEPS_PER_RECORD, TIMESTEP, CompiledWorld
from pipeline.simulation.state import Zone

CONTROL_SECONDS = STEPS_PER_RECORD * TIMESTEP


class TwinWorld(ControlledWorld):
    """One layout, stepped by normalised actions."""

    def __init__(self, folder: Path, seed: int):
        start = json.loads((folder / "layouts" / f"{seed:03d}.json").read_text(encoding="utf-8"))
        model = _model(folder / "scene" / f"layout_{seed:03d}.xml")
        objects = {row["name"]: _object(row) for row in start["objects"]}
        zones = {row["name"]: _zone(row) for row in start["zones"]}
        vectors = [np.array(start[key], float) for key in ("right", "away", "home")]
        robot: Any = _StartPose(start)
        world = CompiledWorld(model, "", objects, zones, Region(np.array(start["table"], float)), *vectors, robot=robot)
        stages = [(name, tuple(_goal(goal) for goal in goals)) for name, goals in start["stages"]]
        named = {name for _, goals in stages for goal in goals for name in (*goal.objects, *dict(goal.joints))}
        super().__init__(world, stages, measured=[name for name in objects if name in named])


class _StartPose:
    """Puts the robot at its start in a new world."""

    def __init__(self, layout: Mapping[str, Any]):
        self._qpos, self._ctrl = np.array(layout["qpos"], float), np.array(layout["ctrl"], float)

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.qpos[:], data.ctrl[:] = self._qpos, self._ctrl
        mujoco.mj_forward(model, data)


@lru_cache(maxsize=32)
def _model(path: Path) -> mujoco.MjModel:
    """Return a model in which objects at rest sleep until something touches or holds them.

    They are then not simulated (MuJoCo, "Sleeping islands"), which is most of the time of a step.
    """
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    return model


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

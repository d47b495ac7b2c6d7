"""Translates between the twin's robot and the messages of an interface, in both directions.

The client side turns observations into messages and answers into states of the robot; the server side does the inverse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image
from scipy.spatial.transform import Rotation

from pipeline.closed_loop.interfaces.interface import Column, Entry, Interface, InterfaceError, Reading
from pipeline.closed_loop.interfaces.robot_state import RobotState
from pipeline.export.gym_env.environment import TwinEnv

PHOTO, IMAGE = "photo", "image"
"""The photograph's camera, and the name of its picture in an observation."""
MAX_CHUNK = 500
"""Actions that one answer may hold."""
TOOL = {"tool_position": 3, "tool_axis_angle": 3, "tool_quat_wxyz": 4, "tool_translation": 3, "tool_rotation": 3}


@dataclass(frozen=True, eq=False)
class Moment:
    """What is known besides the environment's observation."""

    observation: Mapping[str, np.ndarray]
    instruction: str
    seconds: float
    layout: int


class Translation:
    """Translates for one robot, in one episode."""

    def __init__(self, interface: Interface, env: TwinEnv):
        """Raises InterfaceError if the robot lacks what the interface reads or moves."""
        self.interface, self._env = interface, env
        self.robot = RobotState(env.world)
        for entry in interface.observation:
            self._check_camera(entry)
            for reading in entry.values:
                self._length(reading)
        self.widths = {part.key: sum(self._width(column) for column in part.columns) for part in interface.action}

    # ------------------------------------------------------------------ what the robot has

    def _check_camera(self, entry: Entry) -> None:
        there = getattr(self._env, "camera_names", (PHOTO,))
        if entry.camera and entry.camera not in there:
            raise self._lacks(f"the camera {entry.camera}", f"the cameras {', '.join(there)}")

    def _lacks(self, expected: str, there: str) -> InterfaceError:
        return InterfaceError(
            f"the interface {self.interface.name} expects {expected}; the twin's robot has {there}; "
            "choose another by ?interface=NAME|FILE.toml"
        )

    def _numbers(self, kind: str, part: Reading | Column) -> list[int]:
        """Return the actuators of a reading or a column."""
        if kind == "actuators":
            return list(range(self.robot.model.nu))
        noun = "grippers" if kind == "gripper" else "joints"
        there = self.robot.grippers if kind == "gripper" else self.robot.joints
        found = self.robot.matching(there, part.names)
        if part.count and len(found) != part.count:
            named = "" if part.names == "*" else f" named {part.names}"
            have = ", ".join(self.robot.names[number] for number in there) or "none"
            raise self._lacks(f"{part.count} {noun}{named}", f"{len(found)} ({noun}: {have})")
        return found

    def _length(self, reading: Reading) -> int:
        if reading.read in ("state", "objects", "seconds", "layout"):
            model = self.robot.model
            of_objects = 7 * len(self._env.object_names)
            return {"state": model.nq + model.nv + model.nu, "objects": of_objects}.get(reading.read, 1)
        return self._of_tool(reading.read) or len(self._numbers(reading.read, reading))

    def _width(self, column: Column) -> int:
        if column.move == "ignored":
            return max(column.count, 1)
        return self._of_tool(column.move) or len(self._numbers(_kind(column), column))

    def _of_tool(self, quantity: str) -> int:
        """Return how many numbers a quantity of the tool has; 0 for one that is not of the tool."""
        if quantity in TOOL and self.robot.tools > 1:
            raise self._lacks("one tool", f"{self.robot.tools} arms with a tool each")
        return TOOL.get(quantity, 0)

    # ------------------------------------------------------------------ client side

    def message(self, moment: Moment) -> dict[str, Any]:
        """Return the message of an observation: nested dictionaries of arrays and texts."""
        message: dict[str, Any] = {}
        for entry in self.interface.observation:
            inner = message
            for key in entry.key[:-1]:
                inner = inner.setdefault(key, {})
            inner[entry.key[-1]] = self._value(entry, moment)
        return message

    def _value(self, entry: Entry, moment: Moment) -> Any:
        if entry.text:
            text: Any = moment.instruction
            for _ in range(entry.axes):
                text = [text]
            return text
        if entry.camera:
            value = picture_for(entry, self._picture(entry, moment.observation))
        else:
            value = np.concatenate([self._read(reading, moment) for reading in entry.values]).astype(np.float32)
        return np.ascontiguousarray(value).reshape((1,) * entry.axes + value.shape)

    def _picture(self, entry: Entry, observation: Mapping[str, np.ndarray]) -> np.ndarray:
        name = IMAGE if entry.camera == PHOTO else entry.camera
        if entry.shadows and name in observation and observation[name].shape[:2] == entry.drawn[::-1]:
            return observation[name]
        other = {} if entry.camera == PHOTO else {"camera": entry.camera}
        return self._env.draw(*entry.drawn, shadows=entry.shadows, **other)

    def _read(self, reading: Reading, moment: Moment) -> np.ndarray:
        if reading.read in ("state", "objects"):
            return np.ravel(moment.observation[reading.read])
        if reading.read in ("seconds", "layout"):
            return np.array([getattr(moment, reading.read)], float)
        if reading.read in TOOL:
            position, rotation = self.robot.tool()
            if reading.read == "tool_position":
                return position
            return rotation.as_rotvec() if reading.read == "tool_axis_angle" else np.roll(rotation.as_quat(), 1)
        numbers, state = self._numbers(reading.read, reading), self.robot.now()
        if reading.read != "gripper":
            return state[numbers]
        shares = np.array([self.robot.closed_share(number, state[number]) for number in numbers])
        return reading.open + shares * (reading.closed - reading.open)

    def rows(self, answer: Any) -> np.ndarray:
        """Return the actions of an answer, of shape (K, all columns). Raises InterfaceError."""
        return np.concatenate([self._array(answer, part.key, part.axes) for part in self.interface.action], axis=1)

    def _array(self, answer: Any, key: Sequence[str], axes: int) -> np.ndarray:
        name, wanted = ".".join(key), self.widths[tuple(key)]
        expected = f'"{name}" of shape (K, {wanted}), K from 1 to {MAX_CHUNK}'
        for part in key:
            if not isinstance(answer, Mapping) or part not in answer:
                there = ", ".join(sorted(map(str, answer))[:10]) if isinstance(answer, Mapping) else "no dictionary"
                raise InterfaceError(f"the policy answered {there or 'nothing'}; expected is {expected}")
            answer = answer[part]
        try:
            found = np.asarray(answer, float)
        except (TypeError, ValueError, OverflowError):
            raise InterfaceError(f"the policy answered no numbers; expected is {expected}") from None
        shape = found.shape
        while found.ndim > 2 and axes and len(found) == 1:
            found, axes = found[0], axes - 1
        found = found[None] if found.ndim == 1 else found
        if found.ndim != 2 or found.shape[1] != wanted or not 1 <= len(found) <= MAX_CHUNK:
            raise InterfaceError(f"the policy answered an array of shape {shape}; expected is {expected}")
        if not np.isfinite(found).all():
            raise InterfaceError(f"the policy answered NaN or infinity; expected is {expected}")
        return found

    def target(self, row: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Return the state (A,) to which an action (all columns,) leads from another (A,)."""
        target, begin = state.copy(), 0
        for column in self._columns():
            width = self._width(column)
            target = self._moved(column, row[begin : begin + width], target)
            begin += width
        return target

    def _columns(self) -> list[Column]:
        return [column for part in self.interface.action for column in part.columns]

    def _moved(self, column: Column, values: np.ndarray, state: np.ndarray) -> np.ndarray:
        if column.move == "ignored":
            return state
        if column.move == "tool_translation":
            return self.robot.moved_tool(state, np.clip(values, -1, 1) * column.scale, np.zeros(3))
        if column.move == "tool_rotation":
            return self.robot.moved_tool(state, np.zeros(3), np.clip(values, -1, 1) * column.scale)
        moved, numbers = state.copy(), self._numbers(_kind(column), column)
        if column.move in ("joint_position", "actuators"):
            moved[numbers] = values
        elif column.move == "joint_velocity":
            moved[numbers] += values / max(1.0, np.abs(values).max()) * column.scale / self.interface.rate_hz
        else:
            shares = [_share(column, value) for value in values]
            moved[numbers] = [self.robot.gripper_value(n, share) for n, share in zip(numbers, shares, strict=True)]
        return moved

    # ------------------------------------------------------------------ server side

    def mirror(self, message: Any) -> tuple[dict[str, np.ndarray], str]:
        """Put the robot where a client's message says; return its pictures by name, and the instruction.

        Raises InterfaceError for a message that lacks a key, or has something else there.
        """
        pictures, instruction = {}, ""
        for entry in self.interface.observation:
            value, expected = message, f"the interface {self.interface.name} expects the key {'.'.join(entry.key)}"
            for key in entry.key:
                if not isinstance(value, Mapping) or key not in value:
                    raise InterfaceError(f"{expected}; the message has {', '.join(sorted(map(str, message))[:20])}")
                value = value[key]
            if entry.text:
                for _ in range(entry.axes):
                    value = value[0] if isinstance(value, list) and value else value
                if not isinstance(value, str) or len(value) > 10_000:
                    raise InterfaceError(f"{expected} to be a text")
                instruction = value
            elif entry.camera:
                pictures[IMAGE if entry.camera == PHOTO else entry.camera] = _picture_of(entry, value, expected)
            else:
                self._mirror_values(entry, value, expected)
        return pictures, instruction

    def _mirror_values(self, entry: Entry, value: Any, expected: str) -> None:
        try:
            numbers = np.ravel(np.asarray(value, float))
        except (TypeError, ValueError):
            raise InterfaceError(f"{expected} to be numbers") from None
        lengths = [self._length(reading) for reading in entry.values]
        if len(numbers) != sum(lengths) or not np.isfinite(numbers).all():
            raise InterfaceError(f"{expected} to be {sum(lengths)} finite numbers; it has {len(numbers)}")
        for reading, values in zip(entry.values, np.split(numbers, np.cumsum(lengths)[:-1]), strict=True):
            self._put(reading, values)

    def _put(self, reading: Reading, values: np.ndarray) -> None:
        """Put the part of the robot that a reading describes where its values say."""
        robot = self.robot
        if reading.read == "state":
            robot.put_all(values)
        elif reading.read == "joints":
            robot.put(values, self._numbers("joints", reading))
        elif reading.read == "actuators":
            robot.put(values[robot.joints], robot.joints)
            robot.command(robot.grippers, values[robot.grippers])
        elif reading.read == "gripper":
            numbers = self._numbers("gripper", reading)
            shares = (values - reading.open) / (reading.closed - reading.open)
            robot.command(numbers, [robot.gripper_value(n, one) for n, one in zip(numbers, shares, strict=True)])

    def encoded(self, targets: np.ndarray, state: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
        """Return the answer whose actions lead through some states, and the states (K, A) that it leads to.

        Inverse of `rows` and `target`. What a bounded action leaves is made up for by the next ones.

        Args:
            targets: at the interface's rate, of shape (K, A).
            state: before the first, of shape (A,).
        """
        rows, reached = [], []
        for target in targets:
            row = np.concatenate([self._inverse(column, target, state) for column in self._columns()])
            state = self.target(row, state)
            rows.append(row)
            reached.append(state)
        answer: dict[str, Any] = {}
        begin = 0
        for part in self.interface.action:
            inner, width = answer, self.widths[part.key]
            for key in part.key[:-1]:
                inner = inner.setdefault(key, {})
            found = np.array(rows, np.float32)[:, begin : begin + width]
            inner[part.key[-1]] = found.reshape((1,) * part.axes + found.shape)
            begin += width
        return answer, np.array(reached)

    def _inverse(self, column: Column, target: np.ndarray, state: np.ndarray) -> np.ndarray:
        if column.move == "ignored":
            return np.zeros(self._width(column))
        if column.move in ("tool_translation", "tool_rotation"):
            (start, turned), (end, wanted) = self._tools(state, target)
            change = end - start if column.move == "tool_translation" else (wanted * turned.inv()).as_rotvec()
            return np.clip(change / column.scale, -1, 1)
        numbers = self._numbers(_kind(column), column)
        if column.move in ("joint_position", "actuators"):
            return target[numbers]
        if column.move == "joint_velocity":
            velocity = (target[numbers] - state[numbers]) * self.interface.rate_hz / column.scale
            return velocity / max(1.0, np.abs(velocity).max())
        shares = np.array([np.clip(self.robot.closed_share(number, target[number]), 0, 1) for number in numbers])
        return column.open + shares * (column.closed - column.open)

    def _tools(self, *states: np.ndarray) -> list[tuple[np.ndarray, Rotation]]:
        return [(position.copy(), rotation) for position, rotation in map(self.robot.tool, states)]


def _kind(column: Column) -> str:
    return column.move if column.move in ("gripper", "actuators") else "joints"


def _share(column: Column, value: float) -> float:
    """Return how far a gripper's action closes it: 0 open, 1 closed."""
    if column.threshold is not None:
        return float((value > column.threshold) == (column.closed > column.open))
    return float(np.clip((value - column.open) / (column.closed - column.open), 0, 1))


def picture_for(entry: Entry, picture: np.ndarray) -> np.ndarray:
    """Return a picture (height, width, 3), uint8, as the policy reads it: scaled, with black around, as openpi does."""
    width, height = entry.size
    if entry.mirrored:
        picture = picture[:, ::-1]
    if picture.shape[:2] != (height, width):
        ratio = max(picture.shape[1] / width, picture.shape[0] / height)
        size = int(picture.shape[1] / ratio), int(picture.shape[0] / ratio)
        scaled = Image.fromarray(np.ascontiguousarray(picture)).resize(size, Image.Resampling.BILINEAR)
        padded = Image.new("RGB", (width, height))
        padded.paste(scaled, ((width - size[0]) // 2, (height - size[1]) // 2))
        picture = np.asarray(padded)
    return picture.transpose(2, 0, 1) if entry.channels_first else picture


def _picture_of(entry: Entry, value: Any, expected: str) -> np.ndarray:
    """Return the picture of a message (height, width, 3), uint8. Inverse of the axes that `picture_for` changes."""
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8:
        raise InterfaceError(f"{expected} to be a picture of uint8")
    while value.ndim > 3 and len(value) == 1:
        value = value[0]
    value = value.transpose(1, 2, 0) if entry.channels_first and value.ndim == 3 else value
    if value.ndim != 3 or value.shape[2] != 3:
        raise InterfaceError(f"{expected} to be a picture (height, width, 3); it has the shape {value.shape}")
    return value[:, ::-1] if entry.mirrored else value

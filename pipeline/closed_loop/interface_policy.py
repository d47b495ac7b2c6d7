"""A policy behind an interface: asked once per answer's actions, and led along them at its own rate."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.closed_loop.interfaces import Interface, Moment, Translation
from pipeline.closed_loop.policy import AnswerTimes
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.export.gym_env.twin_world import CONTROL_SECONDS

SAME_INSTANT_S = 1e-6


class Client(ABC):
    """Asks a server by one protocol."""

    @abstractmethod
    def begin(self, layout: int, instruction: str) -> None:
        """Begin an episode. Raises PolicyError."""

    def prepare(self, message: dict[str, Any]) -> None:  # noqa: B027
        """Make the server ready for messages like an episode's first one; this time is not the answer's."""

    @abstractmethod
    def ask(self, message: dict[str, Any], step: int) -> Any:
        """Return the answer to a message after so many actions. Raises PolicyError."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


class InterfacePolicy:
    """Controls the twin's robot by the answers of a client.

    Between two actions the commands change in a straight line; suction is on or off, never between. In real time the
    robot stays where it was sent for as long as the server computes. Then it carries out the answer from its beginning,
    as the clients of openpi and vla-eval do.
    """

    def __init__(self, env: TwinEnv, client: Client, interface: Interface, replan: int = 0, is_real_time: bool = False):
        """Args:
            env: the environment that the policy controls.
            client: asks the server.
            interface: what the policy reads and answers.
            replan: actions of an answer that are carried out; 0 for the interface's number.
            is_real_time: whether simulated time passes while the server computes.

        Raises InterfaceError if the robot lacks what the interface needs.
        """
        self._env, self._client, self._interface = env, client, interface
        self._replan, self._is_real_time = replan or interface.replan_after, is_real_time
        self.times = AnswerTimes()
        Translation(interface, env)

    def begin(self, layout: int, instruction: str) -> None:
        self._translation = Translation(self._interface, self._env)
        self._layout, self._instruction = layout, instruction
        self._queue = np.empty((0, 0))
        self._due, self._steps, self._wait = 0.0, 0, 0
        self._state = self._translation.robot.commanded()
        self._client.begin(layout, instruction)

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> np.ndarray:
        if self._wait <= 0 and seconds >= self._due - SAME_INSTANT_S:
            if not len(self._queue):
                self._ask(observation, seconds)
            if self._wait <= 0:
                self._next_action()
        return self._toward(seconds)

    def _ask(self, observation: Mapping[str, np.ndarray], seconds: float) -> None:
        """Get the next actions, and in real time the steps for which the robot waits for them."""
        message = self._translation.message(Moment(observation, self._instruction, seconds, self._layout))
        if not self._steps:
            self._client.prepare(message)
        begun = time.monotonic()
        answer = self._client.ask(message, self._steps)
        took = time.monotonic() - begun
        self._queue = self._translation.rows(answer)[: self._replan]
        self.times.add(took, 1 / self._interface.rate_hz)
        if self._is_real_time:
            self._wait = int(took / CONTROL_SECONDS)
            self._due = seconds + self._wait * CONTROL_SECONDS

    def _next_action(self) -> None:
        self._state = self._translation.target(self._queue[0], self._state)
        self._queue, self._steps = self._queue[1:], self._steps + 1
        self._due += 1 / self._interface.rate_hz

    def _toward(self, seconds: float) -> np.ndarray:
        """Return the environment's action (A,) that leads on to the target."""
        world = self._env.world
        target = self._translation.robot.commands(self._state)
        if self._wait > 0:
            self._wait -= 1
            return world.action(target)
        share = min(1.0, CONTROL_SECONDS / max(self._due - seconds, CONTROL_SECONDS))
        command = world.data.ctrl + share * (target - world.data.ctrl)
        if world.suction >= 0:
            command[world.suction] = round(float(np.clip(target[world.suction], 0, 1)))
        return world.action(command)

    def close(self) -> None:
        """End the episode."""
        self._client.close()

"""Serves what is learned here to the client of a real robot, by the protocol that it speaks.

The twin's world mirrors the client's robot: a message puts its joints where the client's are, and a policy's actions
become the robot's next states. `demonstration` and `learned` are motions of one layout, carried out in order.
"""

import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.closed_loop.interfaces import Interface, Translation
from pipeline.closed_loop.policy import Policy, PolicyError, checked_actions
from pipeline.errors import StudioError, single_line
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.export.gym_env.twin_world import CONTROL_SECONDS


@dataclass(frozen=True, eq=False)
class Motion:
    """Commands of the robot over the time of an episode."""

    times: np.ndarray
    """Of shape (T,), in seconds from the episode's beginning."""
    commands: np.ndarray
    """Of shape (T, A)."""

    def at(self, times: np.ndarray, suction: int) -> np.ndarray:
        """Return the commands at some times, of shape (len(times), A); suction is on or off, never between."""
        found = np.stack([np.interp(times, self.times, one) for one in self.commands.T], axis=1)
        if suction >= 0:
            row = np.clip(np.searchsorted(self.times, times + 1e-9, side="right") - 1, 0, len(self.times) - 1)
            found[:, suction] = self.commands[row, suction]
        return found


def recorded_motion(env: TwinEnv, layout: int) -> Motion:
    """Return the demonstration of a layout. Raises PolicyError if it has none."""
    path = env.folder / "layouts" / f"{layout:03d}.npy"
    if not path.is_file():
        raise PolicyError(f"layout {layout} has no demonstration")
    return motion_of(env, np.load(path, allow_pickle=False))


def motion_of(env: TwinEnv, actions: np.ndarray) -> Motion:
    """Return the commands to which normalised actions (T, A) lead from the present ones."""
    world = env.world
    begun, commands = world.data.ctrl.copy(), [world.data.ctrl.copy()]
    for action in actions:
        world.data.ctrl[:] = world.command(action)
        commands.append(world.data.ctrl.copy())
    world.data.ctrl[:] = begun
    return Motion(np.arange(len(commands)) * CONTROL_SECONDS, np.array(commands))


Play = Callable[[TwinEnv, int], Motion] | Policy
"""Returns the motion of a layout; or a policy that answers observations."""


class ServedPolicy:
    """One policy for one client, on a world of its own."""

    def __init__(self, folder: Path, interface: Interface, play: Play):
        """Args:
            folder: of the exported environment.
            interface: of the client.
            play: what is served.

        Raises InterfaceError if the robot lacks what the interface needs.
        """
        self._env, self.interface, self._play = TwinEnv(folder=folder), interface, play
        Translation(interface, self._env)

    def begin(self, layout: int | None, instruction: str) -> None:
        """Begin an episode; None for the first layout of the solution. Raises PolicyError."""
        layout = self._env.layouts[0] if layout is None else layout
        if layout not in self._env.layouts:
            raise PolicyError(f"there is no layout {layout!r:.20}; there are: {', '.join(map(str, self._env.layouts))}")
        self._env.reset(options={"layout": layout})
        self._translation = Translation(self.interface, self._env)
        self._motion, self._seconds = None, 0.0
        self._led = 0.0, np.empty((0, 0))
        if callable(self._play):
            self._motion = self._play(self._env, layout)
        else:
            self._play.begin(layout, instruction or self._env.instruction)

    def answer(self, message: Any, seconds: float | None = None) -> dict[str, Any]:
        """Return the answer to a client's message, as its interface has it.

        Args:
            message: nested dictionaries of arrays and texts.
            seconds: since the episode began; None if the client carries out `replan_after` actions of each answer.

        Raises InterfaceError for a message that does not fit, PolicyError for a policy that fails.
        """
        now, rate = self._seconds if seconds is None else seconds, self.interface.rate_hz
        self._seconds = now + self.interface.replan_after / rate
        pictures, _ = self._translation.mirror(message)
        begin, motion = (now, self._motion) if self._motion else (0.0, self._asked(pictures, now))
        times = begin + np.arange(1, self.interface.chunk + 1) / rate
        robot = self._translation.robot
        commands = motion.at(np.concatenate([[begin], times]), self._env.world.suction)
        states = robot.units.action(commands)
        answer, led = self._translation.encoded(states[1:], self._last_state(now, states[0]))
        if self._motion:
            self._led = now, led
        return answer

    def _last_state(self, now: float, wanted: np.ndarray) -> np.ndarray:
        """Return the state (A,) to which the client's last action of a motion led; the wanted one if none did."""
        begun, led = self._led
        count = round((now - begun) * self.interface.rate_hz)
        return led[count - 1] if 1 <= count <= len(led) else wanted

    def act(self, observation: Mapping[str, Any], seconds: float) -> np.ndarray:
        """Return the environment's next actions (K, A), for a client that has the environment's own observation."""
        if self._motion is None:
            values = {name: np.asarray(value) for name, value in observation.items() if isinstance(value, list)}
            return checked_actions(self._policy().act(values, seconds), self._env.action_count)
        world, count = self._env.world, self.interface.chunk
        commands = self._motion.at(seconds + np.arange(count + 1) * CONTROL_SECONDS, world.suction)
        begun, actions = world.data.ctrl.copy(), []
        for before, after in itertools.pairwise(commands):
            world.data.ctrl[:] = before
            actions.append(world.action(after))
        world.data.ctrl[:] = begun
        return np.array(actions)

    def _policy(self) -> Policy:
        assert not callable(self._play)
        return self._play

    def _asked(self, pictures: Mapping[str, np.ndarray], seconds: float) -> Motion:
        """Return the motion that a policy answers, from the present on."""
        data = self._env.world.data
        observation = {
            "state": np.concatenate([data.qpos, data.qvel, data.ctrl]),
            "objects": np.stack(list(self._env.world.objects().values())),
            **pictures,
        }
        return motion_of(self._env, checked_actions(self._policy().act(observation, seconds), self._env.action_count))

    def close(self) -> None:
        """Free the environment."""
        self._env.close()


MakeServed = Callable[[], ServedPolicy]
"""Makes what is served to one client."""


@dataclass(frozen=True, eq=False)
class RunningServer:
    """A server that has its port."""

    port: int
    run: Callable[[], object]
    """Answers until `stop` is called from another thread."""
    stop: Callable[[], object]

    @classmethod
    def of_websocket(cls, server: Any) -> "RunningServer":
        """Return a server of the package websockets."""
        return cls(server.socket.getsockname()[1], server.serve_forever, server.shutdown)

    def start(self) -> threading.Thread:
        """Answer in a thread, until `stop` is called."""
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        return thread


def failure_text(error: Exception) -> str:
    """Return why a question was not answered, in one line."""
    if isinstance(error, StudioError):
        return single_line(str(error))[:500]
    return f"the message is not as expected: {single_line(str(error))[:300]}"

"""Policies by the SPEC that names them: built in, a Python function, or served by one of the protocols."""

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from pipeline.closed_loop.policy import MAX_CLIENTS, Policy, PolicyError
from pipeline.errors import single_line

if TYPE_CHECKING:
    from pipeline.export.gym_env.environment import TwinEnv

KINDS = (
    "hold, demonstration, learned, FILE.py:FUNCTION, http://HOST:PORT/PATH, or openpi://, groot://, lerobot:// or "
    "vla-eval:// with HOST:PORT"
)
DEMONSTRATION, HOLD, LEARNED = "demonstration", "hold", "learned"
SEVERAL_CONNECTIONS = ("openpi", "vla-eval")
PROTOCOLS = ("openpi", "groot", "lerobot", "vla-eval")


class HoldPolicy:
    """Does nothing. A task that it solves is no task."""

    def __init__(self, action_count: int):
        self._action = np.zeros(action_count)

    def begin(self, layout: int, instruction: str) -> None:
        pass

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> np.ndarray:
        return self._action


class DemonstrationPolicy:
    """Replays the oracle's actions on each layout: the scripted policy, for trials without a network."""

    def __init__(self, folder: Path):
        self._folder = folder

    def begin(self, layout: int, instruction: str) -> None:
        path = self._folder / "layouts" / f"{layout:03d}.npy"
        if not path.is_file():
            raise PolicyError(f"layout {layout} has no demonstration; choose another policy: {KINDS}")
        self._left = np.load(path, allow_pickle=False)

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> np.ndarray:
        actions, self._left = self._left, self._left[-1:]
        return actions


class FunctionPolicy:
    """A person's own Python function: `function(observation, instruction) -> action`, run in this process."""

    def __init__(self, path: Path, name: str):
        self._function = _load_function(path, name)
        self._instruction = ""

    def begin(self, layout: int, instruction: str) -> None:
        self._instruction = instruction

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> Any:
        try:
            return self._function(observation, self._instruction)
        except Exception as error:
            raise PolicyError(f"the policy's function failed: {type(error).__name__}: {_line(error)}") from error


def open_policy(text: str, env: "TwinEnv") -> Policy:
    """Return the policy that a text names, one of `KINDS`, for an environment. Raises PolicyError, InterfaceError."""
    if text == HOLD:
        return HoldPolicy(env.action_count)
    if text == DEMONSTRATION:
        return DemonstrationPolicy(env.folder)
    if text.startswith(("http://", "https://")):
        from pipeline.closed_loop.protocols.http import HttpPolicy

        return HttpPolicy(text)
    if text.partition("://")[0] in PROTOCOLS:
        from pipeline.closed_loop.protocols.clients import open_served

        return open_served(text, env)
    if function := function_of(text):
        return FunctionPolicy(*function)
    raise PolicyError(f"{text!r} is no policy; choose {KINDS}")


def function_of(text: str) -> tuple[Path, str] | None:
    """Return file and function of FILE.py:FUNCTION; None for another text."""
    path, separator, name = text.rpartition(":")
    return (Path(path), name) if separator and path.endswith(".py") and name.isidentifier() else None


def is_own(text: str) -> bool:
    """Whether a policy runs no code of a person, and asks no server."""
    return text in (HOLD, DEMONSTRATION, LEARNED)


def episodes_at_once(text: str, jobs: int) -> int:
    """Return how many of `jobs` episodes of a policy may run at a time, and end as they do one at a time.

    Servers of openpi and vla-eval tell clients apart by their connections. Those of GR00T, LeRobot and HTTP keep one
    episode in mind. In real time an answer must not wait for those of other episodes.
    """
    protocol, _, rest = text.partition("://")
    if protocol in SEVERAL_CONNECTIONS:
        is_real_time = ("time", "real") in parse_qsl(urlsplit(f"//{rest}").query)
        return 1 if is_real_time else min(jobs, MAX_CLIENTS)
    return jobs if is_own(text) or function_of(text) else 1


def _load_function(path: Path, name: str) -> Callable[..., Any]:
    if not path.is_file():
        raise PolicyError(f"{path} does not exist; a policy is {KINDS}")
    spec = importlib.util.spec_from_file_location("policy_of_a_person", path)
    assert spec and spec.loader  # its name ends in .py
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PolicyError(f"{path} cannot be imported: {type(error).__name__}: {_line(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise PolicyError(f"{path} has no function {name}")
    return function


def _line(error: Exception) -> str:
    return single_line(str(error))[:200]

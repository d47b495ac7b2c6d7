"""Policies: whatever answers an observation with actions, over HTTP or as a Python function."""

import base64
import importlib.util
import re
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import cv2
import httpx2
import numpy as np

from pipeline.errors import StudioError, single_line
from pipeline.store import parse_json

if TYPE_CHECKING:
    from pipeline.export.gym_env.environment import TwinEnv

MAX_CHUNK = 500
"""Actions that one answer may hold."""
MAX_ANSWER_BYTES = 1_000_000
ANSWER_SECONDS = 60.0
UPGRADE_STATUSES = (400, 404, 405, 426, 501)
"""Statuses with which a websocket server answers a POST."""
KINDS = "hold, demonstration, learned, http://HOST:PORT/PATH, lerobot:http://HOST:PORT/PATH, or FILE.py:FUNCTION"
LEROBOT, DEMONSTRATION, HOLD, LEARNED = "lerobot:", "demonstration", "hold", "learned"
SECONDS = 2.0
"""For connecting and for each answer; these protocols answer at once."""
UPGRADE = (
    "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
"""RFC 6455, section 4.1."""
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
"""Connection preface and an empty SETTINGS frame: RFC 9113, section 3.4."""
FIRST_BYTES = {
    "a websocket server": rb"HTTP/1\.1 101 ",
    "a gRPC server (HTTP/2)": rb"\0\0.\x04",  # its SETTINGS frame
    "a ZeroMQ server": rb"\xff.{8}[\x01\x7f]",  # ZMTP's greeting
    "a server with TLS (https://)": rb"\x15\x03",  # an alert
    "a server without TLS (http://)": rb"HTTP/1\.",
}


class PolicyError(StudioError):
    """A policy that cannot be asked, or whose answer is no action."""


class Policy(Protocol):
    """Answers observations of the exported environment (`pipeline.export.gym_env.environment.TwinEnv`)."""

    def begin(self, layout: int, instruction: str) -> None:
        """Begin an episode on the layout of that seed, with the task's instruction."""
        ...

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> Any:
        """Return the next action (A,), or several (K, A) to be carried out one after the other.

        Args:
            observation: "state", "objects" (N, 7), and, if pictures are asked for, "image" (480, 640, 3), uint8, RGB,
                and such a picture of each other camera under its name.
            seconds: simulated time since the episode began.
        """
        ...


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


class HttpPolicy:
    """A server that answers a POST of JSON with JSON.

    Sent: {"layout", "instruction", "seconds", "begins": whether this is an episode's first observation,
    "observation": {"state": [...], "objects": [[7 numbers], ...], "image": PNG in base64, and other cameras}}.
    Expected: {"action": [A numbers]}, or {"actions": [[A numbers], ...]} to be carried out one after the other, as
    chunked policies answer.
    """

    def __init__(self, address: str):
        self._address = address
        self._client = httpx2.Client(timeout=ANSWER_SECONDS, trust_env=False, headers={"Accept-Encoding": "identity"})
        self._episode: dict[str, Any] = {}

    def begin(self, layout: int, instruction: str) -> None:
        self._episode = {"layout": layout, "instruction": instruction, "begins": True}

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> Any:
        sent = {name: _sent(value) for name, value in observation.items()}
        answer = self._ask(self._episode | {"seconds": seconds, "observation": sent})
        self._episode["begins"] = False
        if not isinstance(answer, dict) or not ({"action", "actions"} & set(answer)):
            raise PolicyError(f'{self._address} answered without "action" or "actions"')
        return answer.get("actions", answer.get("action"))

    def _ask(self, question: dict[str, Any]) -> Any:
        try:
            end, body = time.monotonic() + ANSWER_SECONDS, b""
            with self._client.stream("POST", self._address, json=question) as reply:
                for block in reply.iter_raw():
                    body += block
                    if time.monotonic() > end:
                        raise httpx2.ReadTimeout("it answers without end")
                    if len(body) > MAX_ANSWER_BYTES:
                        raise PolicyError(f"{self._address} answered more than {MAX_ANSWER_BYTES // 1000} kB")
        except httpx2.TimeoutException:
            failure = f"did not answer within {ANSWER_SECONDS:g} s"
            raise PolicyError(f"{self._address} {self._other_protocol() or failure}") from None
        except httpx2.HTTPError as error:
            failure = f"cannot be reached ({type(error).__name__}); start the policy's server first"
            raise PolicyError(f"{self._address} {self._other_protocol() or failure}") from None
        if reply.status_code in UPGRADE_STATUSES and "websocket" in (other := self._other_protocol()):
            raise PolicyError(f"{self._address} {other}")
        if reply.status_code != 200:
            raise PolicyError(f"{self._address} answered HTTP {reply.status_code}: {_reason(body)}")
        try:
            return parse_json(body, finite=False)
        except ValueError:
            raise PolicyError(f"{self._address} answered something that is not JSON") from None

    def _other_protocol(self) -> str:
        """Return what answers instead of a policy's server, and what to do; empty if that is not known."""
        found = server_protocol(self._address)
        if not found or found.endswith(f"({urlsplit(self._address).scheme}://)"):
            return ""
        advice = (
            "change the address"
            if found.endswith("://)")
            else "give a server that speaks HTTP, as grs-studio serve-policy does, or FILE.py:FUNCTION that asks it"
        )
        return f"is the address of {found}; {advice}"


def open_policy(text: str, env: "TwinEnv") -> Policy:
    """Return the policy that a text names, one of `KINDS`, for an environment. Raises PolicyError."""
    if text == HOLD:
        return HoldPolicy(env.action_count)
    if text == DEMONSTRATION:
        return DemonstrationPolicy(env.folder)
    if text.startswith(("http://", "https://")):
        return HttpPolicy(text)
    if text.startswith(LEROBOT + "http"):
        from pipeline.closed_loop.lerobot_policy import LerobotPolicy

        return LerobotPolicy(env, HttpPolicy(text.removeprefix(LEROBOT)))
    path, separator, name = text.rpartition(":")
    if separator and path.endswith(".py") and name.isidentifier():
        return FunctionPolicy(Path(path), name)
    raise PolicyError(f"{text!r} is no policy; choose {KINDS}")


def is_own(text: str) -> bool:
    """Whether a policy keeps nothing in mind that two episodes at a time would mix up, as servers and functions do."""
    return text in (HOLD, DEMONSTRATION, LEARNED)


def checked_actions(answer: Any, action_count: int) -> np.ndarray:
    """Return an answer as actions (K, A) within [-1, 1]. Raises PolicyError."""
    return np.clip(checked_numbers(answer, action_count), -1.0, 1.0)


def checked_numbers(answer: Any, action_count: int) -> np.ndarray:
    """Return an answer as finite numbers (K, A). Raises PolicyError."""
    try:
        actions = np.atleast_2d(np.asarray(answer, float))
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(f"the policy answered no numbers; an action is {action_count} numbers") from None
    if actions.ndim != 2 or actions.shape[1] != action_count or not 1 <= len(actions) <= MAX_CHUNK:
        raise PolicyError(
            f"the policy answered an array of shape {np.shape(answer)}; expected is ({action_count},), or "
            f"(K, {action_count}) with K up to {MAX_CHUNK}"
        )
    if not np.isfinite(actions).all():
        raise PolicyError("the policy answered NaN or infinity")
    return actions


def _sent(value: np.ndarray) -> Any:
    """Return numbers as lists, and a picture as PNG in base64."""
    if value.dtype != np.uint8 or value.ndim != 3:
        return value.tolist()
    return base64.b64encode(cv2.imencode(".png", value[..., ::-1])[1].tobytes()).decode()


def _reason(body: bytes) -> str:
    """Return the error that an answer tells, or what was expected."""
    try:
        return single_line(str(parse_json(body)["error"])[:300])
    except (ValueError, KeyError, TypeError):
        return "200 is expected"


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


def server_protocol(address: str) -> str:
    """Return what answers at a web address, one of FIRST_BYTES; empty if nothing does, or in no known protocol."""
    parts = urlsplit(address)
    place = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    upgrade = UPGRADE.format(parts.path or "/", place[0]).encode("ascii", "replace")
    for question in (upgrade, HTTP_2):
        answer = _first_bytes(place, question)
        for name, pattern in FIRST_BYTES.items():
            if re.match(pattern, answer, re.DOTALL):
                return name
    return ""


def _first_bytes(place: tuple[str, int], question: bytes) -> bytes:
    try:
        with socket.create_connection(place, SECONDS) as connection:
            connection.sendall(question)
            return connection.recv(64)
    except OSError:
        return b""

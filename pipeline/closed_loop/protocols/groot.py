"""GR00T's protocol: ZeroMQ REQ and REP; {"endpoint", "data", "api_token"}, arrays as .npy files.

Read from gr00t/policy/server_client.py of Isaac-GR00T. get_action answers [action, info]; an error is {"error": text}.
"""

import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import zmq

from pipeline.closed_loop.interface_policy import Client
from pipeline.closed_loop.policy import ANSWER_SECONDS, MAX_BYTES, PolicyError
from pipeline.closed_loop.protocols.address import Address
from pipeline.closed_loop.protocols.messages import MessageError, pack, unpack
from pipeline.closed_loop.protocols.what_answers import ZEROMQ, server_protocol, why_no_answer
from pipeline.closed_loop.protocols.zeromq import RequestSocket, ZeroMQError
from pipeline.closed_loop.serving import MakeServed, RunningServer, ServedPolicy, failure_text
from pipeline.errors import StudioError

POLL_MS = 200
"""After which a server looks whether it is to end."""


class GrootClient(Client):
    """Asks a server of GR00T."""

    def __init__(self, address: Address):
        self._address = address
        self._socket: RequestSocket | None = None

    def begin(self, layout: int, instruction: str) -> None:
        """Connect, and reset the policy. Raises PolicyError."""
        if self._socket is None:
            self._socket = self._connect()
        self._call("reset", {"options": {"layout": layout}})

    def ask(self, message: dict[str, Any], step: int) -> Any:
        """Return the answer to an observation. Raises PolicyError."""
        answer = self._call("get_action", {"observation": message, "options": None})
        if not isinstance(answer, list) or len(answer) != 2:
            raise PolicyError(f"{self._address.text} answered no [action, info]")
        return answer[0]

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> RequestSocket:
        place = self._address.host, self._address.port
        if server_protocol(*place) != ZEROMQ:
            raise PolicyError(f"{self._address.text} {why_no_answer(*place, ZEROMQ)}")
        with self._one_line(ANSWER_SECONDS):
            return RequestSocket(*place, ANSWER_SECONDS, MAX_BYTES)

    @contextmanager
    def _one_line(self, seconds: float) -> Iterator[None]:
        """Raise what goes wrong with the connection as PolicyError, and end it: nothing can be asked on it again."""
        try:
            yield
            return
        except TimeoutError:
            why = f"did not answer within {seconds:g} s"
        except ZeroMQError as error:
            why = str(error)
        except OSError:
            why = "closed the connection; its log says why"
        self.close()
        raise PolicyError(f"{self._address.text} {why}")

    def _call(self, endpoint: str, inner: dict[str, Any]) -> Any:
        assert self._socket is not None
        question: dict[str, Any] = {"endpoint": endpoint, "data": inner}
        if self._address.key:
            question["api_token"] = self._address.key
        with self._one_line(ANSWER_SECONDS):
            data = self._socket.ask(pack(question, "groot"), ANSWER_SECONDS)
        try:
            answer = unpack(data, "groot")
        except MessageError as error:
            raise PolicyError(f"{self._address.text} sent no message of GR00T: {error}") from None
        if isinstance(answer, dict) and "error" in answer:
            raise self._address.failed(str(answer["error"]))
        return answer


def serve(make: MakeServed, host: str, port: int, token: str = "") -> RunningServer:
    """Return a server that answers as GR00T's does, one client at a time."""
    socket = zmq.Context.instance().socket(zmq.REP)
    socket.set(zmq.MAXMSGSIZE, MAX_BYTES)
    try:
        socket.bind(f"tcp://{host}:{port or '*'}")
    except zmq.ZMQError as error:
        raise OSError(str(error)) from None
    number = int(socket.get_string(zmq.LAST_ENDPOINT).rpartition(":")[2])
    ended = threading.Event()

    def run() -> None:
        served = make()
        served.begin(None, "")
        while not ended.is_set():
            if socket.poll(POLL_MS):
                socket.send(pack(answer(served, socket.recv(), token), "groot"))
        socket.close(linger=0)
        served.close()

    return RunningServer(number, run, ended.set)


def answer(served: ServedPolicy, data: bytes, token: str) -> Any:
    """Return the answer to a request."""
    try:
        question = unpack(data, "groot")
        if not isinstance(question, dict):
            raise MessageError("it is no dictionary")
        if token and not hmac.compare_digest(str(question.get("api_token", "")), token):
            return {"error": "Unauthorized: Invalid API token"}
        endpoint = question.get("endpoint", "get_action")
        inner = question.get("data") or {}
        if endpoint == "ping":
            return {"status": "ok", "message": "Server is running"}
        if endpoint == "get_modality_config":
            return _modalities(served)
        if endpoint == "reset":
            layout = (inner.get("options") or {}).get("layout")
            served.begin(layout if type(layout) is int else None, "")
            return {}
        if endpoint == "get_action":
            return [served.answer(inner.get("observation")), {}]
        raise MessageError(f"there is no endpoint {endpoint!r:.40}")
    except (StudioError, MessageError, AttributeError) as error:
        return {"error": failure_text(error)}


def _modalities(served: ServedPolicy) -> dict[str, Any]:
    """Return the keys of each modality, as GR00T's servers describe them."""
    keys: dict[str, list[str]] = {}
    for entry in served.interface.observation:
        keys.setdefault(entry.key[0], []).append(".".join(entry.key[1:]))
    keys["action"] = [".".join(part.key) for part in served.interface.action]
    return {
        name: {
            "__ModalityConfig_class__": True,
            "as_json": {
                "delta_indices": list(range(served.interface.chunk)) if name == "action" else [0],
                "modality_keys": found,
            },
        }
        for name, found in keys.items()
    }

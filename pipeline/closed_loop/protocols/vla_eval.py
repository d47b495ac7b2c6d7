"""vla-eval's protocol: a websocket; messages of type, payload, seq and timestamp, after an exchange of HELLO.

Read from vla-eval 0.8.0: protocol/messages.py, connection.py and model_servers/serve.py.
"""

import contextlib
import time
from typing import Any

import websockets.exceptions

from pipeline.closed_loop.interface_policy import Client
from pipeline.closed_loop.policy import PolicyError
from pipeline.closed_loop.protocols.address import Address
from pipeline.closed_loop.protocols.messages import MessageError, pack, unpack
from pipeline.closed_loop.protocols.websocket import Connection, Websocket, websocket_server
from pipeline.closed_loop.serving import MakeServed, RunningServer, ServedPolicy, failure_text
from pipeline.errors import StudioError

VERSION = 1
"""Of the protocol."""
HELLO, OBSERVATION, ACTION, START, END, ERROR = (
    "hello", "observation", "action", "episode_start", "episode_end", "error",
)  # fmt: skip
ABOUT = {"harness_version": "0.8.0", "protocol_version": VERSION}


def message(kind: str, payload: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a message with its sequence number."""
    return {"type": kind, "payload": payload, "seq": number, "timestamp": time.time()}


class VlaEvalClient(Client):
    """Asks a model server of vla-eval; each episode has its own connection."""

    def __init__(self, address: Address):
        self._address = address
        self._connection: Websocket | None = None
        self._number = 0

    def begin(self, layout: int, instruction: str) -> None:
        """Connect and begin an episode. Raises PolicyError."""
        self.close()
        self._connection, self._number = Websocket(self._address, "vla-eval"), 0
        self._send(HELLO, ABOUT | {"benchmark": "grs-studio"})
        about = self._receive(HELLO)
        version = about.get("protocol_version", VERSION)
        if version != VERSION:
            raise PolicyError(f"{self._address.text} speaks version {version} of vla-eval's protocol, not {VERSION}")
        self._send(START, {"task": {"name": instruction, "task_description": instruction, "layout": layout}})

    def ask(self, message: dict[str, Any], step: int) -> Any:
        """Return the answer to an observation. Raises PolicyError."""
        self._send(OBSERVATION, message)
        return self._receive(ACTION)

    def close(self) -> None:
        """End the episode and close the connection."""
        if self._connection is not None:
            with contextlib.suppress(PolicyError):  # it is closed already
                self._send(END, {})
            self._connection.close()
            self._connection = None

    def _send(self, kind: str, payload: dict[str, Any]) -> None:
        assert self._connection is not None
        self._number += 1
        self._connection.send(message(kind, payload, self._number))

    def _receive(self, kind: str) -> dict[str, Any]:
        """Return the payload of the answer to what was sent last."""
        assert self._connection is not None
        answer = self._connection.receive()
        if not isinstance(answer, dict) or not isinstance(answer.get("payload"), dict):
            raise PolicyError(f"{self._address.text} sent no message of vla-eval: type, payload, seq, timestamp")
        payload = answer["payload"]
        if answer.get("type") == ERROR:
            raise self._address.failed(str(payload.get("error", payload)))
        if answer.get("type") != kind or answer.get("seq") != self._number:
            found = f"{answer.get('type')!r:.20} {answer.get('seq')!r:.20}"
            raise PolicyError(f"{self._address.text} sent {found}; expected is {kind!r} {self._number}")
        return payload


def serve(make: MakeServed, host: str, port: int) -> RunningServer:
    """Return a server that answers as vla-eval's model servers do: one action an observation."""

    def handle(connection: Connection) -> None:
        session = _Session(make())
        try:
            for data in connection:
                for answer in session.answers(data):
                    connection.send(pack(answer, "vla-eval"))
        except websockets.exceptions.ConnectionClosed:
            pass
        finally:
            session.served.close()

    return RunningServer.of_websocket(websocket_server(handle, host, port, "/health"))


class _Session:
    """One client: its episode, and the actions that were computed and not yet sent."""

    def __init__(self, served: ServedPolicy):
        self.served = served
        self.served.begin(None, "")
        self._left: list[dict[str, Any]] = []

    def answers(self, data: Any) -> list[dict[str, Any]]:
        """Return what is sent after a message."""
        try:
            question = unpack(data, "vla-eval")
            kind, payload, number = (question[name] for name in ("type", "payload", "seq"))
        except (MessageError, KeyError, TypeError, IndexError) as error:
            return [message(ERROR, {"error": failure_text(error)}, 0)]
        try:
            return self._answers(kind, payload, number)
        except StudioError as error:
            return [message(ERROR, {"error": failure_text(error)}, number)]

    def _answers(self, kind: str, payload: Any, number: int) -> list[dict[str, Any]]:
        if kind == HELLO:
            return [message(HELLO, ABOUT | {"model_server": "grs-studio", "capabilities": {}}, number)]
        if kind == START:
            task = payload.get("task") if isinstance(payload, dict) else None
            layout = task.get("layout") if isinstance(task, dict) else None
            self._left = []
            self.served.begin(layout if type(layout) is int else None, "")
        if kind != OBSERVATION:
            return []
        if not self._left:
            answer = self.served.answer(payload)
            count = min(self.served.interface.replan_after, *(len(array) for array in answer.values()))
            self._left = [{key: array[row] for key, array in answer.items()} for row in range(count)]
        return [message(ACTION, self._left.pop(0), number)]

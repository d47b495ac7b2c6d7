"""openpi's protocol: a websocket; the server's metadata first, then one dictionary a question and one an answer.

Read from openpi-client 0.1.2 and openpi's websocket_policy_server. A text frame is the traceback of a failure.
"""

import time
from typing import Any

import websockets.exceptions

from pipeline.closed_loop.interface_policy import Client
from pipeline.closed_loop.policy import PolicyError
from pipeline.closed_loop.protocols.address import Address
from pipeline.closed_loop.protocols.messages import MessageError, pack, unpack
from pipeline.closed_loop.protocols.websocket import Connection, Websocket, websocket_server
from pipeline.closed_loop.serving import MakeServed, RunningServer, failure_text
from pipeline.errors import StudioError


class OpenpiClient(Client):
    """Asks a server of openpi; each episode has its own connection."""

    def __init__(self, address: Address):
        self._address = address
        self._connection: Websocket | None = None

    def begin(self, layout: int, instruction: str) -> None:
        """Connect. Raises PolicyError."""
        self.close()
        headers = {"Authorization": f"Api-Key {self._address.key}"} if self._address.key else None
        self._connection = Websocket(self._address, "openpi", headers)
        if not isinstance(self._connection.receive(), dict):  # its metadata
            raise PolicyError(f"{self._address.text} did not begin with a dictionary, as openpi's servers do")

    def ask(self, message: dict[str, Any], step: int) -> Any:
        """Return the answer to an observation. Raises PolicyError."""
        assert self._connection is not None
        self._connection.send(message)
        return self._connection.receive()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()


def serve(make: MakeServed, host: str, port: int, key: str = "") -> RunningServer:
    """Return a server that answers as openpi's does, an episode a connection."""

    def handle(connection: Connection) -> None:
        served = make()
        served.begin(None, "")
        connection.send(pack({"interface": served.interface.name, "rate_hz": served.interface.rate_hz}, "openpi"))
        try:
            for data in connection:
                begun = time.monotonic()
                try:
                    answer = served.answer(unpack(data, "openpi"))
                except (StudioError, MessageError) as error:
                    connection.send(failure_text(error))
                    return
                answer["server_timing"] = {"infer_ms": 1000 * (time.monotonic() - begun)}
                connection.send(pack(answer, "openpi"))
        except websockets.exceptions.ConnectionClosed:
            pass
        finally:
            served.close()

    return RunningServer.of_websocket(websocket_server(handle, host, port, "/healthz", key))

"""Websockets of openpi and vla-eval: one connection an episode, no compression, every message bounded."""

import hmac
import http
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import websockets.exceptions
import websockets.frames
import websockets.sync.client
import websockets.sync.server

from pipeline.closed_loop.policy import ANSWER_SECONDS, MAX_BYTES, MAX_CLIENTS, PolicyError
from pipeline.closed_loop.protocols.address import Address
from pipeline.closed_loop.protocols.messages import MessageError, Style, pack, unpack
from pipeline.closed_loop.protocols.what_answers import WEBSOCKET, why_no_answer

CONNECT_SECONDS = 10.0


class Websocket:
    """A connection to a policy's server."""

    def __init__(self, address: Address, style: Style, headers: Mapping[str, str] | None = None):
        """Raises PolicyError if no websocket server answers."""
        self._address, self._open = address, ExitStack()
        self._style: Style = style
        host = f"[{address.host}]" if ":" in address.host else address.host
        try:
            opened = websockets.sync.client.connect(
                f"ws://{host}:{address.port}", compression=None, max_size=MAX_BYTES, ping_interval=None, proxy=None,
                open_timeout=CONNECT_SECONDS, close_timeout=1, additional_headers=headers,
            )  # fmt: skip
            self._connection = self._open.enter_context(opened)
        except (OSError, TimeoutError, websockets.exceptions.WebSocketException) as error:
            status = getattr(getattr(error, "response", None), "status_code", 0)
            why = "refuses the key of GRS_POLICY_KEY" if status in (401, 403) else ""
            raise PolicyError(f"{address.text} {why or why_no_answer(address.host, address.port, WEBSOCKET)}") from None

    def send(self, message: Any) -> None:
        """Send a message. Raises PolicyError."""
        try:
            self._connection.send(pack(message, self._style))
        except (OSError, websockets.exceptions.ConnectionClosed):
            raise self._closed() from None

    def receive(self) -> Any:
        """Return the next message. Raises PolicyError if there is none in time, or none that can be read."""
        try:
            data = self._connection.recv(timeout=ANSWER_SECONDS)
        except TimeoutError:
            raise PolicyError(f"{self._address.text} did not answer within {ANSWER_SECONDS:g} s") from None
        except (OSError, websockets.exceptions.ConnectionClosed):
            raise self._closed() from None
        if isinstance(data, str):
            raise self._address.failed(data)
        try:
            return unpack(data, self._style)
        except MessageError as error:
            raise PolicyError(f"{self._address.text} sent no message of {self._address.protocol}: {error}") from None

    def _closed(self) -> PolicyError:
        return PolicyError(f"{self._address.text} closed the connection; its log says why")

    def close(self) -> None:
        """Close the connection."""
        self._open.close()


Connection = websockets.sync.server.ServerConnection


def websocket_server(
    handle: Callable[[Connection], None], host: str, port: int, health: str, key: str = ""
) -> websockets.sync.server.Server:
    """Return a server that handles each connection in a thread, and answers OK at a path of health.

    With a key it refuses who does not send it as openpi's clients do.
    """

    places = threading.BoundedSemaphore(MAX_CLIENTS)

    def handle_few(connection: Connection) -> None:
        if not places.acquire(blocking=False):
            connection.close(websockets.frames.CloseCode.TRY_AGAIN_LATER, f"{MAX_CLIENTS} clients are served already")
            return
        try:
            handle(connection)
        finally:
            places.release()

    def respond(connection: Connection, request: Any) -> Any:
        if request.path == health:
            return connection.respond(http.HTTPStatus.OK, "OK\n")
        if key and not hmac.compare_digest(request.headers.get("Authorization", ""), f"Api-Key {key}"):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "the key is missing or wrong\n")
        return None

    return websockets.sync.server.serve(
        handle_few, host, port, compression=None, max_size=MAX_BYTES, ping_interval=None, process_request=respond
    )

"""GR00T's messages and server, written down from gr00t/policy/server_client.py, which no package registry has."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import numpy as np
import zmq


def decode(one: Any) -> Any:
    if isinstance(one, dict) and "__ndarray_class__" in one:
        return np.load(io.BytesIO(one["as_npy"]), allow_pickle=False)
    return one


def encode(one: Any) -> Any:
    if isinstance(one, np.ndarray):
        file = io.BytesIO()
        np.save(file, one, allow_pickle=False)
        return {"__ndarray_class__": True, "as_npy": file.getvalue()}
    return one


def to_bytes(message: Any) -> bytes:
    return msgpack.packb(message, default=encode)


def from_bytes(data: bytes) -> Any:
    return msgpack.unpackb(data, object_hook=decode)


@contextmanager
def server(answers: dict[str, Callable[..., Any]], token: str | None = None) -> Iterator[int]:
    """Yield the port of a server with some endpoints, as PolicyServer.run answers them."""
    socket, ended = zmq.Context.instance().socket(zmq.REP), threading.Event()
    port = socket.bind_to_random_port("tcp://127.0.0.1")

    def run() -> None:
        while not ended.is_set():
            if not socket.poll(100):
                continue
            request = from_bytes(socket.recv())
            try:
                if token is not None and request.get("api_token") != token:
                    answer = {"error": "Unauthorized: Invalid API token"}
                else:
                    answer = answers[request.get("endpoint", "get_action")](**request.get("data", {}))
            except Exception as error:
                answer = {"error": str(error)}
            socket.send(to_bytes(answer))
        socket.close(linger=0)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        ended.set()
        thread.join()

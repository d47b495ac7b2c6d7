"""Connections: one that does not say what it wants is closed; there may be many."""

import socket
import threading

import pytest
import uvicorn
from fastapi import FastAPI
from offline_studio import wait_until

from studio.server import connections


def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.05)
    config = uvicorn.Config(FastAPI(), port=0, log_level="error", http=connections.PromptProtocol)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, "the server's start")
    address = server.servers[0].sockets[0].getsockname()
    for sent in (b"", b"GET / HTTP/1.1\r\nHost: a\r\n"):
        with socket.create_connection(address, timeout=60) as slow:
            slow.sendall(sent)
            assert slow.recv(1) == b"", "closed by the server"
    server.should_exit = True
    thread.join(30)


def test_the_limit_of_open_files_is_never_lowered():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    connections.allow_open_files()
    after = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert after[1] == before[1] and (after[0] >= before[0] or after[0] == resource.RLIM_INFINITY)

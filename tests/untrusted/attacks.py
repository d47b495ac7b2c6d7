"""What a reader does that a hostile file has taken over: run in the confined children, it reports what it could do."""

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from pipeline.untrusted.isolated import Reply


def powers(secret: str, parent: int) -> list[str]:
    attempts: dict[str, Callable[[], object]] = {
        "read a file": lambda: Path(secret).read_bytes(),
        "list a folder": lambda: os.listdir(Path(secret).parent),
        "write a file": lambda: Path(secret).with_name("written").write_text("x"),
        "delete a file": lambda: os.unlink(secret),
        "open a socket": lambda: socket.socket(socket.AF_INET).connect(("127.0.0.1", 9)),
        "open a Unix socket": lambda: socket.socketpair(),
        "start a program": lambda: os.execv("/bin/sh", ["sh", "-c", "true"]),
        "kill the studio": lambda: os.kill(parent, signal.SIGCONT),
        "leave its session": lambda: os.setsid(),
    }
    worked = [f"has {name}" for name in os.environ if "KEY" in name or "SECRET" in name]
    for name, attempt in attempts.items():
        with suppress(OSError):
            attempt()
            worked.append(name)
    return worked


def try_everything(secret: str, parent: int) -> Reply:
    return Reply(powers(secret, parent))


def sleep() -> Reply:
    time.sleep(600)
    return Reply(None)


def take_memory() -> Reply:
    return Reply(None, (np.ones((1 << 30, 4)),))


def crash() -> Reply:
    os.abort()


def send_objects() -> Reply:
    return Reply(None, (np.array([{}, {}], dtype=object),))


def echo(text: str) -> Reply:
    return Reply(text, (np.arange(6.0).reshape(2, 3),))


def parent() -> Reply:
    return Reply(os.getppid())

"""What a reader does that a hostile file has taken over: run in the confined children, it reports what it could do."""

import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from pipeline.errors import StudioError
from pipeline.untrusted.confined import Progress, Result


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


def try_everything(secret: str, parent: int) -> Result:
    return Result(powers(secret, parent))


def sleep() -> Result:
    time.sleep(600)
    return Result(None)


def take_memory() -> Result:
    return Result(None, (np.ones((1 << 30, 4)),))


def crash() -> Result:
    os.abort()


def send_objects() -> Result:
    return Result(None, (np.array([{}, {}], dtype=object),))


def send_nonsense() -> Result:
    for descriptor in range(3, 64):
        with suppress(OSError):
            os.write(descriptor, b"\x93NUMPY\x01\x00\x02\x00{}")
    return Result(None)


def refuse() -> Result:
    raise StudioError("no:\ntwo lines")


def write(folder: str, beside: str, send: Callable[[Progress], None]) -> Result:
    worked = []
    for name, path in (("out", Path(folder)), ("beside", Path(beside)), ("tmp", Path(tempfile.gettempdir()))):
        with suppress(OSError):
            (path / "written").write_text("x")
            worked.append(f"wrote {name}")
    send(Progress(worked))
    return sleep()


def tell(send: Callable[[Progress], None]) -> Result:
    send(Progress([os.getpid(), os.environ.get("https_proxy"), [name for name in os.environ if "KEY" in name]]))
    return sleep()


def echo(text: str) -> Result:
    return Result(text, (np.arange(6.0).reshape(2, 3),))


def parent() -> Result:
    return Result(os.getppid())

"""What a worker process does first: read its request, keep its output, and end with the process that started it."""

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from pipeline.confinement import end_with_parent


def read_request() -> tuple[dict[str, Any], Callable[[dict[str, Any]], None]]:
    """Return the request, and a function that sends one event. What readers print goes to standard error."""
    request = json.loads(sys.stdin.readline())
    end_with_parent(request["parent"])
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def send(event: dict[str, Any]) -> None:
        events.write(json.dumps(event) + "\n")
        events.flush()

    return request, send


def watch_parent() -> None:
    """End when standard input closes, where the kernel cannot do it. Starts a thread: call it after `confine`."""

    def watch() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

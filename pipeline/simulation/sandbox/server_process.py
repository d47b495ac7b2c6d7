"""The studio's side of the sandbox's fork server: starts it, and exchanges a job for a confined child's messages."""

import os
import socket
import threading
import time

from pipeline.simulation.sandbox.child_report import ChildReader
from pipeline.simulation.sandbox.protocol import RunCancelled, SandboxError
from pipeline.simulation.sandbox.supervisor import ChildExit
from pipeline.store import parse_json
from pipeline.untrusted.fork_server import ForkServer
from pipeline.untrusted.messages import MessageReader, receive


class ServerProcess(ForkServer):
    """The fork server, started with an empty environment and fresh memory. The kernel ends it with this process."""

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise SandboxError("Programs run on Linux and macOS only; everything up to the task works on this system.")
        try:
            super().__init__("pipeline.simulation.sandbox.supervisor")
        except OSError as error:
            raise SandboxError(f"The sandbox cannot start: {error}; run `make setup` again.") from None
        self._control.settimeout(60)
        hello = self._read_hello()
        if "error" in hello:
            self.close()
            raise SandboxError(f"The sandbox cannot start: {hello['error']}; run `make setup` again.")
        self.coverage: dict[str, bool] = hello["coverage"]
        """Which of confinement.platform_coverage this platform has."""
        self.groups: bool = hello.get("groups", False)
        """Whether every run gets its own control group."""

    def _read_hello(self) -> dict:
        try:
            with self._control.makefile("rb") as lines:
                return parse_json(lines.readline() or '{"error": "it exited immediately"}')
        except OSError as error:
            return {"error": f"it does not respond ({error})"}


def exchange(
    connection: socket.socket, job: bytes, seconds: float, cancel: threading.Event | None, child: ChildReader
) -> ChildExit | None:
    """Send the job, feed the child's output to its reader, and return how the child exited; None if nobody says so.

    Closing the connection ends the child: when `cancel` is set, and at the first message that the reader refuses. The
    supervisor ends it after its `seconds` of processor time. Raises SandboxError.
    """
    # Share of a core below which a child makes no progress: the sandbox then counts as one that does not respond
    deadline = time.monotonic() + seconds / 0.01
    with connection:
        connection.sendall(job)
        try:
            for line, output in receive(connection, MessageReader(), deadline, cancel):
                if not output:
                    return ChildExit(**parse_json(line))
                if not child.feed(output[0].tobytes()):
                    return ChildExit("refused")
        except EOFError:
            return None
        except TimeoutError:
            raise SandboxError("The sandbox does not respond; restart the studio.") from None
    raise RunCancelled("The run was cancelled.")


def raise_if_set(cancel: threading.Event | None) -> None:
    """Raise RunCancelled if the event is set."""
    if cancel is not None and cancel.is_set():
        raise RunCancelled("The run was cancelled.")

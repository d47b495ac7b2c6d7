"""The studio's side of a fork server: asks for new children, and ends the server."""

import socket
import subprocess
import threading


class ForkConnection:
    """A running fork server and the socket over which it is asked for children. May be used from any thread."""

    def __init__(self, process: subprocess.Popen, control: socket.socket):
        """
        Args:
            process: of the server.
            control: takes one byte and one descriptor for each child: the child's end of its connection.
        """
        self._process, self._control, self._lock = process, control, threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether the server runs."""
        return self._process.poll() is None

    def connect(self) -> socket.socket:
        """Return a connection to a new child. Raises OSError."""
        connection, child_end = socket.socketpair()
        with child_end, self._lock:
            try:
                socket.send_fds(self._control, [b"."], [child_end.fileno()])
            except OSError:
                connection.close()
                raise
        return connection

    def close(self) -> None:
        """End the server, by force if it does not end by itself within 2 s."""
        self._control.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

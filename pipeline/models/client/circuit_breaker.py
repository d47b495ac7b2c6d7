"""Circuit breaker: stop calling a server for a while after several failures in a row."""

import threading
import time

from pipeline.models.model import ModelError


class CircuitBreaker:
    """Count of one server's consecutive failures. Thread-safe."""

    def __init__(self, server: str, max_failures: int, pause: float):
        """Open after `max_failures` in a row, for `pause` seconds; then let one call through as a trial."""
        self._server, self._max_failures, self._pause = server, max_failures, pause
        self._failures, self._open_until, self._last_failure = 0, 0.0, ""
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise ModelError while the breaker is open."""
        with self._lock:
            remaining = self._open_until - time.monotonic()
            if self._failures < self._max_failures:
                return
            if remaining > 0:
                raise ModelError(
                    f"{self._server} failed {self._failures} times in a row and is not called for another "
                    f"{remaining:.0f} s; then try again. The last failure: {self._last_failure}"
                )
            self._open_until = time.monotonic() + self._pause  # one call is the trial; the others wait for its outcome

    def record_failure(self, message: str) -> None:
        """Count a failure and restart the pause."""
        with self._lock:
            self._failures, self._last_failure = self._failures + 1, message
            self._open_until = time.monotonic() + self._pause

    def record_success(self) -> None:
        """Reset the count."""
        with self._lock:
            self._failures = 0

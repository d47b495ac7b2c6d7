"""Circuit breaker: a server that failed again and again is left alone for a while, so that nobody waits for it."""

import threading
import time

from pipeline.models.model import ModelError


class Breaker:
    """Counts one server's failures in a row. May be used from several threads."""

    def __init__(self, where: str, failures: int, rest: float):
        """`failures` in a row open it for `rest` seconds; then one question is let through to try."""
        self._where, self._most, self._rest = where, failures, rest
        self._row, self._until, self._last = 0, 0.0, ""
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raises ModelError while the server is left alone."""
        with self._lock:
            left = self._until - time.monotonic()
            if self._row < self._most:
                return
            if left > 0:
                raise ModelError(
                    f"{self._where} failed {self._row} times in a row, so it is left alone for {left:.0f} s more; "
                    f"then try again. The last failure: {self._last}"
                )
            self._until = time.monotonic() + self._rest  # one goes through, the others wait for how it went

    def failed(self, why: str) -> None:
        with self._lock:
            self._row, self._last = self._row + 1, why
            self._until = time.monotonic() + self._rest

    def worked(self) -> None:
        with self._lock:
            self._row = 0

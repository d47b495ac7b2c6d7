"""Linear algebra on one thread, where a result must not depend on how many there are."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_limits: list[threadpool_limits] = []
_users = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS compute on one thread inside: sums over several differ in their last digits, and a pose with them.

    May be entered by several threads at once; the former number is back when the last one leaves.
    """
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _limits.append(threadpool_limits(1, "blas"))
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _limits.pop().restore_original_limits()

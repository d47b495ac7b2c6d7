"""Results that are computed once for each frame, whoever asks, and live as long as the frame."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from pipeline.frame.frame import Frame

T = TypeVar("T")


def once_per_frame(compute: Callable[[Frame], T]) -> Callable[[Frame], T]:
    """Decorate a function of a frame alone; threads that ask for the same frame wait for the first. Errors are not
    kept."""
    name = f"_{compute.__name__}"

    @wraps(compute)
    def computed(frame: Frame) -> T:
        kept = vars(frame)  # as cached_property does; a frame's fields never change
        with kept.setdefault("_lock", threading.RLock()):
            if name not in kept:
                kept[name] = compute(frame)
            return kept[name]

    return computed


def keep_with_frame(frame: Frame, key: str, compute: Callable[[], T]) -> T:
    """Return the result that the frame keeps under `key`, or compute it. Errors are not kept."""
    kept = vars(frame)
    with kept.setdefault("_lock", threading.RLock()):
        results = kept.setdefault("_results", {})
        if key in results:
            return results[key]
    result = compute()
    with kept["_lock"]:
        results[key] = result
        # Results by key that a frame keeps; the oldest is dropped first
        while len(results) > 128:
            del results[next(iter(results))]
    return result

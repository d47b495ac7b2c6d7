"""Ask many questions at the same time, and cancel all calls when the caller stops waiting."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from pipeline.models.in_flight import InFlightCalls

T = TypeVar("T")
R = TypeVar("R")


def ask_concurrently(
    ask: Callable[[T], R], items: Sequence[T], calls: InFlightCalls
) -> Generator[tuple[int, R], None, None]:
    """Yield each item's index and what `ask` returns for it, in order of completion.

    `calls` are the calls that `ask` makes. They are closed if the generator is closed early or an exception is raised.
    """
    # Upper bound of waiting threads; the settings limit how many of them call at once
    pool = ThreadPoolExecutor(min(16, max(1, len(items))), thread_name_prefix="asking")
    try:
        indices = {pool.submit(ask, item): index for index, item in enumerate(items)}
        for future in as_completed(indices):
            yield indices[future], future.result()
    except BaseException:
        calls.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)

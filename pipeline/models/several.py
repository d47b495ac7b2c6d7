"""Many questions at once: each thing's answer as it comes, all calls ended when nobody waits for them any more."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from pipeline.models.live import Live

T = TypeVar("T")
R = TypeVar("R")
THREADS = 16
"""More wait here than the settings let call at once."""


def answers(ask: Callable[[T], R], things: Sequence[T], live: Live) -> Generator[tuple[int, R], None, None]:
    """The place of each thing and what `ask` gives of it, in the order in which they are done.

    `live` has the calls that `ask` makes: it is closed when this is closed before its end, or one raises.
    """
    pool = ThreadPoolExecutor(min(THREADS, max(1, len(things))), thread_name_prefix="asking")
    try:
        places = {pool.submit(ask, thing): place for place, thing in enumerate(things)}
        for done in as_completed(places):
            yield places[done], done.result()
    except BaseException:
        live.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)

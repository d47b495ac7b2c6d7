"""Lets the events of a page act in the order in which the page sent them."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

WAIT_SECONDS = 2.0
"""Time after which an event no longer waits for the one that the page sent before it."""
KEEP_SECONDS = 60.0
"""How long it is remembered that an event has acted."""


class EventOrder:
    """The events that have acted, or are waited for. To be used in the event loop only.

    Gradio answers events that come at the same time in no certain order. Without this, two quick verdicts of the review
    may be recorded in either order, and Undo then takes back the wrong one.
    """

    def __init__(self):
        self._acted: dict[tuple[str, int], asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, page: str, sent: Any) -> AsyncIterator[None]:
        """Wait until the page's event before this one has acted, WAIT_SECONDS after that was sent at most.

        Args:
            page: session hash of the page.
            sent: {number, seconds_after} as the page wrote it, see components/component.py: the event's number on the
                page, from 1, and the time since the one before. Anything else does not wait.
        """
        number, seconds_after = _sent_numbers(sent)
        try:
            if number > 1 and seconds_after < WAIT_SECONDS:
                with suppress(TimeoutError):
                    async with asyncio.timeout(WAIT_SECONDS - seconds_after):
                        await self._event(page, number - 1).wait()
            yield
        finally:
            if number:
                self._event(page, number).set()

    def _event(self, page: str, number: int) -> asyncio.Event:
        """Return what is set when the event of that number has acted."""
        key = (page, number)
        if key not in self._acted:
            self._acted[key] = asyncio.Event()
            asyncio.get_running_loop().call_later(KEEP_SECONDS, self._acted.pop, key, None)
        return self._acted[key]

    def __len__(self) -> int:
        return len(self._acted)


def _sent_numbers(sent: Any) -> tuple[int, float]:
    """Return number and seconds of what a page wrote; 0 and 0 for anything else."""
    if not isinstance(sent, dict):
        return 0, 0.0
    number, seconds = sent.get("number"), sent.get("seconds_after")
    if type(number) is not int or number < 1 or type(seconds) not in (int, float):
        return 0, 0.0
    seconds = float(cast(float, seconds))
    return (number, max(seconds, 0.0)) if math.isfinite(seconds) else (0, 0.0)

"""The command `studio`, which names each view that would have shown an old value, in the file STALE_VIEWS.

A view that does not declare all that it reads keeps its value when that changes. So every value is computed again here:
it must be the same, unless one of the facts that the view reads has changed meanwhile.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any

from studio.pages.views import SKIPPED, KnownValues, View

LOOKS = 4


def same(one: Any, other: Any) -> bool:
    return getattr(one, "constructor_args", one) == getattr(other, "constructor_args", other)


def _read(view: View, session: Any) -> Any:
    """Return the facts that the view reads; what equals nothing else if one cannot be read."""
    try:
        return session and [fact(session) for fact in view.reads or ()]
    except Exception:
        return object()


def _stale(view: View, session: Any, known: Callable[[], Any]) -> tuple[Any, Any] | None:
    """Return the known and the newest value if they differ for as long as nothing that the view reads changes.

    What changes just now may be in the memory or on the disk a moment before it is counted.
    """
    for _ in range(LOOKS):
        while session.tasks:
            time.sleep(0.01)
        if session.is_closed:  # what it opens is closed at once, so each look gives another value
            return None
        facts, old, new = _read(view, session), known(), view.value(session)
        if same(old, new) or facts != _read(view, session):
            return None
        time.sleep(0.05)
    return old, new


@contextmanager
def checked_views(tell: Callable[[str], object]) -> Iterator[None]:
    """Check the views of this process; call `tell` with a line for each that is stale."""
    update = KnownValues.update

    @wraps(update)
    def checked(self: KnownValues, views: list[View], session: Any, report: Any) -> list[Any]:
        values = update(self, views, session, report)
        for view, value in zip(views, values, strict=True):
            if session is None or view.reads is None or value is SKIPPED:
                continue
            with suppress(Exception):  # it is reported where the view is computed for the page
                if same(view.value(session), value):
                    continue
                if stale := _stale(view, session, lambda view=view: update(self, [view], session, report)[0]):
                    tell(f"{type(view.component).__name__} {view.component.elem_id}: {stale[0]} is now {stale[1]}\n")
        return values

    KnownValues.update = checked  # type: ignore[method-assign]
    try:
        yield
    finally:
        KnownValues.update = update  # type: ignore[method-assign]


def append(line: str) -> None:
    with Path(os.environ["STALE_VIEWS"]).open("a") as file:
        file.write(line)


if __name__ == "__main__":
    from studio.__main__ import main

    with checked_views(append):
        sys.exit(main())

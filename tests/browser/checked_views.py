"""The command `studio`, which names each view that would have shown an old value, in the file STALE_VIEWS.

A view that does not declare all that it reads keeps its value when that changes. So every value is computed again here:
it must be the same, unless one of the facts that the view reads has changed meanwhile.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from studio.pages.views import SKIPPED, KnownValues, View


def same(one: Any, other: Any) -> bool:
    return getattr(one, "constructor_args", one) == getattr(other, "constructor_args", other)


def _read(view: View, session: Any) -> Any:
    """Return the facts that the view reads; what equals nothing else if one cannot be read."""
    try:
        return session and [fact(session) for fact in view.reads or ()]
    except Exception:
        return object()


@contextmanager
def checked_views(tell: Callable[[str], object]) -> Iterator[None]:
    """Check the views of this process; call `tell` with a line for each that is stale."""
    update = KnownValues.update

    @wraps(update)
    def checked(self: KnownValues, views: list[View], session: Any, report: Any) -> list[Any]:
        before = [_read(view, session) for view in views]
        values = update(self, views, session, report)
        for view, value, facts in zip(views, values, before, strict=True):
            if session is None or view.reads is None or value is SKIPPED:
                continue
            try:
                newer = view.value(session)
            except Exception:  # it is reported where it is computed for the page
                continue
            if same(newer, value):
                continue
            while session.tasks:  # whose result is there a moment before it is counted
                time.sleep(0.01)
            if facts == _read(view, session):
                tell(f"{type(view.component).__name__} {view.component.elem_id}: {value} is now {newer}\n")
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

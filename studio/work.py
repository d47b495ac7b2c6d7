"""One long piece of work on a project, in a thread of its own: it goes on when the browser does not."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from pipeline.models import Stopped
from pipeline.run import Progress
from pipeline.simulation.sandbox import Cancelled


class StoppableSandbox:
    """A sandbox whose runs end at once when the work they belong to is stopped."""

    def __init__(self, sandbox: Any, stop: threading.Event):
        self._sandbox, self._stop = sandbox, stop

    def run(self, *arguments: Any, cancel: threading.Event | None = None, **options: Any) -> Any:
        return self._sandbox.run(*arguments, **options, cancel=_Either(self._stop, cancel))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)


class _Either:
    """Set as soon as one of two events is."""

    def __init__(self, *events: threading.Event | None):
        self._events = [event for event in events if event]

    def is_set(self) -> bool:
        return any(event.is_set() for event in self._events)


class Work:
    """Consumes a generator of Progress and tells about each; `stop` closes it at the next step."""

    def __init__(
        self,
        make: Callable[[threading.Event], Iterator[Progress]],
        tell: Callable[[Progress], None],
        end: Callable[["Work", BaseException | None, bool], None],
        until: str,
    ):
        """
        Args:
            make: given the stop event, starts the generator.
            tell: is called after each step.
            end: is called once with this, the error if any, and whether it was stopped.
            until: the stage this leads to.
        """
        self.until = until
        self.last: Progress | None = None
        """The newest step."""
        self._make, self._tell, self._end = make, tell, end
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="work")

    def start(self) -> "Work":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stop.set()

    def join(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            with closing(self._make(self._stop)) as steps:  # type: ignore[type-var]
                for step in steps:
                    self.last = step
                    self._tell(step)
                    if self.stopping:
                        break
        except (Cancelled, Stopped):
            pass
        except Exception as problem:
            error = problem
        self._end(self, error, self.stopping)

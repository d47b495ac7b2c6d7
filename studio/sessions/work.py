"""Stage work of an open project: one generator of Progress at a time, in a thread that outlives the page."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from pipeline.models import StageCancelled
from pipeline.project import Stage
from pipeline.run import Progress
from pipeline.simulation.sandbox.sandbox import RunCancelled
from pipeline.tasks import TaskError
from studio.sessions.event_log import EventLog
from studio.sessions.wording import progress_line
from studio.web.errors import error_message
from studio.web.jobs import Job, Listing

MakeSteps = Callable[[threading.Event], Iterator[Progress]]
"""Starts a generator of Progress, given the event that stops it."""


class StageWork(Job[None]):
    """Consumes a generator of Progress in a thread; a stop closes the generator at its next step."""

    def __init__(
        self,
        make_steps: MakeSteps,
        until: Stage,
        on_step: Callable[[Progress], None],
        on_end: Callable[["StageWork"], None],
        listing: Listing | None = None,
    ):
        """
        Args:
            until: the stage that the work leads to.
            on_step: is called after each step.
            on_end: is called once, with this work. Cancellation is not an error.
        """
        super().__init__("work", lambda _: self._consume(), on_end=on_end, listing=listing)
        self.until = until
        self.last: Progress | None = None
        """The newest step."""
        self._make_steps, self._on_step = make_steps, on_step

    def _consume(self) -> None:
        try:
            with closing(self._make_steps(self.stop_event)) as steps:  # type: ignore[type-var]
                for step in steps:
                    self.last, self.message, self.done, self.of = step, progress_line(step), step.done, step.total
                    self._on_step(step)
                    if self.stopping:
                        break
        except (RunCancelled, StageCancelled):
            pass
        except Exception as error:  # the project's log tells it
            self.state, self.error = "failed", error


class WorkRunner:
    """Runs one piece of work at a time and logs its steps. May be used from any thread."""

    def __init__(self, log: EventLog, on_start: Callable[[], object], listing: Listing | None = None):
        """`on_start` is called before each piece of work, while the log is locked."""
        self.current: StageWork | None = None
        self.ended = 0
        """How many pieces of work have ended."""
        self.task_error: TaskError | None = None
        """Why the task text given last does not fit the scene."""
        self._log, self._on_start, self._listing = log, on_start, listing

    def start(self, make_steps: MakeSteps, until: Stage) -> None:
        """Start work in place of the current one, which is stopped and ends first."""

        def after_previous(stop: threading.Event) -> Iterator[Progress]:
            if previous:
                previous.join()
            return make_steps(stop)

        with self._log.changed:
            previous = self.current
            if previous:
                previous.stop()
            self._on_start()
            self.task_error = None
            self.current = StageWork(after_previous, until, self._step, self._end, self._listing)
            self.current.start()
            self._log.mark_changed()

    def stop(self) -> None:
        """Stop the current work at its next step; finished stages are kept."""
        with self._log.changed:
            if self.current:
                self.current.stop()
                self._log.mark_changed()

    def _step(self, step: Progress) -> None:
        text, lines = progress_line(step), self._log.lines
        if lines and lines[-1].text == text:  # the same message with a higher count
            self._log.mark_changed()
        else:
            self._log.add(text)

    def _end(self, work: StageWork) -> None:
        error = work.error
        with self._log.changed:
            self.ended += 1
            if self.current is work:
                self.current = None
                if work.stopping:
                    self._log.add("Stopped. Finished stages are kept.")
            if isinstance(error, TaskError):  # shown beside the task, not as a notice
                self.task_error = error
                self._log.add(error_message(error), "bad")
            elif error:
                self._log.report(error)
            self._log.mark_changed()


class StoppableSandbox:
    """A sandbox whose runs are cancelled as soon as the work they belong to is stopped."""

    def __init__(self, sandbox: Any, stop: threading.Event):
        self._sandbox, self._stop = sandbox, stop

    def run(self, *arguments: Any, cancel: threading.Event | None = None, **options: Any) -> Any:
        return self._sandbox.run(*arguments, **options, cancel=_AnyEvent(self._stop, cancel))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)


class _AnyEvent:
    """Is set as soon as one of its events is."""

    def __init__(self, *events: threading.Event | None):
        self._events = [event for event in events if event]

    def is_set(self) -> bool:
        return any(event.is_set() for event in self._events)

"""Calls that a project made to language models: the recorded ones and those in flight."""

from collections import deque
from pathlib import Path

from pipeline.models.in_flight import InFlightCall, InFlightCalls, StopFlag
from pipeline.models.trace.call_log import Call, CallLog
from studio.sessions.event_log import EventLog


class ModelCalls:
    """The trace of a project and its calls in flight. May be used from any thread."""

    def __init__(self, path: Path, log: EventLog):
        """
        Args:
            path: of the project's trace.
            log: is marked as changed whenever a call begins or ends.
        """
        self.path = path
        self._trace, self._log = CallLog(path), log
        self._watched: deque[InFlightCalls] = deque(maxlen=8)
        """The calls of recent work, and of questions that a person asked again."""
        self._span_ids: set[str] = set()

    def read(self) -> tuple[Call, ...]:
        """Return the recorded calls, oldest first."""
        return self._trace.read()

    def watch(self, stop: StopFlag | None = None) -> InFlightCalls:
        """Return a new collection of calls in flight for one piece of work; `stop` cancels them."""
        calls = InFlightCalls(stop, self._on_change)
        self._watched.append(calls)
        return calls

    def in_flight(self) -> tuple[InFlightCall, ...]:
        """Return the calls that are being answered, oldest first."""
        return tuple(call for calls in tuple(self._watched) for call in calls.calls())

    def _on_change(self, _: InFlightCall) -> None:
        """Mark the log only if a call began or ended; pages poll for the text of an answer themselves."""
        with self._log.changed:
            span_ids = {call.span_id for call in self.in_flight()}
            if span_ids != self._span_ids:
                self._span_ids = span_ids
                self._log.mark_changed()

"""Jobs: work in the background that a page starts, follows and stops."""

import secrets
import threading
from collections.abc import Callable
from typing import Generic, Literal, Self, TypeVar

from studio.web.background import BackgroundTask
from studio.web.errors import error_message

T = TypeVar("T")


class Job(BackgroundTask, Generic[T]):
    """One piece of work. Only its own thread changes it; any thread may read it, and stop it."""

    def __init__(
        self,
        name: str,
        work: Callable[[Self], object],
        turn: "threading.Lock | None" = None,
        wake: Callable[[], object] | None = None,
        on_end: Callable[[Self], object] = lambda _: None,
        message: str = "",
    ):
        """
        Args:
            name: of the thread, as debuggers show it.
            work: gets the job, and should return soon after `stop_event` is set.
            turn: is held while the job runs, so that of all jobs with that lock one runs at a time.
            wake: is called by `stop`, to end a wait on something other than the stop event.
            on_end: is called in the job's thread when everything about it is final.
            message: the first one.
        """
        super().__init__(name, lambda _: self._run_in_turn(), wake=wake)
        self.id = secrets.token_hex(16)
        """Cannot be guessed."""
        self.state: Literal["waiting", "running", "done", "failed", "stopped"] = "waiting"
        self.message = message
        """The newest line of progress, or why it failed."""
        self.done, self.of = 0, 0
        """How much of the work is done."""
        self.result: T | None = None
        """What the work has made so far. The work sets it, and may set the state "done" before it ends."""
        self.error: Exception | None = None
        self._do, self._turn, self._on_end = work, turn, on_end

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "running")

    def _run_in_turn(self) -> None:
        try:
            # Pause between two looks whether a job that waits for its turn was stopped
            while self._turn and not self._turn.acquire(timeout=0.2):
                if self.stopping:
                    self.state = "stopped"
                    return
            try:
                self._run_now()
            finally:
                if self._turn:
                    self._turn.release()
        finally:
            self._on_end(self)

    def _run_now(self) -> None:
        self.state = "running"
        try:
            self._do(self)
        except Exception as error:
            self.error = error
            if not self.stopping:  # what fails because it was stopped has not failed
                self.message, self.state = error_message(error), "failed"
        if self.state == "running":
            self.state = "stopped" if self.stopping else "done"

"""Jobs: work in the background that a page starts, follows and stops."""

import secrets
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar

from studio.accounts.roles import Role, require
from studio.texts import translated
from studio.web.background import BackgroundTask
from studio.web.errors import error_message

T = TypeVar("T")
Sees = Callable[[Path | None], bool]
"""Whether the current person may see what belongs to a project or workspace, or to the whole studio for None."""


@dataclass(frozen=True)
class Listing:
    """What the list of jobs that every page shows says of a job."""

    kind: Literal["stages", "tasks", "batch", "export", "import", "comparison", "training", "evaluation", "scoring",
                  "installation", "test", "track", "views"]  # fmt: skip
    title: Callable[[], str]
    """In the language of the person who reads it. It holds no project, since the list outlives that."""
    folder: Path | None = None
    """Its project or workspace; None if it belongs to the whole studio."""
    role: Role = Role.WORK
    """Of the people who may stop it."""


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
        listing: Listing | None = None,
    ):
        """
        Args:
            name: of the thread, as debuggers show it.
            work: gets the job, and should return soon after `stop_event` is set.
            turn: is held while the job runs, so that of all jobs with that lock one runs at a time.
            wake: is called by `stop`, to end a wait on something other than the stop event.
            on_end: is called in the job's thread when everything about it is final.
            message: the first one.
            listing: names it in the list of jobs; None for a job that pages do not show there.
        """
        super().__init__(name, lambda _: self._run_in_turn(), wake=wake)
        self.id = secrets.token_hex(16)
        """Cannot be guessed."""
        self.state: Literal["waiting", "running", "done", "failed", "stopped"] = "waiting"
        self.message = message
        """The newest line of progress, or why it failed."""
        self.done: float = 0
        """How much of the work is done."""
        self.of: float = 0
        """How much work there is; 0 if unknown."""
        self.result: T | None = None
        """What the work has made so far. The work sets it, and may set the state "done" before it ends."""
        self.error: Exception | None = None
        self.listing = listing
        self._do, self._turn, self._on_end = work, turn, on_end

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "running")

    def start(self) -> Self:
        LIST.add(self)
        return super().start()

    def stop(self) -> None:
        super().stop()
        LIST.tell()

    def as_listed(self) -> dict[str, Any]:
        """Return {state, message, done, of} as the list of jobs shows them."""
        return {"state": self.state, "message": self.message, "done": self.done, "of": self.of}

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
            LIST.end(self)

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


class JobList:
    """The jobs with a listing that wait or run, and the newest that ended. May be used from any thread."""

    def __init__(self) -> None:
        self._active: dict[str, Job[Any]] = {}
        # As many as may end before a page has heard of them; it learns from these how work ended that was short
        self._ended: deque[tuple[Listing, dict[str, Any]]] = deque(maxlen=12)
        self._watchers: dict[object, Callable[[], object]] = {}
        self._lock = threading.Lock()

    def watch(self, changed: Callable[[], object]) -> Callable[[], None]:
        """Call `changed`, in any thread, when a job begins, is stopped or ends. Return what ends that."""
        key = object()
        with self._lock:
            self._watchers[key] = changed
        return lambda: self._watchers.pop(key, None) and None

    def tell(self) -> None:
        for changed in list(self._watchers.values()):
            changed()

    def add(self, job: Job[Any]) -> None:
        if job.listing:
            with self._lock:
                self._active[job.id] = job
            self.tell()

    def end(self, job: Job[Any]) -> None:
        if job.listing:
            with self._lock:
                self._active.pop(job.id, None)
                self._ended.append((job.listing, _fields(job)))
            self.tell()

    def works_in(self, folder: Path) -> bool:
        """Whether a job of that project or workspace waits or runs."""
        with self._lock:
            return any(job.listing is not None and job.listing.folder == folder for job in self._active.values())

    @property
    def is_empty(self) -> bool:
        """Whether no job waits or runs."""
        return not self._active

    def records(self, sees: Sees) -> list[dict[str, Any]]:
        """Return {id, kind, title, project, state, stopping, message, done, of} of what the current person sees."""
        with self._lock:
            known = [*self._ended, *((one.listing, _fields(one)) for one in self._active.values() if one.listing)]
        return [
            fields
            | {"kind": listing.kind, "title": listing.title(), "project": listing.folder.name if listing.folder else ""}
            | {"message": translated(str(fields["message"]))}
            for listing, fields in known
            if sees(listing.folder)
        ]

    def stop(self, id: object, sees: Sees) -> None:
        """Stop a job, unless it has ended. Raises RoleError."""
        job = self._active.get(str(id))
        if job and job.listing and sees(job.listing.folder):
            require(job.listing.role)
            job.stop()


def _fields(job: Job[Any]) -> dict[str, Any]:
    return {"id": job.id, "stopping": job.stopping, **job.as_listed()}


LIST = JobList()
"""The one list of this process."""

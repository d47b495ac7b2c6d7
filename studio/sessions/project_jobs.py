"""Commands that pages start on a project: of a kind one at a time in the whole studio, since each takes a core.

Each is a command of `grs-studio` in a process of its own, as a person would type it. In this process it would keep
requests waiting for Python's interpreter lock; and it can be killed at any moment, because the command keeps what is
finished and goes on there.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from pipeline.errors import StudioError
from studio.batch.bounded_process import BoundedProcess
from studio.web.errors import RequestError
from studio.web.jobs import Job, Listing


class CommandJob(Job[None]):
    """One run of a command. Its message is the newest line that the command printed."""

    def __init__(
        self,
        listing: Listing,
        words: Sequence[str],
        turn: threading.Lock,
        environment: Mapping[str, str] | None = None,
    ):
        """
        Args:
            listing: of the list of jobs.
            words: of the command, after `grs-studio`.
            turn: is held by the job that runs.
            environment: variables that it has besides those of this process.
        """
        variables = {"OMP_NUM_THREADS": "1", **(environment or {})}
        # Memory of data; training with eight environments takes 1 to 2 GB
        self._process = BoundedProcess(words, 8_000_000_000, self.follow, variables, reads_output=True)
        run = lambda _: self._run_process()  # noqa: E731
        super().__init__(listing.kind, run, turn, wake=self._process.kill, listing=listing)

    def follow(self, line: str) -> bool:
        """Note a line of the process; return whether it was progress and says nothing about a failure."""
        self.message = line
        return False

    def _run_process(self) -> None:
        fault = self._process.run()
        self.message = ""
        if fault:
            raise StudioError(fault)


J = TypeVar("J", bound=Job[Any])


class ProjectJobs(Generic[J]):
    """The newest job of each project. May be used from any thread."""

    def __init__(self) -> None:
        self._jobs: dict[Path, J] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def of(self, project: Path) -> J | None:
        """Return the newest job of a project."""
        with self._lock:
            return self._jobs.get(project)

    def begin(self, project: Path, make: Callable[[threading.Lock], J]) -> J:
        """Start the job that `make` returns for the lock of its turn. Raises RequestError while another one runs."""
        with self._lock:
            known = self._jobs.get(project)
            if known and known.is_active:
                raise RequestError("This project is at work on that already; stop it first, or wait for its end.")
            job = self._jobs[project] = make(self._turn)
        job.start()
        return job

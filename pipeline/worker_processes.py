"""Jobs in processes of their own, so that several run at a time without waiting for one another's Python."""

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any, Protocol

from pipeline.errors import StudioError

_CODE = "import sys; sys.path[:] = {path!r}; from pipeline.worker_processes import main; main({idle_seconds})"


class WorkerError(StudioError):
    """The process of a job ended before the job did."""


class Job(Protocol):
    """What a worker does. It is pickled, and so is what it returns."""

    def run(self) -> Any: ...


class WorkerProcesses:
    """Processes that run jobs. May be used from several threads; each that waits has a worker of its own.

    A worker that has had nothing to do for `idle_seconds` ends; the next job starts another one.
    """

    def __init__(self, idle_seconds: int = 0) -> None:
        self._idle_seconds = idle_seconds
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()

    def run(self, job: Job) -> Any:
        """Run a job in a worker, which is started if none is idle. Raises what the job raises, and WorkerError."""
        worker = self._worker()
        assert worker.stdin and worker.stdout
        try:
            pickle.dump(job, worker.stdin)
            worker.stdin.flush()
            answer = pickle.load(worker.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise WorkerError("the process of a job ended; see above for why") from None
        self._idle.put(worker)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _worker(self) -> "subprocess.Popen[bytes]":
        with suppress(queue.Empty):
            while (worker := self._idle.get_nowait()).poll() is not None:
                pass
            return worker
        code = _CODE.format(path=[entry or os.getcwd() for entry in sys.path], idle_seconds=self._idle_seconds)
        worker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with self._lock:
            self._all = [one for one in self._all if one.poll() is None] + [worker]
        return worker

    @property
    def has_any(self) -> bool:
        """Whether a process is there, so that a job need not wait for its start."""
        with self._lock:
            return any(worker.poll() is None for worker in self._all)

    def kill(self) -> None:
        """End all workers at once. May be called from another thread than that of `run`."""
        for worker in self._all:
            worker.kill()

    def close(self) -> None:
        """End all workers; none runs a job by now."""
        for worker in self._all:
            assert worker.stdin and worker.stdout
            worker.stdin.close()
            worker.stdout.close()
        for worker in self._all:
            worker.wait()

    def __enter__(self) -> "WorkerProcesses":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main(idle_seconds: int) -> None:
    """Run the jobs that come on the standard input, until it ends; what they print goes to the errors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends the jobs
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        signal.alarm(idle_seconds)  # which ends the process
        try:
            job = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        signal.alarm(0)
        pickle.dump(answer_of(job), answers)
        answers.flush()


def answer_of(job: Job) -> Any:
    """Return what a job returns, or the error that it raised."""
    try:
        return job.run()
    except StudioError as error:
        return error
    except Exception:
        return RuntimeError(traceback.format_exc())

"""Episodes in processes of their own, so that several run at a time without waiting for one another's Python.

A worker runs one episode after the other; a person's function gets a fresh process for each, so that nothing that it
keeps in mind goes from one episode to the next. So results do not depend on how many workers there are.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.closed_loop.episodes import PolicyEpisode, opened, run_policy
from pipeline.closed_loop.policies import function_of, open_policy
from pipeline.closed_loop.policy import PolicyError
from pipeline.errors import StudioError
from pipeline.simulation.physics import UnstableError

CODE = "import sys; sys.path[:] = {path!r}; from pipeline.closed_loop.episode_workers import main; main()"


@dataclass(frozen=True)
class EpisodeJob:
    """One episode of a policy in an environment."""

    folder: Path
    """Of the environment."""
    policy: str
    """As `open_policy` takes it."""
    layout: int
    seconds: float
    """Simulated, at most."""
    images: bool
    """Whether the policy also gets the pictures of the cameras."""
    condition: str = ""
    """Its id; that of the layout if empty."""

    def run(self) -> PolicyEpisode:
        """Run the episode in this process. Raises PolicyError."""
        with opened(self.folder, self.images) as env:
            try:
                return run_policy(env, open_policy(self.policy, env), self.layout, self.seconds, self.condition)
            except UnstableError as error:  # the policy pressed too hard: its failure, not the machinery's
                condition = self.condition or f"{self.layout:03d}"
                return PolicyEpisode(condition, False, 0.0, 0.0, "collision", str(error))


class EpisodeWorkers:
    """Processes that run episodes. May be used from several threads; each that waits has a worker of its own."""

    def __init__(self) -> None:
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []

    def run(self, job: EpisodeJob) -> PolicyEpisode:
        """Run an episode in a worker, which is started if none is idle. Raises PolicyError."""
        try:
            worker = self._idle.get_nowait()
        except queue.Empty:
            worker = self._started()
        assert worker.stdin and worker.stdout
        try:
            pickle.dump(job, worker.stdin)
            worker.stdin.flush()
            answer = pickle.load(worker.stdout)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise PolicyError(f"the process of an episode of {job.policy} ended; see above for why") from None
        self._idle.put(worker)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _started(self) -> "subprocess.Popen[bytes]":
        code = CODE.format(path=[entry or os.getcwd() for entry in sys.path])
        worker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._all.append(worker)
        return worker

    def close(self) -> None:
        """End all workers; none runs an episode by now."""
        for worker in self._all:
            assert worker.stdin and worker.stdout
            worker.stdin.close()
            worker.stdout.close()
        for worker in self._all:
            worker.wait()

    def __enter__(self) -> "EpisodeWorkers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    """Run the episodes that come on the standard input, until it ends; what a policy prints goes to the errors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command ends the episodes
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            job: EpisodeJob = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_in_fork(job) if function_of(job.policy) else _answer(job), answers)
        answers.flush()


def _answer(job: EpisodeJob) -> PolicyEpisode | Exception:
    """Return the episode, or why there is none."""
    try:
        return job.run()
    except StudioError as error:
        return error
    except Exception:
        return RuntimeError(traceback.format_exc())


def _in_fork(job: EpisodeJob) -> Any:
    """Return the answer of a copy of this process, which ends with its episode."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.close(reading)
        try:
            with os.fdopen(writing, "wb") as file:
                pickle.dump(_answer(job), file)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as file:
            return _loaded(file)
    finally:
        os.waitpid(child, 0)


def _loaded(file: BinaryIO) -> Any:
    try:
        return pickle.load(file)
    except EOFError:
        return PolicyError("the policy's function ended its process")

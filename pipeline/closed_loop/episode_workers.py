"""Episodes as jobs for worker processes.

A worker runs one episode after the other; a person's function gets a fresh process for each, so that nothing that it
keeps in mind goes from one episode to the next. So results do not depend on how many workers there are.
"""

import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.closed_loop.episodes import PolicyEpisode, opened, run_policy
from pipeline.closed_loop.policies import function_of, open_policy
from pipeline.closed_loop.policy import PolicyError
from pipeline.simulation.physics import UnstableError
from pipeline.worker_processes import WorkerError, WorkerProcesses, answer_of


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


def run_in(workers: WorkerProcesses, job: EpisodeJob) -> PolicyEpisode:
    """Run an episode in a worker. Raises PolicyError."""
    try:
        return workers.run(_Forked(job) if function_of(job.policy) else job)
    except WorkerError:
        raise PolicyError(f"the process of an episode of {job.policy} ended; see above for why") from None


@dataclass(frozen=True)
class _Forked:
    """An episode in a copy of the worker's process, which ends with it."""

    job: EpisodeJob

    def run(self) -> Any:
        reading, writing = os.pipe()
        if not (child := os.fork()):
            os.close(reading)
            try:
                with os.fdopen(writing, "wb") as file:
                    pickle.dump(answer_of(self.job), file)
            finally:
                os._exit(0)
        os.close(writing)
        try:
            with os.fdopen(reading, "rb") as file:
                answer = _loaded(file)
        finally:
            os.waitpid(child, 0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _loaded(file: BinaryIO) -> Any:
    try:
        return pickle.load(file)
    except EOFError:
        return PolicyError("the policy's function ended its process")

"""Runs the frames of a batch, or functions, on a Ray cluster, on whichever machine has a free core.

Ray is an optional extra. Files lie at the same paths on every machine, as on a shared disk; this machine keeps the
record. Each frame has the same process as here, and this machine follows its project's folder.
"""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pipeline.project import STAGES
from studio.batch.frame_process import FrameProcess, FrameTask, StageReport
from studio.batch.frames import BatchError
from studio.batch.runner import last_stage

POLL_SECONDS, ANSWER_SECONDS = 0.5, 5.0
SENT_VARIABLES = ("GRS_", "MUJOCO_GL", "PYOPENGL_PLATFORM", "PYTHONPATH")
"""Beginnings of the environment variables that other machines need, too."""

T = TypeVar("T")


class RayCluster:
    """A connection to a Ray cluster; close it after use."""

    def __init__(self, address: str):
        """Connect. Raises BatchError if Ray is not installed, or no cluster answers at the address."""
        try:
            import ray
        except ImportError:
            raise BatchError("--ray needs Ray; install it with: pip install 'grs-studio[ray]'") from None
        self._ray: Any = ray
        try:
            _check_answers(address)
            ray.init(address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            reason = " ".join(str(error).split())[:160]
            raise BatchError(
                f"no Ray cluster answers at {address} ({reason}); start one with ray start --head"
            ) from None
        self._run_frame, self._call = (ray.remote(num_cpus=1, max_retries=0)(one) for one in (run_frame, call))

    @property
    def cores(self) -> int:
        """Processor cores of all machines together."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def make(self, task: FrameTask, on_stage: StageReport) -> "RayFrame":
        """Return what runs a frame on the cluster."""
        return RayFrame(self._ray, self._run_frame, task, on_stage)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function of a module returns on a machine with a free core. Raises what it raises, BatchError.

        May be called from several threads.
        """
        try:
            return self._ray.get(self._call.remote(_sent_variables(), function, arguments))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise BatchError(f"a task on the cluster ended: {' '.join(str(error).split())[:200]}") from None

    def close(self) -> None:
        """Leave the cluster; what still runs for this batch ends."""
        self._ray.shutdown()


class RayFrame:
    """A frame that is run by a task of a Ray cluster."""

    def __init__(self, ray: Any, run_frame: Any, task: FrameTask, on_stage: StageReport):
        self._ray, self._run_frame, self.task, self._on_stage = ray, run_frame, task, on_stage
        self._result: Any = None
        self._is_killed = False

    def run(self) -> str:
        """Run the frame to its end; return why it failed, empty if it did not."""
        environment = _sent_variables() | dict(self.task.environment)
        self._result = self._run_frame.remote(replace(self.task, environment=environment))
        if self._is_killed:
            self.kill()
        out, stage = Path(self.task.out), ""
        while not self._ray.wait([self._result], timeout=POLL_SECONDS)[0]:
            if (now := _next_stage(out)) != stage:
                stage = now
                self._on_stage(stage)
        try:
            message = self._ray.get(self._result)
        except self._ray.exceptions.RayError as error:
            return f"its task on the cluster ended: {' '.join(str(error).split())[:200]}"
        if not message and not (out / "project.json").is_file():
            return "its project is not on this machine; the frames and --out lie on a disk that all machines share"
        return message

    def kill(self) -> None:
        """End the task, with the process that it started."""
        self._is_killed = True
        if self._result is not None:
            with suppress(Exception):  # it has ended already
                self._ray.cancel(self._result, force=True)


def run_frame(task: FrameTask) -> str:
    """Run a frame on the machine of a worker; return why it failed, empty if it did not."""
    return FrameProcess(task, lambda _: None).run()


def call(variables: Mapping[str, str], function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call a function on the machine of a worker, with variables of the environment."""
    os.environ.update(variables)
    return function(*arguments)


def _sent_variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(SENT_VARIABLES)}


def _next_stage(project: Path) -> str:
    """Return the stage after the last one that is done."""
    last = last_stage(project)
    return STAGES[min(STAGES.index(last) + 1, len(STAGES) - 1)] if last else STAGES[0]


def _check_answers(address: str) -> None:
    """Raise OSError if nothing listens at HOST:PORT; Ray itself would try for minutes. Other addresses are Ray's."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()

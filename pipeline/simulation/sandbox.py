"""Runs generated code out of harm's way, and answers with data that has been looked at.

    with Sandbox() as sandbox:
        report, record = sandbox.run(program, project_dir)

What is and what is not covered on which platform: docs/sandbox.md, and `Sandbox.protection` in words.
"""

import base64
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from pipeline.errors import StudioError
from pipeline.simulation.program import CheckResult, Program, Report
from pipeline.simulation.warden import Ending

ROOT = Path(__file__).resolve().parents[2]
START = """
import sys
sys.path.insert(0, sys.argv[1])
from pipeline.simulation.warden import serve
serve(int(sys.argv[2]))
"""
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "MUJOCO_GL": "disable",  # the child never draws
    "PYTHONHASHSEED": "0",  # the order of sets must not differ from run to run
}
"""All that the server and its children know of ours: no keys, no paths."""

SIGXCPU = getattr(signal, "SIGXCPU", -1)
"""What the kernel sends when the processor time is up."""


class SandboxError(StudioError):
    """Broken machinery; never a failed check."""


class Cancelled(SandboxError):
    """The run was stopped by whoever asked for it."""


@dataclass(frozen=True)
class Limits:
    """What one run may use."""

    seconds: float = 20.0
    """Wall clock, for all seeds and checks together."""
    memory_mb: int = 1500
    """Beyond what MuJoCo and the kit have mapped."""
    output_mb: int = 32


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One rollout of the oracle as plain data, enough to play it again."""

    times: np.ndarray
    """Of shape (T,), in seconds."""
    qpos: np.ndarray
    """Of shape (T, nq)."""
    actions: np.ndarray
    """Of shape (T, nu)."""
    reward: float
    xml: str
    """The compiled model's MJCF, meshes named under the project's scene folder."""
    events: tuple[dict, ...] = ()
    """What the oracle did: time, verb, object, target, ok, message."""
    goals: tuple[dict, ...] = ()
    """name, met, value, miss, nearest_miss of each."""


class Sandbox:
    """A fork server and as many runs side by side as there are cores. May be used from several threads."""

    def __init__(self) -> None:
        self._server: _Server | None = None
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(os.cpu_count() or 1)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server and, with it, every run. The next run starts a new one."""
        with self._lock:
            if self._server:
                self._server.close()
            self._server = None

    @property
    def protection(self) -> tuple[str, ...]:
        """What holds on this platform and what does not, a sentence each. Raises SandboxError."""
        has = self._serving().coverage
        return (
            "No file can be written; only the project's scene and Python's libraries can be read (Landlock)."
            if has["files"]
            else "NOT covered: files. This system has no Landlock, so a program could read what you can, or worse.",
            "No network, no new process, no signals to others (seccomp)."
            if has["calls"]
            else "NOT covered: network and processes. This system has no seccomp, so a program could use both.",
            "Memory, time and output are bounded."
            if has["memory"]
            else "Time and output are bounded. NOT covered: memory, which this system cannot bound.",
        )

    @property
    def covered(self) -> bool:
        """Whether everything is. Where not, ask before running a program nobody has read. Raises SandboxError."""
        return all(self._serving().coverage.values())

    def run(
        self,
        program: Program,
        project_dir: Path,
        seeds: Sequence[int] = (0,),
        checks: bool = True,
        limits: Limits = Limits(),
        cancel: threading.Event | None = None,
    ) -> tuple[Report, RunRecord | None]:
        """Builds and rolls out the program for each seed, then runs its checks on the first seed's simulation.

        The record is of the first seed's rollout, None where it did not come to that. Raises SandboxError where the
        machinery is broken, Cancelled where `cancel` was set.
        """
        job = {
            "simulation": program.simulation,
            "checks": program.checks,
            "project": str(Path(project_dir).resolve()),
            "seeds": [int(seed) for seed in seeds],
            "checks_too": checks,
            "seconds": limits.seconds,
            "memory_mb": limits.memory_mb,
            "output_mb": limits.output_mb,
        }
        while not self._places.acquire(timeout=0.05):
            _stop_if(cancel)
        try:
            answer = self._ask(json.dumps(job).encode() + b"\n", limits, cancel)
        finally:
            self._places.release()
        return _read(answer, limits)

    def _ask(self, job: bytes, limits: Limits, cancel: threading.Event | None) -> bytes:
        """The warden's answer; a server found dead is started again, once."""
        for last in (False, True):
            server = self._serving()
            try:
                if answer := _converse(server.connect(), job, limits.seconds + 5, cancel):
                    return answer
            except OSError as error:
                if last:
                    raise SandboxError(f"The sandbox cannot be reached ({error}); restart the studio.") from error
            with self._lock:
                if self._server is server and not server.alive:
                    server.close()
                    self._server = None
        raise SandboxError("The sandbox died twice while running this program; restart the studio.")

    def _serving(self) -> "_Server":
        with self._lock:
            if self._server is None:
                self._server = _Server()
            return self._server


class _Server:
    """The fork server's process, started clean: nothing of our environment, nothing of our memory."""

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise SandboxError("Programs can only be run on Linux or macOS; everything up to the task works here too.")
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-B", "-c", START, str(ROOT), str(theirs.fileno())],
                env=ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._lock = threading.Lock()
        self._control.settimeout(60)
        hello = json.loads(self._control.makefile("rb").readline() or '{"error": "it ended at once"}')
        if "error" in hello:
            self.close()
            raise SandboxError(f"The sandbox cannot start: {hello['error']}; run `make setup` again.")
        self.coverage: dict[str, bool] = hello["coverage"]
        """Which of "files", "calls", "memory" this platform protects."""

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def connect(self) -> socket.socket:
        """A line to a warden of one's own."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def close(self) -> None:
        self._control.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _converse(line: socket.socket, job: bytes, seconds: float, cancel: threading.Event | None) -> bytes:
    """Sends the job and reads until the warden hangs up; hanging up ourselves makes it kill the child."""
    with line:
        line.sendall(job)
        pieces, until = [], time.monotonic() + seconds
        while time.monotonic() < until:
            _stop_if(cancel)
            if select.select([line], [], [], 0.05)[0]:
                piece = line.recv(1 << 20)
                if not piece:
                    return b"".join(pieces)
                pieces.append(piece)
    raise SandboxError("The sandbox does not answer; restart the studio.")


def _stop_if(cancel: threading.Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise Cancelled("The run was stopped.")


# What a child may say. It is not trusted: every line is held against this, and what does not fit is refused.

Text = Annotated[str, Field(max_length=2000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Check(_Strict):
    name: Annotated[str, Field(max_length=200)]
    passed: bool
    message: Text
    seconds: float
    instant: float | None
    line: int | None


class _Array(_Strict):
    shape: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=2)]
    data: bytes

    def values(self) -> np.ndarray:
        """float64; raises ValueError where the data does not fill the shape."""
        return np.frombuffer(base64.b64decode(self.data, validate=True), "<f8").reshape(self.shape).copy()


class _Record(_Strict):
    times: _Array
    qpos: _Array
    actions: _Array
    reward: Annotated[float, Field(ge=0, le=1)]
    xml: str
    events: list[dict[str, JsonValue]]
    goals: list[dict[str, JsonValue]]

    def record(self) -> RunRecord:
        arrays = [array.values() for array in (self.times, self.qpos, self.actions)]
        times, qpos, actions = arrays
        if not all(np.isfinite(array).all() for array in arrays) or {len(times)} != {len(qpos), len(actions)}:
            raise ValueError("the recorded trajectory is not finite or not of one length")
        return RunRecord(times, qpos, actions, self.reward, self.xml, tuple(self.events), tuple(self.goals))


class _Line(_Strict):
    doing: Text | None = None
    reward: Annotated[float, Field(ge=0, le=1)] | None = None
    check: _Check | None = None
    crash: Text | None = None
    refused: Text | None = None
    broken: Text | None = None
    evidence: dict[str, JsonValue] | None = None
    record: _Record | None = None
    finished: bool = False


@dataclass
class _Story:
    """What a child said, gathered line by line."""

    doing: str = "starting"
    checks: list[CheckResult] = field(default_factory=list)
    reward: list[float] = field(default_factory=list)
    crash: str | None = None
    refused: str | None = None
    evidence: dict = field(default_factory=dict)
    record: RunRecord | None = None
    finished: bool = False
    """Whether the child came to its own end, and not the program's."""

    @property
    def side(self) -> str:
        """Whose code was running last."""
        return "checks.py" if self.doing.startswith(("running check_", "reading checks")) else "simulation.py"

    def hear(self, line: _Line) -> None:
        if line.broken:
            raise SandboxError(line.broken)
        self.doing = line.doing or self.doing
        self.finished |= line.finished
        self.crash = self.crash or line.crash
        self.refused = self.refused or line.refused
        self.evidence |= line.evidence or {}
        if line.reward is not None:
            self.reward.append(line.reward)
        if line.check:
            self.checks.append(CheckResult(**line.check.model_dump()))
        if line.record:
            self.record = line.record.record()


def _read(answer: bytes, limits: Limits) -> tuple[Report, RunRecord | None]:
    """The report of a run: what the child said, and what its warden says of its end."""
    head, _, said = answer.partition(b"\n")
    ending = Ending(**json.loads(head))
    story = _Story()
    lines = said.split(b"\n")
    for line in lines[:-1]:  # what follows the last newline was cut off by the end
        try:
            story.hear(_Line.model_validate_json(line))
        except ValueError as error:  # pydantic's too
            story.refused = story.refused or f"the program spoke for the sandbox ({_fault(error)})"
    timed_out = ending.cause == "timeout" or ending.signal == SIGXCPU
    if timed_out:
        _stopped(story, f"stopped after {limits.seconds:g} s while {story.doing}")
    elif ending.cause == "output":
        story.refused = story.refused or f"the program wrote more than {limits.output_mb} MB"
    elif not story.finished and not story.refused:
        story.crash = story.crash or f"{story.side}: the process {_ended(ending)} while {story.doing}"
    return (
        Report(
            checks=tuple(story.checks),
            reward=tuple(story.reward),
            crash=story.crash,
            timed_out=timed_out,
            violation=story.refused,
            evidence=story.evidence,
            seconds=ending.seconds,
        ),
        story.record,
    )


def _stopped(story: _Story, why: str) -> None:
    """Says where time ran out: on the check that was running, if one was."""
    story.evidence["stopped"] = why
    if story.doing.startswith("running check_"):
        story.checks.append(CheckResult(story.doing.removeprefix("running "), False, why))


def _ended(ending: Ending) -> str:
    return f"was ended by signal {ending.signal}" if ending.signal else f"ended itself (exit code {ending.code})"


def _fault(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'a line'}: {first['msg']}"[:200]
    return " ".join(str(error).split())[:200]

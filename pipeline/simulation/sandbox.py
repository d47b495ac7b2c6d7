"""Runs generated code out of harm's way, and answers with data that has been looked at.

    with Sandbox() as sandbox:
        report, record = sandbox.run(program, project_dir)

What is and what is not covered on which platform: docs/sandbox.md, and `Sandbox.protection` in words.
"""

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from pipeline.simulation.program import CheckResult, Program, Report
from pipeline.simulation.recipe import Recipe
from pipeline.simulation.testimony import Limits, RunRecord, SandboxError, Story, hear, report

__all__ = ["Cancelled", "Limits", "RunRecord", "Sandbox", "SandboxError"]

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

USUAL = Limits()
ARRANGING_SECONDS = 20.0
"""Wall clock for building the simulations of all seeds: it takes well under a second, or it never ends."""
ALTERED_SECONDS = 20.0
"""Wall clock for one altered task; the oracle may try in vain for long."""
_Answer = TypeVar("_Answer")


class Cancelled(SandboxError):
    """The run was stopped by whoever asked for it."""


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
        has, groups = self._serving().coverage, self._serving().groups
        return (
            "No file can be written; only the project's scene and Python's libraries can be read (Landlock)."
            if has["files"]
            else "NOT covered: files. This system has no Landlock, so a program could read what you can, or worse.",
            "No network, no new process, no signals to others (seccomp)."
            if has["calls"]
            else "NOT covered: network and processes. This system has no seccomp, so a program could use both.",
            "Memory, time and output are bounded"
            + (", and so is the whole family of processes (cgroup)." if groups else ".")
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
        limits: Limits = USUAL,
        cancel: threading.Event | None = None,
        alterations: Sequence[str] = (),
        robot: str = "gripper",
    ) -> tuple[Report, RunRecord | None]:
        """Builds and rolls out the program for each seed, and runs its checks on the first seed's rollout.

        The oracle acts with `robot`, "gripper" or "arm". Where all is well, the checks look at `alterations` of the
        task too (names of alteration.KINDS): each that applies becomes a result "meaning ...", passed where some
        check noticed.
        The record is of the first seed's rollout, None where it did not come to that. Raises SandboxError where the
        machinery is broken, Cancelled where `cancel` was set.
        """
        run = _Run(self, program, Path(project_dir).resolve(), limits, cancel, robot)
        arranged = run.arrange([int(seed) for seed in seeds])
        whole = not arranged.faulty and len(arranged.recipes) == len(seeds)
        jobs = list(zip(seeds, arranged.recipes, strict=True)) if whole else []
        performed = run.side_by_side(
            [partial(run.perform, recipe, seed, checks and not i) for i, (seed, recipe) in enumerate(jobs)]
        )
        said = report(arranged, performed, run.seconds)
        if said.clean and alterations:
            altered = run.side_by_side([partial(run.alter, arranged.recipes[0], kind) for kind in alterations])
            noticed = {kind: found for kind, found in zip(alterations, altered, strict=True) if isinstance(found, str)}
            missed = tuple(found for found in altered if isinstance(found, CheckResult))
            evidence = said.evidence | {"noticed": noticed}
            said = replace(said, checks=(*said.checks, *missed), evidence=evidence, seconds=run.seconds)
        return said, performed[0].record if performed else None

    def ask(self, job: dict, limits: Limits, cancel: threading.Event | None) -> bytes:
        """What a confined child answers, after a line of its warden's. Raises SandboxError, Cancelled."""
        while not self._places.acquire(timeout=0.05):
            _stop_if(cancel)
        try:
            return self._ask(json.dumps(job).encode() + b"\n", limits, cancel)
        finally:
            self._places.release()

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


class _Run:
    """One program on its way: children one after another and side by side, within one limit of time."""

    def __init__(
        self, sandbox: Sandbox, program: Program, project: Path, limits: Limits, cancel: threading.Event | None,
        robot: str,
    ):  # fmt: skip
        self.sandbox, self.program, self.project, self.limits, self.cancel = sandbox, program, project, limits, cancel
        self.robot = robot
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Wall clock so far."""
        return time.monotonic() - self.began

    def arrange(self, seeds: Sequence[int]) -> Story:
        limits = replace(self.limits, seconds=min(ARRANGING_SECONDS, self.limits.seconds))
        return self._story("arrange", {"simulation": self.program.simulation, "seeds": list(seeds)}, limits)

    def perform(self, recipe: Recipe, seed: int, checks: bool, alteration: str = "", seconds: float = 1e9) -> Story:
        job = {"recipe": recipe.model_dump(), "seed": seed, "alteration": alteration, "robot": self.robot}
        job["checks"] = self.program.checks if checks else None
        return self._story("perform", job, replace(self.limits, seconds=min(seconds, self.limits.seconds)))

    def alter(self, recipe: Recipe, kind: str) -> CheckResult | str | None:
        """The check that notices an alteration, or a failed one; None where it does not apply, or takes too long."""
        story = self.perform(recipe, recipe.seed, True, kind, ALTERED_SECONDS)
        altered = story.evidence.get("altered") or {}
        if not altered.get("applies") or (story.timed_out and not story.checking):
            return None
        if noticed := next((check.name for check in story.checks if not check.passed), None):
            return noticed
        if broken := story.crash or story.refused:
            return broken
        told = str(altered.get("told"))[:200]
        return CheckResult(f"meaning {kind}", False, f"every check passes although this happens instead: {told}")

    def side_by_side(self, jobs: Sequence[Callable[[], _Answer]]) -> list[_Answer]:
        if len(jobs) < 2:
            return [job() for job in jobs]
        with ThreadPoolExecutor(min(len(jobs), os.cpu_count() or 1)) as pool:
            return list(pool.map(lambda job: job(), jobs))

    def _story(self, part: Literal["arrange", "perform"], job: dict, limits: Limits) -> Story:
        job |= {"part": part, "project": str(self.project), "memory_mb": limits.memory_mb}
        left = limits.seconds if job.get("alteration") else max(0.1, limits.seconds - self.seconds)
        job |= {"seconds": left, "output_mb": limits.output_mb}
        return hear(part, self.sandbox.ask(job, limits, self.cancel), limits)


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
        hello = self._hello()
        if "error" in hello:
            self.close()
            raise SandboxError(f"The sandbox cannot start: {hello['error']}; run `make setup` again.")
        self.coverage: dict[str, bool] = hello["coverage"]
        """Which of "files", "calls", "memory" this platform protects."""
        self.groups: bool = hello.get("groups", False)
        """Whether every run gets a control group of its own."""

    def _hello(self) -> dict:
        try:
            with self._control.makefile("rb") as told:
                return json.loads(told.readline() or '{"error": "it ended at once"}')
        except OSError as error:
            return {"error": f"it says nothing ({error})"}

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

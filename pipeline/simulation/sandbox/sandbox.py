"""Run generated code in confined processes; the results are validated data.

    with Sandbox() as sandbox:
        report, record = sandbox.run(program, project_dir)

docs/security.md says what is protected on which platform; `Sandbox.protection` says it for this one. Where files or
system calls cannot be confined, a program runs only if a person agreed, or if our own rules wrote it.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack

from pipeline.simulation.photographed import as_photographed, compare_starts
from pipeline.simulation.program import RULES, CheckResult, Program, Report
from pipeline.simulation.recipe import Recipe
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.run_record import Observed, RunRecord
from pipeline.simulation.sandbox.child_report import ChildReader, ChildReport, merge_reports
from pipeline.simulation.sandbox.protocol import (
    MAX_PHYSICS_SECONDS,
    Limits,
    RunCancelled,
    SandboxError,
    UnprotectedError,
)
from pipeline.simulation.sandbox.runner import RunOptions
from pipeline.simulation.sandbox.server_process import ServerProcess, exchange, raise_if_set

__all__ = ["Limits", "Protection", "RunCancelled", "RunRecord", "Sandbox", "SandboxError", "UnprotectedError"]

DEFAULT_LIMITS = Limits()
_Result = TypeVar("_Result")

MECHANISMS = {"files": "Landlock", "calls": "seccomp"}
"""Mechanisms without which a program is not confined, by what they protect. Restricted builtins and the audit hook are
not among them: they stop no determined program."""


@dataclass(frozen=True)
class Protection:
    """Coverage of one machine."""

    coverage: Mapping[str, bool]
    """Of confinement.platform_coverage: "files", "calls", "memory" and "namespaces"."""
    groups: bool = True
    """Whether every run gets its own control group."""

    @property
    def confines(self) -> bool:
        """Whether a program can reach neither files nor system calls, so that nobody has to be asked."""
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """Mechanisms that a program is confined by and that this machine lacks."""
        return tuple(name for key, name in MECHANISMS.items() if not self.coverage.get(key))

    @property
    def refusal(self) -> str:
        """Why a program is refused here and what would work, in one line."""
        reach = " and ".join(
            words
            for key, words in (("files", "your files"), ("calls", "your network and processes"))
            if not self.coverage.get(key)
        )
        return (
            f"This machine cannot confine programs (no {' and no '.join(self.missing)}): one that a model or someone "
            f"else wrote could reach {reach}; read it, then choose Run unconfined in the app or pass --unprotected"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is protected and what is not, one sentence each."""
        has = self.coverage
        return (
            "No file can be written; only the project's scene and Python's libraries can be read (Landlock)."
            if has.get("files")
            else "NOT covered: files. This system has no Landlock, so a program could read and write your files.",
            "No network, no new process, no signals to others (seccomp)."
            if has.get("calls")
            else "NOT covered: network and processes. This system has no seccomp, so a program could use both.",
            "Memory, time and output are limited"
            + (", also for all processes of a run together (cgroup)." if self.groups else ".")
            if has.get("memory")
            else "Time and output are limited. NOT covered: memory, which this system cannot limit.",
            "Other files do not exist for a program, nor does a network (namespaces)."
            if has.get("namespaces")
            else "NOT covered: names, sizes and times of other files, since this system permits no user namespaces.",
        )


class Sandbox:
    """Fork server with one concurrent run per core. Thread-safe."""

    def __init__(self, unprotected: bool = False) -> None:
        """`unprotected`: a person agrees to run programs where this machine cannot confine them."""
        self.unprotected = unprotected
        self._reviewed: set[str] = set()
        self._server: ServerProcess | None = None
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(os.cpu_count() or 1)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server and every run. The next run starts a new server."""
        with self._lock:
            if self._server:
                self._server.close()
            self._server = None

    @property
    def protection(self) -> Protection:
        """What this platform protects from programs. Raises SandboxError."""
        server = self._running_server()
        return Protection(server.coverage, server.groups)

    @property
    def known_protection(self) -> Protection | None:
        """The same, without waiting for the server to start; None until it has."""
        server = self._server
        return Protection(server.coverage, server.groups) if server else None

    def run(
        self,
        program: Program,
        project_dir: Path,
        seeds: Sequence[int] = (0,),
        limits: Limits = DEFAULT_LIMITS,
        **options: Unpack[RunOptions],
    ) -> tuple[Report, RunRecord | None]:
        """Build and roll out the program for each seed, and run its checks on every rollout.

        Of the layouts after the first, only those are checked in which the goals are reached and do not hold at the
        start: there goals and checks have to agree.

        Args:
            program: Simulation and checks; with empty checks it is only rolled out.
            project_dir: Project folder with the scene.
            seeds: Layouts to build.
            limits: Limits of the run.
            options: How it is run.

        Returns the report, and the record of the first seed's rollout or None if there was none. Raises SandboxError
        if the sandbox itself failed, UnprotectedError if nobody agreed to run this program on a machine that cannot
        confine it, RunCancelled if `cancel` was set.
        """
        self._require_protection(program)
        run, mutations = _Run(self, program, Path(project_dir).resolve(), limits, options), options.get("mutations", ())
        arranged = run.arrange([int(seed) for seed in seeds])
        complete = not arranged.has_fault and len(arranged.recipes) == len(seeds)
        jobs = list(zip(seeds, arranged.recipes, strict=True)) if complete else []
        performed = run.concurrently(
            [partial(run.perform, recipe, seed, always=not i) for i, (seed, recipe) in enumerate(jobs)]
        )
        report = merge_reports(arranged, performed, run.seconds)
        if report.clean and (mutations or options.get("photographed")):
            jobs = [partial(run.mutate, arranged.recipes[0], kind) for kind in mutations]
            *results, comparison = run.concurrently([*jobs, partial(run.compare, arranged.recipes)])
            caught = {kind: result for kind, result in zip(mutations, results, strict=True) if isinstance(result, str)}
            missed = tuple(result for result in results if isinstance(result, CheckResult))
            evidence = report.evidence | {"noticed": caught} | ({"photograph": comparison} if comparison else {})
            report = replace(report, checks=(*report.checks, *missed), evidence=evidence, seconds=run.seconds)
        records = tuple(child.record for child in performed if child.record)
        report = replace(report, protection=dict(self.protection.coverage), records=records)
        return report, performed[0].record if performed else None

    def arrange(
        self, program: Program, project_dir: Path, seeds: Sequence[int], limits: Limits = DEFAULT_LIMITS
    ) -> tuple[tuple[Recipe, ...], str]:
        """Let a program build its layouts without rolling them out.

        Return their recipes in the order of the seeds, and why a later one was not built; empty if all were. Raises
        SandboxError, UnprotectedError.
        """
        self._require_protection(program)
        child = _Run(self, program, Path(project_dir).resolve(), limits, {}).arrange([int(seed) for seed in seeds])
        fault = child.crash or child.refused or ("it took too long" if child.timed_out else "")
        if not fault and len(child.recipes) < len(seeds):
            fault = "the program ended before it had built every layout"
        return tuple(child.recipes), fault

    def check_observed(
        self, program: Program, project_dir: Path, observed: Mapping[int, Observed], limits: Limits = DEFAULT_LIMITS
    ) -> dict[int, tuple[CheckResult, ...]]:
        """Run a program's checks on what something other than the oracle did on its layouts, by their seeds.

        Layouts on which the checks cannot be run are left out. Raises SandboxError, UnprotectedError.
        """
        recipes, _ = self.arrange(program, project_dir, list(observed), limits)
        run = _Run(self, program, Path(project_dir).resolve(), limits, {})
        pairs = list(zip(observed.items(), recipes, strict=False))
        children = run.concurrently([partial(run.observe, recipe, one) for (_, one), recipe in pairs])
        return {
            seed: tuple(one.checks) for ((seed, _), _), one in zip(pairs, children, strict=True) if not one.has_fault
        }

    def run_job(self, job: dict, limits: Limits, cancel: threading.Event | None) -> ChildReport:
        """Run a job in a confined child and return its report. Raises SandboxError."""
        while not self._slots.acquire(timeout=0.05):
            raise_if_set(cancel)
        try:
            return self._send(job, limits, cancel)
        finally:
            self._slots.release()

    def _send(self, job: dict, limits: Limits, cancel: threading.Event | None) -> ChildReport:
        """Return the child's report; restart the server once if it has died."""
        line = json.dumps(job).encode() + b"\n"
        for is_retry in (False, True):
            reader = ChildReader(ChildReport(job["part"], layouts=len(job.get("seeds", ()))), limits)
            server = self._running_server()
            try:
                if child_exit := exchange(server.connect(), line, job["seconds"], cancel, reader):
                    return reader.finish(child_exit)
            except OSError as error:
                if is_retry:
                    raise SandboxError(f"The sandbox cannot be reached ({error}); restart the studio.") from error
            with self._lock:
                if self._server is server and not server.alive:
                    server.close()
                    self._server = None
        raise SandboxError("The sandbox died twice while running this program; restart the studio.")

    def _require_protection(self, program: Program) -> None:
        """Raise UnprotectedError for a program that needs a person's consent here.

        Texts that our own rules wrote in this process need none: they are made of the kit's calls. What a file says
        about its author is not believed.
        """
        if self.unprotected or self.protection.confines:
            return
        texts = {program.simulation, program.checks} - {""}
        if program.source == RULES:
            self._reviewed |= texts
        elif not texts <= self._reviewed:
            raise UnprotectedError(self.protection.refusal)

    def _running_server(self) -> ServerProcess:
        with self._lock:
            if self._server is None:
                self._server = ServerProcess()
            return self._server


class _Run:
    """One run of a program."""

    def __init__(self, sandbox: Sandbox, program: Program, project: Path, limits: Limits, options: RunOptions):
        self.sandbox, self.program, self.project, self.limits, self.options = sandbox, program, project, limits, options
        self.start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Wall-clock time so far."""
        return time.monotonic() - self.start

    def arrange(self, seeds: Sequence[int]) -> ChildReport:
        """Let generated code build the simulations."""
        return self._run_child("arrange", {"simulation": self.program.simulation, "seeds": list(seeds)})

    def perform(self, recipe: Recipe, seed: int, always: bool, mutation: str = "") -> ChildReport:
        """Roll out the oracle on a simulation, and run the checks: `always`, or only where they have to hold."""
        job = {"recipe": recipe.model_dump(), "seed": seed, "mutation": mutation, "always": always}
        job["reference"] = self.options.get("reference", "")
        job |= self._robot() | {"progress": self.options.get("record_goals", False)}
        job["dry_run"] = self.options.get("dry_run", False)
        job["checks"] = self.program.checks or None
        child = self._run_child("perform", job)
        if child.record:
            child.record = replace(child.record, seed=int(seed), recipe=recipe.model_dump())
            if on_rollout := self.options.get("on_rollout"):
                on_rollout(child.record)
        return child

    def observe(self, recipe: Recipe, observed: Observed) -> ChildReport:
        """Run the checks on an observed run."""
        job = {"recipe": recipe.model_dump(), "seed": recipe.seed, "mutation": "", "always": True}
        job |= {"checks": self.program.checks or None, "observed": observed.to_json()}
        return self._run_child("perform", job)

    def mutate(self, recipe: Recipe, kind: str) -> CheckResult | str | None:
        """Return the check that catches a mutation, or a failed result; None if it does not apply or times out."""
        child = self.perform(recipe, recipe.seed, True, kind)
        mutation = child.evidence.get("mutation") or {}
        if not mutation.get("applies") or (child.timed_out and not child.checking):
            return None
        if caught_by := next((check.name for check in child.checks if not check.passed), None):
            return caught_by
        if fault := child.crash or child.refused:
            return fault
        outcome = next((check.message for check in child.checks if check.message), str(mutation.get("outcome")))[:200]
        return CheckResult(f"meaning {kind}", False, f"every check passes although this happens instead: {outcome}")

    def compare(self, recipes: Sequence[Recipe]) -> dict[str, Any]:
        """Return how the layouts start compared with the photograph, as JSON values; empty where that is not known.

        Some more layouts are arranged, of seeds that follow from the program's text, so that none can prepare for them.
        """
        names, plain = frozenset(self.options.get("photographed", ())), self._without_checks()
        if not names:
            return {}
        digest = hashlib.sha256(self.program.simulation.encode()).digest()
        # 6: layouts that are arranged to compare their start: with the judged ones enough that chance makes few of them
        # easy
        more = [int.from_bytes(digest[4 * i : 4 * i + 4]) >> 1 for i in range(6)]
        first, *others = [*recipes, *plain.arrange(more).recipes]
        pairs = [(first, as_photographed(first, names)), *((one, as_photographed(one, names, first)) for one in others)]
        different = list({one.model_dump_json(): one for pair in pairs for one in pair}.values())
        job = {"recipes": [one.model_dump() for one in different]} | self._robot()
        starts = plain._run_child("measure", job).evidence.get("starts") or ()
        if len(starts) < len(different):
            return {}
        found = compare_starts([tuple(starts[different.index(one)] for one in pair) for pair in pairs])
        undone = pairs[0][1] != first and plain.perform(pairs[0][1], first.seed, always=False)
        return found | ({"reward": undone.reward, "why": undone.evidence.get("why", "")} if undone else {})

    def _robot(self) -> dict[str, str]:
        """Return the robot's name and, for one that a person added, its folder: a child knows no workspace."""
        name = self.options.get("robot", "gripper")
        return {"robot": name, "robot_folder": robot_kind(name).folder}

    def _without_checks(self) -> "_Run":
        """Return a run of the simulation alone."""
        options = self.options.copy()
        for unused in ("reference", "on_rollout", "record_goals"):
            options.pop(unused, None)
        return _Run(self.sandbox, replace(self.program, checks=""), self.project, self.limits, options)

    def concurrently(self, jobs: Sequence[Callable[[], _Result]]) -> list[_Result]:
        """Run jobs in threads and return their results in order."""
        if len(jobs) < 2:
            return [job() for job in jobs]
        with ThreadPoolExecutor(min(len(jobs), os.cpu_count() or 1)) as pool:
            return list(pool.map(lambda job: job(), jobs))

    def _run_child(self, part: Literal["arrange", "perform", "measure"], job: dict) -> ChildReport:
        limits, mutated = self.limits, bool(job.get("mutation"))
        job |= {"part": part, "project": str(self.project), "memory_mb": limits.memory_mb}
        job |= {"seconds": limits.seconds + (0 if part == "arrange" else MAX_PHYSICS_SECONDS)}
        job |= {"check_seconds": limits.seconds, "physics_seconds": 0.0 if mutated else limits.physics_seconds}
        job |= {"output_mb": limits.output_mb}
        return self.sandbox.run_job(job, limits, self.options.get("cancel"))

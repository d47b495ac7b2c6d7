"""Policies on the same conditions: each episode as it is known, success with intervals, and paired differences.

A repeated evaluation goes on where it was stopped. Its files are those of `evaluation_files`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import mujoco

from pipeline.assets import Library
from pipeline.closed_loop.conditions import Play, PolicyTrials, try_policy
from pipeline.closed_loop.episode_workers import EpisodeJob, run_in
from pipeline.closed_loop.episodes import PolicyEpisode, opened
from pipeline.closed_loop.evaluation_files import (
    CONDITIONS,
    ENVIRONMENT,
    OUTCOMES,
    REPORT,
    SECONDS,
    SUMMARY,
    episode_path,
    file_digest,
    read_conditions,
    read_outcomes,
    task_digest,
)
from pipeline.closed_loop.evaluation_report import evaluation_json, write_report
from pipeline.closed_loop.policies import LEARNED, episodes_at_once, function_of, open_policy
from pipeline.closed_loop.policy import PolicyError
from pipeline.divergence import compare, read_episode, write_episode
from pipeline.export import export_project
from pipeline.export.rollouts import robot_of
from pipeline.project import Project
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.solving import write_film
from pipeline.store import append_lines, parse_json, remove_dead_files, write_json
from pipeline.variation import VariationStudy
from pipeline.variation.twin_uncertainty import AS_MEASURED, UNCERTAIN
from pipeline.variation.variation_files import write_rollout
from pipeline.worker_processes import WorkerProcesses

WORTH_WORKERS = 8
"""Episodes from which processes of their own are quicker: one takes 2 s of the processor to start."""
KEPT = [field.name for field in fields(PolicyEpisode) if field.compare]
"""Fields of an episode that outcomes.jsonl keeps."""


@dataclass(frozen=True)
class EvaluationOptions:
    """Which policies are evaluated, and on what."""

    policies: tuple[str, ...]
    """As `open_policy` takes them."""
    count: int = 0
    """Number of drawn conditions; 0 for the layouts of the solution."""
    seed: int = 0
    """Of the drawn conditions."""
    uncertainty: bool = False
    """Whether each drawn condition is tried twice: with the twin as measured, and within what is uncertain of it."""
    robot: str = ""
    """Name of the robot; that of the solution if empty. The layouts of a solution keep theirs."""
    seconds: float = SECONDS
    """Simulated, of an episode at most."""
    images: bool = False
    """Whether policies also get the picture of the photograph's camera."""
    jobs: int = 0
    """Episodes at a time, as far as `episodes_at_once` allows; 0 for one a core."""
    real: Path | None = None
    """Folder of real episodes, each named after its layout."""
    camera: str = ""
    """Name of the camera from which each episode is filmed; no films if empty."""


class Machines(Protocol):
    """A cluster on which episodes run, whose machines have the same files at the same paths."""

    @property
    def cores(self) -> int: ...

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns on one of the machines. Raises what it raises."""
        ...


class Evaluation:
    """Policies on the conditions of one task, in a folder."""

    def __init__(self, task: Path, out: Path, options: EvaluationOptions, library: Library | None, sandbox: Sandbox):
        """Read the task, and what is known already. Raises PolicyError, VariationError, ExportError, SceneError.

        Args:
            task: a solved project, or its export in format gymnasium, unpacked.
            out: folder of the results; made if it is not there.
            library: for objects of the same category and for distractors; None for neither.
        """
        _require_usable(options)
        self.out, self.options, self._sandbox = Path(out), options, sandbox
        self._task, self._library = Path(task), library
        self.out.mkdir(parents=True, exist_ok=True)
        remove_dead_files(self.out)
        self._conditions = _Drawn(task, options, library, sandbox) if options.count else _Layouts(task, out, options)
        for policy in options.policies:
            self._conditions.check(policy)
        self.conditions = [{"id": id, "values": self._conditions.values(id)} for id in self._conditions.ids]
        self._write_conditions()
        self.episodes = self._read()

    def run(self, machines: Machines | None = None) -> Iterator[tuple[str, PolicyEpisode]]:
        """Yield policy and episode as each ends, kept by then; those that are known are not run again.

        They run on `machines`, else here. Raises PolicyError if a policy cannot be asked, SandboxError.
        """
        for policy in self.options.policies:
            left = [id for id in self._conditions.ids if (policy, id) not in self.episodes]
            cores = machines.cores if machines else os.cpu_count() or 1
            jobs = episodes_at_once(policy, self.options.jobs or cores)
            for episode in (
                self._elsewhere(policy, left, jobs, machines) if machines else self._here(policy, left, jobs)
            ):
                self._keep(policy, episode)
                yield policy, episode

    def _here(self, policy: str, ids: Sequence[str], jobs: int) -> Iterator[PolicyEpisode]:
        in_workers = function_of(policy) is not None or (jobs > 1 and len(ids) >= WORTH_WORKERS)
        with WorkerProcesses() as workers:
            play = partial(run_in, workers) if in_workers else EpisodeJob.run
            yield from self._conditions.run(policy, ids, jobs, play)

    def _elsewhere(self, policy: str, ids: Sequence[str], jobs: int, machines: Machines) -> Iterator[PolicyEpisode]:
        """Yield the episodes of conditions. A machine draws a condition and tries it."""
        folders, options = [path.absolute() for path in (self._task, self.out)], replace(self.options, real=None)
        library = tuple(path.absolute() for path in self._library.paths) if self._library else ()
        trial = partial(machines.call, try_condition, *folders, options, library, self._sandbox.unprotected, policy)
        with ThreadPoolExecutor(jobs) as pool:
            running = [pool.submit(trial, id) for id in ids]
            try:
                yield from (future.result() for future in running)
            finally:
                pool.shutdown(cancel_futures=True)

    def finish(self) -> dict[str, Any]:
        """Write evaluation.json and report.html; return the contents of the first. Raises StoreError."""
        episodes = {
            policy: [self.episodes[policy, id] for id in self._conditions.ids] for policy in self.options.policies
        }
        data = evaluation_json(episodes)
        write_report(data, self.conditions, self.out / REPORT)
        write_json(self.out / SUMMARY, data)
        return data

    def _write_conditions(self) -> None:
        known, digest = read_conditions(self.out), self._conditions.digest
        if known:
            values = {row["id"]: row["values"] for row in known.rows}
            if known.task != digest or any(
                values.get(row["id"], row["values"]) != row["values"] for row in self.conditions
            ):
                raise PolicyError(
                    f"{self.out / CONDITIONS} holds conditions of another task, robot or time; choose another --out "
                    "folder"
                )
        data = {"task": digest, "policies": self.options.policies, "conditions": self.conditions}
        write_json(self.out / CONDITIONS, data)

    def _read(self) -> dict[tuple[str, str], PolicyEpisode]:
        """Return the episodes that are known, by policy and condition."""
        return {
            key: PolicyEpisode(**{name: row[name] for name in KEPT if name in row})
            for key, row in read_outcomes(self.out).items()
        }

    def _keep(self, policy: str, episode: PolicyEpisode) -> None:
        if episode.episode is not None:
            episode = replace(episode, rmse=self._rmse(episode))
            assert episode.episode is not None
            write_episode(episode.episode, episode_path(self.out, "episodes", policy, episode.condition))
        if episode.rollout is not None:
            write_rollout(episode.rollout, episode_path(self.out, "rollouts", policy, episode.condition))
        self.episodes[policy, episode.condition] = replace(episode, rollout=None, episode=None)
        if self.options.camera and episode.rollout is not None:
            self._film(policy, episode.condition, episode.rollout)
        row = {name: getattr(episode, name) for name in KEPT}
        append_lines(self.out / OUTCOMES, [{"policy": policy} | row])  # last: what is not there is run again

    def _film(self, policy: str, id: str, rollout: RunRecord) -> None:
        """Write the film of an episode. Raises SceneError for an unknown camera, and without OpenGL."""
        path = episode_path(self.out, "films", policy, id).with_suffix(".mp4")
        path.parent.mkdir(parents=True, exist_ok=True)
        for _ in write_film(
            rollout.times, rollout.qpos, self._conditions.model(id, rollout), path, self.options.camera
        ):
            pass

    def _rmse(self, done: PolicyEpisode) -> float | None:
        """Return the mean RMSE_norm against the real episode of a layout; None without one."""
        real = self.options.real
        found = sorted(path for path in real.glob(f"{done.condition}*") if path.stem == done.condition) if real else []
        if not found or done.episode is None:
            return None
        return float(compare(read_episode(found[0]), done.episode, None, "clock").errors["rmse_overall"].mean())


class _Layouts:
    """The layouts of a solution, as they were exported."""

    def __init__(self, task: Path, out: Path, options: EvaluationOptions):
        self._folder, self._options = environment_of(task, out), options
        with opened(self._folder, False) as env:
            self.ids = [f"{layout:03d}" for layout in env.layouts]
        robot = parse_json((self._folder / "layouts.json").read_text(encoding="utf-8")).get("robot", "gripper")
        if options.robot not in ("", robot):
            raise PolicyError(
                f"the solution's layouts are those of --robot {robot}; add --count to try {options.robot}"
            )
        self.digest = file_digest(self._folder / "task.json", self._folder / "layouts.json", text=f"{options.seconds}")

    def check(self, policy: str) -> None:
        """Raises PolicyError for a policy that cannot be tried here."""
        if policy == LEARNED:
            raise PolicyError(
                f"policies of grs-studio learn are tried on drawn conditions; add --count to --policy {LEARNED}"
            )
        with opened(self._folder, False) as env:
            open_policy(policy, env)

    def values(self, id: str) -> dict[str, Any]:
        return {}

    def model(self, id: str, rollout: RunRecord) -> mujoco.MjModel:
        return mujoco.MjModel.from_xml_path(str(self._folder / "scene" / f"layout_{id}.xml"))

    def run(self, policy: str, ids: Sequence[str], jobs: int, play: Play) -> Iterator[PolicyEpisode]:
        options = self._options
        todo = [EpisodeJob(self._folder, policy, int(id), options.seconds, options.images) for id in ids]
        with ThreadPoolExecutor(jobs) as pool:
            running = [pool.submit(play, job) for job in todo]
            try:
                yield from (future.result() for future in running)
            finally:
                pool.shutdown(cancel_futures=True)


class _Drawn:
    """Conditions drawn within plausible ranges."""

    def __init__(self, task: Path, options: EvaluationOptions, library: Library | None, sandbox: Sandbox):
        if not (task / "project.json").is_file():
            raise PolicyError(f"{task} is no project, and --count draws conditions of a project's twin")
        self._project, self._options, self._sandbox = Project.open(task), options, sandbox
        stored, chosen = self._project.task(), self._project.best_round()
        if self._project.scene() is None or stored is None or chosen is None:
            raise PolicyError(f"{task} has no round of a task; run grs-studio run first")
        self._program = self._project.program_in_current_names(chosen.program)
        solution = self._project.solution()
        self._robot = robot_kind(options.robot or (robot_of(solution) if solution else "gripper")).name
        self._study = VariationStudy(task, stored.objects, library, options.seed, options.count)
        kinds = (AS_MEASURED, UNCERTAIN) if options.uncertainty else ("",)
        self.ids = [f"{id}{kind}" for id in self._study.ids for kind in kinds]
        self.digest = task_digest(self._project, self._program, self._robot, options.seconds)

    def check(self, policy: str) -> None:
        """Raises PolicyError for a policy that cannot be tried here."""
        if policy == LEARNED and self._options.images:
            raise PolicyError("learned policies see no pictures; leave out --images")

    def values(self, id: str) -> dict[str, Any]:
        return dict(self._study.condition(id).values)

    def model(self, id: str, rollout: RunRecord) -> mujoco.MjModel:
        return self._study.rollout_models(id, [rollout])[0]

    def run(self, policy: str, ids: Sequence[str], jobs: int, play: Play) -> Iterator[PolicyEpisode]:
        failed = lambda id, reason: PolicyEpisode(id, False, 0.0, 0.0, None, reason)  # noqa: E731
        return self._study.each_start(self._work(policy, play), ids, jobs, failed)

    def _work(self, policy: str, play: Play) -> Callable[[str, Path], PolicyEpisode]:
        folder = self._project.folder
        if policy == LEARNED:
            from pipeline.closed_loop.learned import learned_episodes

            return learned_episodes(folder, self._program, self._sandbox)
        trials = PolicyTrials(policy, self._robot, self._options.seconds, self._options.images)
        return lambda id, start: try_policy(trials, folder, self._program, self._sandbox, id, start, play)


def try_condition(
    task: Path, out: Path, options: EvaluationOptions, library: tuple[Path, ...], unprotected: bool, policy: str,
    id: str,
) -> PolicyEpisode:  # fmt: skip
    """Let a policy try one condition on this machine; nothing is kept. Raises PolicyError, SandboxError."""
    conditions = _conditions_here(task, out, options, library, unprotected)
    if function_of(policy) is None:
        return next(conditions.run(policy, [id], 1, EpisodeJob.run))
    with WorkerProcesses() as workers:
        return next(conditions.run(policy, [id], 1, partial(run_in, workers)))


@lru_cache(maxsize=1)
def _conditions_here(
    task: Path, out: Path, options: EvaluationOptions, library: tuple[Path, ...], unprotected: bool
) -> "_Drawn | _Layouts":
    """Return the conditions of an evaluation; they serve all episodes that one process runs of it."""
    if not options.count:
        return _Layouts(task, out, options)
    return _Drawn(task, options, Library.open(library) if library else None, Sandbox(unprotected))


def _require_usable(options: EvaluationOptions) -> None:
    if not 0 < options.seconds <= 3600:
        raise PolicyError(f"--seconds {options.seconds:g} is not between 0 and 3600")
    if len(set(options.policies)) < len(options.policies):
        raise PolicyError("the same --policy stands twice; two of them are compared")
    if options.uncertainty and not options.count:
        raise PolicyError("--uncertainty draws conditions; add --count to say how many")
    if options.count < 0 or options.jobs < 0:
        raise PolicyError("--count and --jobs take 0 or more")
    if options.real is not None and not options.real.is_dir():
        raise PolicyError(f"{options.real} is no folder; --real takes one with an episode a layout: 000.npz, ...")


def environment_of(task: Path, out: Path) -> Path:
    """Return the folder of the exported environment; a project is exported below `out` first."""
    from pipeline.divergence.project_episodes import is_project

    if (task / "layouts.json").is_file():
        return task
    if not is_project(task):
        raise PolicyError(f"{task} is neither a project nor an unpacked export in format gymnasium")
    if not (out / ENVIRONMENT / "layouts.json").is_file():
        export_project(task, "gymnasium", out / ENVIRONMENT)
    return out / ENVIRONMENT

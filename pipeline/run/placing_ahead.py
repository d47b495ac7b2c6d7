"""Objects placed ahead of their stage: in a second process, while the first one matches the others.

Both find the same. An object is placed in this process if the second one has not begun with it or has ended, or if
another object is below it.
"""

import importlib
import os
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pipeline import description, matching
from pipeline.assets import Asset, Library
from pipeline.assets.reconstruct import reconstruction_folder
from pipeline.description import Description
from pipeline.frame import Observation
from pipeline.matching import Match
from pipeline.one_blas_thread import one_blas_thread
from pipeline.project import Project
from pipeline.scene.observed_object import ObservedObject
from pipeline.scene.overrides import Override
from pipeline.scene.place_objects import SceneInputs, place_object
from pipeline.scene.placement import Placement
from pipeline.segmentation import Segment
from pipeline.store import digest
from pipeline.worker_processes import WorkerProcesses

IDLE_SECONDS = 600
"""Time without a frame after which the second process ends; the next frame starts another one."""


@dataclass(frozen=True, eq=False)
class OpenedFrame:
    """Reads a project's frame and finds its table, which the process then keeps."""

    folder: Path
    frame_key: str

    def run(self) -> None:
        _observation(self.folder, self.frame_key)


@dataclass(frozen=True, eq=False)
class LoadedLibraries:
    """Imports what placing needs, which takes two seconds."""

    def run(self) -> None:
        importlib.import_module("open3d")


@dataclass(frozen=True, eq=False)
class LonePlacement:
    """Places one object of a project as if no other one were below it."""

    folder: Path
    """Of the project."""
    frame_key: str
    segment: Segment
    described: Description
    match: Match
    asset: Asset | None
    """The asset that was matched."""

    def run(self) -> Placement:
        return self.place(_observation(self.folder, self.frame_key))

    def place(self, observation: Observation) -> Placement:
        """Return the placement in a frame that is open already. Raises StudioError."""
        inputs = SceneInputs(
            observation,
            (self.segment,),
            (self.described,),
            (self.match,),
            Library((self.asset,) if self.asset else ()),
            self.folder / "scene",
            cache=self.folder / "cache",
        )
        (observed,) = inputs.observed_objects()
        with one_blas_thread():
            return place_object(inputs, observed, (), Override())

    def discard(self) -> None:
        """Remove what placing the object has made."""
        shutil.rmtree(reconstruction_folder(self.folder / "scene", self.segment.id), ignore_errors=True)

    @property
    def evidence(self) -> str:
        """Hash of what the placement depends on, but for the frame."""
        return _evidence(self.segment, self.described, self.match)


class PlacingAhead:
    """One process for all projects. Its methods may be called from several threads."""

    def __init__(self) -> None:
        self._workers = WorkerProcesses(IDLE_SECONDS)
        self._queue = ThreadPoolExecutor(1, "placing ahead")
        self._opened: dict[Path, Future[None]] = {}
        self._begun: dict[Path, dict[int, tuple[LonePlacement, Future[Placement]]]] = {}

    def warm_up(self) -> None:
        """Start the process, so that the first frame need not wait for it."""
        self._queue.submit(self._workers.run, LoadedLibraries())

    @property
    def is_warm(self) -> bool:
        """Whether the process is there."""
        return self._workers.has_any

    def open(self, project: Project) -> None:
        """Let the process start, and read the project's frame. Call it before `start`."""
        self._begun[project.folder] = {}
        self._opened[project.folder] = self._queue.submit(
            self._workers.run, OpenedFrame(project.folder, project.frame_key)
        )

    def start(
        self, project: Project, segment: Segment, described: Description, match: Match, asset: Asset | None
    ) -> None:
        """Place an object once the process comes to it. Does nothing for a project that was not opened."""
        begun = self._begun.get(project.folder)
        if begun is None or segment.id in begun:
            return
        (match,) = matching.from_json(matching.to_json([match]))  # as the scene's stage will read it
        job = LonePlacement(project.folder, project.frame_key, segment, described, match, asset)
        begun[segment.id] = job, self._queue.submit(self._workers.run, job)

    def take(self, project: Project, observed: ObservedObject, is_alone: bool) -> Placement | None:
        """Return an object's placement; None if it has to be placed here, as one that is not `is_alone`.

        Waits for a placement that was begun, and meanwhile places other objects of the project.
        """
        begun = self._begun.get(project.folder, {})
        job, placed = begun.pop(observed.segment.id, (None, None))
        if job is None or placed is None or placed.cancel():
            return None
        while not placed.done() and _place_last(begun, project.observation):
            pass
        with suppress(Exception):  # what failed there is done again here
            placement, match = placed.result(), observed.match
            if is_alone and match and job.evidence == _evidence(observed.segment, observed.description, match):
                return placement
        job.discard()
        return None

    def forget(self, project: Project) -> None:
        """Drop what was begun for a project and not taken. From its return on, nothing is written into the folder.

        It may end the process while that places an object of another project, which is then placed there.
        """
        if opened := self._opened.pop(project.folder, None):
            opened.cancel()
        begun = [(job, placed) for job, placed in self._begun.pop(project.folder, {}).values() if not placed.cancel()]
        if not all(placed.done() for _, placed in begun):
            self._workers.kill()
        for job, placed in begun:
            with suppress(Exception):
                placed.result()
            job.discard()


def open_placing_ahead() -> PlacingAhead | None:
    """Return it where there is a second core and GRS_ONE_CORE is not set, as a batch sets it; else None."""
    has_core = len(os.sched_getaffinity(0)) > 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) > 1
    return PlacingAhead() if has_core and "GRS_ONE_CORE" not in os.environ else None


def _place_last(begun: dict[int, tuple[LonePlacement, Future[Placement]]], observation: Observation) -> bool:
    """Place here what the process would come to last; False if it has begun with all."""
    for id, (job, placed) in reversed(begun.items()):
        if placed.cancel():
            here: Future[Placement] = Future()
            begun[id] = job, here
            try:
                here.set_result(job.place(observation))
            except Exception as error:
                here.set_exception(error)
            return True
    return False


def _evidence(segment: Segment, described: Description, match: Match) -> str:
    return digest(segment.mask_digest, description.to_json([described]), str(matching.to_json([match])))


@lru_cache(maxsize=1)
def _observation(folder: Path, frame_key: str) -> Observation:
    project = Project.open(folder)
    if project.frame_key != frame_key:
        raise ValueError("the frame has changed")
    return project.observation

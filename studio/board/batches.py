"""Batches that are started on the board: the dropped frames, each run in a process of its own, become projects.

`.batches/<id>/` in the workspace holds the dropped files and `batch.json`, so that a batch is there again after the
page or the studio was restarted. A project moves to the workspace when its frame is done.
"""

import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.frame.formats.folder import is_frame_folder
from pipeline.models.destination import destination_of
from pipeline.models.settings import SETTINGS_FILE, ModelSettings
from pipeline.project import STAGES
from pipeline.run import Services
from pipeline.store import listed
from studio.accounts.roles import Role, require
from studio.batch.batch_file import FILE, BatchFile, BatchItem, read_batch
from studio.batch.frame_process import Bounds
from studio.batch.frames import find_frames, project_names
from studio.batch.runner import BatchRunner
from studio.sessions.session_registry import SessionRegistry
from studio.sessions.wording import STAGE_TITLES
from studio.texts import t
from studio.web.errors import RequestError
from studio.web.jobs import Job, Listing
from studio.web.upload_folder import collect_uploads

FOLDER, FRAMES = ".batches", "frames"
JOBS = max(1, min(4, (os.cpu_count() or 1) // 2))
"""Frames at the same time, so that the studio still answers."""


class BatchJob(Job[None]):
    """A batch that waits, runs, or has run in this studio."""

    def __init__(self, runner: BatchRunner, work: Callable[["BatchJob"], None], turn: threading.Lock, home: Path):
        """`home` is the workspace."""
        batch = runner.batch
        listing = Listing("batch", lambda: t("Batch {title}", title=batch.settings.get("title", "")), home)
        super().__init__(f"batch {batch.folder.name}", work, turn, wake=runner.stop, listing=listing)
        self.runner = runner
        self.context = copy_context()
        """Who started it, for the threads that work for it."""

    def as_listed(self) -> dict[str, Any]:
        """Return the progress; the message has the stages at which frames are, so that it changes with them."""
        states = [item.state for item in self.runner.batch.items]
        stages = ", ".join(sorted({STAGE_TITLES[one] for one in self.runner.stages.values() if one in STAGE_TITLES}))
        ended = len(states) - states.count("todo")
        return super().as_listed() | {"done": ended, "of": len(states), "message": self.message or stages}


class Batches:
    """The batches of all workspaces; one runs at a time. May be used from any thread."""

    def __init__(self, sessions: SessionRegistry, jobs: int = JOBS):
        self._sessions, self._at_once = sessions, jobs
        self._jobs: dict[Path, BatchJob] = {}
        """The newest of each batch since the studio started, by the batch's folder."""
        self._turn, self._lock = threading.Lock(), threading.Lock()

    def start(self, files: object, until: str, task: str) -> str:
        """Start a batch of uploads [{path, name}]; return its id. Raises StudioError if no frame is among them."""
        require(Role.WORK)
        if until not in STAGES:
            raise RequestError("The studio does not know this stage; reload the page.")
        folder = self._home / f"{time.time_ns()}-{secrets.token_hex(4)}"
        frames = folder / FRAMES
        frames.mkdir(parents=True)
        try:
            names = collect_uploads(files, frames)
            found = find_frames([frames] if is_frame_folder(frames) else sorted(frames.iterdir()))
        except (StudioError, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            raise
        settings = {"title": ", ".join(names)[:80], "until": until, "task": " ".join(task.split())[:400]}
        projects = project_names(found, {})
        record = BatchFile(folder, settings, [BatchItem(str(frame), projects[frame]) for frame in found])
        record.write()
        self._begin(record)
        return folder.name

    def resume(self, id: object) -> None:
        """Run the frames of a batch that are not done. Raises RequestError if it is running."""
        require(Role.WORK)
        folder = self._folder(id)
        record = read_batch(folder)
        if record is None or self._running(folder):
            raise RequestError("This batch is running already.")
        self._begin(record)

    def stop(self, id: object) -> None:
        """Stop a batch; finished frames and finished stages stay."""
        require(Role.WORK)
        if running := self._running(self._folder(id)):
            running.stop()

    def remove(self, id: object) -> None:
        """Remove a batch with its dropped files; its finished projects stay. Raises RequestError if it is running."""
        require(Role.WORK)
        folder = self._folder(id)
        if self._running(folder):
            raise RequestError("Stop the batch first.")
        shutil.rmtree(folder, ignore_errors=True)
        self._jobs.pop(folder, None)

    def all(self) -> list[tuple[BatchFile, BatchJob | None, str]]:
        """Return each batch of the current workspace, the newest first, how it runs, and why it ended early."""
        folders = sorted((path.parent for path in self._home.glob(f"*/{FILE}")), reverse=True)
        found: list[tuple[BatchFile, BatchJob | None, str]] = []
        for folder in folders:
            running, job = self._running(folder), self._jobs.get(folder)
            try:
                record = running.runner.batch if running else read_batch(folder)
            except StudioError:  # damaged: it can be removed
                record = BatchFile(folder, {}, [])
            if record is not None:
                found.append((record, running, job.message if job and job.state == "failed" else ""))
        return found

    def _running(self, folder: Path) -> BatchJob | None:
        """Return the job of a batch that waits or runs."""
        job = self._jobs.get(folder)
        return job if job and job.is_active else None

    @property
    def _home(self) -> Path:
        return self._sessions.workspace / FOLDER

    def _folder(self, id: object) -> Path:
        folder = listed(self._home, id)
        if folder is None or not (folder / FILE).is_file():
            raise RequestError("This batch is no longer there.")
        return folder

    def _begin(self, record: BatchFile) -> None:
        folder, services = record.folder, self._sessions.services
        options = run_options(services, str(record.settings.get("until")), str(record.settings.get("task") or ""))
        environment = {"GRS_WORKSPACE": str(services.workspace)} if services.workspace else {}
        ceiling = getattr(getattr(services.model, "settings", None), "ceiling_usd", None)
        runner = BatchRunner(record, options, Bounds(), environment=environment)
        job = BatchJob(runner, lambda job: self._run(job, ceiling), self._turn, self._sessions.workspace)
        runner.on_end = lambda item: job.context.copy().run(self._adopt, record, item)
        with self._lock:
            if self._running(folder):
                raise RequestError("This batch is running already.")
            self._jobs[folder] = job
        job.start()

    def _run(self, job: BatchJob, ceiling_usd: float | None) -> None:
        for item in job.runner.batch.items:
            if item.state == "done":  # when the studio ended
                job.runner.on_end(item)
        job.runner.run(self._at_once, ceiling_usd)

    def _adopt(self, record: BatchFile, item: BatchItem) -> None:
        """Move the project of a frame that is done to the workspace."""
        made = record.folder / item.project
        if item.state == "done" and made.is_dir():
            moved = self._sessions.adopt(made)
            record.update(item.project, moved_to=moved.name)


def run_options(services: Services, until: str, task: str) -> list[str]:
    """Return the options of `grs-studio run` that make a frame into what the studio itself would make of it."""
    options = {
        "until": until,
        "task": task,
        "model": _model(services),
        "segmenter": services.segmenter.name,
        "matcher": services.matcher,
        "robot": services.robot,
        "seed": str(services.seeds[0]),
    }
    libraries = [f"--library={path.absolute()}" for path in services.library.paths]
    unprotected = ["--unprotected"] if services.sandbox.unprotected else []
    return [*(f"--{name}={value}" for name, value in options.items() if value), *libraries, *unprotected]


def _model(services: Services) -> str:
    """Return the model of a batch: the studio's, or the offline rules where each project would have to be asked for."""
    settings, destination = getattr(services.model, "settings", None), destination_of(services.model)
    if not isinstance(settings, ModelSettings) or settings.service == "offline":
        return "offline"
    if settings.service == "replay":
        return f"replay:{settings.trace}"
    if destination and not destination.is_this_machine and services.send not in ("allow", "always"):
        return "offline"
    return "kept" if services.workspace and (services.workspace / SETTINGS_FILE).is_file() else "openai"


def sends_nothing(services: Services) -> bool:
    """Whether a batch uses the offline rules although the studio has a model on another machine."""
    return destination_of(services.model) is not None and _model(services) == "offline"

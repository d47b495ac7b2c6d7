"""Rendering of candidates in the background: the selected one first, the others when the project is idle.

None is rendered before there is a first twin: among its objects they are placed, and it would take longer.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.store import read_json
from studio.sessions.session import Session
from studio.web import background
from studio.web.errors import error_message

UNSEEN_S = 1.5
"""Seconds without a question, which the page asks three times a second, after which nobody sees the candidates."""


@dataclass(frozen=True, eq=False)
class RenderJob:
    """One candidate to be rendered over one object."""

    key: str
    """Name of its files in the cache."""
    render: Callable[[], dict[str, Any]]
    """Renders it and writes its picture and its record."""


class CandidateRenderer:
    """Renders candidates for one session. May be used from any thread."""

    def __init__(self, session: Session):
        self._session, self._lock = session, threading.Lock()
        self._queues: dict[bool, list[RenderJob]] = {True: [], False: []}
        """By whether the candidate is the selected one."""
        self._running: set[bool] = set()
        """The queues that have a thread."""
        self._in_progress: set[str] = set()
        self._failed: dict[str, str] = {}
        self._asked_at = 0.0

    def states(self, jobs: list[RenderJob]) -> list[dict[str, Any]]:
        """Return the record of each job that is done, else its state, and queue these jobs instead of earlier ones.

        The first job is the selected candidate.
        """
        folder = candidate_folder(self._session)
        records = [read_json(folder / f"{job.key}.json") for job in jobs]
        with self._lock:
            self._asked_at = time.monotonic()
            started = self._failed.keys() | self._in_progress
            missing = [j for j, r in zip(jobs, records, strict=True) if r is None and j.key not in started]
            self._queues = {
                True: [job for job in missing if job is jobs[0]],
                False: [job for job in missing if job is not jobs[0]],
            }
            for is_selected in (True, False):
                if self._queues[is_selected] and is_selected not in self._running:
                    self._running.add(is_selected)
                    background.start("candidates", lambda stop, queue=is_selected: self._run(queue, stop))
            return [self._state(job.key, record) for job, record in zip(jobs, records, strict=True)]

    def _state(self, key: str, record: dict[str, Any] | None) -> dict[str, Any]:
        if record is not None:
            image = f"project/{self._session.token}/candidate/{key}.png"
            return record | {"state": "ready", "image": image}
        return {"state": "failed", "why": self._failed[key]} if key in self._failed else {"state": "drawing"}

    def _run(self, is_selected: bool, stop: threading.Event) -> None:
        if sys.platform == "linux" and not is_selected:  # only there a thread has a niceness of its own
            # 12: niceness of the thread that renders candidates which are not selected
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 12)
        while job := self._next(is_selected, stop):
            try:
                job.render()
            except Exception as error:
                self._failed[job.key] = error_message(error)
            self._in_progress.discard(job.key)

    def _must_wait(self, is_selected: bool) -> bool:
        """Whether work goes on that has priority."""
        is_working = self._session.runner.current is not None
        if is_selected:
            return is_working and self._session.cache.stamp("scene.json") == "0"
        return is_working or True in self._running

    def _next(self, is_selected: bool, stop: threading.Event) -> RenderJob | None:
        began = time.monotonic()
        # How long rendering waits for that work: a router may run for many minutes
        while self._must_wait(is_selected) and time.monotonic() - began < 20.0:
            # Poll seconds between looks at whether the project's own work has ended, which goes first
            if stop.wait(0.2):
                break
        with self._lock:
            if not is_selected and time.monotonic() - self._asked_at > UNSEEN_S:
                self._queues[is_selected] = []
            if stop.is_set() or not self._queues[is_selected]:
                self._running.discard(is_selected)
                return None
            job = self._queues[is_selected].pop(0)
            self._in_progress.add(job.key)
            return job


def candidate_folder(session: Session) -> Path:
    """Return the folder of rendered candidates in the project's cache."""
    return session.project.folder / "cache" / "candidates"

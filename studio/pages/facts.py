"""What the pages' views read of a session. Each view declares it, and is computed again only when that has changed."""

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pipeline.run import Progress
from studio.sessions.session import Session

Fact = Callable[[Session], Any]
"""Returns a value that equals the one before as long as nothing that the fact is about has changed."""
Stamps = tuple[tuple[str, int, int, int], ...]
"""Path, time of change in ns, inode and size of files."""


class Same:
    """An object that equals only itself. It is kept, so that no other one gets its address."""

    def __init__(self, value: object):
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._value is other._value

    __hash__ = None  # type: ignore[assignment]


_stamps: WeakKeyDictionary[Session, Stamps] = WeakKeyDictionary()
"""The last ones of each session: what has not changed stays one object, which is compared in no time."""


def results(session: Session) -> Any:
    """Decisions, results of the stages and every other file of the project, without policies and model calls."""
    found = file_stamps(session.project.folder, {"learning", session.calls.path.name})
    last = _stamps.get(session)
    _stamps[session] = found = last if last is not None and last == found else found
    return session.project.in_memory, found


def calls(session: Session) -> Any:
    """The model calls: those in the trace, and those in flight."""
    running = tuple(call.span_id for call in session.calls.in_flight())
    return session.cache.stamp(session.calls.path.name), running


def background(session: Session) -> Any:
    """What is computed beside the stages, such as fits and confidences."""
    return session.cache.computed, session.tasks.names


def work(session: Session) -> Any:
    """How far the stages, trials of proposed tasks and generated tasks are, and the log."""
    runner, lines, generation = session.runner, session.log.lines, session.generation
    running, current, error = session.replay.running, runner.current, runner.task_error
    return (
        current and (Same(current), current.stopping, _step(current.last)),
        (runner.ended, error and (str(error), error.suggestion, error.alternatives)),
        running and (running.number, Same(running.record)),
        (len(lines), lines[-1] if lines else None),
        (session.rehearsing, session.rehearsals_ended),
        generation and (generation.state, generation.result),
    )


def playback(session: Session) -> Any:
    """What a person watches: a round, two that are compared, a condition, a recording, a plot."""
    replay = session.replay
    return (
        (replay.request, replay.follows, replay.plays),
        (session.compared, session.watched, session.charts_rounds),
        (session.recorded, session.shows_track),
    )


def services(session: Session) -> Any:
    """Segmenter, model, library and sandbox in use."""
    used = session.services
    sandbox = used.sandbox
    return Same(used), session.segmenters.chosen, sandbox.known_protection, sandbox.unprotected


def editor(session: Session) -> str:
    """Who edits the project."""
    return session.editor.name


OBJECTS = results, background, services
"""What the records of the objects read."""
EVERYTHING = *OBJECTS, calls, work, playback, editor


def _step(step: Progress | None) -> Any:
    return step and (step.stage, step.message, step.done, step.total)


def file_stamps(folder: Path, but: Collection[str] = ()) -> Stamps:
    """Return the stamps of all files in a folder that can be seen, by path, without the entries named `but`."""
    stamps: list[tuple[str, int, int, int]] = []
    folders = [str(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name in but:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                with suppress(OSError):  # it goes meanwhile
                    found = entry.stat(follow_symlinks=False)
                    stamps.append((entry.path, found.st_mtime_ns, found.st_ino, found.st_size))
    return tuple(sorted(stamps))

"""What the pages' views read of a session. Each view declares it, and is computed again only when that has changed."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.run import Progress
from studio.sessions.session import Session

Fact = Callable[[Session], Any]
"""Returns a value that equals the one before as long as nothing that the fact is about has changed."""
Stamps = tuple[tuple[str, int, int, int], ...]
"""Path, time of change in ns, inode and size of files."""


def results(session: Session) -> tuple[bool, Stamps]:
    """Decisions, results of the stages and every other file of the project but the trace of its model calls."""
    trace = str(session.calls.path)
    return session.project.is_writer, tuple(one for one in file_stamps(session.project.folder) if one[0] != trace)


def calls(session: Session) -> Any:
    """The model calls: those in the trace, and those in flight."""
    path = session.calls.path
    running = tuple(call.span_id for call in session.calls.in_flight())
    return path.stat().st_size if path.exists() else 0, running


def background(session: Session) -> Any:
    """What is computed beside the stages, such as fits and confidences."""
    return session.cache.computed, session.tasks.names


def work(session: Session) -> Any:
    """How far the stages, trials of proposed tasks and generated tasks are, and the log."""
    runner, lines, generation = session.runner, session.log.lines, session.generation
    running, current = session.replay.running, runner.current
    return (
        current and (id(current), current.stopping, _step(current.last)),
        (runner.ended, runner.task_error),
        running and (running.number, id(running.record)),
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
    return id(used), session.segmenters.chosen, sandbox.known_protection, sandbox.unprotected


def editor(session: Session) -> str:
    """Who edits the project."""
    return session.editor.name


OBJECTS = results, background, services
"""What the records of the objects read."""
EVERYTHING = *OBJECTS, calls, work, playback, editor


def _step(step: Progress | None) -> Any:
    return step and (step.stage, step.message, step.done, step.total)


def file_stamps(folder: Path) -> Stamps:
    """Return the stamps of all files in a folder, by path."""
    stamps, folders = [], [str(folder)]
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:  # of what goes meanwhile
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    found = entry.stat(follow_symlinks=False)
                    stamps.append((entry.path, found.st_mtime_ns, found.st_ino, found.st_size))
    return tuple(sorted(stamps))

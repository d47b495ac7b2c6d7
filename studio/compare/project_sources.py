"""Episodes of an open project that can be compared: its solution, its rounds as judged, what recordings show."""

import re
from pathlib import Path

from pipeline.router.round_record import FILE as RECORD_FILE
from pipeline.tracking.track_files import EPISODE, FOLDER
from studio.sessions.session import Session
from studio.texts import t
from studio.web.errors import RequestError

SOLUTION = "solution"
TRACK = "track "
"""Begins the source of a recording that the twin followed together with the robot's log."""


def project_episodes(session: Session) -> list[dict[str, str]]:
    """Return {source, title} of every episode of a project, the newest round first."""
    solved = [SOLUTION] if (session.project.folder / "solution.json").is_file() else []
    rounds = [f"round {one.number}" for one in reversed(session.project.rounds()) if _round(session, one.number)]
    tracks = [f"{TRACK}{name}" for name in _tracks(session)]
    return [{"source": source, "title": episode_title(source)} for source in [*solved, *rounds, *tracks]]


def project_episode(session: Session, source: object) -> Path:
    """Return the path of an episode of a project. Raises RequestError if there is none of that name."""
    if str(source) not in [each["source"] for each in project_episodes(session)]:
        raise RequestError("This project no longer has that solution, round or recording; choose another.")
    if str(source).startswith(TRACK):
        return _tracks(session)[str(source).removeprefix(TRACK)]
    number = re.sub(r"\D", "", str(source))
    return (_round(session, int(number)) if number else None) or session.project.folder


def episode_title(source: str) -> str:
    """Return what the page calls an episode of a project."""
    if source.startswith(TRACK):
        return t("Recording {name}", name=source.removeprefix(TRACK))
    return t("Solution") if source == SOLUTION else t("Round {number}", number=source.rpartition(" ")[2])


def _round(session: Session, number: int) -> Path | None:
    """Return the folder of a round, None if it has no record."""
    folder = session.project.folder / "rounds" / f"{number:03d}"
    return folder if (folder / RECORD_FILE).is_file() else None


def _tracks(session: Session) -> dict[str, Path]:
    """Return the episodes of recordings by name: the robot's log with the tracked objects."""
    found = sorted(session.project.folder.glob(f"{FOLDER}/*/{EPISODE}"))
    return {path.parent.name: path for path in found}

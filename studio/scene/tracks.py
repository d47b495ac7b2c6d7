"""The twin follows a recording: started from a page, played in the viewer, and any instant of it made a project."""

import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import StudioError
from pipeline.frame.load import open_recording
from pipeline.object_words import ObjectWords, object_words
from pipeline.project import Project, safe_name
from pipeline.project.curation import MAX_TITLE, Curation, read_curation, save_curation
from pipeline.scene.mjcf.recorded_models import is_earlier_twin
from pipeline.store import read_json
from pipeline.tracking.instant import project_at
from pipeline.tracking.recorded_frames import RecordedFrames
from pipeline.tracking.track import Event, Track
from pipeline.tracking.track_files import FOLDER, newest_track, read_track
from studio.sessions.project_jobs import CommandJob, ProjectJobs
from studio.sessions.recorded_frame import RecordedFrame
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import t, translated
from studio.viewer.presentation import Mark
from studio.web.background import log_error
from studio.web.errors import RequestError
from studio.web.jobs import Listing
from studio.web.upload_folder import collect_uploads


class Following(CommandJob):
    """One run of `grs-studio track` on an open project."""

    def __init__(self, session: Session, recorded: RecordedFrame, log: Path | None, turn: threading.Lock):
        out = session.project.folder / FOLDER / safe_name(recorded.recording.stem)
        words = ["track", str(session.project.folder), str(recorded.recording), "--out", str(out)]
        words += ["--first", str(recorded.number), *(("--log", str(log)) if log else ())]
        project = session.project
        title = Listing(
            "track", lambda name=project.name: t("Following a recording in {project}", project=name), project.folder
        )
        super().__init__(title, words, turn)
        self._session, self._recorded = session, recorded

    def follow(self, line: str) -> bool:
        """Note a line of the process, which the page shows."""
        super().follow(line)
        self._session.log.mark_changed()
        return False

    def _run_process(self) -> None:
        super()._run_process()
        self._session.recorded, self._session.shows_track = self._recorded, True


class Tracks:
    """The recordings that projects follow. May be used from any thread."""

    def __init__(self, sessions: SessionRegistry):
        self._sessions, self._jobs = sessions, ProjectJobs[Following]()
        self._uploads = tempfile.TemporaryDirectory(prefix="grs-recordings-", ignore_cleanup_errors=True)

    def record(self, session: Session | None) -> dict[str, Any] | None:
        """Return TrackPanel's value."""
        if session is None or session.project.scene() is None:
            return None
        job, folder = self._jobs.of(session.project.folder), newest_track(session.project.folder)
        return {
            "project": session.token,
            "recording": session.recorded and session.recorded.recording.name,
            "first": session.recorded.number if session.recorded else 0,
            "job": job and {"state": job.state, "message": translated(job.message)},
            "track": folder and _track_record(session, folder),
            "shown": session.shows_track and folder is not None,
        }

    def progress(self, session: Session) -> tuple[str, str] | None:
        """Return state and message of the newest job that follows a recording; None before there is one."""
        job = self._jobs.of(session.project.folder)
        return job and (job.state, job.message)

    def follow(self, session: Session, message: Mapping[str, Any]) -> None:
        """Follow the recording {files, first}, or the one that the frame was taken of, with the robot's {log}, if any.

        Raises RequestError.
        """
        recorded = self._uploaded(message) if message.get("files") else session.recorded
        if recorded is None or not recorded.recording.exists():
            raise RequestError("The studio no longer has the recording; choose its file again.")
        log = self._collected(message["log"]) if message.get("log") else None
        job = self._jobs.begin(session.project.folder, lambda turn: Following(session, recorded, log, turn))
        session.tasks.start("track", job.join, log_error)  # pages draw the track when this ends

    def stop(self, session: Session, _: Mapping[str, Any]) -> None:
        """Stop following; an earlier track stays."""
        self._jobs.stop(session.project.folder)

    def show(self, session: Session, message: Mapping[str, Any]) -> None:
        """Show the twin as it follows the recording, or {on: false} as it was settled."""
        session.shows_track = bool(message.get("on"))
        session.log.mark_changed()

    def take_instant(self, message: Mapping[str, Any]) -> Session:
        """Make a project of the instant {time}, in seconds, of the track of {project}. Raises StudioError."""
        session = self._sessions.get(message.get("project"))
        folder, recorded, time = newest_track(session.project.folder), session.recorded, message.get("time")
        if folder is None or not isinstance(time, (int, float)):
            raise RequestError("There is no track to take an instant of; follow the recording first.")
        if recorded is None or not recorded.recording.exists():
            raise RequestError("The studio no longer has the recording; choose its file and follow it again.")
        track, project, told = read_track(folder), session.project, read_json(folder / "track.json")
        if told["recording"] != recorded.recording.name:
            raise RequestError("The track is of another recording; follow the one that is at hand first.")
        if is_earlier_twin(told.get("twin", ""), project.folder):
            raise RequestError("The twin has changed since it followed the recording; follow it again.")
        index = track.index_at(float(time))
        frames = RecordedFrames(project, open_recording(recorded.recording), track.numbers)
        frame = frames.frame(track.numbers[index])
        title = f"{read_curation(project.folder).title or project.name} at {track.times[index]:.1f} s".replace("_", " ")

        def make(folder: Path) -> Project:
            taken = project_at(project, track, frame, index, folder)
            save_curation(folder, Curation(title[:MAX_TITLE]))
            return taken

        return self._sessions.create(make, safe_name(title))

    def _uploaded(self, message: Mapping[str, Any]) -> RecordedFrame:
        first = message.get("first", 0)
        if not isinstance(first, int) or first < 0:
            raise RequestError("Frames are numbered from 0; say which one the twin was made of.")
        return RecordedFrame(self._collected(message["files"]), first)

    def _collected(self, files: Any) -> Path:
        """Return the one file, or the folder of several, of uploads [{path, name}]. Raises RequestError."""
        folder = Path(tempfile.mkdtemp(dir=self._uploads.name))
        try:
            names = collect_uploads(files, folder)
        except RequestError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder / names[0] if len(names) == 1 else folder


def track_marks(track: Track, words: ObjectWords) -> list[Mark]:
    """Return the marks of what happened, in words."""
    return [
        Mark(one.time, event_words(one, words), "failed" if one.kind == "lost" else "event", one.object)
        for one in track.events
    ]


def event_words(event: Event, words: ObjectWords) -> str:
    """Return what happened as a line: "red cube put on the table"."""
    on = t("table") if event.on == "table" else words.of(event.on) if event.on else ""
    return EVENT_WORDS[event.kind](words.of(event.object), on)


EVENT_WORDS: Mapping[str, Callable[[str, str], str]] = {
    "picked": lambda name, _: t("{object}: picked up", object=name),
    "placed": lambda name, on: t("{object}: put on {support}", object=name, support=on),
    "fell": lambda name, _: t("{object}: fell", object=name),
    "touched": lambda name, on: t("{object}: touches {support}", object=name, support=on),
    "lost": lambda name, _: t("{object}: not seen any more", object=name),
    "found": lambda name, _: t("{object}: seen again", object=name),
}


def _track_record(session: Session, folder: Path) -> dict[str, Any] | None:
    file = f"{FOLDER}/{folder.name}/track.json"
    try:
        track, told = session.cache.get("track", file, lambda: (read_track(folder), read_json(folder / "track.json")))
    except StudioError:
        return None
    marks = track_marks(track, object_words(session.project))
    return {
        "recording": told["recording"],
        "seconds": round(float(track.times[-1]), 2),
        "events": [{"time": mark.time, "text": mark.text, "is_lost": mark.kind == "failed"} for mark in marks],
        "doubts": [translated(doubt.line) for doubt in track.doubts],
        "is_earlier": is_earlier_twin(told.get("twin", ""), session.project.folder),
    }

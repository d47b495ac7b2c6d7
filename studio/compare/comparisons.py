"""Comparisons that pages asked for: each runs in the background, can be stopped, and keeps its files and views."""

import secrets
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.divergence import METHODS, EpisodeError
from pipeline.divergence.episode_files import episode_in
from pipeline.divergence.report.drawn_robot import drawn_model, drawn_positions
from pipeline.resources import SAMPLE_SCENES
from pipeline.tracking.track_files import EPISODE
from studio import viewer
from studio.compare.project_sources import episode_title, project_episode
from studio.sessions.session_registry import SessionRegistry
from studio.texts import t, translated
from studio.web.endpoints import PageToken
from studio.web.errors import RequestError, error_message
from studio.web.jobs import Job, Listing
from studio.web.upload_folder import collect_uploads

if TYPE_CHECKING:  # a second to import; most sessions compare nothing
    from pipeline.divergence.confined.confined_comparison import ComparisonProgress, ComparisonSources, Playback
    from pipeline.divergence.report.event_strip import EventPicture

SAMPLE = SAMPLE_SCENES / "episodes"
ROBOT_SUFFIXES = (".xml", ".mjcf", ".urdf", ".json")
SIDES = ("real", "sim")
VIEWS = ("real", "sim", "ghost")


class Comparison(Job[dict[str, Any]]):
    """One comparison. It is done before the pictures of its events are."""

    def __init__(
        self,
        sources: "ComparisonSources",
        titles: tuple[str, str],
        compare: Callable[["Comparison"], None],
        turn: threading.Lock,
        workspace: Path,
        choices: dict[str, dict[str, list[str]]] | None = None,
    ):
        listing = Listing("comparison", lambda: t("Comparison of episodes"), workspace)
        message = "Waiting for another comparison"
        super().__init__("comparison", compare, turn, message=message, listing=listing)
        self.sources, self.titles = sources, titles
        """The titles are what the page calls the two episodes."""
        self.views: dict[str, str] = {}
        """Token of each view of VIEWS; empty without a robot model."""
        self.note = ""
        self.choices = choices or {}
        """{"real", "sim"}: topics of "joints" and "commands" of a log, or "episodes" of a dataset, to choose from."""
        self.pictures: list[EventPicture] | None = None
        """Of the result's events; None while they are drawn."""


class Comparisons:
    """The comparisons of all pages, each under a token that cannot be guessed. May be used from any thread."""

    def __init__(self, views: viewer.ViewRegistry, sessions: SessionRegistry):
        self.page_token = PageToken()
        self._views, self._sessions, self._lock = views, sessions, threading.Lock()
        self._jobs: OrderedDict[str, Comparison] = OrderedDict()
        self._uploads = tempfile.TemporaryDirectory(prefix="grs-episodes-", ignore_cleanup_errors=True)
        self._turn = threading.Lock()
        """Held by the comparison that runs, since each takes a core and memory."""

    def start_sample(self, method: object) -> str:
        """Compare the sample pair and return the comparison's token."""
        sources = _sources(SAMPLE / "real.npz", SAMPLE / "sim.npz", SAMPLE / "robot.xml", _checked_method(method))
        titles = t("Real (sample: modelled by a second MuJoCo model)"), t("Simulated (sample)")
        return self._start(sources, titles)

    def start_uploads(self, request: Mapping[str, Any]) -> str:
        """Compare {real, sim, robot, align} and return the token. Raises RequestError.

        Each is uploads, [{path, name}]; an episode may also be {project, source} of an open project.
        """
        method = _checked_method(request.get("align"))
        folder = Path(self._uploads.name) / secrets.token_hex(16)
        found: dict[str, Path | None] = {}
        try:
            for slot, find in SLOTS.items():
                given = request.get(slot)
                found[slot] = self._found(given, find, folder / slot) if given else None
            if found["real"] is None or found["sim"] is None:
                raise RequestError("Choose both episodes first: a real one and a simulated one.")
        except (RequestError, EpisodeError, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            raise
        real, sim = found["real"], found["sim"]
        names = _title_of(request["real"], real), _title_of(request["sim"], sim)
        titles = t("Real: {name}", name=names[0]), t("Simulated: {name}", name=names[1])
        sources = _sources(real, sim, found["robot"] or self._robot_of(request), method)
        return self._start(sources, titles)

    def _found(self, given: Any, find: Callable[[Path], Path], folder: Path) -> Path:
        """Return the path of uploads, or of an episode of an open project. Raises RequestError."""
        if isinstance(given, dict):
            return project_episode(self._sessions.get(given.get("project")), given.get("source"))
        return find(_collected(given, folder))

    def _robot_of(self, request: Mapping[str, Any]) -> Path | None:
        """Return the model of the project that an episode is of; None if neither is, or it has no model yet."""
        given = next((each for slot in ("real", "sim") if isinstance(each := request.get(slot), dict)), None)
        if given is None:
            return None
        model = self._sessions.get(given.get("project")).project.folder / "scene" / "solution.xml"
        return model if model.is_file() else None

    def start_again(self, token: object, method: object, selection: object = None) -> str:
        """Compare the same files with another alignment or selection and return the new token. Raises RequestError.

        Args:
            selection: {"real", "sim"}, each a list of topics or of one episode's number; None for the former one.
        """
        old = self.get(token)
        chosen = {} if selection is None else {f"{side}_selection": _selected(selection, side) for side in SIDES}
        sources = replace(old.sources, method=_checked_method(method), **chosen)
        return self._start(sources, old.titles, old.choices)

    def get(self, token: object) -> Comparison:
        """Return a comparison. Raises RequestError if it was forgotten."""
        with self._lock:
            job = self._jobs.get(str(token))
        if job is None:
            raise RequestError("This comparison is no longer open; compare the episodes again.")
        return job

    def _start(self, sources: "ComparisonSources", titles: tuple[str, str], choices: Any = None) -> str:
        job = Comparison(sources, titles, self._compare, self._turn, self._sessions.workspace, choices)
        with self._lock:
            self._jobs[job.id] = job
            # Comparisons that are kept; older ones are forgotten with their files
            forgotten = [self._jobs.popitem(last=False) for _ in range(len(self._jobs) - 12)]
        for _, old in forgotten:
            self._forget(old)
        return job.start().id

    def _forget(self, job: Comparison) -> None:
        job.stop()
        for view in job.views.values():
            self._views.close(view)
        with self._lock:
            used = {self._upload_of(one.sources.real) for one in self._jobs.values()}
        folder = self._upload_of(job.sources.real)
        if folder is not None and folder not in used:
            shutil.rmtree(folder, ignore_errors=True)

    def _upload_of(self, path: Path) -> Path | None:
        """Return the folder of the upload that holds a path; None for the sample."""
        top = Path(self._uploads.name)
        return top / path.relative_to(top).parts[0] if path.is_relative_to(top) else None

    def _compare(self, job: Comparison) -> None:
        from pipeline.divergence.confined import compare_confined

        for step in compare_confined(job.sources, job.stop_event):
            job.message = step.message or job.message
            job.choices = step.choices or job.choices
            if step.result is not None:
                self._finish(job, step)

    def _finish(self, job: Comparison, step: "ComparisonProgress") -> None:
        if step.playback is not None and not job.stopping:
            job.views, job.note = self._open_views(step.playback), step.playback.note
        job.result, job.state, job.message = step.result, "done", ""
        job.pictures = _drawn_pictures(job, step)

    def report(self, token: object) -> str:
        """Return the report of a comparison as one HTML file. Raises RequestError if it is not done."""
        from pipeline.divergence.report import report_html

        job = self.get(token)
        if job.result is None:
            raise RequestError("This comparison is not done; wait for it, then ask for its report.")
        result = job.result
        return report_html(result["comparison"], result["curves"], result["histograms"], job.pictures or ())

    def _open_views(self, playback: "Playback") -> dict[str, str]:
        """Open the real robot, the simulated one, and both in one picture; the first one's clock leads."""
        poses = {"real": (playback.real,), "sim": (playback.sim,), "ghost": (playback.real, playback.sim)}
        tokens = {}
        for name in VIEWS:
            motion = viewer.Trajectory(playback.times.astype(float), drawn_positions(playback, *poses[name]))
            tokens[name] = self._views.open(drawn_model(playback, len(poses[name])), trajectory=motion, names=())
            if name != VIEWS[0]:
                self._views.get(tokens[name]).follow(self._views.get(tokens[VIEWS[0]]))
        return tokens


def comparison_record(job: Comparison) -> dict[str, Any]:
    """Return what the page shows of a comparison; its result only when it is done."""
    state, message = ("running", job.message) if job.is_active else (job.state, job.message * (job.state == "failed"))
    record: dict[str, Any] = {"job": job.id, "state": state, "message": translated(message)}
    if any(job.choices.values()):
        chosen = {"real": job.sources.real_selection, "sim": job.sources.sim_selection}
        record["choices"] = {side: {"offered": job.choices[side], "chosen": chosen[side]} for side in SIDES}
    if job.state == "done" and job.result is not None:
        record |= {"titles": list(job.titles), "views": job.views, "note": translated(job.note), "result": job.result}
        record["has_robot"] = job.sources.robot is not None
    return record


def _drawn_pictures(job: Comparison, step: "ComparisonProgress") -> "list[EventPicture]":
    """Return the pictures of the events; those drawn so far if it is stopped or OpenGL fails."""
    from pipeline.divergence.report.event_strip import event_pictures

    pictures, events = [], (step.result or {})["comparison"]["events"]
    try:
        for picture in event_pictures(events, step.playback, step.frames):
            pictures.append(picture)
            if job.stopping:
                break
    except Exception as error:  # the comparison is done without them
        job.note = job.note or error_message(error)
    return pictures


def _sources(*fields: Any) -> "ComparisonSources":
    from pipeline.divergence.confined import ComparisonSources

    return ComparisonSources(*fields)


def _checked_method(method: object) -> Any:
    if method not in METHODS:
        raise RequestError(f"There is no alignment {str(method)[:20]}; choose {', '.join(METHODS)}.")
    return method


def _selected(selection: object, side: str) -> tuple[str, ...]:
    chosen = selection.get(side, []) if isinstance(selection, dict) else None
    if not isinstance(chosen, list) or not all(isinstance(one, str) for one in chosen):
        raise RequestError("A selection is a list of topics, or of an episode's number, for each of the two episodes.")
    return tuple(chosen)


def _title_of(given: Any, path: Path) -> str:
    """Return what the page calls an episode; a project's solution or round is simulated, whichever place it takes."""
    if isinstance(given, list):
        return path.name
    title = episode_title(str(given["source"]))
    return title if path.name == EPISODE else t("{name} (simulated)", name=title)


def _collected(files: object, folder: Path) -> Path:
    """Move uploads into a new folder and return it. Raises RequestError."""
    folder.mkdir(parents=True)
    collect_uploads(files, folder)
    return folder


def _robot_in(folder: Path) -> Path:
    """Return the robot's model among uploaded files; its meshes may lie beside it."""
    models = sorted(path for path in folder.rglob("*") if path.suffix.lower() in ROBOT_SUFFIXES and path.is_file())
    if len(models) != 1:
        names = ", ".join(path.name for path in models[:5]) or "none"
        raise RequestError(
            f"A robot needs one model: MJCF, URDF or a DH table (.json), with its meshes; found {names}."
        )
    return models[0]


SLOTS: Mapping[str, Callable[[Path], Path]] = {"real": episode_in, "sim": episode_in, "robot": _robot_in}

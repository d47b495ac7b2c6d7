"""Imports into the library and installations of packs: in the background, one at a time, each with a stop."""

import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.assets.importers.asset_import import MESH_SUFFIXES
from pipeline.assets.importers.compiled_model import MODEL_FORMATS
from pipeline.assets.importers.confined_import import ImportProgress, import_confined
from pipeline.assets.importers.mesh_import import METRES_PER_UNIT, MIN_LENGTH_M, UP_AXIS_ROTATIONS
from pipeline.assets.packs.install import install_pack
from pipeline.assets.packs.objaverse import parse_uid
from pipeline.assets.packs.objaverse_import import import_objaverse
from studio.server.background import BackgroundTask
from studio.server.errors import RequestError
from studio.server.notices import error_message
from studio.server.upload_folder import collect_uploads

MAX_LIKELY_LENGTH_M = 0.6
"""Longest side of an object that a person usually puts on a table."""
MAX_TITLES = 12
"""Names of files in a job's title."""


@dataclass(eq=False)
class ImportJob:
    """One import, or the installation of one pack. Only its own thread and a person's answers change it."""

    title: str
    folder: Path | None = None
    """Of the uploaded files, for as long as they are needed."""
    name: str = field(default_factory=lambda: secrets.token_hex(6))
    state: str = "waiting"
    """"waiting", "running", "questions", "done" or "stopped"."""
    message: str = ""
    done: int = 0
    of: int = 0
    share: float = 0.0
    """Progress of the present asset, from 0 to 1."""
    added: list[dict[str, Any]] = field(default_factory=list)
    """{id, warnings, available}; `available` once the library in use contains the asset."""
    errors: list[dict[str, str]] = field(default_factory=list)
    """{source, error}."""
    questions: list[dict[str, Any]] = field(default_factory=list)
    """{number, path, source, longest, shapes} of a mesh of unknown units; {number, uid, source, licence, terms, size}
    of an Objaverse model whose terms a person has to accept."""
    note: str = ""
    parts: int = 0
    """Parts of its work that have started and not ended; a question may be answered while the rest goes on."""
    stop: threading.Event = field(default_factory=threading.Event)


class ImportJobs:
    """The jobs of a library. May be used from any thread."""

    def __init__(
        self,
        libraries: Callable[[], Path],
        used_ids: Callable[[], Collection[str]],
        on_added: Callable[[list[str]], str],
    ):
        """
        Args:
            libraries: returns the folder of the user's own library and the packs.
            used_ids: returns the ids of all assets.
            on_added: is called with the ids of new assets; returns a message to show.
        """
        self._libraries, self._used_ids, self._on_added = libraries, used_ids, on_added
        self._jobs: dict[str, ImportJob] = {}
        self._uploads = tempfile.TemporaryDirectory(prefix="grs-dropped-", ignore_cleanup_errors=True)
        self._turn = threading.Lock()
        """Held by the job that runs, since each takes a core and memory."""

    def import_uploads(self, files: object) -> str:
        """Start to import uploads [{path, name}], names relative to what was dropped; return the job's name.

        Raises RequestError.
        """
        folder = Path(tempfile.mkdtemp(dir=self._uploads.name)) / "mesh"
        try:
            titles = collect_uploads(files, folder)
        except (RequestError, OSError):
            shutil.rmtree(folder.parent, ignore_errors=True)
            raise
        more = f" and {len(titles) - MAX_TITLES} more" if len(titles) > MAX_TITLES else ""
        job = ImportJob(", ".join(titles[:MAX_TITLES]) + more, folder)
        return self._start(job, lambda: self._import(job, import_sources(folder), {}))

    def install(self, pack: str, title: str) -> str:
        """Start to install a pack, or continue with it; return the job's name. Raises RequestError if it runs."""
        if any(job.title == title and job.state in ("waiting", "running") for job in list(self._jobs.values())):
            raise RequestError("That pack is being installed already.")
        job = ImportJob(title)
        return self._start(job, lambda: install_pack(pack, self._libraries(), stop=job.stop))

    def look_up_objaverse(self, text: object) -> str:
        """Start to look up an Objaverse model, which is fetched once a person accepts its terms. Raises AssetError."""
        uid = parse_uid(str(text))
        job = ImportJob(f"Objaverse {uid[:8]} …")
        return self._start(job, lambda: self._offer(job, uid))

    def answer_units(self, name: object, number: object, units: object, up: object = None) -> None:
        """Continue with a mesh whose units a person gave; without units, skip the mesh. Raises RequestError."""
        if units not in (None, *METRES_PER_UNIT) or up not in (None, *UP_AXIS_ROTATIONS):
            raise RequestError("Units are m, cm, mm or in; the axis that points up is x, y or z.")
        job, question = self._take_question(name, number, "longest")
        if units is None:
            return self._skip(job, question)
        fields = {"units": units} | ({"up": up} if up else {})
        self._start(job, lambda: self._import(job, [Path(str(question["path"]))], fields))

    def answer_offer(self, name: object, number: object, accepted: bool) -> None:
        """Fetch the Objaverse model that was offered, or skip it. Raises RequestError."""
        job, question = self._take_question(name, number, "uid")
        if not accepted:
            return self._skip(job, question)
        job.title = str(question["source"])
        self._start(job, lambda: import_objaverse(question["uid"], True, self._libraries(), job.stop))

    def stop(self, name: object) -> None:
        """Stop a job; remove one that has ended from the list. Raises RequestError."""
        job = self._get(name)
        if job.state in ("waiting", "running"):
            job.stop.set()
        else:
            self._discard_files(job)
            self._jobs.pop(job.name, None)

    def close(self) -> None:
        """Stop every job."""
        for job in list(self._jobs.values()):
            job.stop.set()

    def records(self) -> list[dict[str, Any]]:
        """Return a record of every job, newest first."""
        return [_record(job) for job in reversed(list(self._jobs.values()))]

    # ------------------------------------------------------------------ work

    def _start(self, job: ImportJob, work: Callable[[], Iterator[ImportProgress]]) -> str:
        self._jobs[job.name] = job
        job.parts += 1
        job.state, job.message, job.note = "waiting", "waiting for the previous import", ""
        BackgroundTask("import", lambda _: self._run(job, work), wake=job.stop.set).start()
        return job.name

    def _import(self, job: ImportJob, sources: Sequence[Path], fields: Mapping[str, Any]) -> Iterator[ImportProgress]:
        assert job.folder is not None
        name = job.title if job.folder in sources else sources[0].name if len(sources) == 1 else ""
        origin = f"imported on {time.strftime('%Y-%m-%d')}{' from ' * bool(name)}{name}"  # a search by words finds it
        fields = {"provenance": origin[:300], **fields}
        own = self._libraries() / "own"
        return import_confined(sources, job.folder, own, fields, job.stop, self._used_ids(), unpack=job.folder)

    def _offer(self, job: ImportJob, uid: str) -> Iterator[ImportProgress]:
        for step in import_objaverse(uid, False, self._libraries(), job.stop):
            yield step
            if step.offer:
                question = {"number": secrets.token_hex(4), "uid": uid, "source": step.source, **step.offer}
                job.questions.append(question)

    def _take_question(self, name: object, number: object, kind: str) -> tuple[ImportJob, dict[str, Any]]:
        """Remove a question from its job and return both. Raises RequestError if it was answered already."""
        job = self._get(name)
        question = next((one for one in job.questions if one["number"] == number and kind in one), None)
        if question is None:
            raise RequestError("That question was answered already.")
        job.questions.remove(question)
        return job, question

    def _skip(self, job: ImportJob, question: dict[str, Any]) -> None:
        job.errors.append({"source": question["source"], "error": f"{question['source']} was left out"})
        self._finish(job)

    def _run(self, job: ImportJob, work: Callable[[], Iterator[ImportProgress]]) -> None:
        with self._turn:
            earlier = len(job.added)
            job.state, job.message = "running", "starting"
            try:
                for step in work():
                    _apply(job, step)
            except Exception as error:
                job.errors.append({"source": job.title, "error": error_message(error)})
            if new := [added["id"] for added in job.added[earlier:]]:
                job.message = "updating the open projects"
                job.note = self._on_added(new)
                job.added = [added | {"available": True} for added in job.added]
            job.parts -= 1
            self._finish(job)

    def _finish(self, job: ImportJob) -> None:
        """Set the job's final state unless other parts of its work go on."""
        if job.parts:
            return
        job.state = "stopped" if job.stop.is_set() else "questions" if job.questions else "done"
        job.message = ""
        if job.state != "questions":
            self._discard_files(job)

    def _discard_files(self, job: ImportJob) -> None:
        job.questions.clear()
        if job.folder is not None:
            shutil.rmtree(job.folder.parent, ignore_errors=True)

    def _get(self, name: object) -> ImportJob:
        job = self._jobs.get(str(name))
        if job is None:
            raise RequestError("That import has already ended.")
        return job


def _apply(job: ImportJob, step: ImportProgress) -> None:
    """Take a step's progress and result over into the job."""
    job.done, job.of = (step.done, step.total) if step.total else (job.done, job.of)
    job.message, job.share = step.message or job.message, step.share
    if step.id:
        job.added.append({"id": step.id, "warnings": list(step.warnings), "available": False})
    elif step.longest is not None:
        question = {"number": secrets.token_hex(4), "path": step.path, "source": step.source, "longest": step.longest}
        job.questions.append(question | {"shapes": step.outlines or {}})
    elif step.error:
        job.errors.append({"source": step.source, "error": step.error})


def _record(job: ImportJob) -> dict[str, Any]:
    fields = {key: getattr(job, key) for key in ("name", "title", "state", "message", "done", "of", "share", "note")}
    lists = {"added": list(job.added), "errors": list(job.errors), "questions": list(map(_question, job.questions))}
    return fields | lists | {"stopping": job.stop.is_set()}


def _question(question: dict[str, Any]) -> dict[str, Any]:
    """Return a question for the page; one about units lists the size that each unit would give."""
    if "longest" not in question:
        return question
    units = [
        {"unit": unit, "size": size, "likely": MIN_LENGTH_M <= size <= MAX_LIKELY_LENGTH_M}
        for unit, factor in METRES_PER_UNIT.items()
        if (size := question["longest"] * factor)
    ]
    return {key: question[key] for key in ("number", "source", "longest", "shapes")} | {"units": units}


# ---------------------------------------------------------------------- files


def import_sources(folder: Path) -> list[Path]:
    """Return what to import one by one: each zip, folder and mesh, or `folder` itself if its files are a model."""
    entries = sorted(folder.iterdir())
    separate = [entry for entry in entries if entry.is_dir() or entry.suffix.lower() == ".zip"]
    loose = [entry for entry in entries if entry not in separate]
    meshes = [entry for entry in loose if entry.suffix.lower() in MESH_SUFFIXES]
    if meshes and not any(entry.suffix.lower() in MODEL_FORMATS for entry in loose):
        return separate + meshes
    return separate + ([folder] if loose else [])

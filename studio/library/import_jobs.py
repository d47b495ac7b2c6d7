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
from pipeline.assets.packs.install import import_objaverse, install_pack
from pipeline.assets.packs.objaverse import parse_uid
from studio.texts import t
from studio.web.errors import RequestError, error_message
from studio.web.jobs import Job, Listing
from studio.web.upload_folder import collect_uploads

MAX_TITLES = 12
"""Names of files in a job's title."""


@dataclass(eq=False)
class Import:
    """One import, or the installation of one pack. Only its jobs and a person's answers change it."""

    title: str
    folder: Path | None = None
    """Of the uploaded files, for as long as they are needed."""
    name: str = field(default_factory=lambda: secrets.token_hex(6))
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
    jobs: list[Job[None]] = field(default_factory=list)
    """The parts of its work; a question may be answered while the rest goes on."""

    @property
    def active(self) -> Job[None] | None:
        """The part that runs, else one that waits; None if all have ended."""
        active = [job for job in self.jobs if job.is_active]
        return min(active, key=lambda job: job.state != "running", default=None)

    @property
    def stopping(self) -> bool:
        return any(job.stopping for job in self.jobs)

    @property
    def state(self) -> str:
        """ "waiting", "running", "questions", "done" or "stopped"."""
        if active := self.active:
            return active.state
        return "stopped" if self.stopping else "questions" if self.questions else "done"

    def stop(self) -> None:
        for job in self.jobs:
            job.stop()


Work = Callable[[Job[None]], Iterator[ImportProgress]]
"""One part of an import, which ends soon after its job is stopped."""


class ImportJobs:
    """The imports into a library. May be used from any thread."""

    def __init__(
        self,
        libraries: Callable[[], Path],
        used_ids: Callable[[], Collection[str]],
        on_added: Callable[[list[str]], str],
        weigh: Callable[[list[str], Job[None]], str] = lambda ids, job: "",
    ):
        """
        Args:
            libraries: returns the folder of the user's own library and the packs.
            used_ids: returns the ids of all assets.
            on_added: is called with the ids of new assets; returns a message to show.
            weigh: is called with them before, to estimate what they weigh; returns a message to show.
        """
        self._libraries, self._used_ids, self._on_added, self._weigh = libraries, used_ids, on_added, weigh
        self._imports: dict[str, Import] = {}
        self._uploads = tempfile.TemporaryDirectory(prefix="grs-dropped-", ignore_cleanup_errors=True)
        self._turn = threading.Lock()
        """Held by the import that runs, since each takes a core and memory."""

    def import_uploads(self, files: object) -> str:
        """Start to import uploads [{path, name}], names relative to what was dropped; return its name.

        Raises RequestError.
        """
        folder = Path(tempfile.mkdtemp(dir=self._uploads.name)) / "mesh"
        try:
            titles = collect_uploads(files, folder)
        except (RequestError, OSError):
            shutil.rmtree(folder.parent, ignore_errors=True)
            raise
        more = f" and {len(titles) - MAX_TITLES} more" if len(titles) > MAX_TITLES else ""
        one = Import(", ".join(titles[:MAX_TITLES]) + more, folder)
        return self._start(one, lambda job: self._import(one, job, import_sources(folder), {}))

    def install(self, pack: str, title: str) -> str:
        """Start to install a pack, or continue with it; return its name. Raises RequestError if it runs."""
        if any(one.title == title and one.active for one in list(self._imports.values())):
            raise RequestError("That pack is being installed already.")
        return self._start(Import(title), lambda job: install_pack(pack, self._libraries(), stop=job.stop_event))

    def look_up_objaverse(self, text: object) -> str:
        """Start to look up an Objaverse model, which is fetched once a person accepts its terms. Raises AssetError."""
        uid = parse_uid(str(text))
        one = Import(f"Objaverse {uid[:8]} …")
        return self._start(one, lambda job: self._offer(one, job, uid))

    def answer_units(self, name: object, number: object, units: object, up: object = None) -> None:
        """Continue with a mesh whose units a person gave; without units, skip the mesh. Raises RequestError."""
        if units not in (None, *METRES_PER_UNIT) or up not in (None, *UP_AXIS_ROTATIONS):
            raise RequestError("Units are m, cm, mm or in; the axis that points up is x, y or z.")
        one, question = self._take_question(name, number, "longest")
        if units is None:
            return self._skip(one, question)
        fields = {"units": units} | ({"up": up} if up else {})
        self._start(one, lambda job: self._import(one, job, [Path(str(question["path"]))], fields))

    def answer_offer(self, name: object, number: object, accepted: bool) -> None:
        """Fetch the Objaverse model that was offered, or skip it. Raises RequestError."""
        one, question = self._take_question(name, number, "uid")
        if not accepted:
            return self._skip(one, question)
        one.title = str(question["source"])
        self._start(one, lambda job: import_objaverse(question["uid"], True, self._libraries(), job.stop_event))

    def stop(self, name: object) -> None:
        """Stop an import; remove one that has ended from the list. Raises RequestError."""
        one = self._get(name)
        if one.active:
            one.stop()
        else:
            self._discard_files(one)
            self._imports.pop(one.name, None)

    def close(self) -> None:
        """Stop every import."""
        for one in list(self._imports.values()):
            one.stop()

    def records(self) -> list[dict[str, Any]]:
        """Return a record of every import, newest first."""
        return [_record(one) for one in reversed(list(self._imports.values()))]

    # ------------------------------------------------------------------ work

    def _start(self, one: Import, work: Work) -> str:
        self._imports[one.name] = one
        one.note = ""
        job = Job[None](
            "import",
            lambda job: self._run(one, job, work),
            self._turn,
            on_end=lambda _: self._finish(one),
            message="waiting for the previous import",
            listing=Listing("import", lambda: t("Import of {title}", title=one.title)),
        )
        one.jobs.append(job)
        job.start()
        return one.name

    def _import(
        self, one: Import, job: Job[None], sources: Sequence[Path], fields: Mapping[str, Any]
    ) -> Iterator[ImportProgress]:
        assert one.folder is not None
        name = one.title if one.folder in sources else sources[0].name if len(sources) == 1 else ""
        origin = f"imported on {time.strftime('%Y-%m-%d')}{' from ' * bool(name)}{name}"  # a search by words finds it
        fields = {"provenance": origin[:300], **fields}
        own = self._libraries() / "own"
        return import_confined(sources, one.folder, own, fields, job.stop_event, self._used_ids(), unpack=one.folder)

    def _offer(self, one: Import, job: Job[None], uid: str) -> Iterator[ImportProgress]:
        for step in import_objaverse(uid, False, self._libraries(), job.stop_event):
            yield step
            if step.offer:
                question = {"number": secrets.token_hex(4), "uid": uid, "source": step.source, **step.offer}
                one.questions.append(question)

    def _take_question(self, name: object, number: object, kind: str) -> tuple[Import, dict[str, Any]]:
        """Remove a question from its import and return both. Raises RequestError if it was answered already."""
        one = self._get(name)
        question = next((each for each in one.questions if each["number"] == number and kind in each), None)
        if question is None:
            raise RequestError("That question was answered already.")
        one.questions.remove(question)
        return one, question

    def _skip(self, one: Import, question: dict[str, Any]) -> None:
        one.errors.append({"source": question["source"], "error": f"{question['source']} was left out"})
        self._finish(one)

    def _run(self, one: Import, job: Job[None], work: Work) -> None:
        earlier = len(one.added)
        job.message = "starting"
        try:
            for step in work(job):
                job.message = step.message or job.message
                _apply(one, step)
                job.done, job.of = one.done + one.share, one.of
        except Exception as error:
            one.errors.append({"source": one.title, "error": error_message(error)})
        if new := [added["id"] for added in one.added[earlier:]]:
            try:
                weighed = self._weigh(new, job)
            except Exception as error:  # the assets are there, whatever a model does
                weighed = error_message(error)
            job.message = "updating the open projects"
            one.note = " ".join(filter(None, (weighed, self._on_added(new))))
            one.added = [added | {"available": True} for added in one.added]

    def _finish(self, one: Import) -> None:
        """Remove the files of an import that has ended."""
        if one.state in ("done", "stopped"):
            self._discard_files(one)

    def _discard_files(self, one: Import) -> None:
        one.questions.clear()
        if one.folder is not None:
            shutil.rmtree(one.folder.parent, ignore_errors=True)

    def _get(self, name: object) -> Import:
        one = self._imports.get(str(name))
        if one is None:
            raise RequestError("That import has already ended.")
        return one


def _apply(one: Import, step: ImportProgress) -> None:
    """Take a step's progress and result over into the import."""
    one.done, one.of = (step.done, step.total) if step.total else (one.done, one.of)
    one.share = step.share
    if step.id:
        one.added.append({"id": step.id, "warnings": list(step.warnings), "available": False})
    elif step.longest is not None:
        question = {"number": secrets.token_hex(4), "path": step.path, "source": step.source, "longest": step.longest}
        one.questions.append(question | {"shapes": step.outlines or {}})
    elif step.error:
        one.errors.append({"source": step.source, "error": step.error})


def _record(one: Import) -> dict[str, Any]:
    active = one.active
    fields = {key: getattr(one, key) for key in ("name", "title", "state", "done", "of", "share", "note", "stopping")}
    lists = {"added": list(one.added), "errors": list(one.errors), "questions": list(map(_question, one.questions))}
    return fields | lists | {"message": active.message if active else ""}


def _question(question: dict[str, Any]) -> dict[str, Any]:
    """Return a question for the page; one about units lists the size that each unit would give."""
    if "longest" not in question:
        return question
    units = [
        # 0.6: longest side of an object that a person usually puts on a table
        {"unit": unit, "size": size, "likely": MIN_LENGTH_M <= size <= 0.6}
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

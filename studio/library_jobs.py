"""Imports and packs on their way into the library: in the background, one after the other, each with a Stop."""

import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from gradio.utils import get_upload_folder

from pipeline.assets.described import MODEL_FORMATS
from pipeline.assets.importing import MESHES
from pipeline.assets.importing_apart import Happened, bring_apart, install_apart, objaverse_apart
from pipeline.assets.importing_mesh import METRES, SMALLEST, UP
from pipeline.assets.objaverse import uid_in
from studio.notices import sentence
from studio.session import SessionError

MOST_FILES, LONGEST_PATH = 4000, 240
USUAL = 0.6
"""Longest side in metres of a thing that a hand puts on a table, at most."""


@dataclass(eq=False)
class Job:
    """One drop, or one pack. Changed by its own thread only, but for what a person answers."""

    title: str
    folder: Path | None = None
    """Holds the files while they are needed."""
    name: str = field(default_factory=lambda: secrets.token_hex(6))
    state: str = "waiting"
    """"waiting", "running", "asks", "done" or "stopped"."""
    message: str = ""
    done: int = 0
    of: int = 0
    share: float = 0.0
    """Of the present thing, from 0 to 1."""
    added: list[dict[str, Any]] = field(default_factory=list)
    """{id, wrong, there}: `there` once the library holds it."""
    errors: list[dict[str, str]] = field(default_factory=list)
    asks: list[dict[str, Any]] = field(default_factory=list)
    """{number, path, source, longest, shapes}: things whose units nobody knows; {number, uid, source, licence, terms,
    size}: what is fetched once a person agrees."""
    note: str = ""
    runs: int = 0
    """How much of its work has begun and not ended: a question may be answered while the rest goes on."""
    stop: threading.Event = field(default_factory=threading.Event)


class Jobs:
    """May be called from any thread."""

    def __init__(
        self, libraries: Callable[[], Path], taken: Callable[[], Collection[str]], ended: Callable[[list[str]], str]
    ):
        """
        Args:
            libraries: the folder that holds a person's own library and the packs.
            taken: tells the ids that there are already.
            ended: is called with the ids of new assets after each job that made some; what it says is shown.
        """
        self._libraries, self._taken, self._ended = libraries, taken, ended
        self._jobs: dict[str, Job] = {}
        self._drops = tempfile.TemporaryDirectory(prefix="grs-dropped-", ignore_cleanup_errors=True)
        self._one = threading.Lock()
        """One import at a time: each takes a core and memory."""

    def bring(self, files: object) -> str:
        """Begins to bring in uploads [{path, name}], names relative to what was dropped. Raises SessionError."""
        folder = Path(tempfile.mkdtemp(dir=self._drops.name)) / "mesh"
        try:
            titles = arranged(files, folder)
        except (SessionError, OSError):
            shutil.rmtree(folder.parent, ignore_errors=True)
            raise
        job = Job(", ".join(titles[:12]) + (f" and {len(titles) - 12} more" if len(titles) > 12 else ""), folder)
        return self._begin(job, lambda: self._bring(job, given(folder), {}))

    def install(self, pack: str, title: str) -> str:
        """Begins to install a pack, or goes on with it. Raises SessionError."""
        if any(job.title == title and job.state in ("waiting", "running") for job in list(self._jobs.values())):
            raise SessionError("That pack is on its way already.")
        job = Job(title)
        return self._begin(job, lambda: install_apart(pack, self._libraries(), job.stop))

    def look_up(self, text: object) -> str:
        """Begins to ask what a thing of Objaverse is; a person agrees before it is fetched. Raises AssetError."""
        uid = uid_in(str(text))
        job = Job(f"Objaverse {uid[:8]} …")
        return self._begin(job, lambda: self._offered(job, uid))

    def answer(self, name: object, number: object, units: object, up: object = None) -> None:
        """Goes on with a thing whose units a person told; with none of these, it is left out. Raises SessionError."""
        if (units is not None and units not in METRES) or (up is not None and up not in UP):
            raise SessionError("Units are m, cm, mm or in; x, y or z points up.")
        job, asked = self._asked(name, number, "longest")
        if units is None:
            return self._left_out(job, asked)
        told = {"units": units} | ({"up": up} if up else {})
        self._begin(job, lambda: self._bring(job, [Path(str(asked["path"]))], told))

    def agree(self, name: object, number: object, yes: bool) -> None:
        """Fetches what was offered, or leaves it out. Raises SessionError."""
        job, asked = self._asked(name, number, "uid")
        if not yes:
            return self._left_out(job, asked)
        job.title = str(asked["source"])
        self._begin(job, lambda: objaverse_apart(asked["uid"], True, self._libraries(), job.stop))

    def halt(self, name: object) -> None:
        """Stops a job, or takes one that is over off the list."""
        job = self._get(name)
        if job.state in ("waiting", "running"):
            job.stop.set()
        else:
            self._forget(job)
            self._jobs.pop(job.name, None)

    def close(self) -> None:
        """Stops all that runs."""
        for job in list(self._jobs.values()):
            job.stop.set()

    def shown(self) -> list[dict[str, Any]]:
        """Every job as the page wants it, the newest first."""
        return [_plain(job) for job in reversed(list(self._jobs.values()))]

    # ------------------------------------------------------------------ working

    def _begin(self, job: Job, work: Callable[[], Iterator[Happened]]) -> str:
        self._jobs[job.name] = job
        job.runs += 1
        job.state, job.message, job.note = "waiting", "waiting for the one before", ""
        threading.Thread(target=self._run, args=(job, work), daemon=True, name="import").start()
        return job.name

    def _bring(self, job: Job, sources: Sequence[Path], told: Mapping[str, Any]) -> Iterator[Happened]:
        assert job.folder is not None
        name = job.title if job.folder in sources else sources[0].name if len(sources) == 1 else ""
        origin = f"brought in on {time.strftime('%Y-%m-%d')}{' from ' * bool(name)}{name}"  # words find an asset by it
        said = {"provenance": origin[:300], **told}
        return bring_apart(sources, job.folder, self._libraries() / "own", said, job.stop, self._taken())

    def _offered(self, job: Job, uid: str) -> Iterator[Happened]:
        for step in objaverse_apart(uid, False, self._libraries(), job.stop):
            yield step
            if step.offer:
                job.asks.append({"number": secrets.token_hex(4), "uid": uid, "source": step.source, **step.offer})

    def _asked(self, name: object, number: object, kind: str) -> tuple[Job, dict[str, Any]]:
        """Takes a question off its job's list. Raises SessionError."""
        job = self._get(name)
        asked = next((one for one in job.asks if one["number"] == number and kind in one), None)
        if asked is None:
            raise SessionError("That was answered already.")
        job.asks.remove(asked)
        return job, asked

    def _left_out(self, job: Job, asked: dict[str, Any]) -> None:
        job.errors.append({"source": asked["source"], "error": f"{asked['source']} was left out"})
        self._settle(job)

    def _run(self, job: Job, work: Callable[[], Iterator[Happened]]) -> None:
        with self._one:
            known = len(job.added)
            job.state, job.message = "running", "starting"
            try:
                for step in work():
                    _take(job, step)
            except Exception as error:
                job.errors.append({"source": job.title, "error": sentence(error)})
            if new := [one["id"] for one in job.added[known:]]:
                job.message = "telling the open projects"
                job.note = self._ended(new)
                job.added = [one | {"there": True} for one in job.added]
            job.runs -= 1
            self._settle(job)

    def _settle(self, job: Job) -> None:
        if job.runs:
            return
        stopped = job.stop.is_set()
        job.state = "stopped" if stopped else "asks" if job.asks else "done"
        job.message = ""
        if job.state != "asks":
            self._forget(job)

    def _forget(self, job: Job) -> None:
        job.asks.clear()
        if job.folder is not None:
            shutil.rmtree(job.folder.parent, ignore_errors=True)

    def _get(self, name: object) -> Job:
        job = self._jobs.get(str(name))
        if job is None:
            raise SessionError("That import is over.")
        return job


def _take(job: Job, step: Happened) -> None:
    job.done, job.of = (step.done, step.of) if step.of else (job.done, job.of)
    job.message, job.share = step.message or job.message, step.share
    if step.id:
        job.added.append({"id": step.id, "wrong": list(step.wrong), "there": False})
    elif step.longest is not None:
        asked = {"number": secrets.token_hex(4), "path": step.path, "source": step.source, "longest": step.longest}
        job.asks.append(asked | {"shapes": step.shapes or {}})
    elif step.error:
        job.errors.append({"source": step.source, "error": step.error})


def _plain(job: Job) -> dict[str, Any]:
    facts = {key: getattr(job, key) for key in ("name", "title", "state", "message", "done", "of", "share", "note")}
    asks = [_question(one) for one in job.asks]
    return facts | {"added": list(job.added), "errors": list(job.errors), "asks": asks, "stopping": job.stop.is_set()}


def _question(asked: dict[str, Any]) -> dict[str, Any]:
    if "longest" not in asked:
        return asked
    sizes = [
        {"unit": unit, "size": size, "likely": SMALLEST <= size <= USUAL}
        for unit, factor in METRES.items()
        if (size := asked["longest"] * factor)
    ]
    return {key: asked[key] for key in ("number", "source", "longest", "shapes")} | {"units": sizes}


# ---------------------------------------------------------------------- files


def arranged(files: object, folder: Path) -> list[str]:
    """Uploaded files put into `folder` as they lay to one another; what was dropped, by name. Raises SessionError."""
    if not isinstance(files, list) or not 0 < len(files) <= MOST_FILES:
        raise SessionError(f"Drop a model or a mesh, a folder or a zip of them, of at most {MOST_FILES:,} files.")
    uploads = Path(get_upload_folder()).resolve()
    for one in files:
        path = Path(str(one.get("path") if isinstance(one, dict) else "")).resolve()
        if not path.is_relative_to(uploads) or not path.is_file():
            raise SessionError("A file did not arrive; drop it again.")
        target = folder / inside(one.get("name") or path.name)
        if target.exists():
            raise SessionError(f"Two files are called {target.name}; drop the folder that holds them.")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
    return sorted(one.name for one in folder.iterdir())


def inside(name: object) -> Path:
    """A relative path that stays where it is put. Raises SessionError."""
    path = PurePosixPath(str(name).replace("\\", "/"))
    parts = [part for part in path.parts if part not in (".", "/")]
    if (
        not parts
        or ".." in parts
        or len(str(path)) > LONGEST_PATH
        or any("\0" in part or ":" in part for part in parts)
    ):
        raise SessionError("A file has a name that cannot be kept; rename it and drop it again.")
    return Path(*parts)


def given(folder: Path) -> list[Path]:
    """What was dropped, thing by thing: each zip, each folder, each mesh; to a model all loose files belong."""
    there = sorted(folder.iterdir())
    apart = [one for one in there if one.is_dir() or one.suffix.lower() == ".zip"]
    loose = [one for one in there if one not in apart]
    meshes = [one for one in loose if one.suffix.lower() in MESHES]
    if meshes and not any(one.suffix.lower() in MODEL_FORMATS for one in loose):
        return apart + meshes
    return apart + ([folder] if loose else [])

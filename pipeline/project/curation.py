"""What a person says about a project as a whole: its title, tags and verdict, in curation.json of its folder."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pipeline.project.stage_record import ProjectError
from pipeline.store import LockedError, NewerFileError, StoreError, WriterLock, read_json, saving, write_json

FILE = "curation.json"
SCHEMA = 1
Verdict = Literal["", "accepted", "rejected", "unsure"]
"""Empty without one."""
MAX_TITLE, MAX_REASON, MAX_TAG, MAX_TAGS = 120, 400, 40, 20
"""Most characters of each text, and most tags of a project."""


@dataclass(frozen=True)
class Curation:
    """Title, tags and verdict of a project. Raises ProjectError for texts that are too long or a verdict unknown."""

    title: str = ""
    """Shown instead of the folder's name; empty for that."""
    tags: tuple[str, ...] = ()
    verdict: Verdict = ""
    reason: str = ""
    """Why the project was rejected."""
    by: str = ""
    """Login of the person with the verdict; empty in a studio without logins."""
    at: float | None = None
    """Time of the verdict, in seconds since 1970."""

    def __post_init__(self):
        if self.verdict not in get_args(Verdict):
            raise ProjectError(f"there is no verdict '{self.verdict}'; there are: accepted, rejected, unsure")
        if self.verdict == "rejected" and not self.reason:
            raise ProjectError("Give a reason for the rejection.")
        longest = (self.title, MAX_TITLE), (self.reason, MAX_REASON), *((tag, MAX_TAG) for tag in self.tags)
        if too_long := [limit for text, limit in longest if len(text) > limit]:
            raise ProjectError(f"That text is too long; {too_long[0]} characters are the most.")
        if len(self.tags) > MAX_TAGS:
            raise ProjectError(f"A project has {MAX_TAGS} tags at most.")


def read_curation(folder: Path) -> Curation:
    """Return what a person said about the project in a folder; an empty curation if the file is missing or damaged."""
    try:
        return _curation(read_json(folder / FILE, SCHEMA) or {})
    except (StoreError, ProjectError, TypeError, ValueError, AttributeError):
        return Curation()


def save_curation(folder: Path, curation: Curation) -> None:
    """Replace what was said about a project; an empty curation leaves no file. A damaged file is set aside.

    Raises ProjectError if another process writes the project, StoreError if nothing can be saved.
    """
    path = folder / FILE
    try:
        lock = WriterLock.acquire(folder)
    except LockedError as error:
        raise ProjectError(f"{error}, and can only be looked at here") from None
    try:
        _curation(read_json(path, SCHEMA) or {})
    except NewerFileError:
        raise
    except (StoreError, ProjectError, TypeError, ValueError, AttributeError):
        with saving(f"{FILE} was not saved"):
            path.replace(path.with_name(f"{FILE}.damaged"))
    if curation == Curation():
        with saving(f"{FILE} was not removed"):
            path.unlink(missing_ok=True)
    else:
        write_json(path, {"schema": SCHEMA} | asdict(curation))
    del lock


def _curation(values: dict[str, Any]) -> Curation:
    at = values.get("at")
    tags = [str(tag) for tag in values.get("tags", ())]
    texts = {name: str(values.get(name, "")) for name in ("title", "verdict", "reason", "by")}
    return Curation(tags=tuple(tags), at=None if at is None else float(at), **texts)  # type: ignore[arg-type]

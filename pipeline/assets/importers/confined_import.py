"""Imports assets in a confined child, so that a hostile or broken file cannot harm the app or the library.

It reads only what was given and writes only a staging folder, from which this process moves finished assets into the
library.
"""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AllowInfNan, ConfigDict, Field, TypeAdapter, ValidationError

from pipeline.assets.asset import AssetError
from pipeline.assets.importers.asset_import import ImportOptions
from pipeline.assets.importers.import_staging import staging_folder, take_over
from pipeline.confinement import SYSTEM_LIBRARIES
from pipeline.untrusted import confined
from pipeline.untrusted.confined import NONSENSE, ConfinedError, Limits, Progress

LIMITS = Limits(seconds=1800, is_wall_clock=False, memory_mb=8192, file_mb=2048)
"""Of the whole import. Decomposing a mesh of 60,000 faces takes half a gigabyte, open3d's libraries three."""
FUNCTION = "pipeline.assets.importers.import_child:import_assets"
_Number = Annotated[float, AllowInfNan(False)]
_Text = Annotated[str, Field(max_length=4000)]


@dataclass(frozen=True)
class ImportProgress:
    """One event of an import. The child's progress carries these fields."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    message: _Text = ""
    done: int = 0
    total: int = 0
    source: _Text = ""
    """Name of the file that is imported."""
    path: _Text = ""
    id: _Text = ""
    """Id of the asset that was added; empty otherwise."""
    warnings: tuple[_Text, ...] = ()
    """Problems of the file, one sentence each."""
    error: _Text = ""
    """Why no asset was made, in one line."""
    longest: _Number | None = None
    """Longest side in the file's units, if the units are ambiguous."""
    outlines: dict[str, dict[str, str | _Number]] | None = None
    """Outlines with each axis up, if the units are ambiguous."""
    offer: dict[str, str | int] | None = None
    """{name, licence, terms, size} of an Objaverse object, to be accepted before it is downloaded."""
    share: _Number = 0.0
    """Fraction of the current file that is done, in [0, 1]."""


_EVENT = TypeAdapter(ImportProgress)


def parse_event(value: object) -> ImportProgress:
    """Return a child's event. Raises ConfinedError for anything else."""
    try:
        return _EVENT.validate_python(value)
    except ValidationError:
        raise ConfinedError(NONSENSE) from None


def import_confined(
    sources: Sequence[Path], root: Path, library: Path, options: Mapping[str, Any], stop: threading.Event,
    taken: Collection[str] = (), *, unpack: Path | None = None,
) -> Iterator[ImportProgress]:  # fmt: skip
    """Import files, folders and zips below `root` into a library. Ends when `stop` is set.

    An asset whose id is in use gets a new one.

    Args:
        sources: What to import.
        root: Folder of all that was given; a model may not name files outside it.
        library: The folder of asset folders; created if missing.
        options: Fields of ImportOptions.
        stop: Ends the import.
        taken: Ids in use in other libraries.
        unpack: Folder that zips are unpacked to, where the paths in events must stay valid; by default a temporary one.
    """
    request = {"sources": [str(source.absolute()) for source in sources], "options": dict(options)}
    yield from run_import(request | {"taken": [*taken]}, root, library, stop, unpack)


def import_models_confined(
    models: Sequence[tuple[Path, ImportOptions]], root: Path, library: Path, stop: threading.Event
) -> Iterator[ImportProgress]:
    """Import models below `root`, each with its options, skipping those that are in the library."""
    request = {"models": [(str(path), asdict(options)) for path, options in models]}
    yield from run_import(request, root, library, stop)


def run_import(
    request: Mapping[str, Any], root: Path, library: Path, stop: threading.Event, unpack: Path | None = None
) -> Iterator[ImportProgress]:
    """Import in a child what a request names, move what it finishes into the library, and yield its events.

    `root` is all that it may read. See import_child.events for the requests.
    """
    may_replace, last = bool(request.get("options", {}).get("replace")), ImportProgress()
    with staging_folder(library) as staging:
        existing = sorted(folder.name for folder in library.iterdir() if folder.name[0] not in "._")
        folders = {"root": str(root.absolute()), "staging": str(staging.absolute())}
        folders |= {"unpack": str(unpack.absolute())} if unpack else {}
        arguments = {"request": {**request, **folders, "existing": existing}}
        writable = [staging, unpack] if unpack else [staging]
        readable = [root, *SYSTEM_LIBRARIES]
        try:
            for event in confined.call(FUNCTION, arguments, readable, stop, limits=LIMITS, writable=writable):
                if isinstance(event, Progress):
                    last = _taken_over(parse_event(event.value), staging, library, may_replace)
                    yield last
        except ConfinedError as error:
            name = last.source or last.message.partition(" ")[2] or "it"
            yield ImportProgress(source=name, error=error.about(name))


def _taken_over(event: ImportProgress, staging: Path, library: Path, may_replace: bool) -> ImportProgress:
    """Move the asset of an event into the library; return the event, or one that says why it was not moved."""
    if event.id:
        try:
            take_over(staging, event.id, library, may_replace)
        except AssetError as error:
            return replace(event, id="", error=str(error))
    return event

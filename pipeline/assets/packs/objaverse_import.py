"""Imports one object of Objaverse: one process downloads it, without keys; another, confined, opens it."""

import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pipeline.assets.importers.asset_import import ImportOptions
from pipeline.assets.importers.confined_import import ImportProgress, import_models_confined, parse_event
from pipeline.assets.packs.downloads import MEMORY_MB
from pipeline.assets.packs.objaverse import import_options
from pipeline.untrusted import confined
from pipeline.untrusted.confined import ConfinedError, Result

FUNCTION = "pipeline.assets.packs.downloads:fetch_object"
SIZE_WARNING = "Objaverse files rarely have the true size: correct the longest side"


def import_objaverse(uid: str, agreed: bool, libraries: Path, stop: threading.Event) -> Iterator[ImportProgress]:
    """Yield the offer of an Objaverse object; once `agreed`, import the object into `libraries`/objaverse."""
    library = libraries / "objaverse"
    if agreed and (library / str(import_options(uid, "", "").id) / "asset.json").exists():
        yield ImportProgress(source="Objaverse", error=f"{uid} is already in the library")
        return
    with tempfile.TemporaryDirectory(prefix="grs-objaverse-") as folder:
        arguments, found = {"uid": uid, "agreed": agreed, "folder": folder}, None
        try:
            for event in confined.call_with_network(FUNCTION, arguments, stop, MEMORY_MB):
                step = parse_event(event.value)
                found = step if isinstance(event, Result) else None
                if found is None or not agreed:
                    yield step
        except ConfinedError as error:
            yield ImportProgress(source="Objaverse", error=error.about("its download"))
        if agreed and found is not None and found.offer is not None:
            options = import_options(uid, str(found.offer["name"]), str(found.offer["licence"]))
            yield from _import_model(Path(folder) / Path(found.path).name, options, library, stop)


def _import_model(path: Path, options: ImportOptions, library: Path, stop: threading.Event) -> Iterator[ImportProgress]:
    for step in import_models_confined([(path, options)], path.parent, library, stop):
        step = replace(step, source=options.name or "", error=step.error and step.error.replace(path.name, "it"))
        yield replace(step, warnings=(*step.warnings, SIZE_WARNING)) if step.id else step

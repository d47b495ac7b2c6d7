"""`grs-studio library add|list|search|remove|undo|look|install`: a person's own assets, and packs, from the command
line."""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import StudioError

if TYPE_CHECKING:
    import numpy as np

    from pipeline.assets.encoder import Encoder

DONE, BAD_INPUT = 0, 2


def add_to(commands: argparse._SubParsersAction) -> None:
    """The subcommand and its own."""
    library = commands.add_parser("library", help="assets of your own, and packs")
    library.set_defaults(work=lambda arguments: show(arguments))
    library.add_argument("--to", type=Path, help="library folder (default GRS_LIBRARY, else the user's data folder)")
    verbs = library.add_subparsers(title="what to do", parser_class=type(library))

    add = verbs.add_parser("add", help="bring in meshes and models: a file, a folder or a zip")
    add.add_argument("source", type=Path, help=".glb .obj .stl .ply, .urdf, MJCF .xml, a folder of them, or a .zip")
    add.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    add.add_argument("--units", choices=("m", "cm", "mm", "in"), help="asked when the file leaves it in doubt")
    add.add_argument("--up", choices=("x", "y", "z"), help="the file's axis that points up (default z; y for .glb)")
    for key, what in (("id", "identifier"), ("name", "name"), ("category", "one noun: mug, box, can ..."),
                      ("caption", "one sentence"), ("licence", "whose it is, and under which terms")):  # fmt: skip
        add.add_argument(f"--{key}", help=what)
    add.add_argument("--mass", type=float, help="kg")
    add.add_argument("--friction", type=float, help="sliding friction")
    add.add_argument("--replace", action="store_true", help="take the place of an asset of the same id")
    add.set_defaults(work=bring)

    listed = verbs.add_parser("list", help="what is there")
    listed.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    listed.set_defaults(work=show)

    search = verbs.add_parser("search", help="find assets by words, by a picture, or both")
    search.add_argument("words", nargs="*", help="as in: cabinet with three drawers")
    search.add_argument("--like", type=Path, help="a picture of one thing: what looks like it comes first")
    search.add_argument("--size", type=float, nargs=2, metavar=("LOW", "HIGH"), help="longest side in cm")
    search.add_argument("--category", help="one noun: mug, box, can ...")
    search.add_argument("--licence", help="as it is listed")
    search.add_argument("--articulated", action="store_true", help="only what has joints")
    search.add_argument("--limit", type=int, default=20, help="how many are listed (default %(default)s)")
    search.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    search.set_defaults(work=find)

    remove = verbs.add_parser("remove", help="take out an asset of your own, or a pack")
    remove.add_argument("id", nargs="?", help="of an asset of your own; undo brings it back")
    remove.add_argument("--pack", help="the whole pack of this name instead")
    remove.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    remove.set_defaults(work=take_out)

    undo = verbs.add_parser("undo", help="take back the last change of an asset of your own")
    undo.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    undo.set_defaults(work=take_back)

    seen = verbs.add_parser("look", help="see each asset from all sides now, so that no project waits for it later")
    seen.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    seen.set_defaults(work=look)

    install = verbs.add_parser("install", help="a pack of assets that others made")
    install.add_argument("pack", help="libero, robosuite, menagerie, or objaverse:ID for one thing of Objaverse")
    install.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    install.add_argument("--wheels", type=Path, help="a folder of wheels that were downloaded before")
    install.set_defaults(work=fetch)


def bring(arguments: argparse.Namespace) -> int:
    """Each thing in the source; one that cannot be had is named, the others are brought in."""
    from pipeline.assets.asset import AssetError
    from pipeline.assets.importing import Told, bring_in, free_id, id_after, opened
    from pipeline.assets.library import OWN, asset_folders, user_libraries

    keys = ("id", "name", "category", "caption", "units", "up", "mass", "friction", "replace")
    told = Told(**{key: getattr(arguments, key) for key in keys}, licence=arguments.licence or "",
                provenance=f"added from {arguments.source.name}")  # fmt: skip
    for key in ("mass", "friction"):
        value = getattr(arguments, key)
        if value is not None and not 0 < value < 1000:
            raise StudioError(f"--{key} is {value}; it takes a number above zero")
    failed, own = 0, _folder(arguments) / "own"
    others = [OWN, *(one for one in user_libraries(_folder(arguments)) if one != own)]
    taken = {folder.name for folder in asset_folders(others)}
    if told.id in taken:
        raise StudioError(f"--id {told.id} is that of an asset of the studio or a pack; take another")
    with opened(arguments.source) as found:
        if len(found) > 1 and told.id:
            raise StudioError(f"--id names one thing and {arguments.source.name} holds {len(found)}; leave it out")
        for number, source in enumerate(found, 1):
            try:
                id = told.id or (free_id(source, own, taken) if id_after(source) in taken else None)
                added = bring_in(source, own, replace(told, id=id))
            except AssetError as error:
                failed += 1
                print(f"grs-studio: {source.name}: {error}", file=sys.stderr)
                continue
            asset = added.asset
            print(f"[{number}/{len(found)}] {asset.id}: {asset.caption}; {asset.mass:.3g} kg, friction "
                  f"{asset.friction:.2g}, {len(asset.collision) or 1} collision pieces")  # fmt: skip
            for fault in added.wrong:
                print(f"    {fault}")
    return BAD_INPUT if failed else DONE


def look(arguments: argparse.Namespace) -> int:
    """What the first match would do for every asset of the library: some seconds each ten, kept for good."""
    from pipeline.assets.library import OWN, user_libraries
    from studio.services import Settings, open_services

    services = open_services(Settings.from_environment(library=(OWN, *user_libraries(arguments.to))))
    count = sum(1 for _ in services.learn()) if services.learn else 0
    print(f"{count} assets are known from all sides")
    return DONE


def fetch(arguments: argparse.Namespace) -> int:
    from pipeline.assets.packs import install

    if arguments.pack.startswith("objaverse:"):
        return from_objaverse(arguments)
    there = 0
    for step in install(arguments.pack, _folder(arguments), arguments.wheels):
        there += step.added is not None
        print(f"[{step.done}/{step.of}] {step.message}" if step.of else step.message, file=sys.stderr)
    print(f"{there} assets are new in {_folder(arguments) / arguments.pack}; each keeps its own licence in asset.json")
    return DONE


def from_objaverse(arguments: argparse.Namespace) -> int:
    """Its terms are told before it is fetched."""
    from pipeline.assets.importing import bring_in
    from pipeline.assets.objaverse import fetch, look_up

    thing = look_up(arguments.pack.removeprefix("objaverse:"))
    print(f"{thing.name}: {thing.licence}{'; ' if thing.terms else ''}{thing.terms}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="grs-") as folder:
        asset = bring_in(fetch(thing, Path(folder)), _folder(arguments) / "objaverse", thing.told).asset
    size = " x ".join(f"{100 * extent:.3g}" for extent in asset.size)
    print(f"{asset.id}: {asset.caption} [{asset.licence}]; {size} cm as its file says, which is rarely its true size: "
          "correct the longest side on the library's page")  # fmt: skip
    return DONE


def show(arguments: argparse.Namespace) -> int:
    from pipeline.assets import Library
    from pipeline.assets.library import OWN, user_libraries

    library = Library.open([OWN, *user_libraries(arguments.to)])
    for asset in library:
        print(f"{asset.id:32} {asset.category:12} {asset.caption}{' [' + asset.licence + ']' if asset.licence else ''}")
    for path, why in library.skipped:
        print(f"grs-studio: {path} skipped: {why}", file=sys.stderr)
    return DONE


def find(arguments: argparse.Namespace) -> int:
    """What fits best, first; views are looked at only where a picture is asked for: that takes its time once."""
    from pipeline.assets import Library
    from pipeline.assets.encoder import encoder
    from pipeline.assets.index import Index
    from pipeline.assets.library import OWN, user_libraries
    from pipeline.assets.mesh import user_cache

    library = Library.open([OWN, *user_libraries(arguments.to)])
    eyes = encoder() if arguments.like else None
    if arguments.like and eyes is None:
        raise StudioError("searching by picture needs the embedded network; run make setup, which installs it")
    picture = _seen(arguments.like, eyes) if eyes else None
    size = None if arguments.size is None else (arguments.size[0] / 100, arguments.size[1] / 100)
    with Index.of(library, user_cache(), eyes.name if eyes else "") as index:
        for step in index.sync(library, user_cache(), eyes):
            print(f"[{step.done}/{step.of}] {step.message}", file=sys.stderr)
        found = index.search(
            " ".join(arguments.words), picture, size=size, category=arguments.category, licence=arguments.licence,
            articulated=True if arguments.articulated else None, limit=arguments.limit,
        )  # fmt: skip
    if not found.every_word:
        print("grs-studio: nothing holds all these words; these hold some", file=sys.stderr)
    for id, score in zip(found.ids, found.scores, strict=True):
        like = f"{score:5.2f}  " if eyes else ""
        print(f"{like}{id:32} {library[id].category:12} {library[id].caption}")
    print(f"{found.total} found, {len(found.ids)} shown", file=sys.stderr)
    return DONE


def _seen(picture: Path, eyes: "Encoder") -> "np.ndarray":
    from studio.library_alike import cut_out, squared

    rgb, mask = squared(*cut_out(picture), eyes.pixels)
    return eyes.encode(rgb[None], mask[None])[0]


def take_out(arguments: argparse.Namespace) -> int:
    import shutil

    from pipeline.assets import Library, own

    folder = _folder(arguments)
    if bool(arguments.id) == bool(arguments.pack):
        raise StudioError("name one asset of your own, or a pack with --pack")
    if arguments.id:
        if not (folder / "own").is_dir():
            raise StudioError(f"{folder} holds no assets of your own; grs-studio library add brings some in")
        own.remove(Library.open([folder / "own"])[arguments.id], folder / "own")
        print(f"{arguments.id} is taken out; grs-studio library undo brings it back")
        return DONE
    pack = folder / arguments.pack
    packs = sorted(f.name for f in folder.iterdir() if f.is_dir() and f.name != "own") if folder.is_dir() else []
    if arguments.pack not in packs:
        raise StudioError(f"no pack {arguments.pack} in {folder}; there are: {', '.join(packs) or 'none'}")
    shutil.rmtree(pack)
    print(f"the pack {arguments.pack} is taken out; grs-studio library install {arguments.pack} brings it back")
    return DONE


def take_back(arguments: argparse.Namespace) -> int:
    from pipeline.assets import own

    what = own.undo(_folder(arguments) / "own")
    print(f"taken back: {what}" if what else "there is nothing to take back")
    return DONE


def _folder(arguments: argparse.Namespace) -> Path:
    from pipeline.assets.library import user_library

    return arguments.to or user_library()

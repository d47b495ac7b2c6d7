"""`grs-studio library add|list|look|install`: a person's own assets, and packs, from the command line."""

import argparse
import sys
from pathlib import Path

from pipeline.errors import StudioError

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

    seen = verbs.add_parser("look", help="see each asset from all sides now, so that no project waits for it later")
    seen.set_defaults(work=look)

    install = verbs.add_parser("install", help="a pack of assets that others made")
    install.add_argument("pack", help="libero")
    install.add_argument("--to", type=Path, default=argparse.SUPPRESS)
    install.add_argument("--wheels", type=Path, help="a folder of wheels that were downloaded before")
    install.set_defaults(work=fetch)


def bring(arguments: argparse.Namespace) -> int:
    """Each thing in the source; one that cannot be had is named, the others are brought in."""
    from pipeline.assets.asset import AssetError
    from pipeline.assets.importing import Told, bring_in, opened

    keys = ("id", "name", "category", "caption", "units", "up", "mass", "friction", "replace")
    told = Told(**{key: getattr(arguments, key) for key in keys}, licence=arguments.licence or "",
                provenance=f"added from {arguments.source.name}")  # fmt: skip
    for key in ("mass", "friction"):
        value = getattr(arguments, key)
        if value is not None and not 0 < value < 1000:
            raise StudioError(f"--{key} is {value}; it takes a number above zero")
    failed = 0
    with opened(arguments.source) as found:
        if len(found) > 1 and told.id:
            raise StudioError(f"--id names one thing and {arguments.source.name} holds {len(found)}; leave it out")
        for number, source in enumerate(found, 1):
            try:
                added = bring_in(source, _folder(arguments) / "own", told)
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
    """What the first match would do for every asset of the default library: some seconds each ten, kept for good."""
    from studio.services import Settings, open_services

    services = open_services(Settings())
    count = sum(1 for _ in services.learn())
    print(f"{count} assets are known from all sides")
    return DONE


def fetch(arguments: argparse.Namespace) -> int:
    from pipeline.assets.packs import install

    there = 0
    for step in install(arguments.pack, _folder(arguments), arguments.wheels):
        there += step.added is not None
        print(f"[{step.done}/{step.of}] {step.message}" if step.of else step.message, file=sys.stderr)
    print(f"{there} assets are new in {_folder(arguments) / arguments.pack}; each keeps its own licence in asset.json")
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


def _folder(arguments: argparse.Namespace) -> Path:
    from pipeline.assets.library import user_library

    return arguments.to or user_library()

"""`grs-studio sync`: the projects of a workspace and those of an object store, each brought to the newer of both."""

import argparse
import sys
from pathlib import Path

from studio.commands.options import BAD_INPUT, DONE


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("workspace", type=Path, help="folder of projects")
    command.add_argument("url", metavar="URL", help="place that fsspec knows, as in s3://bucket/lab or file:///mnt/lab")
    command.add_argument("names", nargs="*", metavar="PROJECT", help="only these projects")
    command.add_argument("--keep", choices=("here", "there"), help="which to keep of a project changed in both places")
    command.set_defaults(execute=sync)


def sync(arguments: argparse.Namespace) -> int:
    from pipeline.errors import StudioError
    from pipeline.store.folder_sync import sync_folder
    from pipeline.store.object_store import ObjectStore, is_name

    workspace, names = arguments.workspace, list(arguments.names)
    if "://" not in arguments.url:
        raise StudioError(f"{arguments.url} is not an address; write one such as s3://bucket/lab or file:///mnt/lab")
    if unfit := [name for name in names if not is_name(name)]:
        raise StudioError(f"{unfit[0]} is not the name of a project of {workspace}")
    store = ObjectStore.open(arguments.url)
    here = [path.parent.name for path in workspace.glob("*/project.json") if is_name(path.parent.name)]
    everywhere = sorted({*here, *store.names()})
    if unknown := [name for name in names if name not in everywhere]:
        raise StudioError(f"there is no project {unknown[0]} in {workspace} or {arguments.url}")
    workspace.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in names or everywhere:
        try:
            line = sync_folder(workspace / name, store, "project.json", arguments.keep)
        except StudioError as error:
            failed += 1
            line = f"not synced: {' '.join(str(error).split())}"
        print(f"{name}: {line}", file=sys.stderr, flush=True)
    count = len(names or everywhere)
    print(f"{count - failed} of {count} projects are the same in {workspace} and {arguments.url}", file=sys.stderr)
    return BAD_INPUT if failed else DONE

"""`grs-studio set make|list|export|remove`: named selections of accepted projects with a split."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline import plugins
from studio.commands.options import DONE


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.set_defaults(execute=list_sets, workspace=None)
    verbs = command.add_subparsers(title="what to do", parser_class=type(command))

    made = _verb(verbs, "make", "make a set of accepted projects", make)
    made.add_argument("name")
    made.add_argument("projects", nargs="*", help="folders of the workspace (default: every accepted project)")
    made.add_argument("--test", type=float, default=0.2, help="share of the test split (default %(default)s)")
    made.add_argument("--seed", type=int, default=0, help="of the split (default %(default)s)")
    made.add_argument("--by-source", action="store_true", help="keep frames of one source in one split")
    made.add_argument("--about", default="", help="what it is, for the card")
    made.add_argument("--licence", default="", help="for the card")

    _verb(verbs, "list", "list the sets", list_sets)

    export = _verb(verbs, "export", "write a set with its card to a folder or a .zip", export_projects)
    export.add_argument("name")
    export.add_argument("--format", default="zip", choices=tuple(plugins.entries("exporters")))
    export.add_argument("--out", type=Path, required=True, help="new folder, or new file ending in .zip")

    removed = _verb(verbs, "remove", "remove a set; its projects stay", remove)
    removed.add_argument("name")


def _verb(
    verbs: "argparse._SubParsersAction", name: str, about: str, execute: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=about)
    verb.add_argument("--workspace", type=Path, help="folder of the projects (default GRS_WORKSPACE, else ./workspace)")
    verb.set_defaults(execute=execute)
    return verb


def make(arguments: argparse.Namespace) -> int:
    from pipeline.project_sets import SetSettings, make_set

    settings = SetSettings(
        arguments.test, arguments.seed, arguments.by_source, arguments.about.strip(), arguments.licence.strip()
    )
    made = make_set(_workspace(arguments), arguments.name, arguments.projects, settings)
    print(f"{made.name}: {_counts(made.split)}", file=sys.stderr)
    return DONE


def list_sets(arguments: argparse.Namespace) -> int:
    from pipeline.project_sets import read_sets

    for one in read_sets(_workspace(arguments)):
        print(f"{one.name}: {_counts(one.split)}")
    return DONE


def export_projects(arguments: argparse.Namespace) -> int:
    from pipeline.project_sets import export_set, read_set

    workspace = _workspace(arguments)
    chosen = read_set(workspace, arguments.name)
    for line in export_set(workspace, chosen, arguments.format, arguments.out):
        print(line, file=sys.stderr)
    print(f"{arguments.out} written", file=sys.stderr)
    return DONE


def remove(arguments: argparse.Namespace) -> int:
    from pipeline.project_sets import remove_set

    remove_set(_workspace(arguments), arguments.name)
    return DONE


def _counts(split: Mapping[str, str]) -> str:
    values = list(split.values())
    return f"{values.count('train')} train, {values.count('test')} test"


def _workspace(arguments: argparse.Namespace) -> Path:
    return arguments.workspace or Path(os.environ.get("GRS_WORKSPACE") or "workspace")

"""Exit codes, and options that several commands take."""

import argparse
import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import plugins
from pipeline.errors import StudioError

if TYPE_CHECKING:
    from pipeline.run import Services

DONE, OUR_FAULT, BAD_INPUT = 0, 1, 2


def add_model(command: argparse.ArgumentParser) -> None:
    """Add --model."""
    command.add_argument("--model", help="offline, openai, or replay:TRACE (default GRS_MODEL, else offline)")


def add_library(command: argparse.ArgumentParser) -> None:
    """Add --library, which may be repeated."""
    command.add_argument(
        "--library", type=Path, action="append", default=[], metavar="PATH",
        help="asset folder to search instead of the default library; may be repeated",
    )  # fmt: skip


def add_segmenter(command: argparse.ArgumentParser) -> None:
    """Add --segmenter with the names of the built-in and the installed segmenters."""
    command.add_argument(
        "--segmenter", default="depth", choices=tuple(plugins.entries("segmenters")),
        help="what finds the masks (default %(default)s)",
    )  # fmt: skip


def add_unprotected(command: argparse.ArgumentParser) -> None:
    """Add --unprotected."""
    command.add_argument(
        "--unprotected", action="store_true",
        help="run programs even where this machine cannot confine them (docs/sandbox.md)",
    )  # fmt: skip


def require_packages(extra: str, *modules: str) -> None:
    """Raise StudioError that names the extra of this project to install if one of the modules is missing."""
    if missing := [name for name in modules if importlib.util.find_spec(name) is None]:
        raise StudioError(f'{missing[0]} is missing; install it by: pip install "grs-studio[{extra}]"')


def model_setting(flag: str | None, default: str = "offline") -> str:
    """Return "offline", "openai", "replay:TRACE" or `default`, from --model, else from GRS_MODEL.

    A model's own name in GRS_MODEL means "openai". Raises StudioError for a flag that is none of these.
    """
    if flag and flag not in ("offline", "openai") and not flag.startswith("replay:"):
        raise StudioError(f"--model {flag} is not known; it takes offline, openai, or replay:TRACE")
    if flag:
        return flag
    variable = os.environ.get("GRS_MODEL", "")
    if not variable:
        return default
    return variable if variable == "offline" or variable.startswith("replay:") else "openai"


def announce_sending(services: "Services") -> "Services":
    """Say on stderr what goes to the model's server; a model named for a command may be sent to in this run."""
    services, line = sending_line(services)
    if line:
        print(line, file=sys.stderr)
    return services


def sending_line(services: "Services") -> "tuple[Services, str]":
    """Return services that may send to their model's server, and a line that says what goes there."""
    from pipeline.models.destination import destination_of
    from pipeline.run import WHAT_IS_SENT

    if destination := destination_of(services.model):
        what = (
            WHAT_IS_SENT
            if services.model.settings.pictures
            else "no picture; names, sizes, the task, its programs and solved programs of other projects as examples"
        )  # type: ignore[attr-defined]
        place = f"{destination.address} ({', '.join(destination.models)})"
        return replace(services, send="always"), f"model: {place} gets {what}. --model offline sends nothing"
    return replace(services, send="always"), ""

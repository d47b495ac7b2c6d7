"""Exit codes, and options that several commands take."""

import argparse
import importlib.util
import os
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
        "--segmenter",
        default="depth",
        choices=tuple(plugins.entries("segmenters")),
        help="what finds the masks (default %(default)s)",
    )


def add_unprotected(command: argparse.ArgumentParser) -> None:
    """Add --unprotected."""
    command.add_argument(
        "--unprotected",
        action="store_true",
        help="run programs even where this machine cannot confine them (docs/security.md)",
    )


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


def services_for(arguments: argparse.Namespace, **settings: object) -> "Services":
    """Open the services that a command's options and further settings select. Raises StudioError.

    Says on stderr what goes to the model's server; a model named for a command may be sent to in this run.
    """
    from studio.services.open_services import announce_sending, open_services
    from studio.services.settings import Settings

    common = {
        "model": model_setting(arguments.model),
        "library": tuple(getattr(arguments, "library", ())),
        "unprotected": getattr(arguments, "unprotected", False),
    }
    return announce_sending(open_services(Settings.from_environment(**common | settings)))

"""Finds models of other packages on this machine: robosuite's objects and MuJoCo Menagerie's robots."""

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, eq=False)
class InstalledPack:
    """A folder of models from an installed package."""

    name: str
    description: str
    root: Path
    """Folder that holds all its files."""
    models: tuple[tuple[Path, str], ...]
    """Each model file with its id, unique over all packs."""
    licence: str = ""
    """Licence of all models; empty if each has a LICENSE file beside it."""
    category: str | None = None
    """Category of all models, if they share one."""


def installed_packs() -> tuple[InstalledPack, ...]:
    """Return the packs found on this machine."""
    return tuple(pack for pack in (*_robosuite(), *_menagerie()) if pack.models)


def _robosuite() -> Iterator[InstalledPack]:
    spec = importlib.util.find_spec("robosuite")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(place) / "models" / "assets"
        models = sorted((root / "objects").glob("*.xml"))
        solid = [path for path in models if not path.stem.endswith("-visual")]  # markers of goals, without collision
        named = tuple((path, f"robosuite_{path.stem}") for path in solid)
        yield InstalledPack("robosuite", "robosuite's objects, as installed here", root, named, "MIT (robosuite)")


def _menagerie() -> Iterator[InstalledPack]:
    """Yield the models below MENAGERIE_ROOT, else in the cache of the package robot_descriptions."""
    cache = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE") or Path.home() / ".cache" / "robot_descriptions")
    root = Path(os.environ.get("MENAGERIE_ROOT") or cache / "mujoco_menagerie")
    if root.is_dir():
        folders = sorted(folder for folder in root.iterdir() if folder.is_dir())
        models = tuple((path, folder.name) for folder in folders for path in _main_model(folder))
        description = "MuJoCo Menagerie's robots, arms and grippers, as found here"
        yield InstalledPack("menagerie", description, root, models, category="robot")


def _main_model(folder: Path) -> list[Path]:
    """Return a folder's main model: its name is the folder's or part of it, else it is the shortest. Empty if none."""
    models = [path for path in folder.glob("*.xml") if "scene" not in path.stem and _has_bodies(path)]
    matching = sorted((path for path in models if path.stem in folder.name), key=lambda path: -len(path.stem))
    return (matching or sorted(models, key=lambda path: (len(path.stem), path.stem)))[:1]


def _has_bodies(path: Path) -> bool:
    """Return whether a file is a model by itself: some files are only included by others."""
    return "<worldbody" in path.read_text("utf-8", "replace")

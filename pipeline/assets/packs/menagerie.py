"""Finds the robots of MuJoCo Menagerie on this machine."""

import os
from dataclasses import dataclass
from pathlib import Path

NAME = "menagerie"


@dataclass(frozen=True, eq=False)
class Menagerie:
    """A folder of MuJoCo Menagerie. Each of its folders has one robot and a LICENSE file."""

    root: Path
    models: tuple[Path, ...]
    """The main model file of each folder."""


def find_menagerie() -> Menagerie | None:
    """Return the models below MENAGERIE_ROOT, else in the cache of the package robot_descriptions; None without any."""
    cache = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE") or Path.home() / ".cache" / "robot_descriptions")
    root = Path(os.environ.get("MENAGERIE_ROOT") or cache / "mujoco_menagerie")
    folders = sorted(folder for folder in root.iterdir() if folder.is_dir()) if root.is_dir() else ()
    models = tuple(path for folder in folders for path in _main_model(folder))
    return Menagerie(root, models) if models else None


def _main_model(folder: Path) -> list[Path]:
    """Return a folder's main model: its name is the folder's or part of it, else it is the shortest. Empty if none."""
    models = [path for path in folder.glob("*.xml") if "scene" not in path.stem and _has_bodies(path)]
    matching = sorted((path for path in models if path.stem in folder.name), key=lambda path: -len(path.stem))
    return (matching or sorted(models, key=lambda path: (len(path.stem), path.stem)))[:1]


def _has_bodies(path: Path) -> bool:
    """Whether a file is a model of its own, and not a part that models include."""
    return "<worldbody" in path.read_text("utf-8", "replace")

"""Models of other packages that are on this machine already: brought in like files of one's own."""

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, eq=False)
class FoundPack:
    """A folder of models that some package brought."""

    name: str
    about: str
    root: Path
    """All its files lie below."""
    models: tuple[tuple[Path, str], ...]
    """Each with its id, which no other pack's asset has."""
    licence: str = ""
    """Of all of them; empty where each has its own in a LICENSE beside it."""
    category: str | None = None
    """Of all of them, where they are of one kind."""


def found() -> tuple[FoundPack, ...]:
    """robosuite's objects where it is installed, MuJoCo Menagerie's models where they lie."""
    return tuple(pack for pack in (*_robosuite(), *_menagerie()) if pack.models)


def _robosuite() -> Iterator[FoundPack]:
    spec = importlib.util.find_spec("robosuite")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(place) / "models" / "assets"
        models = sorted((root / "objects").glob("*.xml"))
        solid = [one for one in models if not one.stem.endswith("-visual")]  # those are ghosts that mark goals
        called = tuple((one, f"robosuite_{one.stem}") for one in solid)
        yield FoundPack("robosuite", "robosuite's objects, as installed here", root, called, "MIT (robosuite)")


def _menagerie() -> Iterator[FoundPack]:
    """Where MENAGERIE_ROOT says, else where the package robot_descriptions keeps what it fetched."""
    kept = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE") or Path.home() / ".cache" / "robot_descriptions")
    root = Path(os.environ.get("MENAGERIE_ROOT") or kept / "mujoco_menagerie")
    if root.is_dir():
        folders = sorted(folder for folder in root.iterdir() if folder.is_dir())
        models = tuple((path, folder.name) for folder in folders for path in _main(folder))
        about = "MuJoCo Menagerie's robots, arms and grippers, as they lie here"
        yield FoundPack("menagerie", about, root, models, category="robot")


def _main(folder: Path) -> list[Path]:
    """The model that a folder is about: called as it is, or as a part of it; else the shortest name."""
    models = [path for path in folder.glob("*.xml") if "scene" not in path.stem and _has_bodies(path)]
    alike = sorted((path for path in models if path.stem in folder.name), key=lambda path: -len(path.stem))
    return (alike or sorted(models, key=lambda path: (len(path.stem), path.stem)))[:1]


def _has_bodies(path: Path) -> bool:
    """Whether it is a model: some files are only a part of one."""
    return "<worldbody" in path.read_text("utf-8", "replace")

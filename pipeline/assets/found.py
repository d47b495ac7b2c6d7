"""Models of other packages that are on this machine already: brought in like files of one's own."""

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FoundPack:
    """A folder of models that some package brought."""

    name: str
    about: str
    root: Path
    """All its files lie below."""
    models: tuple[Path, ...]
    licence: str


def found() -> tuple[FoundPack, ...]:
    """robosuite's objects where it is installed, MuJoCo Menagerie's models where MENAGERIE_ROOT says it lies."""
    return tuple(pack for pack in _all() if pack.models)


def _all() -> Iterator[FoundPack]:
    spec = importlib.util.find_spec("robosuite")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(place) / "models" / "assets"
        models = tuple(sorted((root / "objects").glob("*.xml")))
        yield FoundPack("robosuite", "robosuite's objects, as installed here", root, models, "MIT (robosuite)")
    told = os.environ.get("MENAGERIE_ROOT")
    if told and (root := Path(told)).is_dir():
        models = tuple(path for folder in sorted(root.iterdir()) if folder.is_dir() for path in _main(folder))
        about = "MuJoCo Menagerie's robots and grippers, as they lie in MENAGERIE_ROOT"
        yield FoundPack("menagerie", about, root, models, "see the LICENSE in each model's folder of Menagerie")


def _main(folder: Path) -> list[Path]:
    """The model that a folder is about: named as it is, else the shortest name that is no scene."""
    models = [path for path in folder.glob("*.xml") if not path.stem.startswith("scene")]
    same = [path for path in models if path.stem == folder.name]
    return same or sorted(models, key=lambda path: (len(path.stem), path.stem))[:1]

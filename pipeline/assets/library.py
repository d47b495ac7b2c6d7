"""A library: folders of assets in the plain format, read once, their meshes loaded when asked for.

An asset folder holds `mesh.obj` (or .glb, .stl, an MJCF or URDF) with its texture beside it, and `asset.json`
{id, name, optional size, mass, friction, licence, category, caption, container, collision, provenance}; and
mass_range, mass_from, friction_range, friction_from, wrong where somebody knows; and "instead": true where it takes the
place of another asset of its id: a person's own version of it.
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
    category_of,
    friction_range,
    hollow,
    mass_range,
    mass_source,
    usual_friction,
    usual_mass,
)
from pipeline.assets.described import MODEL_FORMATS
from pipeline.assets.hollow import FORM, hollow_files
from pipeline.assets.mesh import MESH_FORMATS, metric_mesh, user_cache
from pipeline.assets.shapes import Solid, write

OWN = Path(__file__).resolve().parents[2] / "sample_scenes" / "library"
"""The library of our own making."""


@dataclass(frozen=True, eq=False)
class Library:
    """All assets that a frame's objects may be taken for."""

    assets: tuple[Asset, ...]
    """In order of their ids; no id twice."""
    skipped: tuple[tuple[Path, str], ...] = ()
    """Folders that could not be read, each with the reason in one sentence."""
    paths: tuple[Path, ...] = ()
    """What it was opened from."""

    @staticmethod
    def open(paths: Sequence[Path | str] | None = None, cache: Path | None = None) -> "Library":
        """The assets in folders of asset folders, or the library of our own making.

        Meshes that are not yet metric and centred are written so, once, into `cache` (default: the user's cache
        folder). Raises AssetError for a path that is no folder; a single bad asset is skipped and named.
        """
        found: dict[str, Asset] = {}
        skipped: list[tuple[Path, str]] = []
        versions: set[str] = set()
        searched = tuple([OWN] if paths is None else [Path(path) for path in paths])
        for folder in asset_folders(searched):
            try:
                asset = read_asset(folder, cache)
                if _facts(folder).get("instead"):
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
                f'no asset "{id}" in the library; near it: {", ".join(near) or "none, it is empty"}'
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


def user_library() -> Path:
    """Where a person's own assets and packs are kept, for all projects: GRS_LIBRARY, else the user's data folder."""
    base = os.environ.get("GRS_LIBRARY")
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return Path(base) if base else data / "grs-studio" / "library"


def user_libraries(folder: Path | None = None) -> list[Path]:
    """The libraries in there, each a folder of asset folders: "own" first, so that no pack hides it, then the packs."""
    top = folder or user_library()
    found = [f for f in top.iterdir() if f.is_dir() and f.name[0] not in "._"] if top.is_dir() else []
    return sorted(found, key=lambda f: (f.name != "own", f.name))


def asset_folders(paths: Sequence[Path]) -> list[Path]:
    """The asset folders in each path; a path that is itself an asset folder counts as one. Raises AssetError."""
    folders = []
    for path in paths:
        if not path.is_dir():
            raise AssetError(f"the library {path} is no folder; give a folder of asset folders")
        if (path / "asset.json").exists():
            folders.append(path)
        else:
            folders += sorted(f for f in path.iterdir() if f.is_dir() and not f.name.startswith((".", "__")))
    return folders


def read_asset(folder: Path, cache: Path | None = None) -> Asset:
    """The asset in one folder. Raises AssetError that says what is wrong with it."""
    facts = _facts(folder)
    source = _mesh_file(folder)
    digest = _digest(folder)
    size = _numbers(facts, "size", 3)
    mesh, size = metric_mesh(source, size, digest, cache)
    id = str(facts.get("id") or folder.name)
    name = str(facts.get("name") or id.replace("_", " "))
    category = str(facts.get("category") or category_of(id, name))
    container = bool(facts.get("container", hollow(category)))
    collision = _collision(folder, facts) if mesh == source else ()
    if container and not collision:
        collision = hollow_files(mesh, (cache or user_cache()) / "hollow" / FORM / digest)
    container = container and len(collision) > 1  # one hull closes what is open
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
        wrong=tuple(map(str, wrong)) if isinstance(wrong := facts.get("wrong"), list) else (),
    )


def _physics(facts: dict, size: np.ndarray, category: str, container: bool) -> dict[str, Any]:
    """An Asset's mass and friction, each with its range and where it comes from; filled in where the file is silent."""
    told, rubs = _numbers(facts, "mass", 1), _numbers(facts, "friction", 1)
    mass = usual_mass(size, container, category) if told is None else float(told[0])
    friction = usual_friction(category) if rubs is None else float(rubs[0])
    plausible = mass_range(size, container, category, None if told is None else mass)
    return {
        "mass": mass,
        "mass_range": _range(facts, "mass_range", plausible),
        "mass_source": mass_source(category) if told is None else str(facts.get("mass_from") or "asset"),
        "friction": friction,
        "friction_range": _range(facts, "friction_range", friction_range(friction)),
        "friction_source": "category table" if rubs is None else str(facts.get("friction_from") or "asset"),
    }


def _range(facts: dict, key: str, otherwise: tuple[float, float]) -> tuple[float, float]:
    ends = _numbers(facts, key, 2)
    return otherwise if ends is None else (float(ends.min()), float(ends.max()))


def write_asset(solid: Solid, folder: Path, about: Mapping[str, object]) -> Asset:
    """An asset folder, named by its id, of a solid and what asset.json says beside its id, size and pieces."""
    solid = solid.centred()
    _, pieces = write(solid, folder)
    facts = {
        "id": folder.name,
        **about,
        "size": [round(float(extent), 5) for extent in solid.mesh.extents],
        "collision": [f"collision/{piece.name}" for piece in pieces],
    }
    (folder / "asset.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return read_asset(folder)


def _facts(folder: Path) -> dict:
    try:
        facts = json.loads((folder / "asset.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AssetError('it has no asset.json; the least is {"id": ..., "name": ...}') from None
    except (OSError, ValueError) as error:
        raise AssetError(f"its asset.json cannot be read: {error}") from None
    if not isinstance(facts, dict):
        raise AssetError('its asset.json is no object; the least is {"id": ..., "name": ...}')
    return facts


def _mesh_file(folder: Path) -> Path:
    """mesh.* where there is one; else a model, since meshes beside it are its parts; else any mesh."""
    names = [f"mesh{suffix}" for suffix in MESH_FORMATS]
    for pattern in (*names, *(f"*{suffix}" for suffix in (*MODEL_FORMATS, *MESH_FORMATS))):
        if files := sorted(folder.glob(pattern)):
            return files[0]
    raise AssetError(f"it has no mesh; mesh.obj would do, or one of {' '.join(MESH_FORMATS)}")


def _numbers(facts: dict, key: str, count: int) -> np.ndarray | None:
    """A fact as `count` positive numbers, None where it is not given. A number may come alone or in a list."""
    value = facts.get(key)
    if value is None:
        return None
    try:
        numbers = np.atleast_1d(np.asarray(value, float))
        if numbers.ndim == 1 and len(numbers) >= count and np.isfinite(numbers).all() and (numbers > 0).all():
            return numbers[:count]
    except (TypeError, ValueError):
        pass
    raise AssetError(f"its {key} is {value!r}; it takes {count} number{'s' * (count > 1)} above zero")


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
    within = os.path.normpath(folder) + os.sep  # by name alone: a large library has thousands of pieces
    missing = [f.name for f in files if not os.path.normpath(f).startswith(within) or not f.exists()]
    if missing:
        raise AssetError(f"its collision file {missing[0]} is not in its folder")
    return files


def _digest(folder: Path) -> str:
    """Hash of the folder's files. Paths count relative to it, so that a moved library keeps its digest."""
    files = sorted(f for f in folder.rglob("*") if f.is_file())
    stamps = [(f.relative_to(folder).as_posix(), (known := f.stat()).st_mtime_ns, known.st_size) for f in files]
    return _hashed(folder, tuple(stamps))


@lru_cache(maxsize=10_000)
def _hashed(folder: Path, stamps: tuple[tuple[str, int, int], ...]) -> str:
    """Read once for each version of the files: a library is opened anew whenever one asset of it changes."""
    total = hashlib.sha256()
    for name, _, _ in stamps:
        total.update(name.encode())
        total.update((folder / name).read_bytes())
    return total.hexdigest()[:16]

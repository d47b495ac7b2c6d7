"""Things brought into a library: a mesh, an MJCF or URDF model, a folder or a zip of them becomes an asset folder.

What the file does not say is filled in and marked: mass and friction from a table by category, with a plausible range;
collision pieces where its hull would close what is open.
"""

import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import trimesh

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
from pipeline.assets.convex import decomposed, nearly_convex
from pipeline.assets.described import MODEL_FORMATS
from pipeline.assets.hollow import opening
from pipeline.assets.importing_mesh import UP, Units, clean, read_mesh, small
from pipeline.assets.importing_model import Imported, read_model
from pipeline.assets.library import read_asset
from pipeline.assets.licences import licence_beside
from pipeline.assets.views import look, rotations
from pipeline.description.colour import name_colour

MESHES = (".glb", ".gltf", ".obj", ".stl", ".ply")
LIGHTEST, HEAVIEST = 20.0, 8000.0
"""Kg per cubic metre of its box: what lies outside was never weighed."""
LIES = "its opening faces {}: if it is lying, turn it"
LARGEST_ZIP, MOST_FILES = 4 << 30, 20_000
SQUEEZED = 200
"""How many times its own size a zip of models may unpack to, where that is more than a few hundred MB."""


@dataclass(frozen=True)
class Told:
    """What a person, or a pack, says of a thing that its file does not. None: find out."""

    id: str | None = None
    name: str | None = None
    category: str | None = None
    caption: str | None = None
    units: Units | None = None
    up: str | None = None
    """The file's axis that points up: "x", "y" or "z"."""
    mass: float | None = None
    friction: float | None = None
    licence: str = ""
    provenance: str = ""
    replace: bool = False
    """Take the place of an asset of the same id."""


@dataclass(frozen=True, eq=False)
class Added:
    asset: Asset
    wrong: tuple[str, ...]
    """What is wrong with it, or was and is mended, one sentence each."""


@contextmanager
def opened(source: Path) -> Iterator[list[Path]]:
    """The models and meshes in a file, a folder, or a zip that is unpacked for the while. Raises AssetError."""
    if not source.exists():
        raise AssetError(f"{source} does not exist; give a mesh, a model, a folder or a zip")
    if source.suffix.lower() != ".zip":
        yield sources(source)
        return
    with tempfile.TemporaryDirectory(prefix="grs-") as folder:
        yield sources(unpacked(source, Path(folder)))


def unpacked(source: Path, folder: Path) -> Path:
    """A zip's files in `folder`, which is returned. Raises AssetError for one that is broken or does harm."""
    try:
        with zipfile.ZipFile(source) as packed:
            _harmless(packed, source, folder)
            packed.extractall(folder)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
        raise AssetError(f"{source.name} cannot be unpacked: {error}") from None
    return folder


def _harmless(packed: zipfile.ZipFile, source: Path, folder: Path) -> None:
    """Raises AssetError for a zip that would fill the disk or write elsewhere."""
    entries = packed.infolist()
    large = sum(entry.file_size for entry in entries)
    if any(".." in Path(name := e.filename.replace("\\", "/")).parts or name.startswith("/") for e in entries):
        raise AssetError(f"{source.name} holds paths that lead out of it; pack the folder of the model anew")
    if large > LARGEST_ZIP or len(entries) > MOST_FILES:
        raise AssetError(f"{source.name} unpacks to more than {LARGEST_ZIP >> 30} GB or {MOST_FILES:,} files; "
                         "unpack it yourself and give the folder of the model")  # fmt: skip
    if large > max(SQUEEZED * source.stat().st_size, 300 << 20):
        raise AssetError(
            f"{source.name} unpacks to {large / 1e9:.1f} GB, hundreds of times its size: no model is so empty"
        )
    if large > 0.9 * shutil.disk_usage(folder).free:
        raise AssetError(
            f"unpacking {source.name} takes {large / 1e9:.1f} GB and the disk has less; set TMPDIR elsewhere"
        )


def sources(source: Path) -> list[Path]:
    """What in a file or folder is a thing of its own: a model; else a mesh; else what the folders in it hold.

    Raises AssetError where there is none.
    """
    known = (*MODEL_FORMATS, *MESHES)
    if source.is_file():
        if source.suffix.lower() not in known:
            raise AssetError(f"{source.name} is none of {' '.join((*known, '.zip'))}")
        return [source]
    files = sorted(f for f in source.iterdir() if f.is_file() and f.suffix.lower() in known)
    models = [f for f in files if f.suffix.lower() in MODEL_FORMATS]
    models = [f for f in models if not f.stem.startswith("scene")] or models  # a scene shows the model beside it
    main = [f for f in files if f.stem in ("mesh", source.name)]
    if files:
        return [f for f in models if f.stem == source.name] or models or main or files
    below = sorted(f for f in source.iterdir() if f.is_dir() and not f.name.startswith((".", "__")))
    found = [one for folder in below for one in sources_or_none(folder)]
    if not found:
        raise AssetError(f"{source.name} holds no mesh and no model; it takes one of {' '.join(known)}")
    return found


def sources_or_none(folder: Path) -> list[Path]:
    """The same, empty where there is none."""
    try:
        return sources(folder)
    except AssetError:
        return []


def bring_in(
    source: Path, library: Path, told: Told | None = None, root: Path | None = None,
    doing: Callable[[str], object] = lambda what: None,
) -> Added:  # fmt: skip
    """One model or mesh as an asset folder in `library`, which is made where it is missing.

    `doing` is told what is done now, in a few words.

    `root` is where a model's lost meshes are looked for, and then it may name no file outside. The folder appears
    whole or not at all. Raises AssetError.
    """
    told = told or Told()
    id = identifier(told.id) if told.id else id_after(source)
    target = library / id
    if target.exists() and not told.replace:
        raise AssetError(f'the library has an asset "{id}" already; give another --id, or --replace')
    doing("reading")
    model = read_model(source, root) if source.suffix.lower() in MODEL_FORMATS else None
    units: Units | None = "m" if model or source.suffix.lower() in (".glb", ".gltf") else None
    up = told.up or ("y" if source.suffix.lower() in (".glb", ".gltf") else None)
    if up is not None and up not in UP:
        raise AssetError(f"the axis that points up is {up}; it takes x, y or z")
    mesh = model.mesh if model else read_mesh(source)
    doing("cleaning its mesh")
    ready = clean(mesh, source.name, told.units or units, up)
    category = told.category or category_of(id, told.name or id.replace("_", " "))
    doing("finding its convex parts")
    pieces, opens = _pieces(ready.mesh, ready.library_from_file, model, hollow(category))
    facts, wrong = _facts(id, ready.mesh, model, told, category, opens == "z", licence_beside(source, root))
    if opens:
        facts["opens"] = opens
    doing("describing it")
    part = library / f".{id}.{os.getpid()}.part"
    _sweep(library, id)
    try:
        part.mkdir(parents=True)
        facts["wrong"] = said = [*(model.mended if model else ()), *ready.wrong, *wrong]
        _write(part, ready.mesh, pieces, facts)
        if model and model.joints:
            _write_model(part / "model", model, ready.library_from_file)
        if not told.caption:
            facts["caption"] = _caption(read_asset(part), model)
            _write_facts(part, facts)
        _take_place(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    lies = [LIES.format("down" if opens == "-z" else "sideways")] if opens not in (None, "z") else []
    return Added(read_asset(target), (*said, *lies))


def _take_place(part: Path, target: Path) -> None:
    """What was there is gone only once the new one stands."""
    aside = part.with_suffix(".old")
    if target.exists():
        target.rename(aside)
    part.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


def _sweep(library: Path, id: str) -> None:
    """What an import of the same thing left behind that was killed; an old one whose place is empty comes back."""
    for left in library.glob(f".{id}.*.*"):
        *_, process, kind = left.name.split(".")
        if process == str(os.getpid()) or not (process.isdigit() and _runs(int(process))):
            if kind == "old" and not (library / id).exists():
                left.rename(library / id)
            shutil.rmtree(left, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def id_after(source: Path) -> str:
    """The id that its file's name suggests. Raises AssetError where it suggests none."""
    return identifier(source.parent.name if source.stem == "mesh" else source.stem)


def free_id(source: Path, library: Path, taken: Collection[str]) -> str:
    """The same, with a number where `library` has it already, or it is `taken`. Raises AssetError."""
    id = id_after(source)
    wished = (id if n == 1 else f"{id}_{n}" for n in count(1))
    return next(one for one in wished if one not in taken and not (library / one).exists())


def identifier(text: str) -> str:
    """Fit for a folder and a MuJoCo name. Raises AssetError where nothing is left."""
    id = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not id:
        raise AssetError(f"{text!r} holds no letter and no digit that an id could be made of; give --id")
    return id


def _facts(
    id: str,
    mesh: trimesh.Trimesh,
    model: Imported | None,
    told: Told,
    category: str,
    container: bool,
    licence: str,
) -> tuple[dict, list[str]]:
    """asset.json, and what had to be doubted."""
    name, wrong = told.name or id.replace("_", " "), []
    usual, box = usual_mass(mesh.extents, container, category), float(np.prod(mesh.extents))
    mass, source = usual, mass_source(category)
    if told.mass is not None:
        mass, source = told.mass, "person"
    elif model and model.mass:
        if LIGHTEST < model.mass / max(box, 1e-9) < HEAVIEST:
            mass, source = model.mass, "asset"
        else:
            wrong.append(f"its model's mass of {model.mass:.3g} kg is absurd for its size; {usual:.3g} kg was taken")
    rubs, rubs_source = usual_friction(category), "category table"
    if told.friction is not None:
        rubs, rubs_source = told.friction, "person"
    elif model and model.friction:
        rubs, rubs_source = model.friction, "asset"
    facts = {
        "id": id,
        "name": name,
        "caption": told.caption or name,
        "category": category,
        "size": [round(float(extent), 5) for extent in mesh.extents],
        "mass": round(mass, 5),
        "mass_range": [round(end, 5) for end in mass_range(mesh.extents, container, category, mass)],
        "mass_from": source,
        "friction": round(rubs, 3),
        "friction_range": [round(end, 3) for end in friction_range(rubs)],
        "friction_from": rubs_source,
        "container": container,
        "licence": told.licence or licence,
        "provenance": told.provenance,
    }
    if model and model.joints:
        facts |= {"joints": [_plain(joint) for joint in model.joints], "parts": list(model.parts)}
    return facts, wrong


def _plain(joint: Joint) -> dict:
    ends = [round(end, 5) if np.isfinite(end) else None for end in joint.range]
    return {"name": joint.name, "kind": joint.kind, "range": ends, "part": joint.part}


def _pieces(
    mesh: trimesh.Trimesh, library_from_file: np.ndarray, model: Imported | None, cup: bool
) -> tuple[list[trimesh.Trimesh], str | None]:
    """Convex pieces, and of a `cup` the side it opens to, where that shows.

    The pieces are the model's own; none where the hull will do, or where the reader feels out a hollow itself.
    """
    found = opening(mesh) if cup else None
    if model and model.pieces:
        own = [piece.copy().apply_transform(library_from_file) for piece in model.pieces]
        return own, (found[0] if found else "z") if cup and len(own) > 1 else None
    if found:
        return [] if found[0] == "z" else found[1], found[0]
    welded = trimesh.Trimesh(mesh.vertices, mesh.faces)
    welded.merge_vertices(merge_tex=True, merge_norm=True)
    return ([] if nearly_convex(welded) else decomposed(welded)), None


def _caption(asset: Asset, model: Imported | None) -> str:
    """What can be measured of an asset in a few words: "red mug", "my mug, red"."""
    views = look(asset, rotations(np.array([30.0, 150.0, 270.0]), np.array([30.0])), 48)
    colour, _ = name_colour(views.rgb[views.masks])
    moving = [] if model is None else [joint.kind for joint in model.joints]
    slides, hinges = moving.count("slide"), moving.count("hinge")
    words = [f"{n} {word}{'s' * (n > 1)}" for n, word in ((slides, "drawer"), (hinges, "hinged part")) if n]
    centimetres = " x ".join(f"{100 * extent:.0f}" for extent in asset.size)
    before, after = ("", f", {colour}") if asset.name != asset.category else (f"{colour} ", "")  # a name stays whole
    if colour in asset.name.lower().split():
        before = after = ""
    return f"{before}{asset.name}{' with ' * bool(words)}{' and '.join(words)}{after}, {centimetres} cm"


def _write(folder: Path, mesh: trimesh.Trimesh, pieces: list[trimesh.Trimesh], facts: dict) -> None:
    image = getattr(getattr(mesh.visual, "material", None), "image", None)
    if image is not None:
        mesh.visual.material.image = small(image)  # type: ignore[union-attr]
    mesh.export(folder / "mesh.obj", include_normals=False, digits=6)
    if pieces:
        (folder / "collision").mkdir()
        facts["collision"] = [f"collision/{number:02d}.obj" for number in range(len(pieces))]
        for name, piece in zip(facts["collision"], pieces, strict=True):
            piece.export(folder / name, include_normals=False)
    _write_facts(folder, facts)


def _write_facts(folder: Path, facts: dict) -> None:
    (folder / "asset.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _write_model(folder: Path, model: Imported, library_from_file: np.ndarray) -> None:
    """The moving model, alone loadable: its files beside it, its tree turned and centred as the mesh is."""
    folder.mkdir()
    taken: dict[str, str] = {}
    for one in model.source.iter():
        for key in [key for key in one.attrib if key.startswith("file") and Path(one.attrib[key]).is_file()]:
            path = Path(one.attrib[key])
            name = taken.setdefault(str(path), f"{len(taken):02d}_{path.name}")
            if not (folder / name).exists():
                shutil.copy(path, folder / name)
            one.attrib[key] = name
    (folder / "model.xml").write_text(ElementTree.tostring(moved(model.source, library_from_file), "unicode"))


def moved(tree: ElementTree.Element, library_from_file: np.ndarray) -> ElementTree.Element:
    """The model in the library's axes, by a transform of shape (4, 4): what stands in its world goes into one frame."""
    world = tree.find("worldbody")
    if world is None:
        return tree
    quat = trimesh.transformations.quaternion_from_matrix(library_from_file)
    pos = library_from_file[:3, 3]
    children = list(world)
    frame = ElementTree.Element("frame", pos=" ".join(f"{x:.6g}" for x in pos), quat=" ".join(f"{x:.6g}" for x in quat))
    for child in children:
        world.remove(child)
        frame.append(child)
    world.append(frame)
    return tree

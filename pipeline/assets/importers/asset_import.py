"""Imports a mesh, an MJCF or URDF model, or a folder or zip of them, into a library as asset folders.

Missing facts are filled in and their source recorded: mass and friction from a table by category, with a plausible
range, and convex parts for collision where the convex hull would close an opening.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import trimesh

from pipeline.assets.appearance.ray_views import camera_rotations, render_views
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
from pipeline.assets.collision import decompose, find_opening, is_nearly_convex
from pipeline.assets.importers.compiled_model import MODEL_FORMATS
from pipeline.assets.importers.drop import PART_FOLDERS, Drop
from pipeline.assets.importers.import_staging import clean_up_interrupted, find_licence, replace_folder
from pipeline.assets.importers.mesh_import import UP_AXIS_ROTATIONS, Units, clean_mesh, limit_texture_size, read_mesh
from pipeline.assets.importers.model_import import ModelContents, read_model, whole_models
from pipeline.assets.library import read_asset
from pipeline.description.colour import name_colour
from pipeline.untrusted.zips import ZipError, ZipLimits, extract_zip

MESH_SUFFIXES = (".glb", ".gltf", ".obj", ".stl", ".ply")
NAMING_FORMATS = (".xacro", ".sdf")
"""Files that name meshes and are no models themselves."""
MESH_NAME = re.compile(r"[^\"'<>/\\]{1,200}\.(?:glb|gltf|obj|stl|ply)\b", re.IGNORECASE)
GENERIC_NAMES = {
    "", "mesh", "meshes", "model", "models", "textured", "textured_simple", "nontextured", "object", "scene", "visual",
    "collision", "base", "urdf", "mjcf", "obj", "google_16k", "google_64k", "google_512k", "tsdf", "poisson",
}  # fmt: skip
"""Names of files and folders that say nothing of the object: those of YCB, Google Scanned Objects, ROS and others."""
RECONSTRUCTIONS = ("google_16k", "google_64k", "google_512k", "tsdf", "poisson")
"""Folders with YCB's reconstructions of one object: those of its better scanner first, the coarsest first."""
OPENING_WARNING = "its opening faces {}: rotate it if it should stand upright"
ZIP_LIMITS = ZipLimits(members=20_000, member_bytes=1 << 30, total_bytes=4 << 30)


@dataclass(frozen=True)
class ImportOptions:
    """Facts about an asset from a person or a pack, which override its file. None: find out."""

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
    """Replace an asset of the same id."""


@dataclass(frozen=True, eq=False)
class ImportedAsset:
    """A new asset of the library."""

    asset: Asset
    warnings: tuple[str, ...]
    """Problems of its file, repaired or not, one sentence each."""


def unpack(source: Path, folder: Path) -> Path:
    """Unpack a zip into `folder` and return it. Raises AssetError for one that is damaged or harmful."""
    try:
        extract_zip(source, folder, ZIP_LIMITS)
    except ZipError as error:
        raise AssetError(str(error)) from None
    return folder


def find_sources(source: Path) -> list[Path]:
    """Return one file per asset in a file or folder: its models, else its meshes, else those of its subfolders.

    Raises AssetError if there is none.
    """
    known = (*MODEL_FORMATS, *MESH_SUFFIXES)
    if source.is_file():
        if source.suffix.lower() not in known:
            raise AssetError(f"{source.name} is not supported; it takes one of {' '.join((*known, '.zip'))}")
        return [source]
    files = sorted(f for f in source.iterdir() if f.is_file() and f.suffix.lower() in known)
    meshes = [f for f in files if f.suffix.lower() in MESH_SUFFIXES]
    models = whole_models([f for f in files if f.suffix.lower() in MODEL_FORMATS], bool(meshes))
    files = [f for f in files if f in models or f.suffix.lower() not in MODEL_FORMATS]
    models = [f for f in models if not f.stem.startswith("scene")] or models  # a scene file includes the model
    main = [f for f in files if f.stem in ("mesh", "textured", source.name)]
    if files:
        return [f for f in models if f.stem == source.name] or models or main or files
    below = sorted(f for f in source.iterdir() if f.is_dir() and not f.name.startswith((".", "__")))
    best = next((folder for name in RECONSTRUCTIONS for folder in below if folder.name == name), None)
    nested = [file for folder in ([best] if best else below) for file in _find_sources_or_none(folder)]
    if any(file.suffix.lower() in MODEL_FORMATS for file in nested):  # their meshes are no assets of their own
        nested = [
            file for file in nested if file.suffix.lower() in MODEL_FORMATS or file.parent.name not in PART_FOLDERS
        ]
    if not nested:
        raise AssetError(f"{source.name} contains no mesh and no model; it takes one of {' '.join(known)}")
    return nested


def unnamed_meshes(source: Path, found: Collection[Path]) -> str:
    """Return a sentence about the meshes in a folder that are left out beside its models; empty if there are none.

    They are not among the `found`, and no model names them: variants of the same object, or assets of their own.
    """
    if not source.is_dir() or not any(file.suffix.lower() in MODEL_FORMATS for file in found):
        return ""
    drop, named, meshes = Drop(source), set[str](), list[Path]()
    for file in sorted(filter(drop.inside, source.rglob("*"))):
        if file.suffix.lower() in (*MODEL_FORMATS, *NAMING_FORMATS):
            text = drop.read(file).decode("utf-8", "replace")
            named |= {name.strip().casefold() for name in MESH_NAME.findall(text)}
        elif file.suffix.lower() in MESH_SUFFIXES and file not in found:
            meshes.append(file)
    left = [file.name for file in meshes if file.name.casefold() not in named]
    names = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    return f"no model names {names}, left out; add the files themselves to import them" if left else ""


def _find_sources_or_none(folder: Path) -> list[Path]:
    """Return `find_sources`, empty instead of an error."""
    try:
        return find_sources(folder)
    except AssetError:
        return []


def import_asset(
    source: Path,
    library: Path,
    options: ImportOptions | None = None,
    root: Path | None = None,
    on_progress: Callable[[str], object] = lambda stage: None,
) -> ImportedAsset:
    """Write one model or mesh as an asset folder into `library`, complete or not at all. Raises AssetError.

    Args:
        source: A mesh, MJCF or URDF file.
        library: The folder of asset folders; created if missing.
        options: Facts that override the file.
        root: Folder searched for meshes that a model names by a broken path. A model may not name files outside it.
        on_progress: Called with each stage, a key of import_worker.STAGE_START_FRACTIONS.
    """
    options = options or ImportOptions()
    id = make_identifier(options.id) if options.id else id_from_file(source, root)
    target = library / id
    if target.exists() and not options.replace:
        raise AssetError(f'the library has an asset "{id}"; give another --id, or --replace')
    on_progress("reading")
    if Drop(root or source.parent).inside(source) is None:
        raise AssetError(f"{source.name} is a link to a file that was not given with it; give that file")
    model = read_model(source, root) if source.suffix.lower() in MODEL_FORMATS else None
    units: Units | None = "m" if model else None
    up = options.up or ("y" if source.suffix.lower() in (".glb", ".gltf") else None)
    if up is not None and up not in UP_AXIS_ROTATIONS:
        raise AssetError(f"the axis that points up is {up}; it takes x, y or z")
    mesh, lost = (model.mesh, list[str]()) if model else read_mesh(source, root)
    on_progress("cleaning its mesh")
    ready = clean_mesh(mesh, source.name, options.units or units, up)
    category = options.category or guess_category(id, options.name or _readable_name(id))
    on_progress("finding its convex parts")
    parts, opens = _convex_parts(ready.mesh, ready.library_from_file, model, is_hollow_category(category))
    options = replace(options, category=category, licence=options.licence or find_licence(source, root))
    facts, doubts = _asset_facts(id, ready.mesh, model, options, container=opens == "z")
    if opens:
        facts["opens"] = opens
    on_progress("describing it")
    temporary = library / f".{id}.{os.getpid()}.part"
    clean_up_interrupted(library, id)
    try:
        temporary.mkdir(parents=True)
        facts["wrong"] = warnings = [*(model.repairs if model else lost), *ready.warnings, *doubts]
        _write_asset_folder(temporary, ready.mesh, parts, facts)
        if model and model.joints:
            _write_model(temporary / "model", model, ready.library_from_file)
        if not options.caption:
            facts["caption"] = _measured_caption(read_asset(temporary), model)
            _write_facts(temporary, facts)
        replace_folder(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    lying = [OPENING_WARNING.format("down" if opens == "-z" else "sideways")] if opens not in (None, "z") else []
    return ImportedAsset(read_asset(target), (*warnings, *lying))


def id_from_file(source: Path, root: Path | None = None) -> str:
    """Return an id made from the file's name, or of its folder's, up to `root`, if many files have that name.

    Raises AssetError if the name has no letter or digit.
    """
    top = (root or source.parent).absolute()
    folders = [folder for folder in source.absolute().parents if folder == top or top in folder.parents]
    names = (source.stem, *(folder.name for folder in folders))
    return make_identifier(next((name for name in names if name.lower() not in GENERIC_NAMES), source.stem))


def unused_id(source: Path, root: Path, library: Path, taken: Collection[str]) -> str:
    """Return `id_from_file`, with a number appended if `library` has that id or it is `taken`. Raises AssetError."""
    id = id_from_file(source, root)
    candidates = (id if n == 1 else f"{id}_{n}" for n in count(1))
    return next(name for name in candidates if name not in taken and not (library / name).exists())


def make_identifier(text: str) -> str:
    """Return the text as an id that is valid as a folder and as a MuJoCo name. Raises AssetError if nothing is left."""
    id = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not id:
        raise AssetError(f"{text!r} has no letter or digit to make an id from; give --id")
    return id


def _readable_name(id: str) -> str:
    """Return the words of an id without a number before them: "mustard bottle" for 006_mustard_bottle."""
    return re.sub(r"^\d+ (?=\S)", "", id.replace("_", " "))


def _asset_facts(
    id: str, mesh: trimesh.Trimesh, model: ModelContents | None, options: ImportOptions, container: bool
) -> tuple[dict, list[str]]:
    """Return the contents of asset.json, and warnings about values that were rejected. `options` has a category."""
    name, category, warnings = options.name or _readable_name(id), options.category or "", []
    usual, box = default_mass(mesh.extents, container, category), float(np.prod(mesh.extents))
    mass, source = usual, default_mass_source(category)
    if options.mass is not None:
        mass, source = options.mass, "person"
    elif model and model.mass:
        # Kg per cubic metre of the bounding box: a mass outside this range is an unedited default
        if 20.0 < model.mass / max(box, 1e-9) < 8000.0:
            mass, source = model.mass, "asset"
        else:
            warnings.append(f"its model's mass of {model.mass:.3g} kg is implausible; {usual:.3g} kg is used instead")
    friction, friction_source = default_friction(category), "category table"
    if options.friction is not None:
        friction, friction_source = options.friction, "person"
    elif model and model.friction:
        friction, friction_source = model.friction, "asset"
    facts = {
        "id": id,
        "name": name,
        "caption": options.caption or name,
        "category": category,
        "size": [round(float(extent), 5) for extent in mesh.extents],
        "mass": round(mass, 5),
        "mass_range": [round(end, 5) for end in mass_range(mesh.extents, container, category, mass)],
        "mass_from": source,
        "friction": round(friction, 3),
        "friction_range": [round(end, 3) for end in friction_range(friction)],
        "friction_from": friction_source,
        "container": container,
        "licence": options.licence,
        "provenance": options.provenance,
    }
    if model and model.joints:
        facts |= {"joints": [_joint_to_json(joint) for joint in model.joints], "parts": list(model.body_names)}
    return facts, warnings


def _joint_to_json(joint: Joint) -> dict:
    ends = [round(end, 5) if np.isfinite(end) else None for end in joint.range]
    return {"name": joint.name, "kind": joint.kind, "range": ends, "part": joint.part}


def _convex_parts(
    mesh: trimesh.Trimesh, library_from_file: np.ndarray, model: ModelContents | None, hollow: bool
) -> tuple[list[trimesh.Trimesh], str | None]:
    """Return convex parts, and the side that a hollow object opens to (None if unknown or not hollow).

    The parts are the model's own if it has any. There are none where the convex hull suffices, and where
    `library.read_asset` finds the parts of an upright hollow mesh itself.
    """
    opening = find_opening(mesh) if hollow else None
    if model and model.convex_parts:
        own = [part.copy().apply_transform(library_from_file) for part in model.convex_parts]
        return own, (opening[0] if opening else "z") if hollow and len(own) > 1 else None
    if opening:
        return [] if opening[0] == "z" else opening[1], opening[0]
    welded = trimesh.Trimesh(mesh.vertices, mesh.faces)
    welded.merge_vertices(merge_tex=True, merge_norm=True)
    return ([] if is_nearly_convex(welded) else decompose(welded)), None


def _measured_caption(asset: Asset, model: ModelContents | None) -> str:
    """Return a caption from what can be measured: "red mug, 11 x 8 x 9 cm", "my mug, red, 11 x 8 x 9 cm"."""
    views = render_views(asset, camera_rotations(np.array([30.0, 150.0, 270.0]), np.array([30.0])), 48)
    colour, _ = name_colour(views.rgb[views.masks])
    moving = [] if model is None else [joint.kind for joint in model.joints]
    slides, hinges = moving.count("slide"), moving.count("hinge")
    words = [f"{n} {word}{'s' * (n > 1)}" for n, word in ((slides, "drawer"), (hinges, "hinged part")) if n]
    centimetres = " x ".join(f"{100 * extent:.0f}" for extent in asset.size)
    before, after = ("", f", {colour}") if asset.name != asset.category else (f"{colour} ", "")  # names are not split
    if colour in asset.name.lower().split():
        before = after = ""
    return f"{before}{asset.name}{' with ' * bool(words)}{' and '.join(words)}{after}, {centimetres} cm"


def _write_asset_folder(folder: Path, mesh: trimesh.Trimesh, parts: list[trimesh.Trimesh], facts: dict) -> None:
    image = getattr(getattr(mesh.visual, "material", None), "image", None)
    if image is not None:
        mesh.visual.material.image = limit_texture_size(image)  # type: ignore[union-attr]
    mesh.export(folder / "mesh.obj", include_normals=False, digits=6)
    if parts:
        (folder / "collision").mkdir()
        facts["collision"] = [f"collision/{number:02d}.obj" for number in range(len(parts))]
        for name, part in zip(facts["collision"], parts, strict=True):
            part.export(folder / name, include_normals=False)
    _write_facts(folder, facts)


def _write_facts(folder: Path, facts: dict) -> None:
    (folder / "asset.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _write_model(folder: Path, model: ModelContents, library_from_file: np.ndarray) -> None:
    """Write the articulated model so that it loads alone: its files beside it, transformed like the mesh."""
    folder.mkdir()
    for name, content in model.files.items():
        (folder / name).write_bytes(content)
    (folder / "model.xml").write_text(ElementTree.tostring(transform_model(model.source, library_from_file), "unicode"))


def transform_model(tree: ElementTree.Element, library_from_file: np.ndarray) -> ElementTree.Element:
    """Return the model under a transform of shape (4, 4): the children of its world body move into one <frame>."""
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

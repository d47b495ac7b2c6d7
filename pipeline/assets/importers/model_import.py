"""Imports MJCF and URDF models: repairs known mistakes that MuJoCo rejects, then reads their contents."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import mujoco
import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import SimpleMaterial

from pipeline.assets.asset import AssetError, Joint
from pipeline.assets.importers.compiled_model import geom_mesh, home_pose, visible_mesh
from pipeline.assets.importers.drop import Drop, ModelFiles
from pipeline.assets.importers.mesh_import import has_texture, read_mesh
from pipeline.assets.importers.urdf_repair import give_inertias, prepare_urdf
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result

MJCF_SECTIONS = (
    "compiler", "option", "size", "visual", "statistic", "default", "custom", "asset", "worldbody", "deformable",
    "contact", "equality", "tendon", "actuator", "sensor", "keyframe", "extension", "include",
)  # fmt: skip
"""The elements that MJCF allows in <mujoco>; others belong to another program."""
FOREIGN_TAGS = {"region"}
"""Elements that robosuite adds at any depth."""
FILE_FOLDER_ATTRIBUTES = {"mesh": "meshdir", "texture": "texturedir", "hfield": "meshdir", "skin": "meshdir"}
"""The compiler's attribute that names the folder of each kind of asset."""
NAMED_BY_FILE = ("mesh", "texture", "hfield")
"""Elements that have the name of their file if they have no other."""
MESH_SUFFIXES = (".obj", ".stl", ".msh")
"""Meshes that MuJoCo reads."""
NOT_GIVEN = "was not given with it; put it in the same folder"
MAX_MODEL_DEPTH = 4
"""Levels of models that contain models."""
COPYING_TAGS = {"replicate", "composite", "flexcomp"}
"""Elements that MuJoCo multiplies by their count."""
MAX_ELEMENTS, MAX_DEPTH, MAX_SAMPLES = 100_000, 100, 50_000_000
"""Of a model with its copies; levels of its elements; pixels or heights of one texture or height field."""

LIMITS = Limits(seconds=120, memory_mb=4096)


@dataclass(frozen=True, eq=False)
class ModelContents:
    """The contents of a model in the axes of its file, in metres and kg."""

    mesh: trimesh.Trimesh
    """All visible geoms at the home pose."""
    convex_parts: tuple[trimesh.Trimesh, ...]
    """The colliding geoms; empty if there are none."""
    mass: float
    """Sum over all bodies; 0 if the model does not specify it."""
    friction: float | None
    """Median sliding friction of the colliding geoms."""
    joints: tuple[Joint, ...]
    body_names: tuple[str, ...]
    repairs: tuple[str, ...]
    """Problems of the file that were repaired, one sentence each."""
    source: ElementTree.Element
    """The repaired model, its files named as in `files`."""
    files: Mapping[str, bytes]
    """The content of the files that `source` names."""


def read_model(path: Path, root: Path | None = None) -> ModelContents:
    """Read a model. Raises AssetError.

    `root` is the folder of all files that were given with it, by default its own: none outside is opened, and files
    whose paths are broken are searched for there.
    """
    tree, files, repairs = repair_model(path, root or path.parent)
    model = compile_model(tree, files.content, path.name)
    data = home_pose(model)
    touching = [g for g in range(model.ngeom) if model.geom_contype[g] or model.geom_conaffinity[g]]
    friction = float(np.median(model.geom_friction[touching, 0])) if touching else None
    return ModelContents(
        visible_mesh(model, data, path, _TexturedFiles(files, repairs)),
        tuple(_convex_parts(model, data, touching)),
        float(model.body_mass[1:].sum()),
        friction,
        tuple(_joints(model)),
        tuple(model.body(b).name for b in range(1, model.nbody) if model.body(b).name),
        tuple(repairs),
        tree,
        files.content,
    )


def _mesh_of_model(path: Path) -> trimesh.Trimesh:
    """Return one textured mesh of a model and the files in its folder. Raises AssetError."""
    tree, files, repairs = repair_model(path, path.parent)
    model = compile_model(tree, files.content, path.name)
    return visible_mesh(model, home_pose(model), path, _TexturedFiles(files, repairs))


class _TexturedFiles:
    """Reads the OBJ files of a model with their textures, which MuJoCo leaves out; what is lost becomes a repair."""

    def __init__(self, files: ModelFiles, repairs: list[str]):
        self._files, self._repairs = files, repairs
        self._read: dict[str, trimesh.Trimesh | None] = {}

    def __call__(self, name: str) -> trimesh.Trimesh | None:
        """Return the mesh of this name in memory, in the file's axes and units; None if it has no texture."""
        if name not in self._read:
            path, mesh = self._files.path_of(name), None
            if path is not None and path.suffix.lower() == ".obj":
                mesh, lost = read_mesh(path, self._files.drop.root)
                self._repairs += [line for line in lost if line not in self._repairs]
            self._read[name] = mesh if mesh is not None and has_texture(mesh) else None
        return self._read[name]


def compile_model(tree: ElementTree.Element, files: Mapping[str, bytes], name: str) -> mujoco.MjModel:
    """Compile a repaired model from memory. Raises AssetError."""
    try:
        return mujoco.MjModel.from_xml_string(ElementTree.tostring(tree, encoding="unicode"), dict(files))
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        said = " ".join(str(error).split())
        if "mjMINVAL" in said:
            body = said.partition("Element name '")[2].partition("'")[0]
            raise AssetError(
                f"{name}: its part {body} moves and has no mass; give its shapes a mass or density"
            ) from None
        raise AssetError(f"MuJoCo cannot compile {name}: {said[:200]}") from None


def _convex_parts(model: mujoco.MjModel, data: mujoco.MjData, geoms: list[int]) -> Iterator[trimesh.Trimesh]:
    for geom in geoms:
        mesh = geom_mesh(model, data, geom)
        if mesh is not None and np.ptp(mesh.vertices, axis=0).min() > 1e-5:
            yield trimesh.Trimesh(mesh.vertices, mesh.faces).convex_hull


def _joints(model: mujoco.MjModel) -> Iterator[Joint]:
    kinds: dict[mujoco.mjtJoint, Literal["hinge", "slide"]] = {
        mujoco.mjtJoint.mjJNT_HINGE: "hinge",
        mujoco.mjtJoint.mjJNT_SLIDE: "slide",
    }
    for number in range(model.njnt):
        joint = model.jnt(number)
        kind = kinds.get(mujoco.mjtJoint(int(joint.type[0])))
        if kind:
            low, high = (float(end) for end in joint.range) if joint.limited[0] else (-np.inf, np.inf)
            yield Joint(joint.name or f"joint_{number}", kind, (low, high), model.body(int(joint.bodyid[0])).name)


# ---------------------------------------------------------------------- repairs
def whole_models(files: list[Path], has_meshes: bool = False) -> list[Path]:
    """Return the files that hold a model of their own: no part that another includes, no description of a package.

    Those of other programs, as YCB's kinbody.xml, are left out where `has_meshes`: meshes lie beside them.
    """
    tags, included = dict[Path, str](), set[str]()
    for file in files:
        try:
            tree = _parse_xml(file, Drop(file.parent))
        except AssetError:
            continue  # reading it says why
        tags[file] = tree.tag
        included |= {Path(include.get("file", "")).name for include in tree.iter("include")}
    named = [file for file in files if file.name not in included] or files
    models = [file for file in named if tags.get(file) in (None, "mujoco", "robot")]
    return models or [file for file in named if tags.get(file) != "package" and not has_meshes]


def repair_model(path: Path, root: Path) -> tuple[ElementTree.Element, ModelFiles, list[str]]:
    """Return the model's XML with its includes expanded, the files that it names, and the repairs made.

    Raises AssetError.
    """
    files = ModelFiles(Drop(root), repairs := list[str]())
    return _repaired(path, files, repairs, 0), files, repairs


def _repaired(path: Path, files: ModelFiles, repairs: list[str], depth: int) -> ElementTree.Element:
    tree, masses = _parse_xml(path, files.drop), dict[str, float]()
    if tree.tag == "robot":
        if any("xacro" in one.tag or any("${" in value for value in one.attrib.values()) for one in tree.iter()):
            raise AssetError(f"{path.name} is a xacro template; run xacro {path.name} > {path.stem}_plain.urdf first")
        if tree.find("deformable") is not None:
            raise AssetError(f"{path.name} is a soft body, which no asset can be; give its surface as OBJ or STL")
        masses = prepare_urdf(tree, repairs)
    elif tree.tag == "mujocoinclude":
        raise AssetError(f"{path.name} is a part that models include; give the model that includes it")
    elif tree.tag != "mujoco":
        raise AssetError(f"{path.name} is <{tree.tag}>; a model starts with <mujoco> or <robot>")
    else:
        _expand_includes(tree, path, files.drop, {path.resolve()})
        _repair_elements(tree, repairs)
    _refuse_endless(tree, path.name)
    _take_up_files(tree, path, files, repairs, depth)
    give_inertias(tree, files.content, masses)
    return tree


def _refuse_endless(tree: ElementTree.Element, name: str) -> None:
    """Raise AssetError for a model that a few words make too large to compile: by copies, sizes or depth."""
    elements, waiting = 0, [(tree, 1, 0)]
    while waiting:
        one, copies, depth = waiting.pop()
        if one.tag in COPYING_TAGS:
            copies *= prod(_whole_numbers(one.get("count", "1")))
        elements += copies
        if elements > MAX_ELEMENTS or depth > MAX_DEPTH:
            raise AssetError(f"{name} becomes more than {MAX_ELEMENTS:,} elements or {MAX_DEPTH} levels; simplify it")
        for sides in (("width", "height"), ("nrow", "ncol")):
            if prod(_whole_numbers(one.get(sides[0], "1") + " " + one.get(sides[1], "1"))) > MAX_SAMPLES:
                raise AssetError(f"{name} states a <{one.tag}> of more than {MAX_SAMPLES // 10**6} million samples")
        waiting += [(child, copies, depth + 1) for child in one]


def _whole_numbers(text: str) -> list[int]:
    return [int(word[:12]) for word in text.split() if word.isdecimal()]


def _repair_elements(tree: ElementTree.Element, repairs: list[str]) -> None:
    for parent in tree.iter():
        known = MJCF_SECTIONS if parent is tree else None
        for child in [c for c in parent if c.tag in FOREIGN_TAGS or (known and c.tag not in known)]:
            parent.remove(child)
            repairs.append(f"<{child.tag}> is not MJCF and was left out")
    first = tree.find("default")
    if first is not None and first.get("class", "main") != "main":  # metaworld's tables, beside a scene with its own
        named = ElementTree.Element("default", first.attrib)
        named.extend(list(first))
        first.clear()
        first.append(named)
    for default in tree.iter("default"):  # robosuite's gripper of the xArm 7
        for name in [key for key in default.attrib if key != "class"]:
            del default.attrib[name]
            repairs.append(f"{name} of <default> is not MJCF and was left out")
    for compiler in tree.iter("compiler"):
        if compiler.attrib.pop("inertiagrouprange", None):
            repairs.append("inertiagrouprange left moving parts without mass and was left out")
    _drop_duplicates(tree, repairs)


def _parse_xml(path: Path, drop: Drop) -> ElementTree.Element:
    inside = drop.inside(path)
    if inside is None:
        raise AssetError(f"{path.name} is not a file that was given; give the file, not a link to it")
    try:
        return ElementTree.fromstring(drop.read(inside).decode("utf-8-sig"))
    except (ValueError, ElementTree.ParseError) as error:
        raise AssetError(f"{path.name} is not readable XML: {error}") from None


def _expand_includes(tree: ElementTree.Element, path: Path, drop: Drop, known: set[Path]) -> None:
    """Replace each <include> by the contents of its file: a model compiled from a string has no folder."""
    for parent in list(tree.iter()):
        for include in [child for child in parent if child.tag == "include"]:
            name = include.get("file", "").replace("\\", "/")  # metaworld's tables name them as Windows does
            file = drop.inside(path.parent / name)
            if file is None:
                lost = "is missing" if _is_inside(path.parent / name, drop) else NOT_GIVEN
                raise AssetError(f"{path.name} includes {name}, which {lost}")
            if file in known:
                raise AssetError(f"{path.name} includes {name}, twice")
            known.add(file)
            included = _parse_xml(file, drop)
            _expand_includes(included, path, drop, known)
            index = list(parent).index(include)
            parent[index : index + 1] = list(included)


def _is_inside(path: Path, drop: Drop) -> bool:
    try:
        return path.resolve().is_relative_to(drop.root.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def _drop_duplicates(tree: ElementTree.Element, repairs: list[str]) -> None:
    """Remove assets whose name occurred before."""
    for assets in tree.iter("asset"):
        known: set[tuple[str, str]] = set()
        for element in list(assets):
            key = (element.tag, element.get("name") or Path(element.get("file", "")).stem)
            if key in known and key[1]:
                assets.remove(element)
                repairs.append(f"{element.tag} {key[1]} was defined twice")
            known.add(key)


def _take_up_files(tree: ElementTree.Element, path: Path, files: ModelFiles, repairs: list[str], depth: int) -> None:
    """Replace every file name by that of the file's content in memory; remove missing textures, also from materials.

    MuJoCo looks on the disk for a name that it does not find in memory, so none may be left. Raises AssetError.
    """
    base = {
        key: next((c.attrib.pop(key) for c in tree.iter("compiler") if key in c.attrib), "")
        for key in ("meshdir", "texturedir", "assetdir")
    }
    for compiler in tree.iter("compiler"):
        for key in base:
            compiler.attrib.pop(key, None)
    missing: set[str] = set()
    for parent, element in [(holder, child) for holder in tree.iter() for child in holder]:
        for key in [key for key in element.attrib if key.startswith("file")]:
            name = element.attrib[key]
            stated = path.parent / (base[FILE_FOLDER_ATTRIBUTES.get(element.tag, "meshdir")] or base["assetdir"])
            file = files.drop.find(name, (stated, path.parent, files.drop.root))
            if file is None and element.tag == "texture":
                if element in list(parent):
                    parent.remove(element)
                missing.add(element.get("name") or Path(name).stem)
                repairs.append(f"its texture {Path(name).name} is missing")
            elif file is None:
                if _is_inside(stated / name, files.drop):
                    raise AssetError(f"its {element.tag} {name} is missing")
                raise AssetError(f"{path.name} names {name}, which {NOT_GIVEN}")
            else:
                if tree.tag == "mujoco" and element.tag in NAMED_BY_FILE and key == "file" and not element.get("name"):
                    element.set("name", file.stem)
                element.attrib[key] = _name_in_memory(element, file, files, repairs, depth)
    for material in [m for m in tree.iter("material") if m.get("texture") in missing]:
        del material.attrib["texture"]


def _name_in_memory(element: ElementTree.Element, file: Path, files: ModelFiles, repairs: list[str], depth: int) -> str:
    if element.tag == "mesh" and file.suffix.lower() not in MESH_SUFFIXES:
        raise AssetError(f"its mesh {file.name} is not one of {' '.join(MESH_SUFFIXES)}; convert it to OBJ")
    if element.tag != "model":
        return files.add(file)
    if depth >= MAX_MODEL_DEPTH:
        raise AssetError(f"its models contain models more than {MAX_MODEL_DEPTH} deep; export it as one file")
    nested = _repaired(file, files, repairs, depth + 1)
    return files.add_content(file.name, ElementTree.tostring(nested))


def mesh_of_model_confined(path: Path) -> trimesh.Trimesh:
    """Return one textured mesh of a model and the files in its folder. Raises AssetError."""
    if not confined.is_supported():
        return _mesh_of_model(path)
    arguments = {"path": str(path.absolute())}
    with confined.errors_as(AssetError, path.name):
        events = confined.call(f"{__name__}:send_mesh", arguments, [path.parent], limits=LIMITS, warm=[__name__])
        return _mesh(*confined.result_of(events).arrays)


def _mesh(vertices: np.ndarray, faces: np.ndarray, *texture: np.ndarray) -> trimesh.Trimesh:
    """Return the mesh that a child sent. Raises ValueError if it is none."""
    is_sound = vertices.ndim == 2 and vertices.shape[1] == 3 and faces.ndim == 2 and faces.shape[1] == 3
    if not (is_sound and len(faces) and faces.min() >= 0 and faces.max() < len(vertices)):
        raise ValueError
    visual = None
    if texture and texture[0].shape == (len(vertices), 2) and texture[1].ndim == 3 and texture[1].dtype == np.uint8:
        visual = TextureVisuals(uv=texture[0], material=SimpleMaterial(image=Image.fromarray(texture[1])))
    return trimesh.Trimesh(vertices, faces, visual=visual, process=False)


def send_mesh(path: str) -> Result:
    """Return the mesh's vertices, faces, and, if it has one, texture coordinates and image. Raises AssetError."""
    mesh = _mesh_of_model(Path(path))
    material = getattr(mesh.visual, "material", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    uv = getattr(mesh.visual, "uv", None)
    texture = (
        ()
        if image is None or uv is None
        else (np.asarray(uv, float), np.asarray(image if image.mode == "RGBA" else image.convert("RGB")))
    )
    return Result(None, (np.asarray(mesh.vertices), np.asarray(mesh.faces), *texture))

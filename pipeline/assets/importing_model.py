"""MJCF and URDF models brought in: mended where a known slip keeps MuJoCo from compiling them, then read out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import mujoco
import numpy as np
import trimesh

from pipeline.assets.asset import AssetError, Joint
from pipeline.assets.described import at_home, geom_mesh, visible_mesh

TOP = (
    "compiler", "option", "size", "visual", "statistic", "default", "custom", "asset", "worldbody", "deformable",
    "contact", "equality", "tendon", "actuator", "sensor", "keyframe", "extension", "include",
)  # fmt: skip
"""What may stand in <mujoco>; anything else is another program's."""
FOREIGN = {"region"}
"""Robosuite's, anywhere."""
FILES = {"mesh": "meshdir", "texture": "texturedir", "hfield": "meshdir", "skin": "meshdir"}


@dataclass(frozen=True, eq=False)
class Imported:
    """What a model says of its object, everything in the axes and about the origin of its file, in metres and kg."""

    mesh: trimesh.Trimesh
    """All that is seen, at the home pose."""
    pieces: tuple[trimesh.Trimesh, ...]
    """Convex, what touches. Empty where nothing does."""
    mass: float
    """Of all bodies together; 0 where the model leaves it open."""
    friction: float | None
    joints: tuple[Joint, ...]
    parts: tuple[str, ...]
    mended: tuple[str, ...]
    """What was wrong with the file, one sentence each."""
    source: ElementTree.Element
    """The mended model, its files named by absolute paths."""


def read_model(path: Path, root: Path | None = None) -> Imported:
    """A model, its meshes looked for in the folder `root` where its paths lead nowhere. Raises AssetError.

    Where `root` is told, the model may name no file outside of it.
    """
    tree, mended = mend(path, root or path.parent, root)
    if root is not None:
        _keep_inside(tree, path, root)
    try:
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(tree, encoding="unicode"))
    except (ValueError, mujoco.FatalError) as error:
        raise AssetError(f"MuJoCo cannot compile {path.name}: {' '.join(str(error).split())[:200]}") from None
    data = at_home(model)
    touching = [g for g in range(model.ngeom) if model.geom_contype[g] or model.geom_conaffinity[g]]
    friction = float(np.median(model.geom_friction[touching, 0])) if touching else None
    return Imported(
        visible_mesh(model, data, path),
        tuple(_pieces(model, data, touching)),
        float(model.body_mass[1:].sum()),
        friction,
        tuple(_joints(model)),
        tuple(model.body(b).name for b in range(1, model.nbody) if model.body(b).name),
        tuple(mended),
        tree,
    )


def _pieces(model: mujoco.MjModel, data: mujoco.MjData, geoms: list[int]) -> Iterator[trimesh.Trimesh]:
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


# ---------------------------------------------------------------------- mending


def mend(path: Path, root: Path, within: Path | None = None) -> tuple[ElementTree.Element, list[str]]:
    """The model's XML in one piece that compiles wherever it lies, and what had to be changed. Raises AssetError.

    Lost files are looked for in `root`. What it includes lies below `within`, where that is told.
    """
    tree = _parsed(path)
    if tree.tag == "robot":
        return _urdf(tree, path.parent), []
    if tree.tag != "mujoco":
        raise AssetError(f"{path.name} is <{tree.tag}>; a model starts with <mujoco> or <robot>")
    _include(tree, path, within, {path.resolve()})
    said: list[str] = []
    for parent in tree.iter():
        known = TOP if parent is tree else None
        for child in [c for c in parent if c.tag in FOREIGN or (known and c.tag not in known)]:
            parent.remove(child)
            said.append(f"<{child.tag}> is not MJCF and was left out")
    for compiler in tree.iter("compiler"):
        if compiler.attrib.pop("inertiagrouprange", None):
            said.append("inertiagrouprange left moving parts without mass and was left out")
    _one_of_each(tree, said)
    _find_files(tree, path.parent, root, said)
    return tree, said


def _parsed(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(
            path.read_text(encoding="utf-8").replace("package://", "").replace("model://", "")
        )
    except (OSError, ValueError, ElementTree.ParseError) as error:
        raise AssetError(f"{path.name} is no XML that can be read: {error}") from None


def _include(tree: ElementTree.Element, path: Path, within: Path | None, known: set[Path]) -> None:
    """What other files hold, in the place of their <include>: a model from a string has no folder to look in."""
    for parent in list(tree.iter()):
        for one in [child for child in parent if child.tag == "include"]:
            name = one.get("file", "")
            file = (path.parent / name).resolve()
            if within is not None and not file.is_relative_to(within.resolve()):
                raise AssetError(f"{path.name} includes {name}, which was not given with it; put it beside it")
            if file in known or not file.is_file():
                raise AssetError(f"{path.name} includes {name}, {'twice' if file in known else 'which is missing'}")
            known.add(file)
            held = _parsed(file)
            _include(held, path, within, known)
            at = list(parent).index(one)
            parent[at : at + 1] = list(held)


def _urdf(tree: ElementTree.Element, folder: Path) -> ElementTree.Element:
    """MuJoCo forgets a URDF's visuals and its meshes' folders unless told otherwise in the file itself."""
    told = tree.find("mujoco")
    told = ElementTree.SubElement(tree, "mujoco") if told is None else told
    compiler = told.find("compiler")
    compiler = ElementTree.SubElement(told, "compiler") if compiler is None else compiler
    compiler.attrib.update(discardvisual="false", strippath="false", meshdir=str(folder.resolve()))
    return tree


def _one_of_each(tree: ElementTree.Element, said: list[str]) -> None:
    """Names that come twice among the assets: the first one stays."""
    for assets in tree.iter("asset"):
        known: set[tuple[str, str]] = set()
        for one in list(assets):
            key = (one.tag, one.get("name") or Path(one.get("file", "")).stem)
            if key in known and key[1]:
                assets.remove(one)
                said.append(f"{one.tag} {key[1]} was there twice")
            known.add(key)


def _find_files(tree: ElementTree.Element, folder: Path, root: Path, said: list[str]) -> None:
    """Every file by its absolute path; a texture that is nowhere is left out, with the materials' word for it."""
    base = {key: next((c.attrib.pop(key) for c in tree.iter("compiler") if key in c.attrib), "") for key in
            ("meshdir", "texturedir", "assetdir")}  # fmt: skip
    lost: set[str] = set()
    for assets in tree.iter("asset"):
        for one in list(assets):
            for key in [key for key in one.attrib if key.startswith("file")]:
                near = folder / (base[FILES.get(one.tag, "meshdir")] or base["assetdir"])
                found = _find(one.attrib[key], near, folder, root)
                if found is not None:
                    if one.tag != "texture" and not one.get("name"):
                        one.set("name", found.stem)
                    one.attrib[key] = str(found.resolve())
                elif one.tag == "texture":
                    assets.remove(one)
                    lost.add(one.get("name") or Path(one.attrib[key]).stem)
                    said.append(f"its texture {Path(one.attrib[key]).name} is missing")
                else:
                    raise AssetError(f"its {one.tag} {one.attrib[key]} is missing")
    for material in [m for m in tree.iter("material") if m.get("texture") in lost]:
        del material.attrib["texture"]


def _keep_inside(tree: ElementTree.Element, path: Path, root: Path) -> None:
    for one in tree.iter():
        for key in [key for key in one.attrib if key.startswith("file")]:
            if not (path.parent / one.attrib[key]).resolve().is_relative_to(root.resolve()):
                raise AssetError(f"{path.name} names {one.attrib[key]}, which was not given with it; put it beside it")


def _find(name: str, *folders: Path) -> Path | None:
    """A file by its path in one of the folders; by its bare name anywhere below the last."""
    for folder in folders:
        if not Path(name).is_absolute() and (folder / name).is_file():
            return folder / name
    return next(iter(sorted(folders[-1].rglob(Path(name.replace("\\", "/")).name))), None)

"""Export of one object of the twin as a zip: MJCF that loads alone, or URDF for other simulators."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.export.export_format import ExportError
from pipeline.export.project_zip import zip_entry
from pipeline.scene.mjcf import builder
from pipeline.scene.mjcf.portable import portable_xml
from pipeline.scene.placement import Placement

_File = TypeVar("_File")
URDF_EXTENSION = {"fusestatic": "false", "discardvisual": "false", "strippath": "true"}
"""MuJoCo's compiler options in the URDF, which others ignore. They keep the root link from merging into the world.

https://mujoco.readthedocs.io/en/stable/modeling.html#urdf-extensions
"""


def object_zip(p: Placement, file_format: str) -> bytes:
    """Return a zip of the object as "mjcf" or "urdf", with its size, mass, friction and meshes.

    The origin is the centre of the object's box. Raises ExportError for an unknown format, SceneError if the meshes
    cannot be read.
    """
    rigid = replace(p, model=None)  # a URDF has no joints: the object is closed and rigid
    spec = builder.build_object(p if file_format == "mjcf" else rigid)
    model = builder.compile_spec(spec)
    match file_format:
        case "mjcf":
            name, text = f"{p.name}.xml", portable_xml(spec)
        case "urdf":
            name, text = f"{p.name}.urdf", urdf(p, spec, model)
        case other:
            raise ExportError(f'there is no object format "{other}"; choose "mjcf" or "urdf"')
    used = spec.assets if file_format == "urdf" else files_of(text, spec.assets)
    files = {name: text.encode(), **used, "LICENCE.txt": _licence(p).encode()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            archive.writestr(zip_entry(f"{p.name}/{file}"), data)
    return packed.getvalue()


def files_of(xml: str, files: Mapping[str, _File]) -> dict[str, _File]:
    """Return those of the files that a model's XML names."""
    named = {
        element.get(key)
        for element in ElementTree.fromstring(xml).iter()
        for key in element.attrib
        if key.startswith("file")
    }
    return {name: file for name, file in sorted(files.items()) if name in named}


def _licence(p: Placement) -> str:
    known = p.licence or "unknown; ask the author"
    return f"{p.name}\nlicence: {known}\nprovenance: {p.provenance or p.asset_id or 'made from the photograph'}\n"


def urdf(p: Placement, spec: mujoco.MjSpec, model: mujoco.MjModel) -> str:
    """Return a URDF with one link, whose frame is the centre of the object's box. Meshes are referenced and scaled."""
    robot = Element("robot", name=p.name)
    SubElement(SubElement(robot, "mujoco"), "compiler", URDF_EXTENSION)
    link = SubElement(robot, "link", name=p.name)
    _inertial(link, model, model.body(p.name).id)
    for geom in spec.body(p.name).geoms:
        is_visual = geom.group == builder.VISUAL_GROUP
        _shape(link, spec, geom, "visual" if is_visual else "collision")
    gazebo = SubElement(robot, "gazebo", reference=p.name)
    for axis in ("mu1", "mu2"):
        SubElement(gazebo, axis).text = f"{p.friction:g}"
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode", xml_declaration=True) + "\n"


def _inertial(link: Element, model: mujoco.MjModel, body: int) -> None:
    """Add the inertia about the centre of mass in the link's axes; MuJoCo stores it in principal axes."""
    rotation = Rotation.from_quat(model.body_iquat[body], scalar_first=True).as_matrix()
    tensor = rotation @ np.diag(model.body_inertia[body]) @ rotation.T
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_numbers(model.body_ipos[body]), rpy="0 0 0")
    SubElement(inertial, "mass", value=f"{model.body_mass[body]:.9g}")
    rows, columns = np.triu_indices(3)
    values = {f"i{'xyz'[i]}{'xyz'[j]}": f"{tensor[i, j]:.9g}" for i, j in zip(rows, columns, strict=True)}
    SubElement(inertial, "inertia", values)


def _shape(link: Element, spec: mujoco.MjSpec, geom: mujoco.MjsGeom, tag: str) -> None:
    part = SubElement(link, tag, name=geom.name.replace(":", "_"))
    rpy = Rotation.from_quat(geom.quat, scalar_first=True).as_euler("xyz")
    SubElement(part, "origin", xyz=_numbers(geom.pos), rpy=_numbers(rpy))
    geometry = SubElement(part, "geometry")
    match geom.type:
        case mujoco.mjtGeom.mjGEOM_BOX:
            SubElement(geometry, "box", size=_numbers(2 * geom.size))
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            SubElement(geometry, "cylinder", radius=f"{geom.size[0]:.9g}", length=f"{2 * geom.size[1]:.9g}")
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            SubElement(geometry, "sphere", radius=f"{geom.size[0]:.9g}")
        case _:
            mesh = spec.mesh(geom.meshname)
            SubElement(geometry, "mesh", filename=mesh.file, scale=_numbers(mesh.scale))


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.9g}" for value in values)

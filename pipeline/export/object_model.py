"""One object of the twin as a zip to take elsewhere: MJCF that loads alone, or URDF for everything else."""

import io
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.export.bundle import ExportError, entry
from pipeline.scene import mjcf
from pipeline.scene.placement import Placement

URDF_EXTENSION = {"fusestatic": "false", "discardvisual": "false", "strippath": "true"}
"""What MuJoCo is told in a URDF, and others ignore: to keep the root link, which it would merge into the world."""


def object_zip(p: Placement, form: str) -> bytes:
    """As "mjcf" or "urdf", in its size, with its mass, friction and meshes; the centre of its box is the origin.

    Raises ExportError for an unknown form, SceneError where the object's meshes cannot be read.
    """
    spec = mjcf.alone(p if form == "mjcf" else replace(p, model=None))  # a URDF of it is shut, in one piece
    model = mjcf.compile_spec(spec)
    match form:
        case "mjcf":
            name, text = f"{p.name}.xml", spec.to_xml()
        case "urdf":
            name, text = f"{p.name}.urdf", urdf(p, spec, model)
        case other:
            raise ExportError(f'there is no form "{other}" of an object; take "mjcf" or "urdf"')
    files = {name: text.encode(), **spec.assets, "LICENCE.txt": _licence(p).encode()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            archive.writestr(entry(f"{p.name}/{file}"), data)
    return packed.getvalue()


def _licence(p: Placement) -> str:
    known = p.licence or "unknown; ask whoever made it"
    return f"{p.name}\nlicence: {known}\nprovenance: {p.provenance or p.asset_id or 'made from the photograph'}\n"


def urdf(p: Placement, spec: mujoco.MjSpec, model: mujoco.MjModel) -> str:
    """One link, its frame the centre of the object's box; meshes beside the file, scaled there."""
    robot = Element("robot", name=p.name)
    SubElement(SubElement(robot, "mujoco"), "compiler", URDF_EXTENSION)
    link = SubElement(robot, "link", name=p.name)
    _inertial(link, model, model.body(p.name).id)
    for geom in spec.body(p.name).geoms:
        looks = geom.group == mjcf.LOOK
        _shape(link, spec, geom, "visual" if looks else "collision")
    gazebo = SubElement(robot, "gazebo", reference=p.name)
    for axis in ("mu1", "mu2"):
        SubElement(gazebo, axis).text = f"{p.friction:g}"
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode", xml_declaration=True) + "\n"


def _inertial(link: Element, model: mujoco.MjModel, body: int) -> None:
    """About the centre of mass, in the link's axes: MuJoCo keeps it in principal ones."""
    turn = Rotation.from_quat(model.body_iquat[body], scalar_first=True).as_matrix()
    tensor = turn @ np.diag(model.body_inertia[body]) @ turn.T
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_numbers(model.body_ipos[body]), rpy="0 0 0")
    SubElement(inertial, "mass", value=f"{model.body_mass[body]:.9g}")
    rows, columns = np.triu_indices(3)
    values = {f"i{'xyz'[i]}{'xyz'[j]}": f"{tensor[i, j]:.9g}" for i, j in zip(rows, columns, strict=True)}
    SubElement(inertial, "inertia", values)


def _shape(link: Element, spec: mujoco.MjSpec, geom: mujoco.MjsGeom, what: str) -> None:
    part = SubElement(link, what, name=geom.name.replace(":", "_"))
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

"""Export of the twin as URDF: one file for each object, their poses, and one file of all, meshes beside them.

Simulators read a single URDF as a single robot, so the file of all, a tree from the link "world" with objects on
floating joints, suits viewers and MuJoCo. https://wiki.ros.org/urdf/XML
"""

import json
import re
import shutil
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
import trimesh
import yaml
from scipy.spatial.transform import Rotation

from pipeline.export.export_folder import export_folder, write_marker
from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.project_zip import licences
from pipeline.export.twin_model import Body, BodyJoint, Shape, TwinModel
from pipeline.geometry import Pose

JOINT_TYPES = {"free": "floating", "slide": "prismatic", "hinge": "revolute"}
ROOT = "world"
GROUND = "ground"
"""File and link of what is part of the world: the ground and what stands firmly on it."""
LOADERS = Path(__file__).parents[1] / "loaders"
DRAKE_NAMESPACE = "http://drake.mit.edu"
"""https://drake.mit.edu/doxygen_cxx/group__multibody__parsing.html"""
URDF_EXTENSION = {"fusestatic": "false", "discardvisual": "false", "strippath": "true"}
"""MuJoCo's compiler options in the URDF, which others ignore. They keep the root link from merging into the world.

https://mujoco.readthedocs.io/en/stable/modeling.html#urdf-extensions
"""
MASSLESS = 1e-6
"""Mass in kg and inertia of links between two joints of one body: simulators reject links without any."""


@describes(
    ExportFormat(
        "URDF",
        "a tree of links with joints, limits, collision pieces, materials and textures",
        "contact settings but friction, the camera, lights; ball joints become fixed",
        ".zip",
    )
)
def export_urdf(project_dir: Path, out: Path) -> tuple[str, ...]:
    """Write a URDF for each object, poses.json and .yaml, loaders for simulators, and twin.urdf, with their meshes.

    `out` is a folder, or a zip if the name ends in .zip. Return what was left out. Raises ExportError.
    """
    require_scene(project_dir)
    with export_folder(project_dir, out, "urdf") as folder:
        writer = _Writer(TwinModel(project_dir / "scene" / "scene.xml"))
        (folder / "twin.urdf").write_text(writer.document(), encoding="utf-8")
        left_out = tuple(writer.left_out)
        poses = {"objects": list(writer.write_objects())}
        for name, data in writer.files.items():
            (folder / name).write_bytes(data)
        (folder / "poses.json").write_text(json.dumps(poses, indent=1) + "\n", encoding="utf-8")
        (folder / "poses.yaml").write_text(yaml.safe_dump(poses, sort_keys=False), encoding="utf-8")
        for loader in LOADERS.glob("load_*.py"):
            shutil.copy(loader, folder)
        (folder / "LICENCES.md").write_text(licences(project_dir), encoding="utf-8")
        write_marker(folder, project_dir, "urdf", left_out)
    return left_out


def object_urdf(name: str, model: mujoco.MjModel) -> dict[str, bytes]:
    """Return the files of a URDF of one body of a model, by name: NAME.urdf with its meshes and textures."""
    writer = _Writer(TwinModel(model))
    writer.write_object(next(body for body in writer.twin.bodies if body.name == name), is_alone=True)
    return writer.files


class _Writer:
    """Writes the documents, and mesh files when a link first needs them."""

    def __init__(self, twin: TwinModel):
        self.twin = twin
        self.files: dict[str, bytes] = {}
        """Content of the files by name, but for the document of all."""
        self.left_out: list[str] = []
        self.robot = _robot("twin")
        names = {link_name(body.name) for body in twin.bodies}
        self._ground = next(n for n in (GROUND, *(f"{GROUND}_{k}" for k in range(len(names)))) if n not in names)
        self._link_origins: dict[str, np.ndarray] = {ROOT: np.zeros(3)}
        """Position of each link's frame in its body's: a URDF link begins at its joint."""

    def document(self) -> str:
        """Return the URDF."""
        SubElement(SubElement(self.robot, "mujoco"), "compiler", URDF_EXTENSION)
        for body in self.twin.bodies:
            self._link(body)
        for body in self.twin.bodies[1:]:
            self._joints(body)
        return _text(self.robot)

    def write_objects(self) -> Iterator[dict[str, Any]]:
        """Write a URDF for each child of the world, and for the world itself; yield what poses.json says of each."""
        for top in (replace(self.twin.bodies[0], name=self._ground), *self.twin.bodies[1:]):
            if top.name != self._ground and top.parent != ROOT:
                continue
            if any(shape.kind != "plane" for shape in top.shapes) or self.twin.children(top.name):
                yield self.write_object(top)

    def write_object(self, top: Body, is_alone: bool = False) -> dict[str, Any]:
        """Write the URDF of a body and its children; return what poses.json says of it.

        Args:
            is_alone: MuJoCo keeps the root link, which it else merges into the world.
        """
        name = link_name(top.name)
        file, link, pose = f"{'twin_object' if name == 'twin' else name}.urdf", name, top.parent_from_body
        self.robot = _robot(name)
        if is_alone:
            SubElement(SubElement(self.robot, "mujoco"), "compiler", URDF_EXTENSION)
        if top.joints and not top.is_free:  # a joint of the world's: its base stands at the origin
            link, pose = f"{name}_base", Pose.identity()
            top = replace(top, parent=link)
            SubElement(self.robot, "link", name=link)
            self._link_origins[link] = np.zeros(3)
        family = [top, *self._descendants(top)]
        for body in family:
            self._link(body)
        for body in family if link != name else family[1:]:
            self._joints(body)
        self.files[file] = _text(self.robot).encode()
        friction = max((shape.friction for body in family for shape in body.shapes if shape.collides), default=1.0)
        return {
            "name": top.name, "urdf": file, "link": link, "fixed": not top.is_free, "pos": pose.pos.tolist(),
            "quat_wxyz": pose.quat_wxyz.tolist(), "mass": sum(body.mass for body in family), "friction": friction,
        }  # fmt: skip

    def _descendants(self, body: Body) -> Iterator[Body]:
        for child in self.twin.children(body.name):
            yield child
            yield from self._descendants(child)

    def _link(self, body: Body) -> None:
        origin = body.joints[-1].anchor if body.joints and not body.is_free else np.zeros(3)
        self._link_origins[body.name] = origin
        link = SubElement(self.robot, "link", name=link_name(body.name))
        if body.name not in (ROOT, self._ground):
            _inertial(link, body, origin)
        for shape in body.shapes:
            self._shape(link, shape, origin)
        friction = max((shape.friction for shape in body.shapes if shape.collides), default=None)
        if friction is not None:
            SubElement(SubElement(link, "contact"), "lateral_friction", value=f"{friction:g}")  # PyBullet reads it
            gazebo = SubElement(self.robot, "gazebo", reference=link_name(body.name))
            for axis in ("mu1", "mu2"):
                SubElement(gazebo, axis).text = f"{friction:g}"

    def _shape(self, link: Element, shape: Shape, origin: np.ndarray) -> None:
        if shape.kind == "plane":
            self.left_out.append(f"{shape.name}: a URDF has no planes")
            return
        for tag in [tag for tag, wanted in (("visual", shape.is_visible), ("collision", shape.collides)) if wanted]:
            part = SubElement(link, tag, name=f"{link_name(shape.name)}_{tag}")
            _origin(part, shape.body_from_shape, origin)
            self._geometry(SubElement(part, "geometry"), shape, tag)
            if tag == "visual":
                self._material(part, shape)
            else:
                _drake_properties(part, shape.friction)

    def _geometry(self, geometry: Element, shape: Shape, tag: str) -> None:
        match shape.kind:
            case "box":
                SubElement(geometry, "box", size=_numbers(2 * shape.size))
            case "cylinder":
                SubElement(geometry, "cylinder", radius=f"{shape.size[0]:.9g}", length=f"{2 * shape.size[1]:.9g}")
            case "sphere":
                SubElement(geometry, "sphere", radius=f"{shape.size[0]:.9g}")
            case "mesh":
                SubElement(geometry, "mesh", filename=self._mesh_file(shape, with_texture=tag == "visual"))
            case _:
                SubElement(geometry, "mesh", filename=self._round_file(shape))

    def _material(self, visual: Element, shape: Shape) -> None:
        material = SubElement(visual, "material", name=link_name(shape.name))
        SubElement(material, "color", rgba=_numbers(shape.rgba))
        if self.twin.texture(shape.material) is not None:
            SubElement(material, "texture", filename=self._texture_file(shape))

    def _texture_file(self, shape: Shape) -> str:
        name = f"{link_name(shape.name)}.png"
        self.files[name] = self.twin.texture_png(shape.material) or b""
        return name

    def _mesh_file(self, shape: Shape, with_texture: bool) -> str:
        name = link_name(shape.name)
        mesh = self.twin.mesh(shape.mesh)
        textured = with_texture and mesh.uv is not None and self.twin.texture(shape.material) is not None
        lines = [f"mtllib {name}.mtl", "usemtl skin"] if with_texture else []
        lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.vertices.tolist()]
        if textured and mesh.uv is not None:
            corners = np.arange(1, 3 * len(mesh.faces) + 1).reshape(-1, 3)
            lines += [f"vt {u:.6g} {v:.6g}" for u, v in mesh.uv.reshape(-1, 2).tolist()]
            faces = zip((mesh.faces + 1).tolist(), corners.tolist(), strict=True)
            lines += ["f " + " ".join(f"{v}/{t}" for v, t in zip(vs, ts, strict=True)) for vs, ts in faces]
        else:
            lines += [f"f {a} {b} {c}" for a, b, c in (mesh.faces + 1).tolist()]
        if with_texture:
            map_line = f"map_Kd {self._texture_file(shape)}\n" if textured else ""
            self.files[f"{name}.mtl"] = f"newmtl skin\nKd {_numbers(shape.rgba[:3])}\n{map_line}".encode()
        self.files.setdefault(f"{name}.obj", ("\n".join(lines) + "\n").encode())
        return f"{name}.obj"

    def _round_file(self, shape: Shape) -> str:
        """Write a capsule or an ellipsoid as a mesh: a URDF has neither."""
        name = f"{link_name(shape.name)}.obj"
        self.files[name] = str(trimesh.exchange.obj.export_obj(round_mesh(shape), include_normals=False)).encode()
        return name

    def _joints(self, body: Body) -> None:
        """Add the joints of a body; all but the last lead to massless links on the way."""
        parent, pose = body.parent, body.parent_from_body
        origin = self._link_origins[parent]
        joints = list(body.joints) or [None]
        for number, joint in enumerate(joints):
            last = number == len(joints) - 1
            child = link_name(body.name) if last else link_name(f"{body.name}_{joint.name if joint else number}")
            anchor = joint.anchor if joint is not None and joint.kind != "free" else np.zeros(3)
            if not last:
                _inertial_of(SubElement(self.robot, "link", name=child), MASSLESS, np.zeros(3), np.eye(3) * MASSLESS)
            self._joint(joint, body, link_name(parent), child, (pose, pose.rotation @ anchor + pose.pos - origin))
            parent, origin, pose = child, anchor, Pose.identity()

    def _joint(self, joint: BodyJoint | None, body: Body, parent: str, child: str, at: tuple[Pose, np.ndarray]) -> None:
        kind = "fixed" if joint is None else JOINT_TYPES.get(joint.kind, "fixed")
        if joint is not None and kind == "fixed":
            self.left_out.append(f"{joint.name}: a URDF has no {joint.kind} joints; {body.name} is fixed there")
        if joint is not None and kind == "revolute" and joint.limits is None:
            kind = "continuous"
        name = child if joint is None else link_name(joint.name)
        element = SubElement(self.robot, "joint", name=f"{name}_joint", type=kind)
        SubElement(element, "parent", link=parent)
        SubElement(element, "child", link=child)
        SubElement(element, "origin", xyz=_numbers(at[1]), rpy=_rpy(at[0]))
        if joint is None or kind in ("fixed", "floating"):
            return
        SubElement(element, "axis", xyz=_numbers(joint.axis))
        if kind != "continuous":
            low, high = joint.limits or (-10.0, 10.0)
            SubElement(element, "limit", lower=f"{low:.9g}", upper=f"{high:.9g}", effort="1000", velocity="10")
        SubElement(element, "dynamics", damping=f"{joint.damping:.9g}")


def _drake_properties(collision: Element, friction: float) -> None:
    """Add Drake's friction, and contact over areas: at a single point, stacked boxes fall; over them, balls roll."""
    for mesh in collision.iter("mesh"):
        SubElement(mesh, "drake:declare_convex")
    properties = SubElement(collision, "drake:proximity_properties")
    # Pascal and metres: of Drake's guide for stiff objects of some centimetres, but ten times as stiff, for objects of
    # 1 kg on rounded feet sank by 0.6 mm and crept by 2.8 mm in 2 s.
    # https://drake.mit.edu/doxygen_cxx/group__hydroelastic__user__guide.html
    values = {"hydroelastic_modulus": 1e8, "mesh_resolution_hint": 0.01}
    if collision.find("geometry/sphere") is not None:
        values = {}
    else:
        SubElement(properties, "drake:compliant_hydroelastic")
    for kind, value in (values | {"mu_static": friction, "mu_dynamic": friction}).items():
        SubElement(properties, f"drake:{kind}", value=f"{value:g}")


def _robot(name: str) -> Element:
    return Element("robot", {"name": name, "xmlns:drake": DRAKE_NAMESPACE})


def _text(robot: Element) -> str:
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode", xml_declaration=True) + "\n"


def link_name(name: str) -> str:
    """Return a name without the characters that file names and URDF readers do not take."""
    return re.sub(r"[^\w.-]", "_", name)


def round_mesh(shape: Shape) -> trimesh.Trimesh:
    """Return a capsule or an ellipsoid as a mesh in the shape's frame."""
    if shape.kind == "capsule":
        return trimesh.creation.capsule(2 * shape.size[1], shape.size[0], count=[16, 16])
    ball = trimesh.creation.icosphere(3)
    ball.apply_scale(shape.size)
    return ball


def _inertial(link: Element, body: Body, origin: np.ndarray) -> None:
    _inertial_of(link, max(body.mass, MASSLESS), body.centre - origin, body.inertia)


def _inertial_of(link: Element, mass: float, centre: np.ndarray, tensor: np.ndarray) -> None:
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_numbers(centre), rpy="0 0 0")
    SubElement(inertial, "mass", value=f"{mass:.9g}")
    SubElement(inertial, "inertia", dict(_moments(tensor)))


def _moments(tensor: np.ndarray) -> Iterator[tuple[str, str]]:
    for i, j in zip(*np.triu_indices(3), strict=True):
        yield f"i{'xyz'[i]}{'xyz'[j]}", f"{tensor[i, j]:.9g}"


def _origin(part: Element, pose: Pose, origin: np.ndarray) -> None:
    SubElement(part, "origin", xyz=_numbers(pose.pos - origin), rpy=_rpy(pose))


def _rpy(pose: Pose) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns where several angles give the same rotation
        return _numbers(Rotation.from_quat(pose.quat_wxyz, scalar_first=True).as_euler("xyz"))


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.9g}" for value in values)

"""The compiled twin as bodies, joints and shapes, for formats other than MJCF.

Everything is read from the compiled scene.xml, so an export has the poses, masses and meshes that MuJoCo simulates.
"""

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image

from pipeline.export.export_format import ExportError
from pipeline.geometry import Pose


@dataclass(frozen=True, eq=False)
class Shape:
    """One geom of a body."""

    name: str
    kind: str
    """"box", "cylinder", "sphere", "capsule", "ellipsoid", "mesh" or "plane"."""
    size: np.ndarray
    """MuJoCo's sizes, of shape (3,), in metres: half extents, or radius and half length."""
    body_from_shape: Pose
    mesh: int
    """Index of its mesh; -1 if it is none."""
    material: int
    """Index of its material; -1 if it has none."""
    rgba: tuple[float, float, float, float]
    friction: float
    is_visible: bool
    collides: bool


@dataclass(frozen=True, eq=False)
class BodyJoint:
    """One joint between a body and its parent."""

    name: str
    kind: str
    """"free", "ball", "slide" or "hinge"."""
    axis: np.ndarray
    """In the body's frame, of shape (3,)."""
    anchor: np.ndarray
    """In the body's frame, of shape (3,), in metres."""
    limits: tuple[float, float] | None
    """In radians or metres; None if it has none."""
    damping: float


@dataclass(frozen=True, eq=False)
class Body:
    """One rigid body of the twin."""

    name: str
    parent: str
    """Name of its parent; "world" for an object."""
    parent_from_body: Pose
    mass: float
    """In kg."""
    centre: np.ndarray
    """Centre of mass in the body's frame, of shape (3,)."""
    principal_axes: Pose
    """body_from_principal: frame of the principal moments, at the centre of mass."""
    moments: np.ndarray
    """Principal moments of inertia, of shape (3,), in kg m^2."""
    joints: tuple[BodyJoint, ...]
    shapes: tuple[Shape, ...]

    @property
    def inertia(self) -> np.ndarray:
        """Inertia about the centre of mass in the body's axes, of shape (3, 3)."""
        rotation = self.principal_axes.rotation
        return rotation @ np.diag(self.moments) @ rotation.T

    @property
    def is_free(self) -> bool:
        return any(joint.kind == "free" for joint in self.joints)


@dataclass(frozen=True, eq=False)
class MeshData:
    """Triangles of a mesh in its shape's frame."""

    vertices: np.ndarray
    """Of shape (V, 3), in metres."""
    faces: np.ndarray
    """Of shape (F, 3), int."""
    uv: np.ndarray | None
    """Texture coordinates of the faces' corners, of shape (F, 3, 2), v upwards; None if it has none."""

    def split_by_corner(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return vertices (V', 3), faces (F, 3) and texture coordinates (V', 2), one per vertex.

        A vertex that has several texture coordinates is repeated.
        """
        assert self.uv is not None
        corners = np.hstack([self.faces.reshape(-1, 1), self.uv.reshape(-1, 2)])
        unique, inverse = np.unique(corners, axis=0, return_inverse=True)
        return self.vertices[unique[:, 0].astype(int)], inverse.reshape(-1, 3), unique[:, 1:]


class TwinModel:
    """A twin as MuJoCo compiled it."""

    def __init__(self, source: Path | mujoco.MjModel):
        """Take a compiled model, or compile a file. Raises ExportError."""
        if isinstance(source, mujoco.MjModel):
            self.model = source
            return
        try:
            self.model = mujoco.MjModel.from_xml_path(str(source))
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise ExportError(f"{source.name} cannot be loaded ({reason}); build the scene again") from error

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """All bodies, each after its parent; the first is "world"."""
        return tuple(self._body(number) for number in range(self.model.nbody))

    def children(self, parent: str) -> tuple[Body, ...]:
        return tuple(body for body in self.bodies[1:] if body.parent == parent)

    def _body(self, number: int) -> Body:
        model = self.model
        first, count = model.body_jntadr[number], model.body_jntnum[number]
        geoms = np.flatnonzero(model.geom_bodyid == number)
        return Body(
            name=self._body_name(number),
            parent=self._body_name(int(model.body_parentid[number])),
            parent_from_body=Pose(model.body_pos[number].copy(), model.body_quat[number].copy()),
            mass=float(model.body_mass[number]),
            centre=model.body_ipos[number].copy(),
            principal_axes=Pose(model.body_ipos[number].copy(), model.body_iquat[number].copy()),
            moments=model.body_inertia[number].copy(),
            joints=tuple(self._joint(j) for j in range(first, first + count)) if count else (),
            shapes=tuple(self._shape(int(g)) for g in geoms),
        )

    def _body_name(self, number: int) -> str:
        return self.model.body(number).name or f"body_{number}"

    def _joint(self, number: int) -> BodyJoint:
        model = self.model
        low, high = model.jnt_range[number].tolist()
        return BodyJoint(
            name=model.joint(number).name or f"joint_{number}",
            kind=_kind(mujoco.mjtJoint(int(model.jnt_type[number]))),
            axis=model.jnt_axis[number].copy(),
            anchor=model.jnt_pos[number].copy(),
            limits=(low, high) if model.jnt_limited[number] else None,
            damping=float(model.dof_damping[model.jnt_dofadr[number]]),
        )

    def _shape(self, number: int) -> Shape:
        model = self.model
        kind = mujoco.mjtGeom(int(model.geom_type[number]))
        material = int(model.geom_matid[number])
        rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[number]
        red, green, blue, alpha = map(float, rgba)
        return Shape(
            name=model.geom(number).name or f"geom_{number}",
            kind=_kind(kind),
            size=model.geom_size[number].copy(),
            body_from_shape=Pose(model.geom_pos[number].copy(), model.geom_quat[number].copy()),
            mesh=int(model.geom_dataid[number]) if kind == mujoco.mjtGeom.mjGEOM_MESH else -1,
            material=material,
            rgba=(red, green, blue, alpha),
            friction=float(model.geom_friction[number, 0]),
            # Geom groups that MuJoCo's viewer shows at first; group 3 holds collision shapes
            is_visible=int(model.geom_group[number]) in (0, 1, 2),
            collides=bool(model.geom_contype[number] or model.geom_conaffinity[number]),
        )

    def mesh(self, number: int) -> MeshData:
        """Return the triangles of a mesh."""
        model = self.model
        vertices = model.mesh_vert[_slice(model.mesh_vertadr, model.mesh_vertnum, number)].astype(float)
        rows = _slice(model.mesh_faceadr, model.mesh_facenum, number)
        uv = None
        if model.mesh_texcoordadr[number] >= 0:
            table = model.mesh_texcoord[_slice(model.mesh_texcoordadr, model.mesh_texcoordnum, number)]
            uv = table[model.mesh_facetexcoord[rows]].astype(float)
            uv[..., 1] = 1 - uv[..., 1]  # MuJoCo counts v from the image's top
        return MeshData(vertices, model.mesh_face[rows].astype(int).copy(), uv)

    def texture(self, material: int) -> Image.Image | None:
        """Return the image of a material; None if it has none."""
        if material < 0:
            return None
        texture = int(self.model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB])
        if texture < 0:
            return None
        model = self.model
        height, width, channels = (int(a[texture]) for a in (model.tex_height, model.tex_width, model.tex_nchannel))
        start = int(model.tex_adr[texture])
        pixels = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)
        return Image.fromarray(np.ascontiguousarray(pixels[..., :3]))

    def texture_png(self, material: int) -> bytes | None:
        """Return the image of a material as a PNG; None if it has none."""
        image = self.texture(material)
        if image is None:
            return None
        data = io.BytesIO()
        image.save(data, "PNG")
        return data.getvalue()


def _kind(value: mujoco.mjtGeom | mujoco.mjtJoint) -> str:
    """Return MuJoCo's name of a kind, such as "box" of mjGEOM_BOX."""
    return value.name.rpartition("_")[2].lower()


def _slice(starts: np.ndarray, counts: np.ndarray, number: int) -> slice:
    return slice(int(starts[number]), int(starts[number]) + int(counts[number]))

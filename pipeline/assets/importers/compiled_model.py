"""Extracts meshes from models that MuJoCo compiled: the visible geoms, joined at the home pose."""

from collections.abc import Callable, Sequence
from pathlib import Path

import mujoco
import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import SimpleMaterial

from pipeline.assets.asset import AssetError

MODEL_FORMATS = (".xml", ".mjcf", ".urdf")


def home_pose(model: mujoco.MjModel) -> mujoco.MjData:
    """Return the model's initial state with all poses computed."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return data


def visible_mesh(
    model: mujoco.MjModel, data: mujoco.MjData, path: Path, textured: Callable[[str], trimesh.Trimesh | None]
) -> trimesh.Trimesh:
    """Return all visible geoms as one mesh in world axes, in metres. Raises an AssetError that names `path`.

    `textured` returns a mesh file of the model with its texture, None if it has none.
    """
    parts = [part for geom in visible_geoms(model) if (part := geom_mesh(model, data, geom, textured)) is not None]
    if not parts:
        raise AssetError(f"{path.name} has no visible geometry")
    joined = trimesh.util.concatenate(parts)
    assert isinstance(joined, trimesh.Trimesh)
    return joined


def visible_geoms(model: mujoco.MjModel) -> list[int]:
    """Return the geoms to show: those that do not collide, else all opaque ones, else all; never planes."""
    solid = [g for g in range(model.ngeom) if model.geom_type[g] != mujoco.mjtGeom.mjGEOM_PLANE]
    opaque = [g for g in solid if model.geom_rgba[g, 3] > 0 and model.geom_group[g] < 3]
    return [g for g in opaque if not model.geom_contype[g] and not model.geom_conaffinity[g]] or opaque or solid


def geom_mesh(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    geom: int,
    textured: Callable[[str], trimesh.Trimesh | None] = lambda name: None,
) -> trimesh.Trimesh | None:
    """Return one geom in world axes with its material's or its file's texture, else its colour; None for planes,
    fields and others."""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    shapes = mujoco.mjtGeom
    if kind == shapes.mjGEOM_MESH:
        number, image = model.geom_dataid[geom], _texture(model, geom)
        mesh = None if image else _as_stored(model, number, textured(_file_name(model, number)))
        mesh = mesh or _stored_mesh(model, number, image, _colour(model, geom))
    elif kind == shapes.mjGEOM_BOX:
        mesh = trimesh.creation.box(2 * size)
    elif kind == shapes.mjGEOM_SPHERE:
        mesh = trimesh.creation.icosphere(subdivisions=3, radius=size[0])
    elif kind == shapes.mjGEOM_ELLIPSOID:
        mesh = trimesh.creation.icosphere(subdivisions=3).apply_scale(size)
    elif kind == shapes.mjGEOM_CYLINDER:
        mesh = trimesh.creation.cylinder(size[0], 2 * size[1])
    elif kind == shapes.mjGEOM_CAPSULE:
        mesh = trimesh.creation.capsule(2 * size[1], size[0])
        mesh.apply_translation([0, 0, -mesh.bounds.mean(axis=0)[2]])
    else:
        return None
    if kind != shapes.mjGEOM_MESH:
        mesh.visual = plain_visual(len(mesh.vertices), _rgb(_colour(model, geom)))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = data.geom_xmat[geom].reshape(3, 3), data.geom_xpos[geom]
    return mesh.apply_transform(pose)


def _file_name(model: mujoco.MjModel, mesh: int) -> str:
    """Return the name of a mesh's file; empty if it has none."""
    start = model.mesh_pathadr[mesh]
    return model.paths[start:].partition(b"\0")[0].decode() if start >= 0 else ""


def _as_stored(model: mujoco.MjModel, mesh: int, file: trimesh.Trimesh | None) -> trimesh.Trimesh | None:
    """Return a mesh in its file's axes as MuJoCo stores it: scaled, in the axes of its inertia."""
    if file is None:
        return None
    stored_from_file = np.eye(4)
    mujoco.mju_quat2Mat(rotation := np.empty(9), model.mesh_quat[mesh])
    stored_from_file[:3, :3] = rotation.reshape(3, 3).T
    stored_from_file[:3, 3] = -stored_from_file[:3, :3] @ model.mesh_pos[mesh]
    stored_from_file[:3, :3] *= model.mesh_scale[mesh]
    return file.copy().apply_transform(stored_from_file)


def _stored_mesh(model: mujoco.MjModel, mesh: int, image: Image.Image | None, colour: np.ndarray) -> trimesh.Trimesh:
    """Return a mesh of the model with one vertex for each pair of position and texture coordinate."""
    vertices = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
    adr, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    faces = model.mesh_face[adr : adr + count]
    if image is None or not model.mesh_texcoordnum[mesh]:
        return trimesh.Trimesh(vertices, faces, visual=plain_visual(len(vertices), _rgb(colour)), process=False)
    coords = model.mesh_texcoord[model.mesh_texcoordadr[mesh] :][: model.mesh_texcoordnum[mesh]]
    pairs, index = np.unique(
        np.stack([faces.ravel(), model.mesh_facetexcoord[adr : adr + count].ravel()], 1), axis=0, return_inverse=True
    )
    uv = coords[pairs[:, 1]] * [1, -1] + [0, 1]
    material = SimpleMaterial(image=image)
    visual = TextureVisuals(uv=uv, material=material)
    return trimesh.Trimesh(vertices[pairs[:, 0]], index.reshape(-1, 3), visual=visual, process=False)


def _texture(model: mujoco.MjModel, geom: int) -> Image.Image | None:
    """Return the 2D texture of a geom, if it has one."""
    texture = _texture_id(model, geom)
    if texture < 0 or model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D:
        return None
    return Image.fromarray(np.ascontiguousarray(_pixels(model, texture)[..., :3]))


def _texture_id(model: mujoco.MjModel, geom: int) -> int:
    material = model.geom_matid[geom]
    return int(max(model.mat_texid[material])) if material >= 0 else -1


def _pixels(model: mujoco.MjModel, texture: int) -> np.ndarray:
    shape = model.tex_height[texture], model.tex_width[texture], model.tex_nchannel[texture]
    return model.tex_data[model.tex_adr[texture] :][: np.prod(shape)].reshape(shape)


def _colour(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """Return RGBA in [0, 1], shape (4,), multiplied by the texture's mean if the geom has a texture."""
    material, texture = model.geom_matid[geom], _texture_id(model, geom)
    rgba = np.array(model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom], float)
    if texture >= 0 and model.tex_nchannel[texture] >= 3:
        rgba[:3] *= _pixels(model, texture)[..., :3].mean(axis=(0, 1)) / 255
    return rgba


def _rgb(colour: np.ndarray) -> list[int]:
    return [round(255 * float(c)) for c in colour[:3]]


def plain_visual(count: int, rgb: Sequence[int] | np.ndarray) -> TextureVisuals:
    """Return a tiny texture of one colour, 0-255, for `count` vertices: plain and textured parts then join."""
    image = Image.new("RGB", (4, 4), tuple(int(c) for c in rgb))
    return TextureVisuals(uv=np.full((count, 2), 0.5), material=SimpleMaterial(image=image))

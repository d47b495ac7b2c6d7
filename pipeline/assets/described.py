"""Meshes of MJCF and URDF models: compiled by MuJoCo itself, what is visible joined at the home pose."""

from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import SimpleMaterial

from pipeline.assets.asset import AssetError

MODEL_FORMATS = (".xml", ".mjcf", ".urdf")


def mesh_of_model(path: Path) -> trimesh.Trimesh:
    """One textured mesh of a model. Raises AssetError where MuJoCo cannot compile it or nothing is to be seen."""
    try:
        model = _urdf(path) if path.suffix == ".urdf" else mujoco.MjModel.from_xml_path(str(path))
    except Exception as error:
        raise AssetError(f"MuJoCo cannot compile {path.name}: {str(error).splitlines()[0]}") from None
    return visible_mesh(model, at_home(model), path)


def at_home(model: mujoco.MjModel) -> mujoco.MjData:
    """The model as it stands by itself, every pose computed."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return data


def visible_mesh(model: mujoco.MjModel, data: mujoco.MjData, path: Path) -> trimesh.Trimesh:
    """All that is to be seen of a model as one mesh, in world axes and metres. Raises AssetError that names `path`."""
    parts = [part for geom in visible_geoms(model) if (part := geom_mesh(model, data, geom)) is not None]
    if not parts:
        raise AssetError(f"{path.name} has no visible geometry")
    joined = trimesh.util.concatenate(parts)
    assert isinstance(joined, trimesh.Trimesh)
    return joined


def _urdf(path: Path) -> mujoco.MjModel:
    """MuJoCo forgets a URDF's visuals and its meshes' folders unless told otherwise in the file itself."""
    root = ElementTree.fromstring(path.read_text(encoding="utf-8").replace("package://", ""))
    if root.find("mujoco") is None:
        told = ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler")
        told.attrib.update(discardvisual="false", strippath="false", meshdir=str(path.parent.resolve()))
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def visible_geoms(model: mujoco.MjModel) -> list[int]:
    """Geoms meant to be seen: those that touch nothing, or all where there are none such; no planes."""
    solid = [g for g in range(model.ngeom) if model.geom_type[g] != mujoco.mjtGeom.mjGEOM_PLANE]
    opaque = [g for g in solid if model.geom_rgba[g, 3] > 0 and model.geom_group[g] < 3]
    return [g for g in opaque if not model.geom_contype[g] and not model.geom_conaffinity[g]] or opaque or solid


def geom_mesh(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> trimesh.Trimesh | None:
    """One geom in world axes, with its material's texture or colour."""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    shapes = mujoco.mjtGeom
    if kind == shapes.mjGEOM_MESH:
        mesh = _stored_mesh(model, model.geom_dataid[geom], _texture(model, geom), _colour(model, geom))
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
        mesh.visual = _plain(len(mesh.vertices), _colour(model, geom))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = data.geom_xmat[geom].reshape(3, 3), data.geom_xpos[geom]
    return mesh.apply_transform(pose)


def _stored_mesh(model: mujoco.MjModel, mesh: int, image: Image.Image | None, colour: np.ndarray) -> trimesh.Trimesh:
    """A mesh as MuJoCo keeps it: one vertex for each pair of position and texture coordinate."""
    vertices = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
    adr, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    faces = model.mesh_face[adr : adr + count]
    if image is None or not model.mesh_texcoordnum[mesh]:
        return trimesh.Trimesh(vertices, faces, visual=_plain(len(vertices), colour), process=False)
    coords = model.mesh_texcoord[model.mesh_texcoordadr[mesh] :][: model.mesh_texcoordnum[mesh]]
    pairs, index = np.unique(
        np.stack([faces.ravel(), model.mesh_facetexcoord[adr : adr + count].ravel()], 1), axis=0, return_inverse=True
    )
    uv = coords[pairs[:, 1]] * [1, -1] + [0, 1]
    material = SimpleMaterial(image=image)
    visual = TextureVisuals(uv=uv, material=material)
    return trimesh.Trimesh(vertices[pairs[:, 0]], index.reshape(-1, 3), visual=visual, process=False)


def _texture(model: mujoco.MjModel, geom: int) -> Image.Image | None:
    """The picture that texture coordinates point into."""
    texture = _texture_of(model, geom)
    if texture < 0 or model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D:
        return None
    return Image.fromarray(np.ascontiguousarray(_pixels(model, texture)[..., :3]))


def _texture_of(model: mujoco.MjModel, geom: int) -> int:
    material = model.geom_matid[geom]
    return int(max(model.mat_texid[material])) if material >= 0 else -1


def _pixels(model: mujoco.MjModel, texture: int) -> np.ndarray:
    shape = model.tex_height[texture], model.tex_width[texture], model.tex_nchannel[texture]
    return model.tex_data[model.tex_adr[texture] :][: np.prod(shape)].reshape(shape)


def _colour(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """RGBA in [0, 1], of shape (4,): of a texture that is wrapped around without coordinates, its mean."""
    material, texture = model.geom_matid[geom], _texture_of(model, geom)
    rgba = np.array(model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom], float)
    if texture >= 0 and model.tex_nchannel[texture] >= 3:
        rgba[:3] *= _pixels(model, texture)[..., :3].mean(axis=(0, 1)) / 255
    return rgba


def _plain(count: int, colour: np.ndarray) -> TextureVisuals:
    """One colour as a tiny texture, so that plain and printed parts join into one material."""
    image = Image.new("RGB", (4, 4), tuple(round(255 * float(c)) for c in colour[:3]))
    material = SimpleMaterial(image=image)
    return TextureVisuals(uv=np.full((count, 2), 0.5), material=material)

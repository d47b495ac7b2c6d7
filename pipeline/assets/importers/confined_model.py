"""Compile the model of a library's asset in a confined child: MuJoCo's readers are native code."""

from pathlib import Path

import numpy as np
import trimesh
from PIL import Image
from trimesh.visual import TextureVisuals
from trimesh.visual.material import SimpleMaterial

from pipeline.assets.asset import AssetError
from pipeline.assets.importers.model_import import mesh_of_model
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result

LIMITS = Limits(seconds=120, memory_mb=4096)


def mesh_of_model_confined(path: Path) -> trimesh.Trimesh:
    """Return one textured mesh of a model and the files in its folder. Raises AssetError."""
    if not confined.is_supported():
        return mesh_of_model(path)
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
    mesh = mesh_of_model(Path(path))
    material = getattr(mesh.visual, "material", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    uv = getattr(mesh.visual, "uv", None)
    texture = (
        ()
        if image is None or uv is None
        else (np.asarray(uv, float), np.asarray(image if image.mode == "RGBA" else image.convert("RGB")))
    )
    return Result(None, (np.asarray(mesh.vertices), np.asarray(mesh.faces), *texture))

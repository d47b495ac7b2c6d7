"""Visual meshes of an arm for saved models.

The oracle's worlds contain only collision geoms; a saved model gets the visual ones in geom group 1.
"""

from pathlib import Path

import mujoco

from pipeline.simulation.robots.description import VISUAL_GROUP, ArmModel


def needs_visual_meshes(xml: str, arm: ArmModel) -> bool:
    """Whether a model that contains this arm lacks its visual meshes."""
    return not any(f'file="{name}"' in xml for name in arm.meshes(True))


def write_mesh_files(folder: Path, arm: ArmModel) -> None:
    """Write an arm's collision and visual meshes to a folder, unless they exist."""
    for name, data in (arm.meshes(False) | arm.meshes(True)).items():
        if not (folder / name).is_file():
            (folder / name).write_bytes(data)


def add_visual_meshes(xml: Path, arm: ArmModel) -> None:
    """Add the visual geoms to a model's file whose folder has the mesh files."""
    spec, looks = mujoco.MjSpec.from_file(str(xml)), arm.read(True)
    for material in looks.materials:
        name = arm.prefix + material.name
        if spec.material(name) is None:
            spec.add_material(name=name)
        spec.material(name).rgba = material.rgba
    for name in arm.meshes(True):
        if spec.mesh(name) is None:  # both arms of a pair may have the same
            spec.add_mesh(name=name, file=name)
    for geom in looks.geoms:
        body = spec.body(arm.prefix + geom.parent.name)
        if geom.type != mujoco.mjtGeom.mjGEOM_MESH or body is None:
            continue  # shapes without a mesh are in the model already
        body.add_geom(
            type=geom.type, meshname=_file(arm, geom.meshname), pos=geom.pos, quat=geom.quat, mass=0, rgba=geom.rgba,
            material=arm.prefix + geom.material if geom.material else "", contype=0, conaffinity=0,
            group=VISUAL_GROUP,
        )  # fmt: skip
    spec.compile()
    xml.write_text(spec.to_xml(), "utf-8")


def _file(arm: ArmModel, mesh: str) -> str:
    name = mesh.rpartition("/")[2]
    return f"{name if name.startswith(arm.meshes_prefix) else arm.meshes_prefix + name}.stl"

"""Bodies of the world's MJCF model that a program changes or adds: copies, other sizes, zones and open boxes."""

from typing import Any

import mujoco
import numpy as np

from pipeline.geometry import quat_about_z
from pipeline.simulation.objects import Object
from pipeline.simulation.state import Zone


def duplicate(spec: mujoco.MjSpec, scene: mujoco.MjSpec, source: str, name: str) -> None:
    other = scene.copy()
    for element in [*other.worldbody.geoms, *other.worldbody.cameras, *other.worldbody.lights, *other.keys]:
        other.delete(element)
    for body in [b for b in other.worldbody.bodies if b.name != source]:
        other.delete(body)
    spec.attach(other, prefix=f"{name}/", frame=spec.worldbody.add_frame())
    spec.body(f"{name}/{source}").name = name


def scale(spec: mujoco.MjSpec, body: Any, factor: float) -> None:
    """Scale a body and the parts that its joints move."""
    for geom in body.geoms:
        geom.pos, geom.size = geom.pos * factor, geom.size * factor
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            mesh, name = spec.mesh(geom.meshname), f"{body.name}/{geom.meshname}"
            if not spec.mesh(name):
                spec.add_mesh(name=name, file=mesh.file, scale=mesh.scale * factor, inertia=mesh.inertia)
            geom.meshname = name
        if np.isfinite(geom.mass):
            geom.mass *= factor**3
    for site in body.sites:
        site.pos = site.pos * factor
    if body.explicitinertial:
        body.mass, body.ipos, body.inertia = body.mass * factor**3, body.ipos * factor, body.inertia * factor**5
    for joint in body.joints:
        joint.pos = joint.pos * factor
        if joint.type == mujoco.mjtJoint.mjJNT_SLIDE:
            joint.range = joint.range * factor
    for part in body.bodies:
        part.pos = part.pos * factor
        scale(spec, part, factor)


def add_zone_geom(spec: mujoco.MjSpec, zone: Zone, rgb: tuple[int, int, int]) -> None:
    turn = float(np.arctan2(zone.right[1], zone.right[0]))
    kind = mujoco.mjtGeom.mjGEOM_CYLINDER if zone.disc else mujoco.mjtGeom.mjGEOM_BOX
    size = [zone.size[0] / 2, 0.0005, 0] if zone.disc else [zone.size[0] / 2, zone.size[1] / 2, 0.0005]
    spec.worldbody.add_geom(
        name=zone.name, type=kind, size=size, pos=[*zone.xy, 0.0005], quat=quat_about_z(turn),
        contype=0, conaffinity=0, group=2, rgba=[*np.array(rgb) / 255, 0.55],
    )  # fmt: skip


def add_open_box(spec: mujoco.MjSpec, placed: Object, has_stand: bool = False) -> None:
    """Add an open box without a joint; `has_stand` puts it on a column that rises from the room's floor."""
    body = spec.worldbody.add_body(name=placed.name, pos=placed.position, quat=placed.quat_wxyz)
    x, y, z = placed.size / 2
    # Thickness of an added container's walls and floor, in metres
    t = 0.004 / 2
    walls = {
        "floor": ((0, 0, t - z), (x, y, t)),
        "left": ((t - x, 0, 0), (t, y, z)),
        "right": ((x - t, 0, 0), (t, y, z)),
        "front": ((0, t - y, 0), (x, t, z)),
        "back": ((0, y - t, 0), (x, t, z)),
    }
    for side, (pos, size) in walls.items():
        body.add_geom(
            name=f"{placed.name}/{side}", type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=size, group=0,
            rgba=[*np.array(placed.rgb) / 255, 1],
        )  # fmt: skip
    if has_stand:
        floor = spec.geom("floor")
        below = float(floor.pos[2]) if floor else placed.bottom - 0.75
        spec.worldbody.add_geom(
            name=f"{placed.name}/stand", type=mujoco.mjtGeom.mjGEOM_BOX, group=0, quat=placed.quat_wxyz,
            pos=(*placed.position[:2], (placed.bottom + below) / 2), rgba=[*np.array(placed.rgb) / 255, 1],
            size=(x * 0.8, y * 0.8, (placed.bottom - below) / 2),
        )  # fmt: skip

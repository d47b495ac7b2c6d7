"""Articulated objects in the scene: an asset's own MJCF attached below the body that carries the free joint.

Its elements are named "<object>/<name in its file>". Masses are scaled to the placement's, and contacts and groups are
those of all objects. Bodies that overlap at home do not collide with each other, or a drawer would be pushed out.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

from pipeline.geometry import Pose
from pipeline.scene.mjcf.mesh_export import portable_xml
from pipeline.scene.placement import Placement, SceneError

DEFAULT_DAMPING = {mujoco.mjtJoint.mjJNT_HINGE: 0.02, mujoco.mjtJoint.mjJNT_SLIDE: 2.0}
"""Damping (N m s, N s / m) of a joint whose file gives none: it would swing for ever after a nudge."""
NEUTRAL_CONTACT = {
    "friction": [0.5, 0.005, 0.001],
    "condim": 4,
    "solref": [0.02, 1],
    "solimp": [0.9, 0.95, 0.001, 0.5, 2],
}
"""Contact settings for models that are not simulated."""


def attach_model(spec: mujoco.MjSpec, p: Placement, settings: dict) -> dict[str, bytes]:
    """Add the body of a placement with its model below it; return the files that it needs, by name.

    `settings` are the contact settings of its geoms. Raises SceneError if MuJoCo rejects the model.
    """
    try:
        own, files = _load_model(p)
        scratch = mujoco.MjSpec()
        scratch.assets = files
        _add_body(scratch, own.copy(), p, settings)
        inertias, overlapping = _scaled_inertias(scratch, p)
        _add_body(spec, own, p, settings)
        for body in [spec.body(p.name), *spec.body(p.name).find_all("body")]:
            if body.name in inertias:
                body.explicitinertial = True
                body.mass, body.ipos, body.iquat, body.inertia = inertias[body.name]
        for first, second in overlapping:
            spec.add_exclude(bodyname1=first, bodyname2=second)
        return files
    except (ValueError, OSError, mujoco.FatalError) as error:
        raise SceneError(f"MuJoCo rejects the model of {p.asset_id or p.name}: {str(error).splitlines()[0]}") from None


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass and inertia of several bodies together."""

    mass: float
    """In kg."""
    centre: np.ndarray
    """Centre of mass, of shape (3,), in metres."""
    inertia: np.ndarray
    """Inertia about the centre of mass, of shape (3, 3), in kg m^2."""


def closed_inertia(p: Placement) -> MassProperties:
    """Return the mass properties of an articulated object with all joints at home, in the object's axes.

    Raises SceneError.
    """
    assert p.model is not None
    key = (p.model, p.model.stat().st_mtime_ns, p.scale, p.mass, tuple(p.size.tolist()))
    if key not in _closed_inertias:
        alone = replace(p, world_from_object=Pose.identity(), name="closed", fixed=False)
        spec = mujoco.MjSpec()
        spec.assets |= attach_model(spec, alone, NEUTRAL_CONTACT)
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        _closed_inertias[key] = composite_inertia(model, data, list(range(1, model.nbody)))
    return _closed_inertias[key]


_closed_inertias: dict[tuple, MassProperties] = {}


def composite_inertia(model: mujoco.MjModel, data: mujoco.MjData, bodies: list[int]) -> MassProperties:
    """Return the mass properties of several bodies together, in world axes, by the parallel axis theorem."""
    masses = model.body_mass[bodies]
    mass = float(masses.sum())
    centre = masses @ data.xipos[bodies] / max(mass, 1e-12)
    total = np.zeros((3, 3))
    for body, body_mass in zip(bodies, masses, strict=True):
        rotation, offset = data.ximat[body].reshape(3, 3), data.xipos[body] - centre
        total += rotation @ np.diag(model.body_inertia[body]) @ rotation.T
        total += body_mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    return MassProperties(mass, centre, total)


def _load_model(p: Placement) -> tuple[mujoco.MjSpec, dict[str, bytes]]:
    """Return the model in the placement's size, and all files by the names that it uses."""
    assert p.model is not None
    own = mujoco.MjSpec.from_file(str(p.model))
    _strip(own)
    files = _read_files(own, p)
    _scale(own, p.scale)
    return own, files


def _add_body(spec: mujoco.MjSpec, own: mujoco.MjSpec, p: Placement, settings: dict) -> None:
    """Add the body that carries the free joint, with the model attached below it."""
    pose = p.world_from_object
    body = spec.worldbody.add_body(name=p.name, pos=pose.pos, quat=pose.quat_wxyz)
    if not p.fixed:
        body.add_freejoint(name=p.name)
    files = dict(spec.assets)
    spec.assets.clear()  # if neither spec has assets, MuJoCo keeps the file names
    spec.attach(own, prefix=f"{p.name}/", frame=body.add_frame())
    spec.assets |= files
    _set_groups(body, settings)
    if not body.geoms:  # MuJoCo requires that a moving body has mass
        body.mass, body.ipos, body.inertia = 0.02 * p.mass, np.zeros(3), 0.02 * p.mass * _box_inertia(p.size)
        body.explicitinertial = True


def _strip(own: mujoco.MjSpec) -> None:
    """Delete actuators, sensors, keyframes, cameras and lights, and name all joints and their bodies."""
    for element in [*own.actuators, *own.sensors, *own.keys, *own.cameras, *own.lights]:
        own.delete(element)
    for number, joint in enumerate(own.joints):
        joint.name = joint.name or f"joint_{number}"
        joint.parent.name = joint.parent.name or f"part_{number}"
    own.njmax = own.nconmax = -1  # MuJoCo warns if both models set them


def _read_files(own: mujoco.MjSpec, p: Placement) -> dict[str, bytes]:
    """Return the meshes and textures under names that begin with the object's, and the model that refers to them."""
    assert p.model is not None
    files: dict[str, bytes] = {}
    for element in [*own.meshes, *own.textures]:
        if element.file:
            folder = own.texturedir if isinstance(element, mujoco.MjsTexture) else own.meshdir
            name = Path(element.file).name
            name = name if name.startswith(f"{p.name}.") else f"{p.name}.{name}"
            files[name] = (p.model.parent / folder / element.file).read_bytes()
            element.file = name
    own.meshdir = own.texturedir = own.modelfiledir = ""
    own.assets = files
    files[f"{p.name}.model.xml"] = portable_xml(own).encode()
    own.assets.clear()
    return files


def _scale(own: mujoco.MjSpec, factor: float) -> None:
    """Scale the lengths of a model in place; hinge ranges stay."""
    if factor == 1:
        return
    for mesh in own.meshes:
        mesh.scale = mesh.scale * factor
    for body in own.bodies:
        for element in [body, *body.frames, *body.geoms, *body.sites, *body.joints]:
            element.pos = element.pos * factor
        for geom in [*body.geoms, *body.sites]:
            geom.size, geom.fromto = geom.size * factor, geom.fromto * factor
        for joint in body.joints:
            if joint.type == mujoco.mjtJoint.mjJNT_SLIDE:
                joint.range = joint.range * factor
        if body.explicitinertial:
            body.ipos = body.ipos * factor


def _set_groups(top: mujoco.MjsBody, settings: dict) -> None:
    """Put visual and collision geoms into their groups, with the scene's contact settings."""
    geoms, joints = top.find_all("geom"), top.find_all("joint")
    collides = [bool(geom.contype or geom.conaffinity) for geom in geoms]
    for geom, touches in zip(geoms, collides, strict=True):
        geom.group = (0 if all(collides) else 3) if touches else 2
        if touches:
            geom.contype = geom.conaffinity = 1
            geom.friction, geom.condim = settings["friction"], settings["condim"]
            geom.solref, geom.solimp, geom.margin = settings["solref"], settings["solimp"], 0.0
    for joint in joints:
        if joint.type in DEFAULT_DAMPING and not joint.damping[0]:
            joint.damping[0] = DEFAULT_DAMPING[joint.type]


class BodyInertia(NamedTuple):
    """Mass of a body and how it is distributed, as in MuJoCo's model."""

    mass: float
    """In kg."""
    ipos: np.ndarray
    """Centre of mass in the body's frame, of shape (3,)."""
    iquat: np.ndarray
    """Orientation of the principal axes, of shape (4,)."""
    inertia: np.ndarray
    """Principal moments, of shape (3,)."""


def _scaled_inertias(spec: mujoco.MjSpec, p: Placement) -> tuple[dict[str, BodyInertia], list[tuple[str, str]]]:
    """Return each body's inertia, their total mass being the placement's, and the pairs that overlap at home."""
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    ratio = p.mass / max(float(model.body_mass.sum()), 1e-9)
    # Largest inertia relative to mass times the squared diagonal of the box: a shell of that size has less
    limit = 0.35 * float(p.size @ p.size)
    inertias = {}
    for b in range(1, model.nbody):
        mass, inertia = ratio * float(model.body_mass[b]), ratio * model.body_inertia[b]
        inertia = inertia * min(1.0, limit * mass / max(float(inertia.max()), 1e-12))
        body = BodyInertia(mass, model.body_ipos[b].copy(), model.body_iquat[b].copy(), inertia)
        inertias[model.body(b).name] = body
    pairs = {tuple(sorted(model.geom_bodyid[c.geom].tolist())) for c in data.contact[: data.ncon] if c.dist < 0}
    named = [(model.body(a).name, model.body(b).name) for a, b in pairs]
    return {name: body for name, body in inertias.items() if name}, [pair for pair in named if all(pair)]


def _box_inertia(size: np.ndarray) -> np.ndarray:
    """Return the moments of inertia (3,) of a solid box of extents `size` (3,) that weighs one kilogram."""
    square = size**2
    return (square.sum() - square) / 12

"""A thing with joints in the scene: its own MJCF below the body that carries the free joint.

Everything in it is named "<object>/<name in its file>". Masses are scaled to the placement's; contacts and groups are
those of all things here; what overlaps at home never collides with each other, or a drawer would be squeezed out.
"""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from pipeline.geometry import Pose
from pipeline.scene.placement import Placement, SceneError

SLACK = {mujoco.mjtJoint.mjJNT_HINGE: 0.02, mujoco.mjtJoint.mjJNT_SLIDE: 2.0}
"""Damping (N m s, N s / m) of a joint whose file gives it none: at a nudge it would swing for ever."""
LOOSE = {"friction": [0.5, 0.005, 0.001], "condim": 4, "solref": [0.02, 1], "solimp": [0.9, 0.95, 0.001, 0.5, 2]}
"""Contacts where they do not matter."""
BULKY = 0.35
"""Most that an inertia may be over mass times the squared diagonal: a shell of that size has less."""


def attach(spec: mujoco.MjSpec, p: Placement, settings: dict) -> dict[str, bytes]:
    """The body of a placement with its model below it; returns the files that it needs beside the scene.

    `settings` are those of everything that collides. Raises SceneError where MuJoCo refuses the model.
    """
    try:
        own, files = _own(p)
        scratch = mujoco.MjSpec()
        scratch.assets = files
        _stand(scratch, own.copy(), p, settings)
        parts, touching = _weighed(scratch, p)
        _stand(spec, own, p, settings)
        for body in [spec.body(p.name), *spec.body(p.name).find_all("body")]:
            if body.name in parts:
                body.explicitinertial = True
                body.mass, body.ipos, body.iquat, body.inertia = parts[body.name]
        for first, second in touching:
            spec.add_exclude(bodyname1=first, bodyname2=second)
        return files
    except (ValueError, OSError, mujoco.FatalError) as error:
        raise SceneError(f"MuJoCo refuses the joints of {p.asset_id or p.name}: {str(error).splitlines()[0]}") from None


def shut(p: Placement) -> tuple[float, np.ndarray, np.ndarray]:
    """All parts together at home: mass in kg, centre of mass (3,) and inertia about it (3, 3) in the object's axes.

    Raises SceneError.
    """
    assert p.model is not None
    key = (p.model, p.model.stat().st_mtime_ns, p.scale, p.mass, tuple(p.size.tolist()))
    return _shut(key, replace(p, world_from_object=Pose.identity(), name="shut", fixed=False))


_known: dict[tuple, tuple[float, np.ndarray, np.ndarray]] = {}


def _shut(key: tuple, p: Placement) -> tuple[float, np.ndarray, np.ndarray]:
    if key not in _known:
        spec = mujoco.MjSpec()
        spec.assets |= attach(spec, p, LOOSE)
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        masses = model.body_mass[1:]
        centre = masses @ data.xipos[1:] / masses.sum()
        total = np.zeros((3, 3))
        for b in range(1, model.nbody):
            turn, away = data.ximat[b].reshape(3, 3), data.xipos[b] - centre
            total += turn @ np.diag(model.body_inertia[b]) @ turn.T
            total += model.body_mass[b] * (away @ away * np.eye(3) - np.outer(away, away))
        _known[key] = float(masses.sum()), centre, total
    return _known[key]


def _own(p: Placement) -> tuple[mujoco.MjSpec, dict[str, bytes]]:
    """Its model in the placement's size, and all files by the names they have there."""
    assert p.model is not None
    own = mujoco.MjSpec.from_file(str(p.model))
    _bare(own)
    files = _files(own, p)
    _scaled(own, p.scale)
    return own, files


def _stand(spec: mujoco.MjSpec, own: mujoco.MjSpec, p: Placement, settings: dict) -> None:
    pose = p.world_from_object
    body = spec.worldbody.add_body(name=p.name, pos=pose.pos, quat=pose.quat_wxyz)
    if not p.fixed:
        body.add_freejoint(name=p.name)
    held = dict(spec.assets)
    spec.assets.clear()  # where both have none, MuJoCo leaves the names of files as they are
    spec.attach(own, prefix=f"{p.name}/", frame=body.add_frame())
    spec.assets |= held
    _grouped(body, settings)
    if not body.geoms:  # MuJoCo moves nothing that has no mass
        body.mass, body.ipos, body.inertia = 0.02 * p.mass, np.zeros(3), 0.02 * p.mass * _box_inertia(p.size)
        body.explicitinertial = True


def _bare(own: mujoco.MjSpec) -> None:
    """Without what drives, measures, lights or films it: the scene has its own."""
    for one in [*own.actuators, *own.sensors, *own.keys, *own.cameras, *own.lights]:
        own.delete(one)
    for number, joint in enumerate(own.joints):
        joint.name = joint.name or f"joint_{number}"
        joint.parent.name = joint.parent.name or f"part_{number}"
    own.njmax = own.nconmax = -1  # MuJoCo warns where both models say something


def _files(own: mujoco.MjSpec, p: Placement) -> dict[str, bytes]:
    """Its meshes and textures under names of this object's own; the model again, which then lies beside them."""
    assert p.model is not None
    files: dict[str, bytes] = {}
    for one in [*own.meshes, *own.textures]:
        if one.file:
            folder = own.texturedir if isinstance(one, mujoco.MjsTexture) else own.meshdir
            name = Path(one.file).name
            name = name if name.startswith(f"{p.name}.") else f"{p.name}.{name}"
            files[name] = (p.model.parent / folder / one.file).read_bytes()
            one.file = name
    own.meshdir = own.texturedir = own.modelfiledir = ""
    own.assets = files
    files[f"{p.name}.model.xml"] = own.to_xml().encode()
    own.assets.clear()
    return files


def _scaled(own: mujoco.MjSpec, factor: float) -> None:
    if factor == 1:
        return
    for mesh in own.meshes:
        mesh.scale = mesh.scale * factor
    for body in own.bodies:
        for one in [body, *body.frames, *body.geoms, *body.sites, *body.joints]:
            one.pos = one.pos * factor
        for geom in [*body.geoms, *body.sites]:
            geom.size, geom.fromto = geom.size * factor, geom.fromto * factor
        for joint in body.joints:
            if joint.type == mujoco.mjtJoint.mjJNT_SLIDE:
                joint.range = joint.range * factor
        if body.explicitinertial:
            body.ipos = body.ipos * factor


def _grouped(top: mujoco.MjsBody, settings: dict) -> None:
    """What is only seen and what only collides told apart by group; contacts as everywhere."""
    geoms, joints = top.find_all("geom"), top.find_all("joint")
    solid = [bool(geom.contype or geom.conaffinity) for geom in geoms]
    for geom, touches in zip(geoms, solid, strict=True):
        geom.group = (0 if all(solid) else 3) if touches else 2
        if touches:
            geom.contype = geom.conaffinity = 1
            geom.friction, geom.condim = settings["friction"], settings["condim"]
            geom.solref, geom.solimp, geom.margin = settings["solref"], settings["solimp"], 0.0
    for joint in joints:
        if joint.type in SLACK and not joint.damping[0]:
            joint.damping[0] = SLACK[joint.type]


Part = tuple[float, np.ndarray, np.ndarray, np.ndarray]
"""Mass, and where and how it is spread: ipos, iquat, inertia as MuJoCo has them."""


def _weighed(spec: mujoco.MjSpec, p: Placement) -> tuple[dict[str, Part], list[tuple[str, str]]]:
    """Each part as MuJoCo weighs it, all together as heavy as the placement; the pairs that overlap at home."""
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    ratio, most = p.mass / max(float(model.body_mass.sum()), 1e-9), BULKY * float(p.size @ p.size)
    parts = {}
    for b in range(1, model.nbody):
        mass, inertia = ratio * float(model.body_mass[b]), ratio * model.body_inertia[b]
        inertia = inertia * min(1.0, most * mass / max(float(inertia.max()), 1e-12))
        parts[model.body(b).name] = (mass, model.body_ipos[b].copy(), model.body_iquat[b].copy(), inertia)
    pairs = {tuple(sorted(model.geom_bodyid[c.geom].tolist())) for c in data.contact[: data.ncon] if c.dist < 0}
    named = [(model.body(a).name, model.body(b).name) for a, b in pairs]
    return {name: part for name, part in parts.items() if name}, [pair for pair in named if all(pair)]


def _box_inertia(size: np.ndarray) -> np.ndarray:
    """Of a solid box (3,) of one kilogram, of shape (3,)."""
    square = size**2
    return (square.sum() - square) / 12

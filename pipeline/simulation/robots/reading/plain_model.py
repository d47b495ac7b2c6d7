"""Reduces the model of a robot to what a world needs: one arm with its gripper, position servos, named groups of geoms.

Shapes that collide become convex hulls, since MuJoCo collides only these; shapes that are seen are simplified.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import mujoco
import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from pipeline.simulation.robots.arm.robot_model import (
    CLUSTERS_PER_EXTENT,
    MAX_FACES,
    PAD_SOLIMP,
    PAD_SOLREF,
    stl,
)
from pipeline.simulation.robots.description import COLLISION_GROUP, VISUAL_GROUP
from pipeline.simulation.robots.reading.elements import Elements, compiled, joints_moved, range_of

MAX_STUCK = {"hinge": 0.03, "slide": 0.003}
"""A servo that dry friction holds this far (rad, m) from its command is replaced, and the friction left out: light arms
with much of it shake, and throw what they hold."""
MIN_INERTIA = {"hinge": 0.05, "slide": 0.5}
"""Inertia (kg m^2, kg) from which a servo is made at least: stiff enough for friction and a load."""
FINGER_STIFFNESS = {"hinge": 8.0, "slide": 1500.0}
"""Stiffness (N m/rad, N/m) of a servo that is made for a finger."""
FINGER_DAMPING = {"hinge": 0.4, "slide": 75.0}
"""Its damping (N m s/rad, N s/m): it closes in half a second."""
FINGER_FORCE = {"hinge": 2.0, "slide": 40.0}
"""Its largest force (N m, N)."""
FINGER_ARMATURE = {"hinge": 0.001, "slide": 0.1}
"""Least inertia of the motor of such a finger (kg m^2, kg), that of WXAI's model: fingers of 35 g chatter on what they
hold, at steps of 2 ms, until they drop it."""
_MESH = mujoco.mjtGeom.mjGEOM_MESH


@dataclass(frozen=True, eq=False)
class PlainModel:
    """A reduced robot."""

    xml: str
    """Its MJCF; visual and collision geoms are in groups of their own."""
    meshes: dict[str, bytes]
    """Its mesh files by name; those that are seen are .stl, those that collide .obj."""
    servos: tuple[str, ...]
    """One position servo for each joint of the arm."""
    grippers: tuple[str, ...]
    """Actuators that close the gripper."""


def reduce_model(spec: mujoco.MjSpec, elements: Elements, file: str, prefix: str) -> PlainModel:
    """Return the reduced model of a robot; `prefix` begins the names of its mesh files. Raises ModelError."""
    model = compiled(spec, file)
    _keep_one_robot(spec, model, elements)
    _fix_inertias(spec, model)
    meshes = _replace_meshes(spec, model, prefix)
    inertias = _largest_inertias(model, elements.joints)
    servos = tuple(_servo(spec, model, name, inertia) for name, inertia in zip(elements.joints, inertias, strict=True))
    grippers = tuple(_gripper_servo(spec, model, name) for name in elements.grippers)
    for actuator in list(spec.actuators):
        if actuator.name not in (*servos, *grippers):
            spec.delete(actuator)
    for name in elements.joints:
        low, high = range_of(model, model.joint(name).id)
        spec.joint(name).range, spec.joint(name).limited = [low, high], 1
    spec.compiler.degree, spec.compiler.autolimits = 0, 1
    spec.assets |= meshes
    compiled(spec, file)
    return PlainModel(_without_settings(spec.to_xml()), meshes, servos, grippers)


def _without_settings(xml: str) -> str:
    """Return MJCF without the sections that a world sets itself, and about which MuJoCo would warn."""
    tree = ElementTree.fromstring(xml)
    for section in [child for child in tree if child.tag in ("size", "visual", "statistic", "option")]:
        tree.remove(section)
    for element in tree.iter():
        element.attrib.pop("user", None)  # the size of user data is such a setting, too
    return ElementTree.tostring(tree, encoding="unicode")


def _keep_one_robot(spec: mujoco.MjSpec, model: mujoco.MjModel, elements: Elements) -> None:
    """Delete what does not belong to the chosen arm, and joints that are neither the arm's nor the gripper's."""
    for body in list(spec.worldbody.bodies):
        if body.name != elements.root:
            spec.delete(body)
    unused = (spec.worldbody.geoms, spec.worldbody.sites, spec.keys, spec.sensors, spec.lights, spec.cameras)
    for element in [element for group in unused for element in group]:
        spec.delete(element)
    kept = {*elements.joints, *elements.finger_joints}
    for joint in list(spec.joints):
        if joint.name not in kept:
            spec.delete(joint)
    for body in spec.bodies:
        body.mocap = False
    bodies = {body.name for body in spec.bodies}
    for pair in list(spec.excludes):
        if not {pair.bodyname1, pair.bodyname2} <= bodies:
            spec.delete(pair)
    for pair in list(spec.pairs):
        spec.delete(pair)
    for equality in list(spec.equalities):
        joints = equality.objtype == mujoco.mjtObj.mjOBJ_JOINT or equality.type == mujoco.mjtEq.mjEQ_JOINT
        names = {equality.name1, equality.name2} - {""}
        if not names <= (kept if joints else bodies):
            spec.delete(equality)
    for tendon in list(spec.tendons):
        number = model.tendon(tendon.name).id
        first, count = int(model.tendon_adr[number]), int(model.tendon_num[number])
        moved = {
            model.joint(int(model.wrap_objid[w])).name
            for w in range(first, first + count)
            if model.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT
        }
        if not moved or not moved <= kept:
            spec.delete(tendon)
    spec.body(elements.root).pos, spec.body(elements.root).quat = [0, 0, 0], _level(spec.body(elements.root).quat)


def _level(quat: np.ndarray) -> np.ndarray:
    """Return a rotation without its turn about the vertical, which the mount gives."""
    rotation = Rotation.from_quat(quat, scalar_first=True)
    yaw = rotation.as_euler("ZYX")[0]
    return (Rotation.from_euler("z", -yaw) * rotation).as_quat(scalar_first=True)


def _fix_inertias(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    """State each body's mass as compiled: it no longer follows from the geoms, some of which are deleted."""
    for body in spec.bodies:
        if body.name == "world":
            continue
        was = model.body(body.name)
        body.explicitinertial, body.mass = True, float(was.mass[0])
        body.ipos, body.iquat, body.inertia = was.ipos, was.iquat, was.inertia
        body.fullinertia = [np.nan] * 6
    spec.compiler.inertiafromgeom = 0
    spec.compiler.balanceinertia = True


def _replace_meshes(spec: mujoco.MjSpec, model: mujoco.MjModel, prefix: str) -> dict[str, bytes]:
    """Sort the geoms into groups and give each mesh a file of its own; return the files by name."""
    files: dict[str, bytes] = {}
    owners = {geom.parent.name: [g for g in spec.geoms if g.parent.name == geom.parent.name] for geom in spec.geoms}
    for geoms in owners.values():
        solid = [g for g in geoms if g.contype or g.conaffinity]
        seen = [g for g in geoms if g not in solid] or [g for g in solid if g.group < 3]
        for geom in seen:
            _add_visual(spec, model, geom, files, prefix)
        for geom in geoms:
            if geom not in solid:
                spec.delete(geom)
                continue
            geom.group, geom.mass, geom.material = COLLISION_GROUP, 0, ""
            geom.contype = geom.conaffinity = 1
            if max(geom.solimp[:2]) >= 1:  # an impedance is a share; such a contact bounces
                geom.solimp, geom.solref = PAD_SOLIMP, PAD_SOLREF
            if geom.type == _MESH and not geom.meshname.startswith(prefix):
                geom.meshname = _hull(spec, model, geom.meshname, files, prefix)
    for mesh in list(spec.meshes):
        if not mesh.name.startswith(prefix):
            spec.delete(mesh)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for element in [*spec.textures, *spec.hfields, *spec.skins]:
        spec.delete(element)
    return files


def _hull(spec: mujoco.MjSpec, model: mujoco.MjModel, name: str, files: dict[str, bytes], prefix: str) -> str:
    """Add the convex hull of a mesh, and return its name."""
    new = f"{prefix}hull_{model.mesh(name).id}"
    if spec.mesh(new) is None:
        hull = trimesh.Trimesh(*_mesh(model, model.mesh(name).id)).convex_hull
        files[f"{new}.obj"] = str(hull.export(file_type="obj", digits=5)).encode()
        spec.add_mesh(name=new, file=f"{new}.obj", content_type="model/obj")
    return new


def _add_visual(
    spec: mujoco.MjSpec, model: mujoco.MjModel, geom: mujoco.MjsGeom, files: dict[str, bytes], prefix: str
) -> None:
    """Add a geom that is only seen, in the place of another, with a simplified mesh."""
    body, rgba = geom.parent, geom.rgba
    material = spec.material(geom.material) if geom.material else None
    mesh = ""
    if geom.type == _MESH:
        number = model.mesh(geom.meshname).id
        mesh = f"{prefix}{number}"
        if spec.mesh(mesh) is None:
            files[f"{mesh}.stl"] = _simplified(*_mesh(model, number))
            spec.add_mesh(
                name=mesh,
                file=f"{mesh}.stl",
                content_type="model/stl",
                inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
            )
    same = {} if mesh else {"size": geom.size, "fromto": geom.fromto}
    body.add_geom(
        type=geom.type, meshname=mesh, pos=geom.pos, quat=geom.quat, rgba=material.rgba if material else rgba,
        group=VISUAL_GROUP, contype=0, conaffinity=0, mass=0, **same,
    )  # fmt: skip


def _simplified(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    if len(faces) > MAX_FACES:
        import open3d  # takes seconds to import, and only models that are seen need it

        mesh = open3d.geometry.TriangleMesh(
            open3d.utility.Vector3dVector(vertices), open3d.utility.Vector3iVector(faces)
        )
        few = mesh.simplify_vertex_clustering(float(np.ptp(vertices, axis=0).max()) / CLUSTERS_PER_EXTENT)
        vertices, faces = np.asarray(few.vertices), np.asarray(few.triangles)
    return stl(vertices, faces)


def _mesh(model: mujoco.MjModel, mesh: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (V, 3) and faces (F, 3) of a mesh in the axes of its file, scaled."""
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    begin, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    turn = Rotation.from_quat(model.mesh_quat[mesh], scalar_first=True)
    vertices = turn.apply(model.mesh_vert[first : first + count]) + model.mesh_pos[mesh]
    return vertices, model.mesh_face[begin : begin + faces]


# ---------------------------------------------------------------------- servos


def _kind(model: mujoco.MjModel, joint: int) -> str:
    return "slide" if int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE) else "hinge"


def _actuators_of(model: mujoco.MjModel, joint: int) -> Iterable[int]:
    kinds = int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    return (
        a for a in range(model.nu) if int(model.actuator_trntype[a]) in kinds and model.actuator_trnid[a, 0] == joint
    )


def is_position_servo(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether an actuator's command is the position of its joint."""
    gain, bias = model.actuator_gainprm[actuator], model.actuator_biasprm[actuator]
    plain = model.actuator_gear[actuator, 0] == 1 and int(model.actuator_dyntype[actuator]) == 0
    return bool(plain and gain[0] > 0 and np.isclose(bias[1], -gain[0]))


def _largest_inertias(model: mujoco.MjModel, names: Sequence[str]) -> np.ndarray:
    """Return the inertia (kg m^2, kg) that each joint moves in the worst of 24 drawn postures, of shape (N,).

    An arm that points straight up, as many do with all joints at 0, has little of it about its base.
    """
    data, rng, joints = mujoco.MjData(model), np.random.default_rng(0), [model.joint(name).id for name in names]
    full, largest = np.zeros((model.nv, model.nv)), np.zeros(len(joints))
    for _ in range(24):
        data.qpos[model.jnt_qposadr[joints]] = [rng.uniform(*range_of(model, joint)) for joint in joints]
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, full, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(model, data, full)
        largest = np.maximum(largest, full.diagonal()[model.jnt_dofadr[joints]])
    return largest


def _servo(spec: mujoco.MjSpec, model: mujoco.MjModel, name: str, inertia: float) -> str:
    """Return the name of a joint's position servo, made where it has none for the inertia that it moves at most."""
    joint, limits = model.joint(name).id, []
    dof = int(model.jnt_dofadr[joint])
    friction = float(model.dof_frictionloss[dof])
    for actuator in _actuators_of(model, joint):
        if (
            is_position_servo(model, actuator)
            and friction / model.actuator_gainprm[actuator, 0] < MAX_STUCK[_kind(model, joint)]
        ):
            spec.actuator(model.actuator(actuator).name).ctrllimited = 0
            return model.actuator(actuator).name
        limits.append(_force_limit(model, actuator))
    inertia = max(inertia, MIN_INERTIA[_kind(model, joint)])
    # Natural frequency of a servo that is made for a joint: critically damped, it follows motions of half a second
    stiffness = inertia * (2 * np.pi * 5.0) ** 2
    if friction / stiffness >= MAX_STUCK[_kind(model, joint)]:
        spec.joint(name).frictionloss = 0
    return _add_servo(spec, name, stiffness, 2 * float(np.sqrt(stiffness * inertia)), max(limits, default=0.0))


def _force_limit(model: mujoco.MjModel, actuator: int) -> float:
    """Return the largest force of an actuator at its joint; 0 if it has no limit."""
    if model.actuator_forcelimited[actuator]:
        return float(np.abs(model.actuator_forcerange[actuator]).max())
    if model.actuator_ctrllimited[actuator] and int(model.actuator_biastype[actuator]) == 0:
        gain = abs(float(model.actuator_gainprm[actuator, 0] * model.actuator_gear[actuator, 0]))
        return gain * float(np.abs(model.actuator_ctrlrange[actuator]).max())
    return 0.0


def _gripper_servo(spec: mujoco.MjSpec, model: mujoco.MjModel, name: str) -> str:
    """Return the name of an actuator of the gripper, made for a joint that has none."""
    is_joint = spec.actuator(name) is None
    joint = model.joint(name).id if is_joint else int(model.actuator_trnid[model.actuator(name).id, 0])
    friction, kind = float(model.dof_frictionloss[model.jnt_dofadr[joint]]), _kind(model, joint)
    if not is_joint:
        number = model.actuator(name).id
        stuck = friction / max(float(model.actuator_gainprm[number, 0]), 1e-9)
        if joints_moved(model, number) != [joint] or not is_position_servo(model, number) or stuck < MAX_STUCK[kind]:
            return name
        ends, joint_name = model.actuator_ctrlrange[number].copy(), model.joint(joint).name
    else:
        ends, joint_name = range_of(model, joint), name
    if friction / FINGER_STIFFNESS[kind] >= MAX_STUCK[kind]:
        spec.joint(joint_name).frictionloss = 0
    spec.joint(joint_name).armature = max(spec.joint(joint_name).armature, FINGER_ARMATURE[kind])
    made = _add_servo(spec, joint_name, FINGER_STIFFNESS[kind], FINGER_DAMPING[kind], FINGER_FORCE[kind])
    spec.actuator(made).ctrlrange, spec.actuator(made).ctrllimited = ends, 1
    return made


def _add_servo(spec: mujoco.MjSpec, joint: str, stiffness: float, damping: float, force: float) -> str:
    name = f"servo {joint}"
    servo = spec.add_actuator(name=name, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    servo.gaintype, servo.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
    servo.gainprm[0], servo.biasprm[:3] = stiffness, [0, -stiffness, -damping]
    if force:
        servo.forcerange, servo.forcelimited = [-force, force], 1
    return name

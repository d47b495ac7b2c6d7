"""Adds an arm to a world: its elements get prefixes, and it stands on a post.

A world in which an arm acts contains only its collision geoms; visual_meshes.py adds the visual ones to a saved model.
"""

from collections.abc import Iterable
from pathlib import Path

import mujoco
import numpy as np

from pipeline.geometry import quat_about_z
from pipeline.simulation.physics import GRIPPER
from pipeline.simulation.robots.description import VISUAL_GROUP, ArmModel, Fingers

ARM_PREFIX = "arm/"
"""Prefix of the names of a single arm's elements, its tool's included."""
POST_RADIUS_M = 0.09
FLOOR_M = -0.75
"""Height of the floor on which a post stands: the table's top is at 0."""
MAX_FACES = 1800
"""Visual meshes with more triangles are simplified."""
CLUSTERS_PER_EXTENT = 90
"""Simplification merges vertices within the mesh's extent divided by this."""

_ANGLE = np.array([0.0, 0.097, 0.191, 0.285, 0.379, 0.473, 0.567, 0.661, 0.755])
"""Angle of the drivers in radians."""
_WIDTH = np.array([0.0852, 0.0763, 0.0669, 0.0570, 0.0466, 0.0360, 0.0251, 0.0140, 0.0029])
_TIP = np.array([0.0045, 0.0078, 0.0106, 0.0130, 0.0149, 0.0164, 0.0173, 0.0178, 0.0177])
_LINKAGE = {"driver": _ANGLE, "spring_link": _ANGLE, "follower": -_ANGLE, "coupler": 0 * _ANGLE}
_SIDES = ("left", "right")
PAD_TORSION_M = 0.0035
"""Torsional friction of a pad: friction of 0.65 times two thirds of the radius, 8 mm, of a soft pad's contact."""
PAD_SOLIMP, PAD_SOLREF = [0.95, 0.99, 0.001, 0.5, 2.0], [0.004, 1.0]
"""Contact of the pads of Menagerie's 2F-85. Softer ones sink by more than 1 mm into what they hold."""

TWO_F85 = Fingers(
    actuators=("hand/fingers_actuator",), open_command=np.array([0.0]), close_command=np.array([255.0]),
    max_opening=0.085, drive=_ANGLE, full_drive=0.8, widths=_WIDTH, tips=_TIP,
    joints={f"hand/{side}_{name}_joint": table for side in _SIDES for name, table in _LINKAGE.items()},
    pads=tuple(tuple(f"hand/{side}_pad{i}" for i in (1, 2)) for side in _SIDES),
    palm_offset=0.055, pad_half_width=0.011, depth=0.032, torsion=PAD_TORSION_M,
)  # fmt: skip


def prefixed(names: Iterable[str], prefix: str = ARM_PREFIX) -> list[str]:
    """Return names of an arm's model as they are in a world."""
    return [f"{prefix}{name}" for name in names]


def post_of(arm: ArmModel) -> str:
    """Return the name of the body of an arm's post."""
    return GRIPPER if arm.prefix == ARM_PREFIX else f"{arm.prefix}post"


def add_arm(
    spec: mujoco.MjSpec,
    arm: ArmModel,
    base: np.ndarray,
    yaw: float,
    floor: float = FLOOR_M,
    robot: mujoco.MjsBody | None = None,
) -> None:
    """Add an arm to a world, on a post with its top at `base` (3,) and its foot at height `floor`.

    It reaches from its home in the direction `yaw`. `base` and `yaw` are in the frame of the body `robot`, where one of
    several arms is added to it.
    """
    parent = robot or spec.worldbody
    post = parent.add_body(name=post_of(arm), pos=base, quat=quat_about_z(yaw - arm.forward))
    half_height = (base[2] - floor) / 2
    post.add_geom(
        name=f"{arm.prefix}post", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[POST_RADIUS_M, half_height, 0],
        pos=[0, 0, -half_height], rgba=[0.25, 0.27, 0.3, 1], group=VISUAL_GROUP, contype=0, conaffinity=0,
    )  # fmt: skip
    model = arm.read(False)
    if arm.fingers and arm.fingers.torsion:
        for name in (name for side in arm.fingers.pads for name in side):
            pad = model.geom(name)
            pad.condim, pad.friction[1] = 4, arm.fingers.torsion
            if not pad.priority:
                # 100: weight against the object's own parameters, which are softer
                pad.solref, pad.solimp, pad.solmix = PAD_SOLREF, PAD_SOLIMP, 100
                # 0.0005: skin of a pad; light fingers that close at 0.2 m/s sink by up to 1 mm at first touch
                pad.margin = 0.0005
    model.option.integrator = spec.option.integrator
    spec.attach(model, prefix=arm.prefix, frame=post.add_frame())
    for mesh in spec.meshes:
        mesh.file = mesh.file.removeprefix(arm.prefix)  # attaching prefixes some files too; a scene has one folder
    used = {mesh.file for mesh in spec.meshes}
    spec.assets |= {name: data for name, data in arm.meshes(False).items() if name in used}
    for body in post.find_all(mujoco.mjtObj.mjOBJ_BODY):
        body.gravcomp = 1.0  # as robot controllers compensate gravity


def bodies_below(model: mujoco.MjModel, name: str) -> np.ndarray:
    """Return whether each body is a body or hangs on it, of shape (nbody,)."""
    root = model.body(name).id
    below = np.zeros(model.nbody, bool)
    for body in range(model.nbody):
        below[body] = body == root or (body > root and below[model.body_parentid[body]])
    return below


def simplified_meshes(prefix: str, files: Iterable[Path]) -> dict[str, bytes]:
    """Return meshes for the viewer and the videos by file name, in metres, as binary STL."""
    import open3d  # takes seconds to import, and only saved models need it

    meshes = {}
    for path in files:
        mesh = open3d.io.read_triangle_mesh(path)
        voxel = float(np.max(mesh.get_max_bound() - mesh.get_min_bound())) / CLUSTERS_PER_EXTENT
        simplified = mesh if len(mesh.triangles) <= MAX_FACES else mesh.simplify_vertex_clustering(voxel)
        scale = 0.001 if path.suffix == ".stl" else 1.0
        corners = np.asarray(simplified.vertices) * scale
        meshes[f"{prefix}{path.stem}.stl"] = stl(corners, np.asarray(simplified.triangles))
    return meshes


def stl(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    """Return a mesh (V, 3), (F, 3) as binary STL without normals, which MuJoCo computes."""
    record = np.zeros(len(faces), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    record["corners"] = vertices[faces]
    return b"\0" * 80 + len(faces).to_bytes(4, "little") + record.tobytes()

"""Both robots of a comparison as bodies that move freely, so that they can be drawn without the robot's files."""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from pipeline.divergence.comparison import Comparison
from pipeline.divergence.confined.confined_comparison import SOLIDS, DrawnShape, Playback
from pipeline.divergence.episode import Episode
from pipeline.divergence.robot_kinematics import compile_kinematics

RATE_HZ = 30
STICK_M = 0.012
"""Radius of the links of a robot whose meshes are missing."""
GREY, OBJECT_COLOUR = [0.62, 0.65, 0.68, 1.0], [0.85, 0.55, 0.2, 1.0]


@dataclass(frozen=True, eq=False)
class _Drawing:
    model: mujoco.MjModel
    objects: tuple[str, ...]
    """Objects of the episodes that the model lacks."""
    note: str = ""


def drawn_playback(comparison: Comparison, real: Episode, sim: Episode, robot: Path | None) -> Playback | None:
    """Return both robots as they move; None without a robot model, and for a table of DH parameters.

    `robot` is an MJCF or URDF file; links whose meshes are missing are drawn as sticks.
    """
    if robot is None or robot.suffix.lower() == ".json":
        return None
    drawing = _drawing(robot, real, sim)
    bodies = drawing.model.nbody + len(drawing.objects)
    alignment = comparison.alignment
    # 1_000_000: bodies times instants of each robot: 28 MB
    count = int(np.clip((alignment.stop - alignment.start) * RATE_HZ, 2, max(2, 1_000_000 // bodies)))
    times = np.linspace(alignment.start, alignment.stop, count).astype("<f4").astype(float)
    times = np.unique(times)
    sim_times = np.clip(alignment.sim_times(times), sim.times[0], sim.times[-1])
    shapes, meshes = _shapes(drawing.model)
    shapes += _cubes(drawing)
    real_poses = _poses(drawing, real, np.clip(times, real.times[0], real.times[-1])).astype("<f4")
    sim_poses = _poses(drawing, sim, sim_times).astype("<f4")
    return Playback(times.astype("<f4"), real_poses, sim_poses, tuple(shapes), tuple(meshes), drawing.note)


def _drawing(robot: Path, real: Episode, sim: Episode) -> _Drawing:
    note = ""
    try:
        spec = mujoco.MjSpec.from_file(str(robot))
        spec.compiler.fusestatic = False
        model = spec.compile()
    except ValueError as error:
        reason = " ".join(str(error).split())[:160]
        note = f"the links are drawn as sticks, because the shapes cannot be read: {reason}"
        model = compile_kinematics(mujoco.MjSpec.from_file(str(robot)), robot.name)
    names = {model.body(number).name for number in range(model.nbody)}
    objects = dict.fromkeys([*real.objects, *sim.objects])
    return _Drawing(model, tuple(name for name in objects if name not in names), note)


def _poses(drawing: _Drawing, episode: Episode, times: np.ndarray) -> np.ndarray:
    """Return the poses of all bodies, the world's first, then of objects without one, of shape (T, B, 7)."""
    model = drawing.model
    data = mujoco.MjData(model)
    known = [name for name in episode.names if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0]
    addresses = [int(model.joint(name).qposadr[0]) for name in known]
    positions = episode.at(times, episode.columns(known))
    rows = np.searchsorted(episode.times, times, side="right") - 1
    free = _free_addresses(model, episode)
    poses = np.zeros((len(times), model.nbody + len(drawing.objects), 7))
    poses[..., 3] = 1.0
    for number, row in enumerate(rows):
        data.qpos[addresses] = positions[number]
        for name, address in free.items():
            data.qpos[address : address + 7] = episode.objects[name][row]
        mujoco.mj_kinematics(model, data)
        poses[number, : model.nbody, :3], poses[number, : model.nbody, 3:] = data.xpos, data.xquat
    for number, name in enumerate(drawing.objects, model.nbody):
        if name in episode.objects:
            poses[:, number] = episode.objects[name][rows]
    return poses


def _free_addresses(model: mujoco.MjModel, episode: Episode) -> dict[str, int]:
    """Return where the poses of an episode's objects stand in qpos, by name."""
    found = {}
    for name in episode.objects:
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
        joint = int(model.body_jntadr[body]) if body >= 0 else -1
        if joint >= 0 and model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            found[name] = int(model.jnt_qposadr[joint])
    return found


def _shapes(model: mujoco.MjModel) -> tuple[list[DrawnShape], list[tuple[np.ndarray, np.ndarray]]]:
    """Return the visible geoms, or links as sticks if there are none, and the meshes that they name."""
    # 3: groups 0 to 2 are visual, as in MuJoCo's own viewer
    shown = [g for g in range(model.ngeom) if model.geom_group[g] < 3 and _kind(model, g) in SOLIDS]
    numbers: dict[int, int] = {}
    shapes = []
    for geom in shown:
        mesh = -1
        if _kind(model, geom) == "mesh":
            mesh = numbers.setdefault(int(model.geom_dataid[geom]), len(numbers))
        pose = np.concatenate([model.geom_pos[geom], model.geom_quat[geom]])
        material = int(model.geom_matid[geom])
        rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
        body = int(model.geom_bodyid[geom])
        shapes.append(DrawnShape(body, _kind(model, geom), model.geom_size[geom].copy(), pose, rgba.clip(0, 1), mesh))
    return shapes or _sticks(model), [_mesh(model, mesh) for mesh in numbers]


def _kind(model: mujoco.MjModel, geom: int) -> str:
    return mujoco.mjtGeom(model.geom_type[geom]).name.removeprefix("mjGEOM_").lower()


def _mesh(model: mujoco.MjModel, mesh: int) -> tuple[np.ndarray, np.ndarray]:
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    faces = model.mesh_face[model.mesh_faceadr[mesh] :][: model.mesh_facenum[mesh]]
    return model.mesh_vert[first : first + count].astype("<f4"), faces.astype("<i4")


def _sticks(model: mujoco.MjModel) -> list[DrawnShape]:
    """Return a capsule from each body's origin to that of its parent, in the parent's frame."""
    shapes = []
    for body in range(1, model.nbody):
        parent, end = int(model.body_parentid[body]), model.body_pos[body]
        length = float(np.linalg.norm(end))
        if parent == 0 or length < 1e-6:
            continue
        quat = np.empty(4)
        mujoco.mju_quatZ2Vec(quat, end / length)
        shapes.append(
            _solid(parent, "capsule", [STICK_M, length / 2, 0.0], [*(end / 2).tolist(), *quat.tolist()], GREY)
        )
    for body in range(1, model.nbody):
        shapes.append(_solid(body, "sphere", [1.5 * STICK_M, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], GREY))
    return shapes


def _cubes(drawing: _Drawing) -> list[DrawnShape]:
    at_origin = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    first = drawing.model.nbody
    return [
        # 0.02: half the side of the cube that stands for an object without a shape
        _solid(first + number, "box", [0.02] * 3, at_origin, OBJECT_COLOUR)
        for number in range(len(drawing.objects))
    ]


def _solid(body: int, kind: str, size: list[float], pose: list[float], rgba: list[float]) -> DrawnShape:
    return DrawnShape(body, kind, np.array(size), np.array(pose), np.array(rgba))

"""Newton with its MuJoCo solver, which reads MJCF and USD itself: TOOL FILE NAMES."""

import json
import sys
from pathlib import Path

import newton
import numpy as np
from shapes import box_of, placed, points

SECONDS = 2.0
STEP_S = 0.002


def simulated(load, labels: dict[str, str]):
    """Fill a builder with `load`, simulate 2 s, and return each object and where its root ended.

    Args:
        labels: The end of the label of an object's root body, by its name. One without a body is of shapes alone.
    """
    builder = newton.ModelBuilder()
    load(builder)
    model = builder.finalize(device="cpu")
    solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True)
    now, after = model.state(), model.state()
    newton.eval_fk(model, model.joint_q, model.joint_qd, now)
    own = {name: _bodies(model, label) for name, label in labels.items()}
    found = {name: _object(model, now.body_q.numpy(), own[name], label) for name, label in labels.items()}
    for _ in range(round(SECONDS / STEP_S)):
        now.clear_forces()
        solver.step(now, after, model.control(), None, STEP_S)
        now, after = after, now
    return found, {name: now.body_q.numpy()[bodies[0], :3].tolist() for name, bodies in own.items() if bodies}


def _bodies(model, label: str) -> list[int]:
    """Return an object's bodies: its root, and what hangs on it by joints; nothing if no body has the label."""
    found = [number for number, one in enumerate(model.body_label) if f"/{one}".endswith(f"/{label}")][:1]
    for parent, child in zip(model.joint_parent.numpy(), model.joint_child.numpy(), strict=True):
        if parent in found:  # joints come after those of their parents
            found.append(int(child))
    return found


def _object(model, poses: np.ndarray, bodies: list[int], label: str) -> dict:
    if not bodies:
        shapes = [s for s, one in enumerate(model.shape_label) if f"/{label}/" in f"/{one}/" and _collides(model, s)]
        return {"box": box_of(np.concatenate([_shape_points(model, poses, s) for s in shapes]))} if shapes else {}
    kinds, children = model.joint_type.numpy(), model.joint_child.numpy()
    moving = (int(newton.JointType.PRISMATIC), int(newton.JointType.REVOLUTE))
    owners = model.shape_body.numpy()
    shapes = [s for s in range(len(owners)) if owners[s] in bodies and _collides(model, s)]
    root = [s for s in shapes if owners[s] == bodies[0]]
    found = {
        "mass": float(model.body_mass.numpy()[bodies].sum()),
        "start": poses[bodies[0], :3].tolist(),
        "friction": float(model.shape_material_mu.numpy()[root[0]]) if root else None,
        "joints": sum(kind in moving for kind, child in zip(kinds, children, strict=True) if child in bodies),
    }
    if shapes:
        found["box"] = box_of(np.concatenate([_shape_points(model, poses, s) for s in shapes]))
    return found


def _collides(model, shape: int) -> bool:
    return bool(model.shape_flags.numpy()[shape] & int(newton.ShapeFlags.COLLIDE_SHAPES))


def _shape_points(model, poses: np.ndarray, shape: int) -> np.ndarray:
    kind = newton.GeoType(int(model.shape_type.numpy()[shape])).name.lower()
    scale = model.shape_scale.numpy()[shape]
    own = model.shape_source[shape].vertices * scale if "mesh" in kind else points(kind, scale)
    owner = model.shape_body.numpy()[shape]
    for pose in (model.shape_transform.numpy()[shape], *([poses[owner]] if owner >= 0 else [])):
        own = placed(own, pose[:3], pose[[6, 3, 4, 5]])
    return own


def mjcf(file: Path, names: list[str]):
    def load(builder):
        builder.add_mjcf(str(file / "scene.xml"))

    return simulated(load, {name: name for name in names})


def usd(file: Path, names: list[str]):
    def load(builder):
        newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
        builder.custom_attributes["mujoco:flag_multiccd"].values[0] = True  # as load_newton.py says
        builder.add_usd(str(file))

    return simulated(load, {name: f"World/{name}" for name in names})


if __name__ == "__main__":
    found, ends = globals()[sys.argv[1]](Path(sys.argv[2]), json.loads(sys.argv[3]))
    ended = {name: one | ({"after": ends[name]} if name in ends else {}) for name, one in found.items()}
    print("\n" + json.dumps([newton.__version__, ended]))

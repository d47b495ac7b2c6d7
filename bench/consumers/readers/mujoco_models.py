"""What reads the MJCF: TOOL FOLDER NAMES, run by the tool's Python; also the truth, read from the twin itself.

Each function returns the version and each object as described in consumers/__init__.py.
"""

import json
import sys
from pathlib import Path

import mujoco
import numpy as np
from shapes import box_of, placed, points

SECONDS = 2.0


def geom_points(model, data, geom: int) -> np.ndarray:
    """Return points (N, 3) of a geom in the world."""
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, data.geom_xmat[geom])
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        start = model.mesh_vertadr[mesh]
        own = model.mesh_vert[start : start + model.mesh_vertnum[mesh]]
    else:
        own = points(mujoco.mjtGeom(model.geom_type[geom]).name.removeprefix("mjGEOM_").lower(), model.geom_size[geom])
    return placed(own, data.geom_xpos[geom], quat)


def objects(model, data) -> dict[str, dict]:
    """Return what the twin's objects are, which are the world's children, by name; `visible` is a second box."""
    found = {}
    for root in np.flatnonzero(model.body_parentid == 0)[1:]:
        bodies = np.flatnonzero(model.body_rootid == root)
        shapes = np.flatnonzero(np.isin(model.geom_bodyid, bodies))
        collide = [g for g in shapes if model.geom_contype[g] or model.geom_conaffinity[g]]
        shown = [g for g in shapes if model.geom_group[g] < 3]  # which MuJoCo's viewer shows
        own = [g for g in collide if model.geom_bodyid[g] == root]
        joints = [j for j in range(model.njnt) if model.jnt_bodyid[j] in bodies]
        free = [j for j in joints if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE]
        one = {"start": data.xpos[root].tolist(), "joints": len(joints) - len(free), "fixed": not free}
        one["mass"] = float(model.body_mass[bodies].sum())
        one["friction"] = float(model.geom_friction[own[0], 0]) if own else None
        for name, geoms in (("box", collide), ("visible", shown)):
            if geoms:
                one[name] = box_of(np.concatenate([geom_points(model, data, g) for g in geoms]))
        found[model.body(root).name] = one
    return found


def read(file):
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def _with_ends(found: dict, model, positions: np.ndarray) -> dict:
    return {name: one | {"after": positions[model.body(name).id].tolist()} for name, one in found.items()}


def mujoco_itself(folder: Path, names: list[str]):
    model, data = read(folder / "scene.xml")
    found = objects(model, data)
    while data.time < SECONDS:
        mujoco.mj_step(model, data)
    return mujoco.__version__, _with_ends(found, model, data.xpos)


def robosuite(folder: Path, names: list[str]):
    """Make an environment whose arena is the twin, with a Panda beside it."""
    from xml.etree import ElementTree

    import robosuite
    from robosuite.environments.manipulation.manipulation_env import ManipulationEnv
    from robosuite.models.arenas import Arena
    from robosuite.models.tasks import ManipulationTask

    class Twin(ManipulationEnv):
        def _load_model(self):
            super()._load_model()
            self.robots[0].robot_model.set_base_xpos([-1.5, 0, 0])
            arena = Arena(str(folder / "scene.xml"))
            self.model = ManipulationTask(arena, [one.robot_model for one in self.robots])
            # robosuite drops the file's options, and with them several contacts for a pair of meshes
            ElementTree.SubElement(self.model.root.find("option"), "flag", multiccd="enable")

        def reward(self, action=None):
            return 0.0

    without = {"has_renderer": False, "has_offscreen_renderer": False, "use_camera_obs": False}
    env = Twin("Panda", render_camera="photo", control_freq=20, **without)
    env.reset()
    model, data = env.sim.model._model, env.sim.data._data
    mujoco.mj_resetData(model, data)
    mujoco.mj_forward(model, data)
    found = {name: one for name, one in objects(model, data).items() if name in names}
    env.reset()
    for _ in range(round(SECONDS * 20)):
        env.step(np.zeros(env.action_dim))
    model, data = env.sim.model._model, env.sim.data._data
    assert data.time > SECONDS - 0.01, f"only {data.time:.3f} s were simulated"
    return f"{robosuite.__version__} with mujoco {mujoco.__version__}", _with_ends(found, model, data.xpos)


def _mjx(folder: Path, implementation: str, **sizes):
    import jax
    from mujoco import mjx

    model, data = read(folder / "scene.xml")
    found = objects(model, data)
    there = mjx.put_model(model, impl=implementation)
    now = mjx.make_data(model, impl=implementation, **sizes)
    step = jax.jit(mjx.step)
    for _ in range(round(SECONDS / model.opt.timestep)):
        now = step(there, now)
    return mujoco.__version__, _with_ends(found, model, np.array(now.xpos))


def mjx_jax(folder: Path, names: list[str]):
    return _mjx(folder, "jax")


def mjx_warp(folder: Path, names: list[str]):
    return _mjx(folder, "warp", njmax=2000, naconmax=1000)


def mujoco_warp(folder: Path, names: list[str]):
    import mujoco_warp as mjw

    model, data = read(folder / "scene.xml")
    found = objects(model, data)
    there, now = mjw.put_model(model), mjw.put_data(model, data, njmax=2000, nconmax=1000)
    for _ in range(round(SECONDS / model.opt.timestep)):
        mjw.step(there, now)
    return mjw.__version__, _with_ends(found, model, now.xpos.numpy()[0])


def brax(folder: Path, names: list[str]):
    from importlib.metadata import version

    from brax.io import mjcf

    system = mjcf.load(str(folder / "scene.xml"))
    return version("brax"), {name: {} for name in names if name in system.link_names}


if __name__ == "__main__":
    print("\n" + json.dumps(globals()[sys.argv[1]](Path(sys.argv[2]), json.loads(sys.argv[3]))))

"""Simulators that take one URDF for each object, by the loaders of the export: SIMULATOR FOLDER NAMES."""

import importlib
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from shapes import box_of, placed, points

SECONDS = 2.0


def _objects(folder: Path, names) -> list[dict]:
    return [one for one in json.loads((folder / "poses.json").read_text())["objects"] if one["name"] in names]


def _without_visuals(folder: Path) -> None:
    """Take the visuals out of every URDF of a folder: SAPIEN needs a rendering device for them."""
    for file in folder.glob("*.urdf"):
        file.write_text(re.sub(r"<visual .*?</visual>", "", file.read_text(), flags=re.DOTALL))


def pybullet(load, folder: Path, names):
    import pybullet as p

    p.connect(p.DIRECT)
    p.setGravity(0, 0, -9.81)
    bodies, found = load(), {}

    def origin(body):
        info = p.getDynamicsInfo(body, -1)  # PyBullet's pose is that of the centre of mass
        return p.multiplyTransforms(*p.getBasePositionAndOrientation(body), *p.invertTransform(info[3], info[4]))[0]

    for name in names:
        links = range(-1, p.getNumJoints(bodies[name]))
        infos = [p.getDynamicsInfo(bodies[name], link) for link in links]
        kinds = [p.getJointInfo(bodies[name], link)[2] for link in links[1:]]
        found[name] = {
            "mass": sum(info[0] for info in infos),
            "friction": infos[0][1],
            "start": origin(bodies[name]),
            "joints": sum(kind in (p.JOINT_REVOLUTE, p.JOINT_PRISMATIC) for kind in kinds),
        }  # no size: Bullet's boxes are those of its margins, and it gives no vertices of compounds
    for _ in range(round(SECONDS * 240)):
        p.stepSimulation()
    return found, {name: origin(bodies[name]) for name in names}


def drake(load, folder: Path, names):
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, 0.002)
    models, found, roots = load(plant), {}, {}
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_context())
    query = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(simulator.get_context()))
    for one in _objects(folder, names):
        model, name = models[one["name"]], one["name"]
        roots[name] = plant.GetBodyByName(one["link"], model)
        bodies = [plant.get_body(index) for index in plant.GetBodyIndices(model)]
        shapes = [shape for body in bodies for shape in plant.GetCollisionGeometriesForBody(body)]
        own = plant.GetCollisionGeometriesForBody(roots[name])
        properties = graph.model_inspector().GetProximityProperties(own[0]) if own else None
        found[name] = {
            "mass": sum(body.default_mass() for body in bodies),
            "friction": properties and properties.GetProperty("material", "coulomb_friction").static_friction(),
            "joints": sum(plant.get_joint(index).num_positions() == 1 for index in plant.GetJointIndices(model)),
            "start": plant.EvalBodyPoseInWorld(context, roots[name]).translation().tolist(),
            "box": box_of(np.concatenate([_drake_points(query, shape) for shape in shapes])),
        }
    simulator.AdvanceTo(SECONDS)
    return found, {name: plant.EvalBodyPoseInWorld(context, root).translation() for name, root in roots.items()}


def _drake_points(query, identifier) -> np.ndarray:
    """Return points of a shape of Drake in the world."""
    shape, pose = query.inspector().GetShape(identifier), query.GetPoseInWorld(identifier)
    kind = type(shape).__name__.lower()
    if kind in ("mesh", "convex"):
        hull = shape.GetConvexHull()
        own = np.array([hull.vertex(number) for number in range(hull.num_vertices())])
    elif kind == "box":
        own = points(kind, shape.size() / 2)
    else:
        own = points(kind, [shape.radius(), shape.length() / 2 if kind in ("cylinder", "capsule") else 0])
    return placed(own, pose.translation(), pose.rotation().ToQuaternion().wxyz())


ALONG_X = np.array([0.5, 0.5, 0.5, 0.5])
"""Turns z to x: SAPIEN's cylinders and capsules lie along x."""


def _sapien_points(part, shape) -> np.ndarray:
    """Return points of a shape of SAPIEN in the world."""
    kind = type(shape).__name__.removeprefix("PhysxCollisionShape").lower()
    if kind == "convexmesh":
        own = np.asarray(shape.vertices) * shape.scale
    elif kind == "box":
        own = points(kind, shape.half_size)
    elif kind == "sphere":
        own = points(kind, shape.radius)
    else:
        own = placed(points(kind, [shape.radius, shape.half_length]), np.zeros(3), ALONG_X)
    pose = (getattr(part, "entity_pose", None) or part.entity.pose) * shape.local_pose
    return placed(own, pose.p, pose.q)


def _sapien_object(loaded) -> dict:
    """Return an entity or an articulation of SAPIEN as an object."""
    import sapien

    kind = sapien.physx.PhysxRigidBaseComponent
    single = getattr(loaded, "find_component_by_type", lambda _: None)(kind)
    parts = [single] if single else list(loaded.links)
    shapes = parts[0].collision_shapes
    return {
        "mass": float(sum(getattr(part, "mass", 0) for part in parts)),
        "start": np.ravel(loaded.pose.p).tolist(),
        "friction": shapes[0].physical_material.static_friction if shapes else None,
        "joints": 0 if single else loaded.dof,
        "box": box_of(np.concatenate([_sapien_points(part, one) for part in parts for one in part.collision_shapes])),
    }


def sapien(load, folder: Path, names):
    import sapien

    _without_visuals(folder)
    scene = sapien.Scene([sapien.physx.PhysxCpuSystem()])
    scene.set_timestep(1 / 240)
    objects = load(scene)
    scene.step()  # which puts the links of an articulation where they belong
    found = {name: _sapien_object(objects[name]) for name in names}
    for _ in range(round(SECONDS * 240)):
        scene.step()
    return found, {name: objects[name].pose.p for name in names}


def mani_skill(load, folder: Path, names):
    """Make an environment of ManiSkill with a Panda, whose scene loads the URDFs as load_sapien.py does."""
    import gymnasium
    import sapien
    import torch
    from mani_skill.envs.sapien_env import BaseEnv
    from mani_skill.utils.registration import register_env

    _without_visuals(folder)

    @register_env("Twin-v0", max_episode_steps=100)
    class Twin(BaseEnv):
        def __init__(self, *positional, robot_uids="panda", **options):
            super().__init__(*positional, robot_uids=robot_uids, **options)

        def _load_agent(self, options, *more, **others):
            super()._load_agent(options, sapien.Pose([-1.5, 0, 0]))

        def _load_scene(self, options):
            self.twin = {}
            for one in json.loads((folder / "poses.json").read_text())["objects"]:
                loader = self.scene.create_urdf_loader()
                loader.fix_root_link = one["fixed"]
                loader.set_material(one["friction"], one["friction"], 0.0)
                parsed = loader.parse(str(folder / one["urdf"]))
                (builder,) = (*parsed["articulation_builders"], *parsed["actor_builders"])
                builder.initial_pose = sapien.Pose(one["pos"], one["quat_wxyz"])
                if parsed["actor_builders"]:
                    builder.set_physx_body_type("kinematic" if one["fixed"] else "dynamic")
                self.twin[one["name"]] = builder.build(name=one["name"])

        def _initialize_episode(self, env_idx, options):
            pass

        def evaluate(self):
            return {}

        def _get_obs_extra(self, info):
            return {}

        def compute_dense_reward(self, obs, action, info):
            return torch.zeros(self.num_envs)

    options = {"obs_mode": "state_dict", "control_mode": "pd_joint_delta_pos", "reward_mode": "dense"}
    env = gymnasium.make("Twin-v0", sim_backend="physx_cpu", render_backend="none", **options)
    env.reset(seed=0)
    twin, action = env.unwrapped.twin, np.zeros(env.action_space.shape, np.float32)
    found = {name: _sapien_object(twin[name]._objs[0]) for name in names}
    for _ in range(round(SECONDS * env.unwrapped.control_freq)):
        env.step(action)
    return found, {name: np.ravel(twin[name].pose.p.cpu()) for name in names}


def newton(load, folder: Path, names):
    from newton_scenes import simulated

    return simulated(load, {one["name"]: f"{Path(one['urdf']).stem}/{one['link']}" for one in _objects(folder, names)})


def genesis(load, folder: Path, names):
    import genesis as gs

    gs.init(backend=gs.cpu, logging_level="error")
    scene = gs.Scene(sim_options=gs.options.SimOptions(dt=0.002), show_viewer=False)
    entities, found = load(scene), {}
    scene.build()
    for one in _objects(folder, names):
        entity = entities[one["name"]]
        shapes = entity.base_link.geoms
        found[one["name"]] = {
            "mass": float(entity.get_mass()),
            "friction": float(shapes[0].get_friction()) if shapes else None,
            "joints": entity.n_dofs - (0 if one["fixed"] else 6),
            "box": entity.get_AABB().cpu().numpy().reshape(2, 3).tolist(),
            "start": entity.base_link.get_pos().cpu().numpy().reshape(3).tolist(),
        }
    for _ in range(round(SECONDS / 0.002)):
        scene.step()
    return found, {name: entities[name].base_link.get_pos().cpu().numpy().reshape(3) for name in names}


LOADERS = {"mani_skill": "sapien"}
PACKAGES = {"genesis": "genesis-world"}

if __name__ == "__main__":
    simulator, folder, names = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    sys.path.insert(0, str(folder))
    load = importlib.import_module(f"load_{LOADERS.get(simulator, simulator)}").load
    found, ends = globals()[simulator](load, folder, names)
    ended = {name: one | {"after": np.ravel(ends[name]).tolist()} for name, one in found.items()}
    print("\n" + json.dumps([version(PACKAGES.get(simulator, simulator)), ended]))

"""Run by the simulators' Python: SIMULATOR FOLDER loads a URDF export by the loader in it, and simulates 2 s.

Prints {name of a free object: [kg, friction of its root link or null, metres it moved]} as JSON.
"""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np

NAME, FOLDER = sys.argv[1], Path(sys.argv[2])
SECONDS = 2.0
sys.path.insert(0, str(FOLDER))
OBJECTS = json.loads((FOLDER / "poses.json").read_text())["objects"]
FREE = [one for one in OBJECTS if not one["fixed"]]


def pybullet(load):
    import pybullet as p

    p.connect(p.DIRECT)
    p.setGravity(0, 0, -9.81)
    bodies, found = load(), {}
    for one in FREE:
        body = bodies[one["name"]]
        infos = [p.getDynamicsInfo(body, link) for link in range(-1, p.getNumJoints(body))]
        found[one["name"]] = [sum(info[0] for info in infos), infos[0][1]]
    for _ in range(round(SECONDS * 240)):
        p.stepSimulation()

    def link_position(body):
        info = p.getDynamicsInfo(body, -1)  # PyBullet's pose is that of the centre of mass
        return p.multiplyTransforms(*p.getBasePositionAndOrientation(body), *p.invertTransform(info[3], info[4]))[0]

    return found, {one["name"]: link_position(bodies[one["name"]]) for one in FREE}


def drake(load):
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, 0.002)
    models, found = load(plant), {}
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_context())
    roots = {one["name"]: plant.GetBodyByName(one["link"], models[one["name"]]) for one in FREE}
    for name, root in roots.items():
        mass = sum(plant.get_body(index).default_mass() for index in plant.GetBodyIndices(models[name]))
        shapes = plant.GetCollisionGeometriesForBody(root)
        properties = graph.model_inspector().GetProximityProperties(shapes[0]) if shapes else None
        friction = properties and properties.GetProperty("material", "coulomb_friction").static_friction()
        found[name] = [mass, friction]
    simulator.AdvanceTo(SECONDS)
    return found, {name: plant.EvalBodyPoseInWorld(context, root).translation() for name, root in roots.items()}


def sapien(load):
    import sapien

    for file in FOLDER.glob("*.urdf"):  # visuals need a rendering device
        file.write_text(re.sub(r"<visual .*?</visual>", "", file.read_text(), flags=re.DOTALL))
    scene = sapien.Scene([sapien.physx.PhysxCpuSystem()])
    scene.set_timestep(1 / 240)
    objects, found = load(scene), {}
    for one in FREE:
        loaded = objects[one["name"]]
        single = getattr(loaded, "find_component_by_type", lambda _: None)(sapien.physx.PhysxRigidDynamicComponent)
        parts = [single] if single else list(loaded.links)
        shapes = parts[0].collision_shapes
        friction = shapes[0].physical_material.static_friction if shapes else None
        found[one["name"]] = [sum(part.mass for part in parts), friction]
    for _ in range(round(SECONDS * 240)):
        scene.step()
    return found, {one["name"]: objects[one["name"]].pose.p for one in FREE}


def newton(load):
    import newton

    builder = newton.ModelBuilder()
    load(builder)
    model = builder.finalize(device="cpu")
    mass, friction, owners = model.body_mass.numpy(), model.shape_material_mu.numpy(), model.shape_body.numpy()
    roots, found = {}, {}
    for one in FREE:
        own = [number for number, label in enumerate(model.body_label) if label.split("/")[0] == Path(one["urdf"]).stem]
        roots[one["name"]] = next(number for number in own if model.body_label[number].split("/")[-1] == one["link"])
        shapes = friction[owners == roots[one["name"]]]
        found[one["name"]] = [float(mass[own].sum()), float(shapes[-1]) if len(shapes) else None]
    solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True)
    now, after = model.state(), model.state()
    newton.eval_fk(model, model.joint_q, model.joint_qd, now)
    for _ in range(round(SECONDS / 0.002)):
        now.clear_forces()
        solver.step(now, after, model.control(), None, 0.002)
        now, after = after, now
    return found, {name: now.body_q.numpy()[number, :3] for name, number in roots.items()}


def genesis(load):
    import genesis as gs

    gs.init(backend=gs.cpu, logging_level="error")
    scene = gs.Scene(sim_options=gs.options.SimOptions(dt=0.002), show_viewer=False)
    entities = load(scene)
    scene.build()
    roots = {one["name"]: entities[one["name"]].base_link for one in FREE}
    frictions = {name: float(root.geoms[0].get_friction()) if root.geoms else None for name, root in roots.items()}
    found = {name: [float(entities[name].get_mass()), friction] for name, friction in frictions.items()}
    for _ in range(round(SECONDS / 0.002)):
        scene.step()
    return found, {name: root.get_pos().cpu().numpy().reshape(3) for name, root in roots.items()}


ran = globals()[NAME](importlib.import_module(f"load_{NAME}").load)
print(json.dumps({
    one["name"]: [*ran[0][one["name"]], float(np.abs(np.array(ran[1][one["name"]]) - one["pos"]).max())] for one in FREE
}))  # fmt: skip

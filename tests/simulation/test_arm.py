"""The arm holds by friction, says what it cannot do, and its tables agree with the model."""

import json
from itertools import pairwise

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.simulation import kit
from pipeline.simulation.arm import body, fingers
from pipeline.simulation.arm.clearance import Clearance
from pipeline.simulation.arm.grasps import grasps
from pipeline.simulation.arm.kinematics import Kinematics, nearest, pose
from pipeline.simulation.arm.mount import AWAY, mount
from pipeline.simulation.arm.paths import path, straight
from pipeline.simulation.arm.robot import Arm
from pipeline.simulation.objects import Region
from pipeline.simulation.physics import Physics
from pipeline.simulation.world import equip


def world(table, *names, arrange=None):
    sim = kit.Simulation(kit.Scene.load(table), 0)
    sim.keep(*names)
    if arrange:
        arrange(sim)
    return sim


@pytest.fixture(scope="module")
def stacked(table):
    sim = world(table, "red_cube", "blue_cube", "yellow_can")
    sim.goal(kit.on("red_cube", "blue_cube"))
    equip(sim, Arm())
    return sim, sim.rollout()


def test_a_cube_is_stacked_by_friction_alone(stacked):
    sim, run = stacked
    assert run.solved and run.at_rest, run.why
    model = sim.bench().model
    held = [model.equality(i).name for i in range(model.neq) if model.eq_type[i] == mujoco.mjtEq.mjEQ_WELD]
    assert not held, "nothing may be glued to the hand"


def test_nothing_is_teleported_and_nothing_moves_that_is_not_touched(stacked):
    _, run = stacked
    path_ = run.path("red_cube")
    assert np.linalg.norm(np.diff(path_, axis=0), axis=1).max() < 0.08
    assert run.moved("yellow_can") < 0.002 and run.moved("blue_cube") < 0.01
    assert not run.moved_before_touch


def test_the_world_that_ran_loads_beside_its_files(stacked, table, tmp_path):
    _, run = stacked
    assert not mujoco.MjSpec.from_string(run.xml, assets=None).meshdir
    model = mujoco.MjModel.from_xml_string(run.xml, body.colliders())
    assert model.nq == run.qpos.shape[1] and model.nu == run.actions.shape[1] == 7


def test_what_is_wider_than_the_gripper_is_not_grasped_and_the_reason_is_said(table):
    sim = world(table, "white_bowl", "blue_cube", arrange=lambda s: s.resize("blue_cube", 1.8))
    sim.goal(kit.at("blue_cube", (0.2, 0.1)))
    equip(sim, Arm())
    run = sim.rollout()
    assert not run.solved and "the gripper takes 8.2 cm at most" in run.why
    assert [e for e in run.events if not e.ok and e.time >= 0]


def test_a_place_out_of_reach_is_refused_in_words(table):
    sim = world(table, "red_cube", "blue_cube")
    sim.goal(kit.on("red_cube", "blue_cube"))
    arm = Arm()
    equip(sim, arm)
    physics = Physics(sim.bench())
    assert arm.hand(physics).kinematics.solve(pose(arm.base + np.array([1.3, 0, 0.1]), 0.0)) is None


@pytest.mark.parametrize("width", [0.08, 0.05, 0.02])
def test_the_fingers_table_agrees_with_the_gripper_at_rest(width):
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body.add_arm(spec, np.zeros(3), 0.0)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.actuator(f"{body.HAND}fingers_actuator").ctrl = fingers.command(width)
    for _ in range(600):
        mujoco.mj_step(model, data)
    site = data.site(body.PINCH)
    pads = [(data.geom(side[0]).xpos - site.xpos) @ site.xmat.reshape(3, 3) for side in body.PADS]
    thick = model.geom(body.PADS[0][0]).size
    assert abs(pads[0][1] - pads[1][1]) - 2 * thick[1] == pytest.approx(width, abs=0.002)
    assert pads[0][2] + thick[2] == pytest.approx(fingers.tip(width), abs=0.001)


def test_inverse_kinematics_undoes_forward_kinematics():
    arm = Kinematics(np.array([0.1, -0.2, 0.02]), 0.7)
    rng = np.random.default_rng(0)
    for _ in range(12):
        angle, far, turn = rng.uniform(-np.pi, np.pi), rng.uniform(0.3, 0.7), rng.uniform(-np.pi, np.pi)
        point = np.array([0.1 + far * np.cos(angle), -0.2 + far * np.sin(angle), rng.uniform(0.05, 0.3)])
        target = pose(point, turn)
        target[:3, :3] = Rotation.from_rotvec(rng.normal(size=3) * 0.1).as_matrix() @ target[:3, :3]
        q = arm.solve(target)
        assert q is not None and np.allclose(arm.forward(q), target, atol=0.008)
        assert np.allclose(arm.forward(nearest(q, q + 7.0, arm.model.jnt_range)), arm.forward(q), atol=1e-9)


def test_grasps_close_on_both_sides_of_the_thing(stacked):
    sim, _ = stacked
    physics = Physics(sim.bench())
    thing = physics.state()["blue_cube"]
    found = grasps(physics, thing).found
    assert found
    for one in found:
        assert np.linalg.norm(one.point[:2] - thing.position[:2]) < thing.reach
        assert thing.bottom < one.point[2] < thing.top and one.width <= one.opening <= fingers.WIDEST
    off = (found[0].turn - thing.yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4
    assert abs(off) < np.radians(10), "a cube is held by its sides, not by its corners"


def test_the_base_stands_clear_of_things_where_it_reaches_them(table):
    scene = kit.Scene.load(table)
    base, turn = mount(scene.objects, scene.table, scene.away)
    far = [np.linalg.norm(o.position[:2] - base) for o in scene.objects]
    assert max(far) < 0.8 and min(Region(o.outline).distance(base) for o in scene.objects) > AWAY
    assert scene.table.depth(base) < 0
    assert np.cos(turn) * (scene.table.centre - base)[0] + np.sin(turn) * (scene.table.centre - base)[1] > 0


def test_a_posture_in_the_table_is_seen_and_where_it_waits_is_free(stacked):
    sim, _ = stacked
    physics = Physics(sim.bench())
    clearance, arm = Clearance(physics), sim.bench().robot
    clearance.refresh()
    hand = arm.hand(physics)
    assert clearance.hit(hand.home, fingers.WIDEST) == ""
    deep = hand.kinematics.guess(pose(np.array([*physics.state()["yellow_can"].position[:2] + 0.1, -0.03]), 0.0))
    assert deep is not None and clearance.hit(deep, fingers.WIDEST) in ("table", "yellow_can", "itself")


def test_a_way_around_is_found_where_the_straight_one_is_barred():
    def free(q):
        return not (abs(q[0]) < 0.3 and q[1] < 0.6)

    start, end = np.array([-1.0, 0, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0, 0])
    limits = np.array([[-3.0, 3.0]] * 6)
    assert not straight(start, end, free)
    way = path(start, end, free, limits)
    assert way is not None and np.array_equal(way[0], start) and np.array_equal(way[-1], end)
    assert all(straight(a, b, free) for a, b in pairwise(way))
    assert path(start, end, lambda q: abs(q[0]) > 0.3, limits) is None


def test_a_solution_by_the_arm_shows_its_looks(stacked, table, tmp_path):
    from pipeline.solving import keep_model

    _, run = stacked
    folder = tmp_path / "scene"
    folder.mkdir()
    kept = mujoco.MjModel.from_xml_path(str(keep_model(run.xml, tmp_path, "solution")))
    looks = [
        g
        for g in range(kept.ngeom)
        if kept.geom_group[g] == body.LOOK and kept.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH
    ]
    assert len(looks) > 20 and kept.nq == run.qpos.shape[1]
    assert json.dumps(sorted(p.name for p in folder.iterdir())).count("/") == 0

"""The arms hold by friction or suction alone, keep loads level, and say what they cannot do."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast
from unittest.mock import Mock

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.simulation import kit
from pipeline.simulation.objects import Region
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import robot_kind
from pipeline.simulation.robots.arm import hand as hand_module
from pipeline.simulation.robots.arm.arm_robot import Arm
from pipeline.simulation.robots.arm.carry_plans import posture_above
from pipeline.simulation.robots.arm.collision import CollisionChecker, HeldObject
from pipeline.simulation.robots.arm.kinematics import gripper_pose, nearest_equivalent
from pipeline.simulation.robots.arm.mount import BASE_CLEARANCE_M, place_base
from pipeline.simulation.robots.arm.path_planning import is_straight_path_free, plan_level_path, plan_path
from pipeline.simulation.robots.arm.robot_model import ARM_PREFIX, TWO_F85, add_arm, prefixed
from pipeline.simulation.robots.arm.tools import vacuum
from pipeline.simulation.robots.arm.tools.finger_grasps import find_grasps
from pipeline.simulation.robots.arm.tools.seals import find_seals
from pipeline.simulation.robots.arm.tools.suction_tool import SuctionTool
from pipeline.simulation.robots.arm.tools.vacuum import Vacuum
from pipeline.simulation.robots.arm.universal_robots import two_finger_arm
from pipeline.simulation.robots.arm.ur5e_kinematics import Ur5eKinematics, postures
from pipeline.simulation.robots.description import VISUAL_GROUP
from pipeline.solving import save_model


def arm_simulation(table, *names, robot=None):
    sim = kit.Simulation(replace(kit.Scene.load(table), robot=robot), 0)
    sim.keep(*names)
    return sim


def with_cubes_stacked(table, robot):
    sim = arm_simulation(table, "red_cube", "blue_cube", "yellow_can", robot=robot)
    sim.goal(kit.on("red_cube", "blue_cube"))
    return sim, sim.rollout()


@pytest.fixture(scope="module")
def stacked(table):
    return with_cubes_stacked(table, robot_kind("arm").make(True))


def test_a_cube_is_stacked_by_friction_alone_and_the_recorded_model_loads(stacked):
    sim, run = stacked
    assert run.solved and run.at_rest, run.why
    model = sim.bench().model
    welds = [model.equality(i).name for i in range(model.neq) if model.eq_type[i] == mujoco.mjtEq.mjEQ_WELD]
    assert not welds, "nothing may be glued to the hand"
    positions = run.path("red_cube")
    assert np.linalg.norm(np.diff(positions, axis=0), axis=1).max() < 0.08
    assert run.moved("yellow_can") < 0.002 and run.moved("blue_cube") < 0.01
    assert not run.moved_before_touch
    assert not mujoco.MjSpec.from_string(run.xml, assets=None).meshdir
    model = mujoco.MjModel.from_xml_string(run.xml, two_finger_arm().meshes(False))
    assert model.nq == run.qpos.shape[1] and model.nu == run.actions.shape[1] == 7


def test_what_is_too_wide_for_the_gripper_out_of_reach_or_not_to_be_held_by_the_cup_is_refused(table):
    sim = arm_simulation(table, "white_bowl", "blue_cube", robot=robot_kind("arm").make(True))
    sim.resize("blue_cube", 1.8)
    sim.goal(kit.at("blue_cube", (0.2, 0.1)))
    run = sim.rollout()
    assert not run.solved and "the gripper takes 8.2 cm at most" in run.why
    arm = cast(Arm, robot_kind("arm").make(True))
    sim = arm_simulation(table, "red_cube", "blue_cube", robot=arm)
    sim.goal(kit.on("red_cube", "blue_cube"))
    physics = Physics(sim.bench())
    assert arm.hand(physics).kinematics.solve(gripper_pose(arm.base + np.array([1.3, 0, 0.1]), 0.0)) is None
    sim = arm_simulation(table, "red_cube", "blue_cube", robot=robot_kind("arm-suction").make(True))
    sim.resize("red_cube", 0.5)
    physics = Physics(sim.bench())
    cube = physics.state()["blue_cube"]
    assert find_seals(physics, cube).grasps
    assert "kg" in find_seals(physics, replace(cube, mass=2.5)).refusal
    assert "air leaks" in find_seals(physics, replace(cube, category="sponge")).refusal
    for grasp in find_seals(physics, cube).grasps:
        assert np.linalg.norm(grasp.point[:2] - cube.position[:2]) < cube.reach
        assert grasp.approach[2] == pytest.approx(-1, abs=0.01) and grasp.point[2] == pytest.approx(cube.top, abs=1e-3)
    small = physics.state()["red_cube"]
    assert "2.5 cm wide" in find_seals(physics, small).refusal


def test_a_load_goes_to_the_first_posture_over_its_place_to_which_it_can_be_kept_level(table, monkeypatch):
    robot = cast(Arm, robot_kind("arm").make(True))
    hand = robot.hand(Physics(arm_simulation(table, "red_cube", robot=robot).bench()))
    held = HeldObject("red_cube", np.eye(4))
    tilting, level, later = (hand.motion.commanded + offset for offset in (0.3, 0.1, 0.2))
    choices = ["a reason", (tilting, 0.0), (level, 0.0), (later, 0.0)]
    monkeypatch.setattr(hand_module, "postures_above", lambda *_: iter(choices))
    monkeypatch.setattr(hand, "level_way", lambda q, _: None if q[0] > level[0] + 0.15 else [q, q])
    gone: list[np.ndarray] = []
    monkeypatch.setattr(hand.motion, "follow", lambda path, *_, **__: gone.extend(path))
    monkeypatch.setattr(hand, "rise", lambda _: None)
    assert hand._move_over(np.eye(4), held) == "" and np.allclose(gone, level)
    monkeypatch.setattr(hand, "level_way", lambda *_: None)
    monkeypatch.setattr(hand, "move_to", lambda q, _: gone.append(q) or "")
    assert hand._move_over(np.eye(4), held) == "" and np.allclose(gone[-1], tilting)


@pytest.mark.parametrize("width", [0.08, 0.05, 0.02])
def test_the_finger_tables_agree_with_the_gripper_at_rest(width):
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    add_arm(spec, two_finger_arm(), np.zeros(3), 0.0)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.actuator(prefixed(TWO_F85.actuators)[0]).ctrl = TWO_F85.command(width)[0]
    for _ in range(600):
        mujoco.mj_step(model, data)
    site = data.site(f"{ARM_PREFIX}hand/pinch")
    names = [prefixed(side)[0] for side in TWO_F85.pads]
    pads = [(data.geom(name).xpos - site.xpos) @ site.xmat.reshape(3, 3) for name in names]
    thick = model.geom(names[0]).size
    assert abs(pads[0][1] - pads[1][1]) - 2 * thick[1] == pytest.approx(width, abs=0.002)
    assert pads[0][2] + thick[2] == pytest.approx(TWO_F85.tip_offset(width), abs=0.001)


def test_inverse_kinematics_inverts_forward_kinematics_in_every_posture():
    arm = Ur5eKinematics(np.array([0.1, -0.2, 0.02]), 0.7)
    rng = np.random.default_rng(0)
    for _ in range(12):
        angle, far, turn = rng.uniform(-np.pi, np.pi), rng.uniform(0.3, 0.7), rng.uniform(-np.pi, np.pi)
        point = np.array([0.1 + far * np.cos(angle), -0.2 + far * np.sin(angle), rng.uniform(0.05, 0.3)])
        target = gripper_pose(point, turn)
        target[:3, :3] = Rotation.from_rotvec(rng.normal(size=3) * 0.1).as_matrix() @ target[:3, :3]
        q = arm.solve(target)
        assert q is not None and np.allclose(arm.forward(q), target, atol=0.008)
        assert np.allclose(arm.forward(nearest_equivalent(q, q + 7.0, arm.model.jnt_range)), arm.forward(q), atol=1e-9)
    arm, rng, branches = Ur5eKinematics(np.zeros(3), 0.0), np.random.default_rng(1), 0
    for _ in range(25):
        q = rng.uniform(-3, 3, 6)
        target = arm.forward(q)
        found = postures(target)
        branches = max(branches, len(found))
        assert all(np.allclose(arm.forward(one), target, atol=1e-5) for one in found)
        assert any(np.allclose(np.sin((one - q) / 2), 0, atol=1e-5) for one in found)
    assert branches == 8
    arm = Ur5eKinematics(np.zeros(3), 0.3)
    target = np.eye(4)
    target[:3, :3] = np.column_stack([[0, 0, 1.0], [0, 1.0, 0], [-1.0, 0, 0]]) @ np.diag([1, -1, -1.0])
    target[:3, 3] = [0.5, 0.1, 0.2]
    q = arm.solve(target)
    assert q is not None and np.allclose(arm.forward(q), target, atol=1e-3) and np.sin(-q[1]) > 0


def test_grasps_close_on_both_sides_and_a_posture_in_the_table_collides(stacked):
    sim, _ = stacked
    physics = Physics(sim.bench())
    cube = physics.state()["blue_cube"]
    found = find_grasps(physics, cube, TWO_F85).grasps
    assert found
    for grasp in found:
        assert np.linalg.norm(grasp.point[:2] - cube.position[:2]) < cube.reach
        assert cube.bottom < grasp.point[2] < cube.top and grasp.width <= grasp.opening <= TWO_F85.max_opening
    closing = np.arctan2(found[0].hand[1, 1], found[0].hand[0, 1])
    off = (closing - cube.yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4
    assert abs(off) < np.radians(10), "a cube is held by its sides, not by its corners"
    physics = Physics(sim.bench())
    collisions, arm = CollisionChecker(physics, two_finger_arm()), sim.bench().robot
    collisions.refresh()
    hand = arm.hand(physics)
    assert collisions.first_collision(hand.home, TWO_F85.max_opening) == ""
    beside_can = physics.state()["yellow_can"].position[:2] + 0.1
    deep = hand.kinematics.analytic_guess(gripper_pose(np.array([*beside_can, -0.03]), 0.0))
    assert deep is not None
    assert collisions.first_collision(deep, TWO_F85.max_opening) in ("table", "yellow_can", "itself")


@pytest.mark.parametrize("factor, held", [(1.0, True), (1.7, True), (1.97, False)])
def test_a_ball_is_held_at_its_middle_or_not_at_all(table, factor, held):
    sim = arm_simulation(table, "orange_ball")
    sim.resize("orange_ball", factor)
    physics = Physics(sim.bench())
    ball = physics.state()["orange_ball"]
    search = find_grasps(physics, ball, TWO_F85)
    assert bool(search.grasps) == held and bool(search.refusal) != held
    for grasp in search.grasps:
        assert grasp.width > 0.97 * float(np.ptp(ball.outline, axis=0).max())


def test_the_base_is_clear_of_the_objects_it_reaches(table):
    scene = kit.Scene.load(table)
    mount = place_base(scene.objects, scene.table, scene.away, two_finger_arm().reach)
    base, turn = mount.base, mount.yaw
    far = [np.linalg.norm(o.position[:2] - base) for o in scene.objects]
    assert max(far) < 0.8 and min(Region(o.outline).distance(base) for o in scene.objects) > BASE_CLEARANCE_M
    assert scene.table.depth(base) < 0
    assert np.cos(turn) * (scene.table.centre - base)[0] + np.sin(turn) * (scene.table.centre - base)[1] > 0


def test_a_detour_is_planned_if_the_straight_path_is_blocked():
    def free(q):
        return not (abs(q[0]) < 0.3 and q[1] < 0.6)

    start, end = np.array([-1.0, 0, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0, 0])
    limits = np.array([[-3.0, 3.0]] * 6)
    assert not is_straight_path_free(start, end, free)
    waypoints = plan_path(start, end, free, limits)
    assert waypoints is not None and np.array_equal(waypoints[0], start) and np.array_equal(waypoints[-1], end)
    assert all(is_straight_path_free(a, b, free) for a, b in pairwise(waypoints))
    assert plan_path(start, end, lambda q: abs(q[0]) > 0.3, limits) is None


@pytest.mark.parametrize("height", [0.0, 0.05, 0.1], ids=["at the place", "on the way", "above"])
def test_a_posture_is_taken_only_if_nothing_is_hit_on_the_whole_straight_way(height):
    """Of two postures over a place, the arm collides with a wall in the first at one height of the way."""
    arm = Mock()
    arm.kinematics.solutions = lambda pose: iter([np.array([1.0, pose[2, 3]]), np.array([2.0, pose[2, 3]])])
    arm.kinematics.solve = lambda pose, q: np.array([q[0], pose[2, 3]])
    arm.clearance.first_collision = lambda q, *_: "wall" if q[0] == 1 and abs(q[1] - height) < 0.02 else ""
    place, held = gripper_pose(np.zeros(3), 0.0), HeldObject("cup", np.eye(4))
    found = posture_above(arm, held, 0.05, place, (0.0,))
    assert not isinstance(found, str) and found[0] == pytest.approx([2, 0.1])
    arm.kinematics.solutions = lambda pose: iter([np.array([1.0, pose[2, 3]])])
    assert "would collide with wall" in str(posture_above(arm, held, 0.05, place, (0.0,)))


@pytest.fixture(scope="module")
def arm():
    return Ur5eKinematics(np.zeros(3), 0.0)


def posture(arm, x, y, z, yaw=0.0):
    q = arm.solve(gripper_pose(np.array([x, y, z]), yaw))
    assert q is not None
    return q


@pytest.mark.parametrize("wall", [0.0, 0.35])
def test_the_tool_keeps_looking_down_from_end_to_end(arm, wall):
    start, end = posture(arm, 0.5, -0.25, 0.15), posture(arm, 0.5, 0.25, 0.15, 1.0)

    def is_free(q):
        _x, y, z = arm.forward(q)[:3, 3]
        return not (abs(y) < 0.05 and z < wall)

    path = plan_level_path(start, end, is_free, arm.model.jnt_range)
    assert path is not None and np.allclose(path[0], start) and np.allclose(path[-1], end)
    assert (len(path) > 2) == bool(wall)
    for a, b in itertools.pairwise(path):
        for share in np.linspace(0, 1, 12):
            q = a + share * (b - a)
            assert is_free(q) and -arm.forward(q)[2, 2] > np.cos(np.radians(2))
    end[3] += 0.6
    assert plan_level_path(start, end, lambda q: True, arm.model.jnt_range) is None, "another tilt"


GRAVITY = 9.81


def test_a_cube_is_stacked_by_suction_and_the_saved_solution_shows_the_arm_without_fingers(table, tmp_path):
    sim, run = with_cubes_stacked(table, robot_kind("arm-suction").make(True))
    assert run.solved and run.at_rest, run.why
    assert run.moved("yellow_can") < 0.002 and not run.moved_before_touch
    assert np.linalg.norm(np.diff(run.path("red_cube"), axis=0), axis=1).max() < 0.08
    assert sim.bench().model.nu == run.actions.shape[1] == 7
    physics = Physics(sim.bench())
    tool = SuctionTool(physics)
    grasp = tool.find_grasps(physics.state()["red_cube"]).grasps[0]
    assert "nothing instead of red_cube" in tool.hold("red_cube", grasp)
    assert not physics.data.eq_active.any()
    (tmp_path / "scene").mkdir()
    model = mujoco.MjModel.from_xml_path(str(save_model(run.xml, tmp_path, "solution")))
    names = {model.body(b).name for b in range(model.nbody)}
    assert model.nq == run.qpos.shape[1] and vacuum.CUP_BODY in names
    assert not any("finger" in name or "pad" in name for name in names)
    assert sum(model.geom_group == VISUAL_GROUP) > 20


class HungBox:
    """A box that hangs on a cup fixed in the world, off its middle; as much of a Physics as the vacuum uses."""

    def __init__(self, mass, off_centre):
        spec = mujoco.MjSpec()
        spec.option.timestep, spec.option.integrator = 0.002, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        down = spec.worldbody.add_frame(pos=[0, 0, 1], quat=[0, 1, 0, 0])
        spec.attach(vacuum.specification(), prefix="arm/hand/", frame=down)
        box = spec.worldbody.add_body(name="box", pos=[off_centre, 0, 1 - vacuum.TOOL_LENGTH_M - 0.02])
        box.add_freejoint()
        box.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.03, 0.02], mass=mass)
        motor = spec.worldbody.add_body(name="motor")
        motor.add_joint(name="arm/wrist_3_joint")
        motor.mass, motor.inertia, motor.explicitinertial = 1, [1, 1, 1], True
        vacuum.add_welds(spec, ["box"])
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.after_step: Callable[[], None] | None = None
        mujoco.mj_forward(self.model, self.data)

    def wait(self, seconds):
        for _ in range(round(seconds / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)
            assert self.after_step is not None
            self.after_step()


@pytest.mark.parametrize(("mass", "off_centre", "lost"), [
    (0.1, 0.0, ""), (0.5, 0.03, ""), (1.0, 0.01, ""), (4.5, 0.0, "pulled off"), (1.5, 0.045, "peeled off"),
])  # fmt: skip
def test_the_measured_forces_are_those_of_statics_and_a_load_beyond_the_limits_is_lost(mass, off_centre, lost):
    hung = HungBox(mass, off_centre)
    cup = Vacuum(cast(Any, hung))
    cup.grip("box")
    hung.wait(1.0)
    if lost:
        assert not cup.on and lost in cup.lost and hung.data.body("box").xpos[2] < 0.7
        return
    pull, shear, moment = cup.forces()
    assert cup.on and pull == pytest.approx(mass * GRAVITY, rel=0.02)
    assert shear < 0.05 and moment == pytest.approx(mass * GRAVITY * off_centre, rel=0.05, abs=0.005)

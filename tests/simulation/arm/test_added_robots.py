"""Robots of one's own: what is found in a model, what is measured on it, what it then does, and what is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from bench.motion import watched
from pipeline.export.lerobot.episodes import actuator_names
from pipeline.simulation import free_space, kit, robots
from pipeline.simulation.robots import ROBOTS, robot_kind, workspace
from pipeline.simulation.robots.description import SIDES, VISUAL_GROUP, ArmModel, DescriptionError
from pipeline.simulation.robots.pair.pair_mount import place_pair
from pipeline.simulation.robots.reading.elements import attach_gripper, read_spec
from pipeline.simulation.robots.reading.read_robot import _package_folder
from pipeline.solving import save_model
from studio.__main__ import main

AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
JOINTS = (
    ("waist", "z", 0.08, (-3.0, 3.0)), ("shoulder", "y", 0.22, (-2.0, 2.0)), ("elbow", "y", 0.34, (-2.6, 2.6)),
    ("roll", "x", 0.15, (-3.0, 3.0)), ("wrist", "y", 0.15, (-2.2, 2.2)), ("flange", "x", 0.08, (-3.1, 3.1)),
)  # fmt: skip
"""Name, axis, distance from the joint before it (m) and limits (rad): upwards to the shoulder, then along x."""


def box(size, middle, mass):
    shape = f'<origin xyz="{middle}"/><geometry><box size="{size}"/></geometry>'
    inertia = f'<inertia ixx="{mass / 200}" iyy="{mass / 200}" izz="{mass / 200}" ixy="0" ixz="0" iyz="0"/>'
    return (
        f'<inertial><origin xyz="{middle}"/><mass value="{mass}"/>{inertia}</inertial>'
        f"<visual>{shape}</visual><collision>{shape}</collision>"
    )


def urdf(scale=1.0, jaws=True, limits=None, mesh=""):
    """Return an arm of six joints with two jaws that open by 80 mm together, as URDF."""
    parts = [f'<link name="root">{box("0.1 0.1 0.06", "0 0 0.03", 3)}</link>']
    for i, (name, axis, length, span) in enumerate(JOINTS):
        parent = JOINTS[i - 1][0] if i else "root"
        after = scale * (JOINTS[i + 1][2] if i + 1 < len(JOINTS) else 0.06)
        size, middle = f"{max(after - 0.07, 0.02)} 0.05 0.05", f"{after / 2} 0 0"
        if i == 0:
            size, middle = f"0.05 0.05 {max(after - 0.07, 0.02)}", f"0 0 {after / 2}"
        offset = f"0 0 {scale * length}" if i < 2 else f"{scale * length} 0 0"
        low, high = limits or span
        parts.append(f'<link name="{name}_link">{box(size, middle, 1.0 / (i + 1))}</link>')
        parts.append(
            f'<joint name="{name}" type="revolute"><parent link="{parent if parent == "root" else parent + "_link"}"/>'
            f'<child link="{name}_link"/><origin xyz="{offset}"/><axis xyz="{AXES[axis]}"/>'
            f'<limit lower="{low}" upper="{high}" effort="120" velocity="3"/></joint>'
        )
    for name, side in (("left_jaw", 1), ("right_jaw", -1)) if jaws else ():
        parts.append(f'<link name="{name}_link">{mesh or box("0.06 0.01 0.02", f"0.03 {side * 0.005} 0", 0.05)}</link>')
        parts.append(
            f'<joint name="{name}" type="prismatic"><parent link="flange_link"/><child link="{name}_link"/>'
            f'<origin xyz="0.06 0 0"/><axis xyz="0 {side} 0"/>'
            '<limit lower="0" upper="0.04" effort="40" velocity="1"/></joint>'
        )
    return f'<robot name="probe">{"".join(parts)}</robot>'


def add(folder, text, name="probe.urdf"):
    (folder / name).write_text(text)
    return main(["robot", "add", str(folder / name)])


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A workspace with one added robot."""
    folder = tmp_path_factory.mktemp("added")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRS_WORKSPACE", str(folder / "workspace"))
        assert add(folder, urdf()) == 0
    return folder / "workspace"


@pytest.fixture(autouse=True)
def own_workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path / "workspace"))
    return tmp_path / "workspace"


@pytest.mark.parametrize("kind", ["urdf", pytest.param("xml", marks=pytest.mark.soak)])
def test_an_arm_is_added_by_its_file_alone_and_stacks_cubes(tmp_path, added, own_workspace, capsys, table, kind):
    if kind == "urdf":
        shutil.copytree(added, own_workspace)
    else:
        spec, motor = mujoco.MjSpec.from_string(urdf()), {"trntype": mujoco.mjtTrn.mjTRN_JOINT, "ctrllimited": 1}
        for name, *_ in JOINTS:
            spec.add_actuator(name=name, target=name, ctrlrange=[-90, 90], **motor)
        spec.compile()
        assert add(tmp_path, spec.to_xml(), "probe.xml") == 0
    capsys.readouterr()
    assert main(["robot", "check", "probe"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["joints"] == 6 and printed["gripper_opening_mm"] == pytest.approx(80, abs=1.5)
    assert printed["self_collisions_at_home"] == [] and printed["tracking"]["tip_error_mm"] < 2
    near, far = printed["reach"]["ring_m"]
    assert 0.1 < near < 0.35 and 0.45 < far < 0.75
    robot = robot_kind("probe")
    arm = robot.arm
    assert isinstance(arm, ArmModel) and arm.fingers is not None and list(ROBOTS)[-1] == "probe"
    for width in (0.07, 0.03):
        left, right = (arm.fingers.joint_positions(width)[name] for name in ("left_jaw", "right_jaw"))
        assert left + right == pytest.approx(width, abs=0.002) and left == pytest.approx(right, abs=0.001)
    sim = kit.Simulation(replace(kit.Scene.load(table), robot=robot.make(True)), 0)
    sim.keep("red_cube", "blue_cube", "yellow_can")
    sim.goal(kit.on("red_cube", "blue_cube"))
    run = sim.rollout()
    assert run.solved and run.at_rest, run.why
    assert run.moved("yellow_can") < 0.005
    (tmp_path / "scene").mkdir()
    model = mujoco.MjModel.from_xml_path(str(save_model(run.xml, tmp_path, "solution")))
    assert model.nq == run.qpos.shape[1] and (model.geom_group == VISUAL_GROUP).any()


NO_MESH = '<visual><geometry><mesh filename="jaw.stl"/></geometry></visual>'
REFUSED = {
    "no gripper": (urdf(jaws=False), (), "has no arm with a gripper"),
    "limits of zero": (urdf(limits=(0.3, 0.3)), (), "has the limits"),
    "a missing mesh": (urdf(mesh=NO_MESH), (), "jaw.stl"),
    "reaches nothing": (urdf(scale=0.12), (), "table"),
    "no such gripper": (urdf(), ("--gripper", "claw"), "no actuator or joint 'claw'"),
    "a name with spaces": (urdf(), ("--name", "my arm"), "small letters"),
    "arms in each other": (urdf(), ("--pair", "0.05"), "stand in each other: their bases are 0.05 m apart"),
    "one arm that faces": (urdf(), ("--facing",), "--pair"),
    "a name that is in use": (urdf(), ("--name", "arm"), "there is a robot arm"),
    "no robot at all": ("<worldbody/>", (), "a model starts with"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_robot_is_refused_in_one_line_and_nothing_is_kept(tmp_path, refused, case):
    text, flags, said = REFUSED[case]
    (tmp_path / "probe.urdf").write_text(text)
    assert said in refused("robot", "add", tmp_path / "probe.urdf", *flags)
    assert not list(workspace.added_names()) and list(ROBOTS) == [name for name in ROBOTS if name != "probe"]


def test_a_model_reads_files_of_its_package_and_neither_a_home_nor_the_whole_disk():
    home = Path.home()
    for file, readable in (
        ("/lab/arms/probe/urdf/probe.urdf", "/lab/arms"), ("/tmp/bad/probe.xml", "/tmp/bad"), ("/probe.xml", "/"),
        (f"{home}/probe/probe.xml", f"{home}/probe"), (f"{home}/a/b/probe.xml", f"{home}/a"),
    ):  # fmt: skip
        assert str(_package_folder(Path(file))) == readable


@pytest.mark.parametrize(("head", "limit", "radians"), [
    ("", 0.8, 0.8), ("", 45, np.pi / 4), ('<compiler angle="degree"/>', 0.8, np.radians(0.8)),
])  # fmt: skip
def test_a_gripper_that_does_not_state_the_unit_of_its_angles_has_that_of_the_arm(tmp_path, head, limit, radians):
    link = '<body name="{0}"><joint name="{0}" range="0 {1}"/><geom size="0.01"/></body>'.format
    (tmp_path / "arm.xml").write_text(
        f'<mujoco><compiler angle="radian"/><worldbody>{link("wrist", 2)}</worldbody></mujoco>'
    )
    (tmp_path / "hand.xml").write_text(f"<mujoco>{head}<worldbody>{link('finger', limit)}</worldbody></mujoco>")
    arm, _ = read_spec(tmp_path / "arm.xml")
    repairs = attach_gripper(arm, tmp_path / "hand.xml", "wrist", "arm.xml")
    np.testing.assert_allclose(arm.compile().joint("gripper/finger").range, (0, radians), rtol=1e-5)
    assert len(repairs) == (radians == limit)


def test_a_robot_is_kept_until_it_is_removed_and_a_damaged_one_says_so(tmp_path, added, own_workspace, capsys):
    shutil.copytree(added, own_workspace)
    assert add(tmp_path, urdf()) == 2 and "--replace" in capsys.readouterr().err
    (own_workspace / "robots" / "probe" / "robot.json").write_text('{"schema": 1, "name": "probe"}')
    assert main(["robot", "check", "probe"]) == 2 and "damaged" in capsys.readouterr().err
    assert "probe" not in [robot.name for robot in ROBOTS.values()]
    assert main(["robot", "remove", "probe"]) == 0 and not list(workspace.added_names())
    assert main(["robot", "check", "probe"]) == 2 and "there are: gripper, arm" in capsys.readouterr().err


def test_the_arm_of_droid_has_its_cameras_and_modes_and_solves_a_task(table):
    robot = robot_kind("droid")
    arm = robot.arm
    assert arm is not None and arm.fingers is not None
    assert {camera.name: camera.mounted_on for camera in robot.cameras} == {"external": "link0", "wrist": "base"}
    assert {(mode.control, mode.rate_hz) for mode in robot.control_modes} == {
        ("joint_velocity", 15.0), ("joint_position", 15.0), ("delta_end_effector", 15.0)
    }  # fmt: skip
    sim = kit.Simulation(replace(kit.Scene.load(table), robot=robot.make(True)), 0)
    sim.keep("red_cube", "green_cube", "white_bowl")
    sim.goal(kit.inside("green_cube", "white_bowl"))
    run = sim.rollout()
    assert run.solved and run.actions.shape[1] == 8, run.why


@pytest.fixture
def two_arms(added, own_workspace):
    """A robot of two added arms, 0.6 m apart."""
    shutil.copytree(added / "robots" / "probe", own_workspace / "robots" / "twins")
    file = own_workspace / "robots" / "twins" / "robot.json"
    values = json.loads(file.read_text()) | {"name": "twins", "pair": workspace.pair_places("twins", 0.6, False)}
    file.write_text(json.dumps(values))
    return robot_kind("twins")


def handed_over(robot, table, sides=(1, 0)):
    """Return a simulation in which a cube goes from where one arm alone reaches it to where the other does."""
    sim = kit.Simulation(replace(kit.Scene.load(table), robot=robot), 0)
    sim.keep("red_cube")
    mount = place_pair(sim.objects, sim.scene.table, sim.scene.away, robot.pair)
    points = free_space.grid(sim.scene.table, 0.02)
    points = points[sim.scene.table.depth(points) > 0.05]
    distances = np.linalg.norm(points[:, None] - mount.bases, axis=-1)
    middle, outside = np.array([mount.rings[0].mean(), robot.pair[0].reach.places[1] + 0.03])
    start, end = (
        points[np.argmin(np.abs(distances[:, side] - middle) + 10 * (distances[:, 1 - side] < outside))]
        for side in sides
    )
    sim.scatter("red_cube")  # the robot stands where it stands before the cube is moved
    sim.move("red_cube", start)
    sim.goal(kit.at("red_cube", end))
    return sim


@pytest.mark.parametrize("sides", [(0, 1), (1, 0)])
def test_an_object_that_no_arm_reaches_at_both_ends_is_handed_over_at_a_place_that_both_reach(two_arms, table, sides):
    for moves in (False, True):
        sim = handed_over(two_arms.make(moves), table, sides)
        with watched() as motion:
            run = sim.rollout()
        assert run.solved and run.at_rest, run.why
        verbs = ["pick", "pass", "place"] if moves else ["pick", "hand over", "pick", "place"]
        assert [event.verb for event in run.events] == verbs, "in the air, unless nothing moves"
    assert motion.deepest[0] < 1 and not any("left/" in pair and "right/" in pair for pair in motion.depths_mm)
    model, home = sim.bench().model, two_arms.pair[0].home
    addresses = [model.joint(f"{side}/{name}").qposadr[0] for side in SIDES for name, *_ in JOINTS]
    assert np.allclose(run.qpos[-1][addresses], [*home, *home], atol=0.03), "both wait at home in the end"


def test_a_pair_moves_an_object_with_the_arm_that_reaches_both_ends_and_both_need_grippers(two_arms, table):
    sim = kit.Simulation(replace(kit.Scene.load(table), robot=two_arms.make(True)), 0)
    sim.keep("red_cube", "blue_cube", "yellow_can")
    sim.goal(kit.on("red_cube", "blue_cube"))
    run = sim.rollout()
    assert run.solved and [event.verb for event in run.events] == ["pick", "place"], run.why
    assert actuator_names(sim.bench().model)[0].startswith("left_") and run.actions.shape[1] == 16
    left, right = two_arms.pair
    with pytest.raises(DescriptionError, match="the right arm of twins has no gripper"):
        replace(two_arms, pair=(left, replace(right, fingers=None)))


def test_what_neither_gripper_opens_for_is_carried_between_both_hands_and_reaches_its_place_level(two_arms, table):
    for moves in (False, True):
        sim = kit.Simulation(replace(kit.Scene.load(table), robot=two_arms.make(moves)), 0)
        sim.keep("red_cube")
        sim.resize("red_cube", 2.0)
        middle = sim.scene.table.centre
        sim.scatter("red_cube")  # the robot stands where it stands before the cube is moved
        sim.move("red_cube", middle)
        sim.goal(kit.at("red_cube", middle + 0.12 * sim.scene.right))
        with watched() as motion:
            run = sim.rollout()
        assert run.solved and [event.verb for event in run.events] == ["pick", "place"], run.why
    assert motion.deepest[0] < 1 and run.end("red_cube").rotation[2, 2] > 0.999


def test_two_different_arms_are_a_pair_each_with_its_own_reach_and_cameras(added, own_workspace, tmp_path, refused):
    (tmp_path / "short.urdf").write_text(urdf(scale=0.8))
    shutil.copytree(added / "robots" / "probe", own_workspace / "robots" / "probe")
    assert "there are: probe" in refused("robot", "add", tmp_path / "short.urdf", "--pair", "0.6", "--right", "short")
    assert main(["robot", "add", str(tmp_path / "short.urdf"), "--pair", "0.6", "--right", "probe"]) == 0
    left, right = robot_kind("short").pair or ()
    assert left.reach.far < right.reach.far and [arm.prefix for arm in (left, right)] == ["left/", "right/"]
    assert not set(left.meshes(True)) & set(right.meshes(True))


def test_a_pair_whose_wheel_is_missing_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    robots._registered.cache_clear()
    for name, wheel in (("aloha", "gym-aloha"), ("trossen", "trossen-arm-sim")):
        assert main(["robot", "check", name]) == 2
        error = capsys.readouterr().err
        assert f"pip install --no-deps {wheel}==" in error and len(error.strip().splitlines()) == 1
    assert {"aloha", "trossen"} <= set(ROBOTS) and not {"aloha", "trossen"} & {robot.name for robot in ROBOTS.values()}


@pytest.mark.soak
@pytest.mark.parametrize("name", ["aloha", "trossen"])
def test_the_pairs_of_wheels_hand_a_cube_over_and_are_measured_arm_by_arm(table, name, capsys):
    run = handed_over(robot_kind(name).make(True), table).rollout()
    assert run.solved and [event.verb for event in run.events][:3] == ["pick", "pass", "place"], run.why
    assert main(["robot", "check", name]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["left"] == printed["right"] and printed["left"]["self_collisions_at_home"] == []

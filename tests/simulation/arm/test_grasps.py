"""Grasps and dry runs of an arm: from the side, at an edge for flat objects, and why not; plans end as rollouts do."""

from dataclasses import replace

import numpy as np
import pytest
import tabletop

from pipeline.feasibility import best_first, feasible_first, plan_candidates, read_feasibility, why_not_feasible
from pipeline.planner import PlannerModel
from pipeline.planner.proposals import alternatives, proposals
from pipeline.simulation import kit
from pipeline.simulation.graspability import MAX_DROPPED, grasp_candidates, why_not_picked
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import ROBOTS, robot_kind
from pipeline.simulation.robots.arm.collision import CollisionChecker
from pipeline.simulation.robots.arm.edge_motion import PushPlan, push_plans
from pipeline.simulation.robots.arm.hand import ArmHand
from pipeline.simulation.robots.arm.robot_model import TWO_F85
from pipeline.simulation.robots.arm.tools import finger_tool
from pipeline.simulation.robots.arm.tools.edge_grasps import MIN_OVERHANG_M, chord_of, directions, find_edge
from pipeline.simulation.robots.arm.tools.edge_pushes import STABLE_M, edge_pushes
from pipeline.simulation.robots.arm.tools.finger_grasps import find_grasps
from pipeline.simulation.robots.arm.universal_robots import two_finger_arm
from pipeline.simulation.robots.arm.ur5e_kinematics import Ur5eKinematics
from pipeline.tasks import ask_for_proposals, scene_to_json, understand_instruction


@pytest.fixture
def sim(table):
    return kit.Simulation(replace(kit.Scene.load(table), robot=robot_kind("arm").make(True)))


@pytest.fixture
def physics(sim):
    physics = Physics(sim.bench())
    physics.settle(0.5)
    return physics


def tilt(grasp):
    return np.arccos(np.clip(-grasp.approach[2], -1, 1))


@pytest.mark.parametrize("name", ["red_cube", "blue_cube", "yellow_can", "orange_ball", "white_bowl"])
def test_every_grasp_closes_along_a_level_line_where_the_open_gripper_has_room(physics, name):
    clearance = CollisionChecker(physics, two_finger_arm())
    target = physics.state()[name]
    search = find_grasps(physics, target, TWO_F85, clearance)
    for grasp in search.grasps:
        assert abs(grasp.hand[2, 1]) < 1e-9 and grasp.approach[2] < 0, "level, and never from below"
        assert grasp.width <= TWO_F85.max_object and grasp.width < grasp.opening <= TWO_F85.max_opening
        if tilt(grasp) > 0.1:
            assert clearance.gripper_collision(grasp.hand, grasp.opening) == ""
    for dropped in search.dropped:
        assert dropped.cause in ("wide", "sloped", "blocked") and bool(dropped.blocker) == (dropped.cause == "blocked")
        assert dropped.cause != "wide" or dropped.width > TWO_F85.max_object


def test_the_gripper_alone_collides_as_on_its_arm_and_at_an_edge_with_the_upper_arm(physics, flat_table):
    clearance, hand = CollisionChecker(physics, two_finger_arm()), physics.world.robot.hand(physics)
    clearance.refresh()
    can = physics.state()["yellow_can"]
    for height, expected in ((0.25, ""), (0.0, "yellow_can"), (-can.height, "table")):
        pose = np.array(hand.kinematics.forward(hand.home))
        pose[:3, 3] = [*can.position[:2], can.top + height]
        assert clearance.gripper_collision(pose, 0.05) in ((expected,) if height >= 0 else ("table", "yellow_can"))
    assert clearance.first_collision(hand.home, 0.05) == "", "the checker's own arm is where it was"
    physics = world(flat_table)
    clearance = physics.world.robot.hand(physics).clearance
    clearance.refresh()
    folded = np.array([0.79, -1.19, 2.68, -1.49, -1.37, 1.57])
    assert clearance.first_collision(folded, 0.02, folded=True) == "itself"
    assert clearance.first_collision(physics.world.robot.hand(physics).home, 0.08, folded=True) == ""


def test_an_object_is_carried_by_a_level_grasp(sim, monkeypatch):
    search = finger_tool.find_grasps

    def level_only(*arguments):
        found = search(*arguments)
        return replace(found, grasps=tuple(grasp for grasp in found.grasps if tilt(grasp) > np.radians(50)))

    monkeypatch.setattr(finger_tool, "find_grasps", level_only)
    sim.keep("yellow_can")
    sim.goal(kit.at("yellow_can", sim["yellow_can"].position[:2] + 0.12))
    run = sim.rollout()
    assert run.solved, run.why
    assert np.degrees(run.end("yellow_can").tilt) < 5


@pytest.mark.parametrize("robot", [name for name, kind in ROBOTS.items() if not kind.floats])
@pytest.mark.parametrize("name", ["blue_cube", "yellow_can"])
def test_grasps_come_first_close_to_the_object_and_dropped_ones_say_why(table, robot, name):
    scene = kit.Scene.load(table)
    candidates = grasp_candidates(scene, robot, name)
    reasons = [candidate.reason for candidate in candidates]
    assert reasons == sorted(reasons, key=bool) and not reasons[0]
    assert sum(map(bool, reasons)) <= MAX_DROPPED
    for pose in (candidate.object_from_gripper for candidate in candidates):
        assert np.linalg.norm(pose[:3, 3]) < np.linalg.norm(scene[name].size)
        assert np.allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3))


def test_what_the_robot_cannot_pick_up_is_carried_by_no_proposal_and_of_a_light_table_that_is_nothing(table, project):
    scene = kit.Scene.load(table)
    data = scene_to_json(scene)
    assert len(proposals(data)) > 3
    for refused in data["objects"]:
        others = [one for one in data["objects"] if one is not refused]
        plans = proposals(data | {"objects": [*others, refused | {"robot_cannot_pick_it_up": "too wide"}]})
        assert plans
        assert not [p.instruction for p in plans for goal in p.goals if refused["name"] in goal.carried]
    everything = {o.name: "out of reach" for o in scene.objects}
    assert not ask_for_proposals(scene, PlannerModel(), not_picked=everything).tasks
    scene = kit.Scene.load(project)
    usable = dict(ROBOTS.items())
    assert [why_not_picked(scene, robot) for robot in usable] == [{}] * len(usable)
    with pytest.raises(kit.KitError, match="Choose a robot arm"):
        grasp_candidates(scene, "gripper", "red_cube")


def planned(table, robot, moves, *goals):
    sim = kit.Simulation(replace(kit.Scene.load(table), robot=robot_kind(robot).make(moves)), 0)
    sim.keep("red_cube", "blue_cube", "yellow_can", "white_bowl")
    sim.goal(*goals)
    return sim.rollout()


@pytest.mark.parametrize("robot", ["arm", "arm-suction"])
def test_objects_end_where_the_arm_sets_them_down(table, robot):
    goals = kit.on("red_cube", "blue_cube"), kit.at("yellow_can", (0.15, 0.1))
    dry, real = (planned(table, robot, moves, *goals) for moves in (False, True))
    assert dry.solved and real.solved, (dry.why, real.why)
    assert np.ptp(dry.actions, axis=0).max() < 1e-9, "the arm stays at home in a dry run"
    assert [(e.verb, e.object) for e in dry.events] == [(e.verb, e.object) for e in real.events]
    for name in ("red_cube", "blue_cube", "yellow_can"):
        assert np.allclose(dry.end(name).position, real.end(name).position, atol=0.012)


def test_tasks_that_the_robot_can_do_come_first_and_others_keep_their_reason(table, sandbox):
    scene = kit.Scene.load(table)
    texts = "Put the red cube on the blue cube", "Move the white bowl into the zone on the left"
    able, unable = (understand_instruction(text, scene, PlannerModel()) for text in texts)
    results = {}
    for task in (unable, able):
        results[task] = why_not_feasible(task, table, sandbox, "arm")
        assert read_feasibility(task, table, "arm") == results[task]
        assert why_not_feasible(task, table, sandbox, "gripper") == ""
    ordered = feasible_first([unable, able], table, "arm")
    assert [bool(results[task]) for task in ordered] == sorted(bool(reason) for reason in results.values())
    assert results[able] == ""


def test_of_each_kind_a_feasible_candidate_is_chosen_also_of_other_tasks(table, sandbox, monkeypatch):
    data = scene_to_json(scene := kit.Scene.load(table))
    first, more = ({p.instruction for p in plans} for plans in (proposals(data), alternatives(data)))
    assert more and not first & more and len(more) == len(alternatives(data))
    candidates = ask_for_proposals(scene, PlannerModel(), alternatives=True).tasks
    reasons = {task.instruction: "too wide" for task in candidates if "red" in task.instruction}
    monkeypatch.setattr("pipeline.feasibility.why_not_feasible", lambda task, *_: reasons.get(task.instruction, ""))
    chosen = best_first(list(plan_candidates(candidates, table, sandbox, "arm")), 99)
    assert len({one.task.instruction for one in chosen}) == len(chosen)
    assert [bool(one.reason) for one in chosen] == sorted(bool(one.reason) for one in chosen)
    kinds_able = {task.kind for task in candidates if task.instruction not in reasons}
    assert {one.task.kind for one in chosen if one.reason}.isdisjoint(kinds_able)
    assert {one.task.kind for one in chosen} == {task.kind for task in candidates}


BOOK = ("book", "box", "blue", (0.17, 0.13, 0.02), (0.0, 0.0), 0.25)
CUBE = ("cube", "cube", "red", (0.05, 0.05, 0.05), (-0.22, -0.15), 0.1)
EDGE_Y = -0.25
"""Where the table ends on the side from which the arm stands away."""


@pytest.fixture(scope="module")
def flat_table(tmp_path_factory):
    """A project with a book and a cube on a table that ends 25 cm before the middle and 35 cm to its sides."""
    folder = tabletop.write(tmp_path_factory.mktemp("flat"), objects={"blue_book": BOOK, "red_cube": CUBE})
    file = folder / "scene" / "scene.xml"
    edges = 'size="0.35 0.275 0.02" pos="0 0.025 -0.02"'
    file.write_text(file.read_text().replace('size="0.6 0.6 0.02" pos="0 0 -0.02"', edges))
    return folder


def simulation(folder, **place):
    sim = kit.Simulation(replace(kit.Scene.load(folder), robot=robot_kind("arm").make(True)))
    if place:
        sim.move("blue_book", **place)
    return sim


def world(folder, **place):
    physics = Physics(simulation(folder, **place).bench())
    physics.settle(0.5)
    return physics


@pytest.mark.parametrize("overhang", [-0.02, 0.01, 0.03, 0.05])
def test_the_measured_overhang_is_how_far_the_object_is_beyond_the_edge(flat_table, overhang):
    physics = world(flat_table, xy=(0.0, EDGE_Y - overhang + 0.065), yaw=0.0)
    edge = find_edge(physics, physics.state()["blue_book"], np.array([0.0, -1.0]), 0.0)
    assert edge is not None and edge.overhang == pytest.approx(overhang, abs=0.0015)


@pytest.mark.parametrize("yaw", [0.0, 0.4, -0.7])
def test_a_push_ends_with_room_for_a_finger_and_the_centre_of_mass_on_the_table(flat_table, yaw):
    physics = world(flat_table, xy=(0.05, 0.02), yaw=yaw)
    target = physics.state()["blue_book"]
    others = [o for o in physics.state().objects.values() if o.name != "blue_book"]
    pushes, reason = edge_pushes(physics, target, others, TWO_F85)
    assert pushes and not reason
    for push in pushes:
        outwards = push.motion[:2] / np.linalg.norm(push.motion)
        with physics.shifted("blue_book", push.motion):
            moved = physics.state()["blue_book"]
            edge = find_edge(physics, moved, outwards, 0.0)
            assert edge is not None and edge.overhang > MIN_OVERHANG_M
            assert edge.nearest > STABLE_M - 0.002, "it would fall"
    assert np.allclose(physics.state()["blue_book"].position, target.position), "looking moves nothing"


def test_the_book_on_the_table_is_laid_down_elsewhere_by_friction_alone(flat_table):
    sim = simulation(flat_table, xy=(0.1, -0.1), yaw=0.2)
    sim.goal(kit.at("blue_book", (-0.08, 0.08)))
    run = sim.rollout()
    assert run.solved and run.at_rest, run.why
    assert np.degrees(run.end("blue_book").tilt) < 1 and abs(run.end("blue_book").bottom) < 0.001
    assert run.path("blue_book")[:, 2].max() > 0.09, "it was lifted"
    assert run.moved("red_cube") < 0.002


def test_pushes_that_are_blocked_or_out_of_reach_and_a_book_far_from_every_edge_say_so(tmp_path, flat_table):
    physics = world(flat_table, xy=(0.0, 0.0), yaw=0.0)
    wall = physics.state()["red_cube"]
    outline = np.array([[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]])
    around = replace(wall, outline=outline, top=0.05, bottom=0.0)
    pushes, reason = edge_pushes(physics, physics.state()["blue_book"], [around], TWO_F85)
    assert not pushes and "would collide with red_cube when it is pushed" in reason
    hand = physics.world.robot.hand(physics)
    assert isinstance(hand, ArmHand)
    hand.kinematics = Ur5eKinematics(hand.kinematics.base + np.array([2.0, 2.0, 0.0]), hand.kinematics.yaw)
    plans = list(push_plans(hand, "blue_book", None))
    assert plans and not any(isinstance(plan, PushPlan) for plan in plans)
    assert all("out of reach" in str(plan) for plan in plans)
    folder = tabletop.write(tmp_path / "wide", objects={"blue_book": BOOK})
    assert "no edge within" in why_not_picked(kit.Scene.load(folder), "arm")["blue_book"]
    assert why_not_picked(kit.Scene.load(folder), "arm-suction") == {}
    scene = kit.Scene.load(flat_table)
    assert why_not_picked(scene, "arm") == {}
    taken = [c.object_from_gripper for c in grasp_candidates(scene, "arm", "blue_book") if not c.reason]
    assert taken and all(abs(pose[2, 1]) > 0.99 for pose in taken), "one finger above, one below"


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.2])
def test_a_chord_through_the_middle_of_a_disc_is_its_diameter(angle):
    around = np.linspace(0, 2 * np.pi, 96, endpoint=False)
    disc = Object(
        "disc", "plate", "cylinder", "blue", (0, 0, 255), np.array([0.2, 0.2, 0.02]), np.array([0.3, -0.1, 0.01]),
        np.array([1.0, 0, 0, 0]), 0.1 * np.stack([np.cos(around), np.sin(around)], -1) + [0.3, -0.1], 0.02, 0.0,
    )  # fmt: skip
    along = np.array([np.cos(angle), np.sin(angle)])
    assert chord_of(disc, along, 0.0) == pytest.approx((-0.1, 0.1), abs=0.0005)
    assert chord_of(disc, along, 0.06) == pytest.approx((-0.08, 0.08), abs=0.0005)
    assert chord_of(disc, along, 0.11) is None
    assert len(list(directions(disc))) == 12

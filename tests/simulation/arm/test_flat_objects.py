"""The fingers take flat objects from above and below at an edge, pushed there first where they must be."""

from dataclasses import replace

import numpy as np
import pytest
import tabletop

from pipeline.simulation import kit
from pipeline.simulation.arm.arm_robot import Arm
from pipeline.simulation.arm.edge_motion import PushPlan, push_plans
from pipeline.simulation.arm.grasp_candidates import grasp_candidates
from pipeline.simulation.arm.graspability import why_not_picked
from pipeline.simulation.arm.hand import ArmHand
from pipeline.simulation.arm.kinematics import Kinematics
from pipeline.simulation.arm.tools.edge_grasps import MIN_OVERHANG_M, chord_of, directions, find_edge
from pipeline.simulation.arm.tools.edge_pushes import STABLE_M, edge_pushes
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics

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
    sim = kit.Simulation(replace(kit.Scene.load(folder), robot=Arm()))
    if place:
        sim.move("blue_book", **place)
    return sim


def world(folder, **place):
    physics = Physics(simulation(folder, **place).bench())
    physics.settle(0.5)
    return physics


def others(physics):
    return [o for o in physics.state().objects.values() if o.name != "blue_book"]


@pytest.mark.parametrize("overhang", [-0.02, 0.01, 0.03, 0.05])
def test_the_measured_overhang_is_how_far_the_object_is_beyond_the_edge(flat_table, overhang):
    physics = world(flat_table, xy=(0.0, EDGE_Y - overhang + 0.065), yaw=0.0)
    edge = find_edge(physics, physics.state()["blue_book"], np.array([0.0, -1.0]), 0.0)
    assert edge is not None and edge.overhang == pytest.approx(overhang, abs=0.0015)


@pytest.mark.parametrize("yaw", [0.0, 0.4, -0.7])
def test_a_push_ends_with_room_for_a_finger_and_the_centre_of_mass_on_the_table(flat_table, yaw):
    physics = world(flat_table, xy=(0.05, 0.02), yaw=yaw)
    target = physics.state()["blue_book"]
    pushes, reason = edge_pushes(physics, target, others(physics))
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


def test_pushes_that_are_blocked_or_out_of_reach_say_so(flat_table):
    physics = world(flat_table, xy=(0.0, 0.0), yaw=0.0)
    wall = physics.state()["red_cube"]
    outline = np.array([[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]])
    around = replace(wall, outline=outline, top=0.05, bottom=0.0)
    pushes, reason = edge_pushes(physics, physics.state()["blue_book"], [around])
    assert not pushes and "would collide with red_cube when it is pushed" in reason
    hand = physics.world.robot.hand(physics)
    assert isinstance(hand, ArmHand)
    hand.kinematics = Kinematics(hand.kinematics.base + np.array([2.0, 2.0, 0.0]), hand.kinematics.yaw)
    plans = list(push_plans(hand, "blue_book", None))
    assert plans and not any(isinstance(plan, PushPlan) for plan in plans)
    assert all("out of reach" in str(plan) for plan in plans)


def test_a_book_far_from_every_edge_is_refused_and_one_near_an_edge_has_grasps(tmp_path, flat_table):
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


def test_the_gripper_at_an_edge_close_to_the_base_is_checked_against_the_upper_arm(flat_table):
    physics = world(flat_table)
    clearance = physics.world.robot.hand(physics).clearance
    clearance.refresh()
    folded = np.array([0.79, -1.19, 2.68, -1.49, -1.37, 1.57])
    assert clearance.first_collision(folded, 0.02, folded=True) == "itself"
    assert clearance.first_collision(physics.world.robot.hand(physics).home, 0.08, folded=True) == ""

"""A goal is met exactly where it misses by nothing, and its value tells how near it is."""

import numpy as np
import pytest

from pipeline.simulation import kit


@pytest.fixture(scope="module")
def scene(table):
    return kit.Scene.load(table)


def placed(scene, **poses):
    """The state with things moved: name=(steps right, steps away, z of the bottom) from the table's centre."""
    sim = kit.Simulation(scene, 0)
    sim.keep(*poses)
    sim.add_zone("zone", scene.table.centre, (0.2, 0.1))
    for name, (right, away, z) in poses.items():
        sim.move(name, xy=scene.table.centre + right * scene.right + away * scene.away, z=z)
    return sim.state()


CASES = [
    (kit.on("red_cube", "blue_cube"), {"red_cube": (0, 0, 0.06), "blue_cube": (0, 0, 0)}, True),
    (kit.on("red_cube", "blue_cube"), {"red_cube": (0.04, 0, 0.06), "blue_cube": (0, 0, 0)}, True),
    (kit.on("red_cube", "blue_cube"), {"red_cube": (0.06, 0, 0.06), "blue_cube": (0, 0, 0)}, False),
    (kit.on("red_cube", "blue_cube"), {"red_cube": (0, 0, 0.09), "blue_cube": (0, 0, 0)}, False),
    (kit.on("red_cube", "blue_cube"), {"red_cube": (0.1, 0, 0), "blue_cube": (0, 0, 0)}, False),
    (kit.on("blue_cube", "red_cube"), {"red_cube": (0, 0, 0.06), "blue_cube": (0, 0, 0)}, False),
    (kit.inside("green_cube", "white_bowl"), {"green_cube": (0, 0, 0.007), "white_bowl": (0, 0, 0)}, True),
    (kit.inside("green_cube", "white_bowl"), {"green_cube": (0, 0, 0.06), "white_bowl": (0, 0, 0)}, False),
    (kit.inside("green_cube", "white_bowl"), {"green_cube": (0.12, 0, 0), "white_bowl": (0, 0, 0)}, False),
    (kit.in_zone("red_cube", "zone"), {"red_cube": (0.07, 0.02, 0)}, True),
    (kit.in_zone("red_cube", "zone"), {"red_cube": (0.09, 0.02, 0)}, False),
    (kit.in_zone("red_cube", "zone", tolerance=0.03), {"red_cube": (0.09, 0.02, 0)}, True),
    (kit.near("red_cube", "blue_cube"), {"red_cube": (0.14, 0, 0), "blue_cube": (0, 0, 0)}, True),
    (kit.near("red_cube", "blue_cube"), {"red_cube": (0.16, 0, 0), "blue_cube": (0, 0, 0)}, False),
    (kit.away("red_cube", "blue_cube"), {"red_cube": (0.26, 0, 0), "blue_cube": (0, 0, 0)}, True),
    (kit.away("red_cube", "blue_cube"), {"red_cube": (0.24, 0, 0), "blue_cube": (0, 0, 0)}, False),
    (kit.left_of("red_cube", "blue_cube"), {"red_cube": (-0.1, 0, 0), "blue_cube": (0, 0, 0)}, True),
    (kit.right_of("red_cube", "blue_cube"), {"red_cube": (-0.1, 0, 0), "blue_cube": (0, 0, 0)}, False),
    (kit.behind("red_cube", "blue_cube"), {"red_cube": (0, 0.1, 0), "blue_cube": (0, 0, 0)}, True),
    (kit.in_front_of("red_cube", "blue_cube"), {"red_cube": (0, 0.1, 0), "blue_cube": (0, 0, 0)}, False),
    (kit.on_table("red_cube"), {"red_cube": (0, 0, 0)}, True),
    (kit.on_table("red_cube"), {"red_cube": (0, 0, 0.06), "blue_cube": (0, 0, 0)}, False),
    (kit.upright("yellow_can"), {"yellow_can": (0, 0, 0)}, True),
]


@pytest.mark.parametrize(("goal", "poses", "met"), CASES, ids=lambda v: getattr(v, "name", None))
def test_a_goal_is_met_where_it_should_be(scene, goal, poses, met):
    state = placed(scene, **poses)
    assert goal.met(state) is met
    assert (goal.miss(state) == 0) is met
    assert (goal.value(state) == 1) is met and 0 <= goal.value(state) <= 1


ROW = {"red_cube": (-0.1, 0, 0), "green_cube": (0, 0.01, 0), "blue_cube": (0.1, -0.01, 0)}


def test_a_row_is_in_order_on_one_line_and_evenly_spaced_where_asked(scene):
    state, order = placed(scene, **ROW), ["red_cube", "green_cube", "blue_cube"]
    assert kit.in_row(order).met(state)
    assert kit.in_row(order, spacing=0.1).met(state)
    assert not kit.in_row(order, spacing=0.2).met(state)
    assert not kit.in_row(order, tolerance=0.005).met(state)
    assert not kit.in_row(order[::-1]).met(state)
    assert not kit.in_row(order, along="away").met(state)


def test_half_a_row_is_worth_half(scene):
    state = placed(scene, **ROW)
    assert kit.in_row(["red_cube", "blue_cube", "green_cube"]).share(state) == 0.5


def test_the_value_falls_with_the_distance(scene):
    centre = scene.table.centre
    state = placed(scene, red_cube=(0, 0, 0))
    values = [kit.at("red_cube", centre + np.array([far, 0])).value(state) for far in (0, 0.05, 0.1, 0.3)]
    assert values[0] == 1 and np.all(np.diff(values) < 0)


def test_a_stack_is_each_on_the_one_before(scene):
    poses = {"blue_cube": (0, 0, 0), "red_cube": (0, 0, 0.06), "green_cube": (0, 0, 0.11)}
    goal = kit.stacked(list(poses))
    assert [part.name for part in goal.parts] == ["red_cube on blue_cube", "green_cube on red_cube"]
    assert goal.met(placed(scene, **poses))
    assert not goal.met(placed(scene, **(poses | {"green_cube": (0.1, 0, 0)})))

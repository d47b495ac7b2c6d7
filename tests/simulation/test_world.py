"""Programs arrange the table, and every arrangement is physically possible."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.simulation import kit
from pipeline.simulation.free_space import fits, overlapping
from pipeline.simulation.objects import Region, hull
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots import ROBOTS, robot_kind


def names(sim):
    return [o.name for o in sim.objects]


def test_a_simulation_starts_as_photographed_with_a_free_spot_and_keeps_what_it_is_told(scene):
    state = kit.Simulation(scene, 0).state()
    for o in scene.objects:
        assert np.allclose(state[o.name].position, o.position, atol=1e-6) and abs(state[o.name].top - o.top) < 0.001
    sim = kit.Simulation(scene, 0)
    sim.keep("red_cube", "white_bowl")
    assert set(names(sim)) == {"red_cube", "white_bowl"} == set(sim.state().objects)
    sim = kit.Simulation(scene, 0)
    spot = np.array(sim.free_spot(0.04))
    assert scene.table.contains(spot, margin=0.04)
    assert min(float(Region(o.outline).distance(spot)) for o in sim.objects) >= 0.04
    spots = [spot]
    for _ in range(3):
        spots.append(np.array(sim.free_spot(0.03, near=spot, clear_of=spots)))
    assert min(np.linalg.norm(a - b) for a, b in combinations(spots, 2)) >= 0.06, "each is free of the ones before"
    assert np.linalg.norm(spots[1] - spot) < 0.1


@pytest.mark.parametrize("robot", ["gripper", "arm"])
def test_the_mirror_images_of_what_is_scattered_are_free_and_in_reach_if_wanted(scene, robot):
    group, taken = ("red_cube", "blue_cube", "green_cube"), {False: 0, True: 0}
    for seed, mirrored in ((seed, mirrored) for seed in range(1, 9) for mirrored in taken):
        sim = kit.Simulation(replace(scene, robot=robot_kind(robot).make(False)), seed)
        sim.scatter(*group, mirrored=mirrored)
        others, mount = [o for o in sim.objects if o.name not in group], sim._mounted()
        taken[mirrored] += not all(
            fits(xy[None], sim[name], others, 0.02)[0] and (mount is None or mount.reaches(xy[None])[0])
            for name, xy in sim.mirrored(*group).items()
        )
    assert taken[False] and not taken[True], taken


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(1, 10_000))
def test_scattered_objects_are_apart_and_fully_on_the_table(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.scatter(*names(sim))
    for o in sim.objects:
        assert scene.table.depth(o.outline).min() > -1e-9, o.name
        assert abs(o.bottom) < 1e-6
    for a, b in combinations(sim.objects, 2):
        assert fits(a.position[None, :2], a, [b], 0.003)[0], f"{a.name} meets {b.name}"


def test_seed_0_scatters_nothing_and_every_other_seed_its_own_way_which_stays_at_rest(scene):
    def layout(seed):
        sim = kit.Simulation(scene, seed)
        sim.scatter(*names(sim))
        return np.array([o.position for o in sim.objects])

    assert np.allclose(layout(0), [o.position for o in scene.objects])
    assert np.allclose(layout(3), layout(3))
    assert not np.allclose(layout(3), layout(4))
    for seed in range(3):
        sim = kit.Simulation(scene, seed)
        sim.scatter(*names(sim))
        physics = Physics(sim.bench())
        physics.wait(1.0)
        state = physics.state()
        for o in sim.objects:
            assert np.linalg.norm(state[o.name].position - o.position) < 0.001, o.name


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(1, 10_000), robot=st.sampled_from([name for name, kind in ROBOTS.items() if not kind.floats]))
def test_an_arm_reaches_all_that_is_scattered_for_it_and_a_seed_is_one_layout(scene, seed, robot):
    arm = robot_kind(robot).make(True)
    wide = scene.table.centre + 2.5 * (scene.table.polygon - scene.table.centre)  # most of it out of reach
    layouts = []
    for _ in range(2):
        sim = kit.Simulation(replace(scene, table=Region(wide), robot=arm), seed)
        mount = sim._mounted()
        sim.scatter(*names(sim))
        assert mount and mount.reaches(np.array([o.position[:2] for o in sim.objects])).all()
        assert sim._mounted() is mount, "the robot does not move between photograph and layout"
        layouts.append([o.position.tobytes() + o.quat_wxyz.tobytes() for o in sim.objects])
    assert layouts[0] == layouts[1]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(1, 10_000))
def test_a_crowded_table_is_scattered_without_a_collision(scene, seed):
    crowded = replace(scene, table=Region(hull(np.concatenate([o.outline for o in scene.objects]))))
    sim = kit.Simulation(crowded, seed)
    sim.scatter(*names(sim))
    for a, b in combinations(sim.objects, 2):
        met = fits(scene[a.name].position[None, :2], scene[a.name], [scene[b.name]], 0)[0]
        assert fits(a.position[None, :2], a, [b], -1e-9)[0] or not met, f"{a.name} meets {b.name}"


def test_a_full_table_a_simulation_that_ran_and_a_folder_without_a_scene_are_reported(scene, tmp_path):
    sim = kit.Simulation(scene, 1)
    for i in range(40):
        sim.copy("white_bowl", f"bowl_{i}", scene.table.centre)
    with pytest.raises(kit.KitError, match=r"no free place of .* cm for .*: keep or scatter fewer"):
        sim.scatter(*names(sim))
    sim = kit.Simulation(scene, 0)
    sim.state(), sim.bench()
    with pytest.raises(kit.KitError, match="has already run"):
        sim.move("red_cube", xy=(0, 0))
    with pytest.raises(kit.KitError, match=r"has no scene\.json: run the stages up to scene first"):
        kit.Scene.load(tmp_path)


def test_objects_on_a_moved_object_move_with_it_and_copies_and_containers_are_real_bodies(scene):
    sim = kit.Simulation(scene, 0)
    sim.move("red_cube", xy=sim["blue_cube"].position[:2], z=sim["blue_cube"].top)
    stacked = kit.Simulation(kit.Scene(sim.objects, scene.table, scene.right, scene.away, scene.folder), 0)
    stacked.move("blue_cube", xy=stacked.free_spot(0.05), yaw=1.0)
    assert stacked["red_cube"].bottom == pytest.approx(stacked["blue_cube"].top)
    assert np.allclose(stacked["red_cube"].position[:2], stacked["blue_cube"].position[:2])
    stacked.remove("blue_cube")
    assert stacked["red_cube"].bottom == pytest.approx(0)
    sim = kit.Simulation(scene, 0)
    sim.resize("yellow_can", 0.7)
    sim.copy("yellow_can", "small_can", sim.free_spot(0.05))
    state = sim.state()
    assert state["small_can"].height == pytest.approx(0.07, abs=0.002)
    assert state["yellow_can"].height == pytest.approx(0.07, abs=0.002)
    assert state.touches("small_can", "table")
    sim = kit.Simulation(scene, 0)
    sim.keep("orange_ball")
    sim.add_container("tray", sim.free_spot(0.1), (0.16, 0.12), height=0.04)
    sim.goal(kit.inside("orange_ball", "tray"))
    assert sim.rollout().solved
    assert sim.rollout().moved("tray") == 0


MISUSES = {
    "there is no object 'cup'; there are: red_cube": lambda sim: sim.keep("cup"),
    "the factor may be 0.5 to 2": lambda sim: sim.resize("red_cube", 3),
    "'a b' is no name": lambda sim: sim.add_zone("a b", (0, 0), 0.1),
    "xy is two numbers": lambda sim: sim.move("red_cube", xy=(0, 0, 1)),
    "needs a size larger than zero": lambda sim: sim.add_zone("zone", (0, 0), 0),
    "goal takes one or more goals": lambda sim: sim.goal("red_cube on blue_cube"),
    "there is nothing to do yet": lambda sim: sim.rollout(),
    "no free place of 200 cm": lambda sim: sim.free_spot(1.0),
    "zero or more, not -1": lambda sim: sim.goal(kit.near("red_cube", "blue_cube", distance=-1)),
    'it may be "right" or "away"': lambda sim: sim.goal(kit.in_row(["red_cube", "blue_cube"], along="up")),  # pyright: ignore[reportArgumentType]
    "it may be size, height": lambda _: kit.sorted_by(["a", "b"], "beauty"),
    "takes a list of goals": lambda _: kit.count([]),
    "takes one goal about objects": lambda _: kit.always(kit.always(kit.on_table("a"))),
    "needs exactly=, at_least= or at_most=": lambda _: kit.count([kit.on_table("a")]),
    "cannot be; ask for 0 to 1": lambda _: kit.count([kit.on_table("a")], at_least=2),
}


@pytest.mark.parametrize("message", MISUSES)
def test_every_misuse_says_what_would_work(scene, message):
    with pytest.raises(kit.KitError, match=message.replace("(", r"\(")):
        MISUSES[message](kit.Simulation(scene, 0))


@pytest.mark.parametrize(
    ("moved", "to", "metres", "z", "overlaps"),
    [
        ("blue_cube", "red_cube", 0.035, None, True),
        ("blue_cube", "red_cube", 0.052, None, False),
        ("purple_carton", "white_bowl", 0.08, None, True),
        ("green_cube", "white_bowl", 0.0, 0.006, False),
        ("green_cube", "red_cube", 0.0, 0.05, False),
    ],
)
def test_objects_reach_into_each_other_unless_they_touch_lie_in_a_bowl_or_on_top(scene, moved, to, metres, z, overlaps):
    sim = kit.Simulation(scene, 0)
    sim.move(moved, xy=sim[to].position[:2] + metres * np.array(scene.right), z=z)
    assert [{a.name, b.name} for a, b in overlapping(sim.objects)] == [{moved, to}] * overlaps


@given(seed=st.integers(0, 10_000), count=st.integers(1, 5), more=st.floats(0, 0.3))
@settings(max_examples=10, deadline=None)
def test_objects_stand_evenly_around_another_and_apart(scene, seed, count, more):
    sim = kit.Simulation(scene, seed)
    sim.scatter(*names(sim))
    middle, *around = np.random.default_rng(seed).permutation(names(sim))[: count + 1]
    free = sim.circle_around(middle, *around)
    radius = np.linalg.norm(free[around[0]] - sim[middle].position[:2]) + more
    places = sim.circle_around(middle, *around, radius=float(radius))
    assert np.allclose([np.linalg.norm(xy - sim[middle].position[:2]) for xy in places.values()], radius)
    standing = [sim[middle], *(sim[name].moved(xy) for name, xy in places.items())]
    for a, b in combinations(standing, 2):
        assert fits(a.position[None, :2], a, [b], 0.0)[0], f"{a.name} meets {b.name}"
    with pytest.raises(kit.KitError, match="has room: at least"):
        sim.circle_around(middle, *around, radius=0.01)

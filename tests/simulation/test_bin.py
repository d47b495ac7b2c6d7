"""A bin, of which the table is the floor: tasks take out of it, over its walls, into a tray beside it."""

import json
import re
from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.geometry import planar_rotation
from pipeline.planner import PlannerModel
from pipeline.router import write_program
from pipeline.router.judging import judge
from pipeline.scene.placement import Wall
from pipeline.scene.scene_files import write_scene
from pipeline.simulation import kit
from pipeline.simulation.robots import robot_kind
from pipeline.tasks import TaskError, propose, understand_instruction

RULES = PlannerModel()
HALF = np.array([0.2, 0.15])
EVERYTHING = ["red_box", "blue_box", "blue_ball"]


def bin_scene(folder, height, lean=0.0, yaw=0.0):
    """Return the kit's scene of three things between walls that lean outwards. Without a height there are no walls."""
    folder.mkdir(exist_ok=True)
    turned = planar_rotation(yaw)
    walls = []
    for number, (axis, sign) in enumerate([(0, -1), (0, 1), (1, -1), (1, 1)], 1):
        foot = np.empty((4, 2))
        foot[:, axis] = sign * (HALF[axis] + np.array([0, 0.015, 0.015, 0]))
        foot[:, 1 - axis] = np.array([-1, -1, 1, 1]) * (HALF[1 - axis] + 0.015)
        x, y = turned[:, axis] * sign * lean
        walls.append(Wall(f"bin_wall_{number}", foot @ turned.T, height, (120, 120, 120), (float(x), float(y))))
    things = [
        make.placement(make.box(folder, (0.04, 0.06, 0.05)), "red_box", (0.1, 0.04), colour="red"),
        make.placement(make.box(folder, (0.05, 0.05, 0.03)), "blue_box", (-0.09, 0.06), number=2, colour="blue"),
        make.placement(make.ball(folder, 0.025), "blue_ball", (0.0, -0.07), number=3, colour="blue", shape="sphere"),
    ]
    floor = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * HALF @ turned.T
    write_scene(replace(make.scene(*things), table=floor, walls=tuple(walls) if height else ()), folder)
    return kit.Scene.load(folder)


def arranged(task, scene, seed, robot):
    """Return the simulation that the rules write for a task."""
    names: dict = {}
    source = write_program(task, scene, RULES).simulation
    exec(source.replace("import kit", "from pipeline.simulation import kit"), names)
    return names["build"](replace(scene, robot=robot_kind(robot).make(True)), seed)


@pytest.mark.parametrize("robot", ["gripper", "arm"])
@pytest.mark.parametrize("height, lean, yaw", [(0.06, 0.5, 0.3), (0.16, 0.0, -0.2)])
def test_things_are_taken_out_over_the_walls_into_a_tray_that_stands_outside(tmp_path, robot, height, lean, yaw):
    scene = bin_scene(tmp_path, height, lean, yaw)
    proposed = {task.kind: task for task in propose(scene, RULES)}
    assert {"take_out", "gather"} <= proposed.keys() and "put_in_tray" not in proposed
    everything = understand_instruction("empty the bin", scene, RULES)
    for task in (proposed["take_out"], proposed["gather"], everything):
        again = understand_instruction(task.instruction, scene, RULES)
        assert again.goals == task.goals
        sim = arranged(task, scene, 1, robot)
        tray = next(o for o in sim.objects if o.container)
        assert scene.footprint.distance(tray.outline).min() > 0
        run = sim.rollout()
        assert run.reward == 1, f"{task.instruction} {run.why}"


@pytest.mark.parametrize(
    "words, carried",
    [
        ("take the red box out of the bin", ["red_box"]),
        ("please remove all the blue things from the crate", ["blue_box", "blue_ball"]),
        ("Empty the tote.", EVERYTHING),
        ("unload the bin and put everything into the tray", EVERYTHING),
        ("get the ball out", ["blue_ball"]),
        ("throw away the blue box", ["blue_box"]),
    ],
)
def test_words_about_taking_out_mean_a_tray_beside_the_bin_and_without_walls_there_is_none(tmp_path, words, carried):
    scene = bin_scene(tmp_path / "bin", 0.1)
    goals = understand_instruction(words, scene, RULES).planned
    assert [goal.names[0] for goal in goals] == carried and all(goal.new_container for goal in goals)
    if "throw" not in words:
        with pytest.raises(TaskError):
            understand_instruction(words, bin_scene(tmp_path / "table", 0.0), RULES)


def test_a_round_accepts_a_tray_outside_the_walls_and_refuses_one_on_them(tmp_path, sandbox):
    scene = bin_scene(tmp_path, 0.1)
    task = understand_instruction("take the red box out of the bin", scene, RULES)
    program = write_program(task, scene, RULES)
    assert judge(program, task, scene, tmp_path, sandbox).clean
    on_wall = re.sub(r"xy=\(.*?\)", "xy=(0.25, 0.0)", program.simulation)
    report = judge(replace(program, simulation=on_wall), task, scene, tmp_path, sandbox)
    failed = [check.message for check in report.checks if not check.passed]
    assert any("tray extends beyond the edge" in message for message in failed)


@pytest.mark.parametrize("height", [0.0, 0.1])
def test_a_robot_stands_outside_the_walls(tmp_path, height):
    scene = bin_scene(tmp_path, height, lean=1.0)
    mount = robot_kind("arm").make(False).mount(scene.objects, scene.footprint, scene.away)
    assert scene.footprint.distance(mount.base) > 0.05 and scene.footprint.contains(scene.table.centre)


@pytest.mark.parametrize("words", ["put the red box into the bin", "dispose of the red box in the bin"])
def test_what_is_in_the_bin_is_not_put_into_it_again(tmp_path, words):
    with pytest.raises(TaskError, match="a bin around them already"):
        understand_instruction(words, bin_scene(tmp_path, 0.1), RULES)


@pytest.mark.parametrize(
    "words", ["empty the box", "take the ball out of the box", "empty the ball", "take the red box out of the blue box"]
)
def test_a_word_for_an_object_is_not_taken_for_the_bin(tmp_path, words):
    with pytest.raises(TaskError):
        understand_instruction(words, bin_scene(tmp_path, 0.1), RULES)


def test_what_stands_outside_the_walls_is_not_taken_out_and_no_tray_stands_on_it(tmp_path):
    scene = bin_scene(tmp_path, 0.1)
    first = understand_instruction("empty the bin", scene, RULES)
    tray = next(o for o in arranged(first, scene, 0, "gripper").objects if o.container)
    away = scene["red_box"].moved(tray.position[:2])
    scene = replace(scene, objects=(away, *scene.objects[1:]))
    task = understand_instruction("empty the bin", scene, RULES)
    assert [goal.names[0] for goal in task.planned] == EVERYTHING[1:]
    moved = next(o for o in arranged(task, scene, 0, "gripper").objects if o.container)
    assert np.hypot(*(moved.position - away.position)[:2]) > moved.radius
    with pytest.raises(TaskError, match="not in the bin"):
        understand_instruction("take the red box out of the bin", scene, RULES)


def test_a_container_is_not_called_as_an_object_is(tmp_path):
    scene = bin_scene(tmp_path, 0.1)
    scene = replace(scene, objects=(*scene.objects[:2], replace(scene.objects[2], name="tray", category="tray")))
    assert not [goal for task in propose(scene, RULES) for goal in task.planned if goal.new_container]


DAMAGES = [
    lambda data: data["walls"][0].pop("lean"), lambda data: data["walls"][0].update(lean="x"),
    lambda data: data["walls"][0].update(outline=[[0, 0]]), lambda data: data["walls"][0].update(outline=5),
    lambda data: data.update(walls=7), lambda data: data.update(shelves=[{}]), lambda data: data.update(placements=[3]),
    lambda data: data.update(table=[[1, 2]]), lambda data: data.pop("world_from_camera"),
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_scene_file_is_named_in_one_line(tmp_path, damage):
    bin_scene(tmp_path, 0.1)
    data = json.loads((tmp_path / "scene.json").read_text())
    damage(data)
    (tmp_path / "scene.json").write_text(json.dumps(data))
    with pytest.raises(kit.KitError, match=r"scene\.json is damaged \(.*\); build the scene again") as told:
        kit.Scene.load(tmp_path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("text", ["", "[3]", "[{}]", '[{"segment_id": 1, "attributes": 5}]', "{"])
def test_damaged_descriptions_are_named_and_not_the_scene(tmp_path, text):
    bin_scene(tmp_path, 0.1)
    (tmp_path / "descriptions.json").write_text(text)
    with pytest.raises(kit.KitError, match=r"^descriptions\.json is damaged"):
        kit.Scene.load(tmp_path)

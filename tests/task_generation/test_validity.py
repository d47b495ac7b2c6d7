import pytest

from pipeline.simulation import kit
from pipeline.simulation.program import Program
from pipeline.task_generation.validity import happens_without_robot, measure_validity
from pipeline.tasks import Task

SEEDS = (5001, 5002)


def measured(table, sandbox, *goals, seeds=SEEDS):
    return measure_validity(Task("a", "Do it.", ("red_cube",), goals), table, sandbox, seeds=seeds)


def test_a_task_that_the_robot_does_is_valid_unless_it_is_done_already(table, sandbox):
    found = measured(table, sandbox, "red_cube is inside teal_bowl")
    assert not found.reason and found.solved == found.layouts == 2 and 0 < found.difficulty < 0.5
    assert found.seconds > 0 and found.actions >= 2
    x, y = kit.Scene.load(table)["red_cube"].position[:2]
    found = measured(table, sandbox, f"red_cube stands at ({x:.3f}, {y:.3f})")
    assert found.reason == "the goals hold at the start as photographed"


@pytest.mark.parametrize(
    ("goals", "reason"),
    [
        (("red_cube is on the table",), "no program can be written"),
        (("teal_bowl is inside red_cube",), "no program can be written"),
        (("red_cube is left of blue_cube", "red_cube is right of blue_cube"), "solved in 0 of 2 layouts"),
    ],
)
def test_trivial_and_impossible_tasks_are_rejected_with_the_reason(table, sandbox, goals, reason):
    assert measured(table, sandbox, *goals).reason.startswith(reason)


def test_a_goal_that_comes_true_by_itself_is_no_task(table, sandbox):
    """The cube is let go above the table, so it comes to stand on it while the robot does nothing."""
    source = (
        "import kit\n\n\ndef build(scene, seed):\n    sim = kit.Simulation(scene, seed)\n"
        '    sim.move("red_cube", z=0.05)\n    sim.goal(kit.on_table("red_cube"))\n    return sim\n'
    )
    recipes, _ = sandbox.arrange(Program(source, ""), table, (0,))
    assert happens_without_robot(recipes[0], table) == "the goals come true while the robot does nothing"

"""Goals that contradict a task, checks that pass displaced ends, and programs that make a task easier are refused."""

# ruff: noqa: E501  (tables of programs read best one a line)

import re
import sys
from dataclasses import replace

import pytest
import tabletop
from kit_programs import arranged

from pipeline.planner import PlannerModel, program_source
from pipeline.router import judge, judging, write_program
from pipeline.router.intent_check import find_contradiction, task_checks
from pipeline.simulation import Program, kit
from pipeline.simulation.mutations import DISPLACED, displaced_runs
from pipeline.simulation.sandbox import worker
from pipeline.tasks import Task, understand_instruction

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")
RULES = PlannerModel()
TOWER = "stack the red cube and the blue cube"
CONTRADICTIONS = {
    "put the can left of the blue cube": ("left_of", "right_of"),
    "move the can away from the blue cube": ("away", "near"),
    "put the green cube on the blue cube": ('"green_cube", "blue_cube"', '"blue_cube", "green_cube"'),
    "put the green cube on the red cube": ("kit.on", "kit.near"),
    f"{TOWER}, bottom first": ('"red_cube", "blue_cube"', '"blue_cube", "red_cube"'),
}


def requested(program, scene):
    """Return the goals of a program as the sandbox reports them."""
    return worker._to_json(worker.requested_goals(arranged(program.simulation, scene)))


@pytest.mark.parametrize("words", CONTRADICTIONS)
@pytest.mark.parametrize("goals", ["the rules' goals", "goals in other words"])
def test_only_goals_that_contradict_the_task_are_reported(scene, words, goals):
    task = understand_instruction(words, scene, RULES)
    good = write_program(task, scene, RULES)
    bad = replace(good, simulation=good.simulation.replace(*CONTRADICTIONS[words]))
    task = task if goals == "the rules' goals" else replace(task, goals=("as the words say",))
    assert bad != good and not find_contradiction(task, scene, requested(good, scene))
    assert "the simulation asks for" in find_contradiction(task, scene, requested(bad, scene))


RED_GREEN_BLUE = "Stack the red cube, the green cube and the blue cube"
ORDERED = {
    f"{RED_GREEN_BLUE}, the red cube at the bottom.": True,
    f"{RED_GREEN_BLUE}, the blue cube on top.": True,
    f"{RED_GREEN_BLUE} from small to big.": True,
    f"{RED_GREEN_BLUE} at the bottom of the picture.": False,
    "Stack the cubes, the red cube at the bottom.": False,
    "Stack the blue cube, the green cube and the red cube, the red cube at the bottom.": False,
}


@pytest.fixture(scope="module")
def tower(scene):
    """A task of a tower of the red, green and blue cube, bottom first, whose words tests replace, and its program."""
    task = understand_instruction(f"{RED_GREEN_BLUE} in this order, bottom first", scene, RULES)
    program = write_program(task, scene, RULES)
    assert '["red_cube", "green_cube", "blue_cube"]' in program.simulation
    return task, program


def with_order(program, *names):
    listed = ", ".join(f'"{name}"' for name in names)
    changed = program.simulation.replace('"red_cube", "green_cube", "blue_cube"', listed)
    assert changed != program.simulation
    return replace(program, simulation=changed)


@pytest.mark.parametrize("words", ORDERED)
def test_another_order_of_a_tower_contradicts_only_words_that_give_an_order(scene, tower, words):
    task, program = tower
    task = replace(task, instruction=words)
    turned = with_order(program, "red_cube", "blue_cube", "green_cube")
    assert not find_contradiction(task, scene, requested(program, scene))
    assert bool(find_contradiction(task, scene, requested(turned, scene))) is ORDERED[words]


@pytest.mark.parametrize(
    "names, message",
    [(("red_cube", "blue_cube", "green_cube"), ""), (("blue_cube", "green_cube", "red_cube"), "blue_cube is lowest")],
)
def test_an_open_order_is_measured_as_a_tower_on_its_lowest_object(project, scene, sandbox, tower, names, message):
    task, program = tower
    task = replace(task, instruction="Stack the cubes, the red cube at the bottom.")
    checks = "def check_it(sim):\n    assert sim.rollout().solved, 'no'\n"
    program = replace(with_order(program, *names), checks=checks)
    report, _ = sandbox.run(program, project, reference=task_checks(task, scene))
    assert min(report.reward) > 0.99 and report.evidence["measured"] == {"check_in_any_order_0": message}


def test_goals_whose_arguments_are_computed_are_not_read(tower):
    _, program = tower
    computed = re.sub(r"kit\.stacked\((\[.*?\])", r"kit.stacked(sorted(\1)", program.simulation)
    assert computed != program.simulation
    assert [goal.kind for goal in program_source.planned_goals(program.simulation)] == ["stacked"]
    assert program_source.planned_goals(computed) == ()


BUILD = """import kit

def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.scatter("red_cube", "green_cube")
    place = PLACE["green_cube"].position[:2]
    sim.goal(kit.at("red_cube", place))
    return sim
"""
RIGHT, PHOTOGRAPHED = BUILD.replace("PLACE", "sim"), BUILD.replace("PLACE", "scene")
MEASURE = """import math

def check_place(sim):
    run = sim.rollout()
    off = run.end("red_cube").position[:2] - run.start("green_cube").position[:2]
    assert MEASURED, "elsewhere"
"""
DISTANCE = MEASURE.replace("MEASURED", "math.hypot(*off) < 0.05")


def test_a_later_layout_is_checked_unless_it_is_not_solved_or_holds_at_the_start(project, sandbox):
    report, _ = sandbox.run(Program(PHOTOGRAPHED, DISTANCE), project, seeds=(0, 1))
    assert min(report.reward) > 0.99
    assert [(check.passed, check.message) for check in report.checks] == [(False, "elsewhere (layout 2)")]
    unsolved = RIGHT.replace("place)", "place if seed == 0 else (5.0, 5.0))")
    report, _ = sandbox.run(Program(unsolved, DISTANCE), project, seeds=(0, 1))
    assert report.reward[0] > 0.99 > report.reward[1] and report.clean
    trivial = RIGHT.replace("    return", "    if seed:\n        sim.move('red_cube', xy=place)\n    return")
    trivial = trivial.replace('"red_cube", "green_cube")', '"green_cube")')
    away = "    if seed:\n        sim.move('green_cube', xy=(0.3, -0.1))\n"
    trivial = trivial.replace("    sim.goal", f"{away}    sim.goal")
    checks = DISTANCE + "\ndef check_start(sim):\n    assert sim.reward_at_start() < 0.99, 'at once'\n"
    report, _ = sandbox.run(Program(trivial, checks), project, seeds=(0, 1))
    assert report.evidence["rewards_at_start"] == [0.0, 1.0] and report.clean


def test_checks_that_measure_the_distance_refuse_every_displaced_end_and_others_are_lax(project, sandbox):
    for measured in ("off[0] < 0.05", "math.hypot(*off) < 0.5", "abs(off[1]) < 0.05"):
        program = Program(RIGHT, MEASURE.replace("MEASURED", measured))
        report, _ = sandbox.run(program, project, mutations=(DISPLACED,))
        assert [check.name for check in report.checks if not check.passed] == ["meaning displaced"], measured
        assert "although this happens instead: red_cube ends " in report.checks[-1].message
    report, _ = sandbox.run(Program(RIGHT, DISTANCE), project, mutations=(DISPLACED,))
    assert report.clean and report.evidence["noticed"] == {DISPLACED: "check_place"}
    unknown = "def check_zone(sim):\n    assert sim.zones['nowhere'].outside((0, 0)) < 0\n"
    report, _ = sandbox.run(Program(RIGHT, DISTANCE), project, reference=unknown)
    assert report.clean and not report.evidence.get("measured")


def test_only_what_the_goals_carry_is_displaced_and_lies_beside_its_container_however_long_that_is(project):
    sim = kit.Simulation(kit.Scene.load(project), 0)
    sim.keep("red_cube", "blue_cube")
    sim.add_container("bin", xy=(0.15, -0.1), size=(0.34, 0.2))
    sim.goal(kit.inside("red_cube", "bin"))
    ends = [(words, run.end("red_cube").position[:2], run.end("bin")) for words, run in displaced_runs(sim)]
    assert len(ends) == 5 and any("cm too far right" in words and "15 cm" not in words for words, *_ in ends)
    assert all(words.startswith("red_cube ends ") and bin.distance_outside(xy) > 0.05 for words, xy, bin in ends)


@pytest.mark.parametrize("build, message", [(RIGHT, ""), (PHOTOGRAPHED, "elsewhere")])
def test_a_reference_measures_every_solved_layout_whatever_the_programs_checks_do(project, sandbox, build, message):
    lazy = "def check_nothing(sim):\n    assert sim.rollout().solved, 'no'\n"
    report, _ = sandbox.run(Program(build, lazy), project, seeds=(0, 1), reference=DISTANCE)
    assert report.evidence["measured"] == {"check_place": message} and report.clean


LEFT, IN = "move the can to the left", "put the can into the bowl"
ON, NEAR = "put the green cube on the blue cube", "put the green cube next to the can"
NUDGE, AWAY = "move the green cube to the left", "move the red cube away from the green cube"
SHORT_OF_ZONE = 'sim.move("yellow_can", xy=sim.zones["left_zone"].xy + ({off} + (sim.zones["left_zone"].size[0] - 0.066) / 2) * scene.right)'
ZONE = (
    'sim.add_zone("left_zone", xy=(-0.250, 0.050), size=(0.097, 0.097))',
    'sim.add_zone("left_zone", xy=(-0.075, -0.12), size=0.06)',
)
BESIDE = 'at = sim["yellow_can"].position[:2]\ninwards = scene.table.centre - at\nsim.add_zone("start", xy=at + 0.165 * inwards / np.linalg.norm(inwards), size=0.02)\nsim.scatter("green_cube", within="start")'
EASY = {
    "beside its goal, all else removed": (LEFT, f'sim.keep("yellow_can")\n{SHORT_OF_ZONE.format(off=0.006)}', "yellow_can in left_zone is short by 0.6 cm at the start, and by 45.0 cm as photographed"),
    "a base twice as large and half a cube": (ON, 'sim.resize("blue_cube", 2)\nsim.resize("green_cube", 0.5)', "blue_cube is 2 times as large as photographed"),
    "a zone just beyond the margin": (NUDGE, ZONE, "green_cube is 1.9 cm from where the task wants it"),
    "the container beside its object": (IN, 'sim.move("white_bowl", xy=sim["yellow_can"].position[:2] - 0.115 * scene.right)', "yellow_can inside white_bowl is short by 5.5 cm"),
    "places drawn in a zone beside the target": (NEAR, BESIDE, "other layouts are nearly done at the start"),
    "easy where no judge looks": (ON, 'if seed > 2:\n    sim.move("green_cube", xy=sim["blue_cube"].position[:2], z=sim["blue_cube"].top + 0.012)', "6 of 8 other layouts are nearly done"),
}  # fmt: skip
"""Words, the lines before the goals (or a text and its replacement), and what the finding says."""
TWO_CUBES = {"red_cube": ("cube", "cube", "red", (0.05,) * 3, (0.0, 0.0), 0.1), "blue_cube": ("cube", "cube", "blue", (0.06,) * 3, (0.04, 0.0), 0.1)}  # fmt: skip
DRAWN = 'rng = np.random.default_rng(seed)\nwhile seed and sim.zones["left_zone"].outside(sim["yellow_can"].position[:2]) < 0.1:\n    sim.move("yellow_can", xy=(rng.uniform(-0.05, 0.3), rng.uniform(-0.2, 0.0)))'
HONEST = {
    "starts near, where the task is to move away": (AWAY, 'if seed:\n    sim.move("red_cube", xy=sim["green_cube"].position[:2] + 0.1 * scene.right)', []),
    "removes what stands in the way": (LEFT, 'sim.remove("red_cube")  # it stands where the can goes', ["red_cube is left out"]),
    "layouts drawn by a generator of its own": (LEFT, DRAWN, []),
    "starts elsewhere, as far from its goal": (ON, 'sim.move("green_cube", xy=(-0.2, -0.15))', ["green_cube starts 15 cm from where it was photographed"]),
    "a second cube beside": (ON, 'sim.copy("red_cube", "red_cube_2", xy=(0.25, -0.18))', ["red_cube_2 is a copy of red_cube"]),
    "sizes drawn by the seed": (ON, 'if seed:\n    sim.resize("blue_cube", (0.9, 1.1)[seed % 2])', []),
}  # fmt: skip
"""Words, the lines before the goals, and what the round tells a person."""


def program_of(words: str, edit: "str | tuple[str, str]", scene: kit.Scene) -> tuple[Program, Task]:
    task = understand_instruction(words, scene, RULES)
    good = write_program(task, scene, RULES)
    if isinstance(edit, tuple):
        changed = good.simulation.replace(*edit)
    else:
        lines = "".join(f"    {line}\n" for line in edit.splitlines())
        changed = good.simulation.replace("    sim.goal", f"{lines}    sim.goal", 1)
        changed = changed.replace("import kit", "import kit\nimport numpy as np", 1)
    assert changed != good.simulation
    return replace(good, simulation=changed), task


@pytest.fixture
def judged(sandbox, project, scene, monkeypatch):
    """Judges a program of words and edited lines; mutations are tested elsewhere."""
    monkeypatch.setattr(judging, "MUTATION_KINDS", ())

    def judged(words: str, edit: "str | tuple[str, str]", folder=project, scene=scene):
        return judge(*program_of(words, edit, scene), scene, folder, sandbox)

    return judged


@pytest.mark.parametrize("name", EASY)
def test_a_program_that_makes_its_task_easier_than_photographed_is_refused(judged, name):
    words, edit, message = EASY[name]
    report = judged(words, edit)
    failed = [check for check in report.checks if not check.passed]
    assert [check.name for check in failed] == ["meaning photograph"] and message in failed[0].message


def test_objects_that_overlap_in_the_twin_may_be_moved_apart(judged, tmp_path):
    folder = tabletop.write(tmp_path, objects=TWO_CUBES)
    apart = 'sim.move("red_cube", xy=(-0.15, 0.0))'
    report = judged("put the red cube on the blue cube", apart, folder, kit.Scene.load(folder))
    assert report.clean, [(check.name, check.message) for check in report.checks if not check.passed]
    assert report.evidence["changes"][0] == "red_cube starts 15 cm from where it was photographed"


@pytest.mark.parametrize("name", HONEST)
def test_a_program_may_change_what_does_not_make_it_easier_and_says_so(judged, name):
    words, edit, told = HONEST[name]
    report = judged(words, edit)
    assert report.clean, [(check.name, check.message) for check in report.checks if not check.passed]
    assert report.evidence["changes"] == told

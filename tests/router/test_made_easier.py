"""A program that makes its task easier than photographed is refused. The round names every change in words.

Each program is one that the rules write, with lines of its own before its goals.
"""

# ruff: noqa: E501  (tables of programs read best one a line)

import sys
from dataclasses import replace

import pytest
import tabletop

from pipeline.planner import PlannerModel
from pipeline.router import judge, judging, write_program
from pipeline.simulation import Program, kit
from pipeline.tasks import Task, understand_instruction

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")
RULES = PlannerModel()
LEFT, ON, NEAR, IN = (
    "move the can to the left",
    "put the green cube on the blue cube",
    "put the green cube next to the can",
    "put the can into the bowl",
)
NUDGE, AWAY, DRAWER = (
    "move the green cube to the left",
    "move the red cube away from the green cube",
    "open the upper drawer",
)
SHORT_OF_ZONE = 'sim.move("yellow_can", xy=sim.zones["left_zone"].xy + ({off} + (sim.zones["left_zone"].size[0] - 0.066) / 2) * scene.right)'
ZONE = (
    'sim.add_zone("left_zone", xy=(-0.250, 0.050), size=(0.097, 0.097))',
    'sim.add_zone("left_zone", xy=(-0.075, -0.12), size=0.06)',
)
BESIDE = 'at = sim["yellow_can"].position[:2]\ninwards = scene.table.centre - at\nsim.add_zone("start", xy=at + 0.165 * inwards / np.linalg.norm(inwards), size=0.02)\nsim.scatter("green_cube", within="start")'
EASY = {
    "beside its goal, all else removed": (LEFT, f'sim.keep("yellow_can")\n{SHORT_OF_ZONE.format(off=0.006)}', "yellow_can in left_zone is short by 0.6 cm at the start, and by 45.0 cm as photographed"),
    "one centimetre short": (NEAR, 'sim.move("green_cube", xy=sim["yellow_can"].position[:2] - 0.16 * scene.away)', "is short by 1.0 cm at the start, and by 16.9 cm as photographed"),
    "a base twice as large and half a cube": (ON, 'sim.resize("blue_cube", 2)\nsim.resize("green_cube", 0.5)', "blue_cube is 2 times as large as photographed"),
    "later layouts that are nearly done": (LEFT, f"if seed:\n    {SHORT_OF_ZONE.format(off=0.01)}", "other layouts are nearly done at the start"),
    "a zone just beyond the margin": (NUDGE, ZONE, "green_cube is 1.9 cm from where the task wants it"),
    "the container beside its object": (IN, 'sim.move("white_bowl", xy=sim["yellow_can"].position[:2] - 0.115 * scene.right)', "yellow_can inside white_bowl is short by 5.5 cm"),
    "places drawn in a zone beside the target": (NEAR, BESIDE, "other layouts are nearly done at the start"),
    "easy where no judge looks": (ON, 'if seed > 2:\n    sim.move("green_cube", xy=sim["blue_cube"].position[:2], z=sim["blue_cube"].top + 0.012)', "6 of 8 other layouts are nearly done"),
}  # fmt: skip
"""Words, the lines before the goals (or a text and its replacement), and what the finding says."""
TWO_CUBES = {"red_cube": ("cube", "cube", "red", (0.05,) * 3, (0.0, 0.0), 0.1), "blue_cube": ("cube", "cube", "blue", (0.06,) * 3, (0.04, 0.0), 0.1)}  # fmt: skip
DRAWN = 'rng = np.random.default_rng(seed)\nwhile seed and sim.zones["left_zone"].outside(sim["yellow_can"].position[:2]) < 0.1:\n    sim.move("yellow_can", xy=(rng.uniform(-0.05, 0.3), rng.uniform(-0.2, 0.0)))'
HONEST = {
    "nothing of its own": (ON, "", []),
    "starts near, where the task is to move away": (AWAY, 'if seed:\n    sim.move("red_cube", xy=sim["green_cube"].position[:2] + 0.1 * scene.right)', []),
    "removes what stands in the way": (LEFT, 'sim.remove("red_cube")  # it stands where the can goes', ["red_cube is left out"]),
    "layouts drawn by a generator of its own": (LEFT, DRAWN, []),
    "starts elsewhere, as far from its goal": (ON, 'sim.move("green_cube", xy=(-0.2, -0.15))', ["green_cube starts 15 cm from where it was photographed"]),
    "a second cube beside": (ON, 'sim.copy("red_cube", "red_cube_2", xy=(0.25, -0.18))', ["red_cube_2 is a copy of red_cube"]),
    "sizes within what is measured": (ON, 'sim.resize("green_cube", 1.1)', ["green_cube is 1.1 times as large as photographed"]),
    "sizes drawn by the seed": (ON, 'if seed:\n    sim.resize("blue_cube", (0.9, 1.1)[seed % 2])', []),
    "a bystander moved out of the way": (IN, 'sim.move("orange_ball", xy=(0.3, -0.2))', ["orange_ball starts 39 cm from where it was photographed"]),
}  # fmt: skip
"""Words, the lines before the goals, and what the round tells a person."""


def program_of(words: str, edit: "str | tuple[str, str]", scene: kit.Scene) -> tuple[Program, Task]:
    task = understand_instruction(words, scene, RULES)
    good = write_program(task, scene, RULES)
    if isinstance(edit, tuple):
        changed = good.simulation.replace(*edit)
    else:
        lines = "".join(f"    {line}\n" for line in edit.splitlines())
        changed = good.simulation.replace("    sim.goal", f"{lines}    sim.goal", 1).replace(
            "import kit", "import kit\nimport numpy as np", 1
        )
    assert edit == "" or changed != good.simulation
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

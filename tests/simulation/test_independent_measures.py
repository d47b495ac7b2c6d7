"""Every layout is checked, checks have to refuse every displaced end, and the task is measured independently."""

import sys

import pytest
import tabletop

from pipeline.simulation import Program, kit
from pipeline.simulation.displacements import DISPLACED, displaced_runs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")
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


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return tabletop.write(tmp_path_factory.mktemp("table"))


def test_a_later_layout_is_checked_unless_it_is_not_solved_or_holds_at_the_start(project, sandbox):
    report, _ = sandbox.run(Program(PHOTOGRAPHED, DISTANCE), project, seeds=(0, 1))
    assert min(report.reward) > 0.99
    assert [(check.passed, check.message) for check in report.checks] == [(False, "elsewhere (layout 2)")]
    unsolved = RIGHT.replace("place)", "place if seed == 0 else (5.0, 5.0))")
    report, _ = sandbox.run(Program(unsolved, DISTANCE), project, seeds=(0, 1))
    assert report.reward[0] > 0.99 > report.reward[1] and report.clean
    trivial = RIGHT.replace("    return", "    if seed:\n        sim.move('red_cube', xy=place)\n    return")
    trivial = trivial.replace('"red_cube", "green_cube")', '"green_cube")')
    trivial = trivial.replace(
        "    sim.goal", "    if seed:\n        sim.move('green_cube', xy=(0.3, -0.1))\n    sim.goal"
    )
    checks = DISTANCE + "\ndef check_start(sim):\n    assert sim.reward_at_start() < 0.99, 'at once'\n"
    report, _ = sandbox.run(Program(trivial, checks), project, seeds=(0, 1))
    assert report.evidence["rewards_at_start"] == [0.0, 1.0] and report.clean


@pytest.mark.parametrize("measured", ["off[0] < 0.05", "math.hypot(*off) < 0.5", "abs(off[1]) < 0.05"])
def test_checks_that_let_a_displaced_object_pass_are_lax(project, sandbox, measured):
    program = Program(RIGHT, MEASURE.replace("MEASURED", measured))
    report, _ = sandbox.run(program, project, mutations=(DISPLACED,))
    assert [check.name for check in report.checks if not check.passed] == ["meaning displaced"]
    assert "although this happens instead: red_cube ends " in report.checks[-1].message


def test_checks_that_measure_the_distance_refuse_every_displaced_end_and_a_broken_reference_says_nothing(
    project, sandbox
):
    report, _ = sandbox.run(Program(RIGHT, DISTANCE), project, mutations=(DISPLACED,))
    assert report.clean and report.evidence["noticed"] == {DISPLACED: "check_place"}
    unknown = "def check_zone(sim):\n    assert sim.zones['nowhere'].outside((0, 0)) < 0\n"
    report, _ = sandbox.run(Program(RIGHT, DISTANCE), project, reference=unknown)
    assert report.clean and not report.evidence.get("measured")


def test_only_objects_that_the_goals_carry_are_displaced(project):
    sim = kit.Simulation(kit.Scene.load(project), 0)
    sim.goal(kit.on("red_cube", "blue_cube"))
    runs = list(displaced_runs(sim))
    assert len(runs) == 5 and all(outcome.startswith("red_cube ends ") for outcome, _ in runs)
    assert all(run.touching("red_cube", "table") and not run.touching("red_cube", "blue_cube") for _, run in runs)


@pytest.mark.parametrize("build, message", [(RIGHT, ""), (PHOTOGRAPHED, "elsewhere")])
def test_a_reference_measures_every_solved_layout_whatever_the_programs_checks_do(project, sandbox, build, message):
    lazy = "def check_nothing(sim):\n    assert sim.rollout().solved, 'no'\n"
    report, _ = sandbox.run(Program(build, lazy), project, seeds=(0, 1), reference=DISTANCE)
    assert report.evidence["measured"] == {"check_place": message} and report.clean

"""The static guard accepts honest programs and reports each forbidden construct with its file and line."""

import pytest

from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.guard import guard

SIMULATION = '''"""Stack the red cube on the blue one."""
import math

import kit
import numpy as np
GAP = 0.03

def spread(sim, names):
    """Turns them apart."""
    for number, name in enumerate(names):
        sim.move(name, yaw=math.tau * number / len(names))

def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    rng = np.random.default_rng(seed)
    names = [thing.name for thing in scene.objects if not thing.container]
    spread(sim, names)
    sim.scatter(*names, gap=GAP + 0.01 * rng.random())
    sim.goal(kit.on(names[0], names[1]))
    return sim
'''
CHECKS = """import kit

def expect_near(run, name, xy):
    assert abs(run.end(name).position[0] - xy[0]) < 0.02, f"{name} is off"

def check_oracle_solves_it(sim):
    run = sim.rollout()
    assert run.reward > 0.99, f"reward {run.reward:.2f}: {run.why}"

def check_each_object_rests(sim):
    run = sim.rollout()
    low = []
    for thing in sim.objects:
        low.append(run.end(thing.name).bottom)
    assert min(low) > -0.01

def check_place(sim):
    expect_near(sim.rollout(), "red_cube", (0.1, 0.2))

def check_nothing_is_solved_at_the_start(sim):
    reward = sim.reward_at_start()
    if reward > 0.5:
        raise AssertionError("too easy")
    assert reward < 0.99, "the goals hold before anything moved"
"""


IN_BUILD = {
    "import os": "imports os; only kit, math, numpy",
    "from . import other": "imports its own folder",
    "import numpy as kit": "imports numpy as kit",
    "kit = 3": "assigns another value to the name kit",
    "kit.on = None": "assigns to kit.on",
    "setattr(sim, 'rollout', None)": "uses setattr",
    "x = __builtins__": "uses __builtins__",
    "x = ().__class__": "accesses .__class__",
    "x = '{0.__class__}'.format(sim)": "accesses Python internals",
    "np.load('x.npy')": "uses numpy.load",
    "from numpy import fromfile": "takes numpy.fromfile",
    "rng = np.random.default_rng()": "do not depend on the seed",
    "def rollout(): return 1": "defines rollout",
    "class Fake(kit.Simulation): pass": "derives Fake from the kit",
}


@pytest.mark.parametrize("line", IN_BUILD)
def test_a_forbidden_construct_is_reported_with_its_line(line):
    source = SIMULATION.replace("    return sim\n", f"    {line}\n    return sim\n")
    findings = guard(Program(source, CHECKS))
    messages = [finding.message for finding in findings]
    assert any(IN_BUILD[line] in message for message in messages), messages
    number = source[: source.index(f"    {line}")].count("\n") + 1
    assert any(finding.line in (number, number + 1) and not finding.passed for finding in findings)
    assert all(finding.message.startswith("simulation.py") and "\n" not in finding.message for finding in findings)


SOLVED = "assert sim.rollout().solved"
IN_CHECKS = {
    "def check_nothing(sim):\n    sim.rollout()": "check_nothing asserts nothing",
    "def check_true(sim):\n    assert True": "does not depend on the run",
    "def check_pair(sim):\n    assert (sim.rollout().solved, 'is not solved')": "does not depend on the run",
    "def check_quiet(sim):\n    try:\n        SOLVED\n    except AssertionError:\n        pass": "catches Assertion",
    "def check_late(sim):\n    return\n    SOLVED": "is never reached",
    "def check_early(sim):\n    if sim.seed:\n        return\n    SOLVED": "returns from check_early before",
    "def check_never(sim):\n    if False:\n        SOLVED": "branches on a constant",
    "def check_change(sim):\n    sim.remove('red_cube')\n    SOLVED": "changes the simulation",
    "def check_arguments(sim, other):\n    assert other": "other arguments than (sim)",
    "def check_place(sim):\n    SOLVED": "defines check_place twice",
    "def check_outer(sim):\n    SOLVED\n\n    def check_inner(sim):\n        SOLVED": "defines check_inner inside",
    "def check_mock(sim):\n    sim.rollout = lambda: 1\n    assert sim.rollout()": "assigns to sim.rollout",
}


@pytest.mark.parametrize("check", IN_CHECKS)
def test_a_check_that_checks_nothing_is_found(check):
    checks = CHECKS + "\n\n" + check.replace("SOLVED", SOLVED) + "\n"
    messages = [finding.message for finding in guard(Program(SIMULATION, checks))]
    assert any(IN_CHECKS[check] in message for message in messages), messages
    assert all(message.startswith("checks.py") for message in messages)


def test_an_honest_program_has_no_findings_and_a_missing_part_is_reported():
    assert guard(Program(SIMULATION, CHECKS)) == ()
    for program, expected in (
        (Program("", CHECKS), "simulation.py defines no build(scene, seed)"),
        (Program(SIMULATION.replace("scene, seed):", "scene):"), CHECKS), "other arguments than (scene, seed)"),
        (Program(SIMULATION.replace("sim.goal", "print"), CHECKS), "sets no goal"),
        (Program(SIMULATION.replace("return sim", "pass"), CHECKS), "never returns"),
        (Program(SIMULATION, ""), "checks.py defines no check_*(sim)"),
        (Program(SIMULATION, "def check_a(sim):\n    assert sim.objects"), "never rolls out the oracle"),
        (Program(SIMULATION, "def check_a(sim)\n    pass"), "checks.py:1 cannot be read: expected ':'"),
        (Program("x = '\0'", CHECKS), "simulation.py cannot be read"),
        (Program("(" * 5000, CHECKS), "cannot be read"),
    ):
        messages = [finding.message for finding in guard(program)]
        assert any(expected in message for message in messages), messages

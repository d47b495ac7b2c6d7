"""An honest program runs, limits hold, we survive, and the report says it in one sentence."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pipeline.simulation import cgroup
from pipeline.simulation.alteration import KINDS
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox import Cancelled, Limits, Sandbox, SandboxError
from tests.simulation.untrusted import BUILD, CHECKS, HONEST, at_once

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")


def test_an_honest_program_passes_and_its_rollout_can_be_played_again(sandbox, project):
    report, record = sandbox.run(HONEST, project, seeds=(0, 1))
    assert report.clean, report
    assert [check.name for check in report.checks] == [
        "check_oracle_solves_it",
        "check_red_cube_moved",
        "check_nothing_is_solved_at_the_start",
    ]
    assert len(report.reward) == 2 and min(report.reward) > 0.99
    assert [goal["met"] for goal in report.evidence["goals"]] == [True]
    assert report.evidence["moved_before_touch"] == {}
    assert record.qpos.shape[0] == record.actions.shape[0] == record.times.shape[0] > 10
    assert np.isfinite(record.qpos).all() and "<mujoco" in record.xml
    assert any(event["object"] == "red_cube" for event in record.events)


def test_a_run_repeated_is_the_same_run(sandbox, project):
    (_, first), (_, second) = (sandbox.run(HONEST, project, seeds=(3,), checks=False) for _ in range(2))
    assert np.array_equal(first.qpos, second.qpos) and np.array_equal(first.actions, second.actions)


def test_each_check_says_on_its_own_what_it_found_and_where(sandbox, project):
    checks = """
def check_fine(sim):
    assert sim.rollout().solved
    return 1.5

def check_wrong(sim):
    assert sim["red_cube"].top > 1, "the red cube is low"

def check_wrong_at_an_instant(sim):
    assert sim["red_cube"].top > 1, ("the red cube is low", 2.25)

def check_bare(sim):
    top = sim["red_cube"].top
    assert top > 1

def check_broken(sim):
    return sim["green_cube"]

def no_check(sim):
    assert False
"""
    report, _ = sandbox.run(Program(BUILD, checks), project)
    fine, wrong, instant, bare, broken = report.checks
    assert fine.passed and fine.instant == 1.5
    assert (wrong.passed, wrong.message, wrong.line) == (False, "the red cube is low", 7)
    assert (instant.message, instant.instant, instant.line) == ("the red cube is low", 2.25, 10)
    assert bare.message == "does not hold: assert top > 1"
    assert broken.message.startswith("checks.py:17 KitError: there is no object 'green_cube'")
    assert report.crash == broken.message


def test_what_a_program_prints_is_kept_and_never_floods(sandbox, project):
    report, _ = sandbox.run(at_once("print('hello', 3)\nfor _ in range(9999): print('x' * 999)"), project, checks=False)
    assert report.evidence["printed"].startswith("hello 3\nxxx")
    assert len(report.evidence["printed"]) == 2000


def test_a_crash_names_side_and_line(sandbox, project):
    report, record = sandbox.run(Program(BUILD.replace("red_cube", "green_cube"), CHECKS), project)
    assert report.crash.startswith("simulation.py:6 KitError: there is no object 'green_cube'; there are: red_cube")
    assert record is None and report.reward == ()


def test_a_project_without_a_scene_is_a_clear_line(sandbox, tmp_path):
    report, _ = sandbox.run(HONEST, tmp_path)
    assert "has no scene.json" in report.crash


def test_a_run_can_be_stopped_from_another_thread(sandbox, project):
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(Cancelled):
        sandbox.run(at_once("while True: pass"), project, limits=Limits(seconds=60), cancel=stop)
    assert sandbox.run(at_once("1/0"), project)[0].crash.startswith("simulation.py:1 ZeroDivisionError")


def test_many_runs_side_by_side_do_not_mix(sandbox, project):
    def run(number: int) -> str:
        return sandbox.run(at_once(f"raise ValueError({number})"), project)[0].crash

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(16))) == [f"simulation.py:1 ValueError: {n}" for n in range(16)]


def test_a_server_that_died_is_started_again(sandbox, project):
    sandbox._server._process.kill()
    sandbox._server._process.wait()
    assert sandbox.run(at_once("1/0"), project)[0].crash.startswith("simulation.py:1 ZeroDivisionError")


def test_a_server_that_cannot_start_is_our_error_and_no_failed_check(monkeypatch, project):
    monkeypatch.setattr("pipeline.simulation.sandbox.START", "import nothing_like_this")
    with pytest.raises(SandboxError, match="cannot start"), Sandbox() as broken:
        broken.run(HONEST, project)


def test_checks_that_would_pass_for_another_task_are_found_out(sandbox, project):
    loose, _ = sandbox.run(HONEST, project, alterations=tuple(KINDS))
    assert loose.evidence["noticed"]["nothing"].startswith("check_")
    missed = {check.name for check in loose.checks if not check.passed}
    assert "meaning inverted" in missed, "check_red_cube_moved asks for a move, not for the place"
    exact = CHECKS + "\ndef check_place(sim):\n    x, y, _ = sim.rollout().end('red_cube').position\n"
    exact += "    assert abs(x - 0.1) + abs(y) < 0.06, 'not there'\n"
    report, _ = sandbox.run(Program(BUILD, exact), project, alterations=tuple(KINDS))
    assert report.clean and set(report.evidence["noticed"]) >= {"nothing", "inverted", "another object"}


def test_nothing_is_left_of_a_runs_control_group(sandbox, project):
    sandbox.run(at_once("while True: pass"), project, limits=Limits(seconds=0.3))
    left = [folder.name.removeprefix("grs-") for parent, _ in cgroup._places(1) for folder in parent.glob("grs-*")]
    assert not [warden for warden in left if not Path("/proc", warden).exists()], "others may run beside this test"


def test_closing_leaves_no_process_behind(project):
    sandbox = Sandbox()
    sandbox.run(at_once("1/0"), project)
    process = sandbox._server._process
    sandbox.close()
    assert process.poll() is not None


def test_what_is_not_covered_is_said(sandbox, monkeypatch):
    assert all("NOT" not in sentence for sentence in sandbox.protection)
    monkeypatch.setattr(sandbox._server, "coverage", {"files": False, "calls": False, "memory": False})
    assert not sandbox.covered
    assert [sentence.count("NOT covered") for sentence in sandbox.protection] == [1, 1, 1]

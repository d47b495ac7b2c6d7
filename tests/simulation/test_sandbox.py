"""Honest programs run, limits hold, no process outlives its parent; a program that cannot be confined is refused."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from offline_studio import wait_until

from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import write_program
from pipeline.simulation import kit
from pipeline.simulation.program import RULES, Program
from pipeline.simulation.sandbox import cgroup
from pipeline.simulation.sandbox.child_report import ChildReader, ChildReport, merge_reports
from pipeline.simulation.sandbox.sandbox import (
    Limits,
    Protection,
    RunCancelled,
    Sandbox,
    SandboxError,
    UnprotectedError,
)
from pipeline.simulation.sandbox.supervisor import ChildExit
from pipeline.tasks import propose
from pipeline.untrusted import fork_server
from studio.__main__ import main
from studio.pages import status
from tests.simulation.attack_programs import BUILD, CANARY, CHECKS, ESCAPE, HONEST, escaping, with_prefix

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox's full protection is Linux's")


def test_an_honest_program_passes_and_is_recorded_its_prints_are_kept_and_a_crash_names_file_and_line(sandbox, project):
    report, record = sandbox.run(HONEST, project, seeds=(0, 1))
    assert report.clean, report
    assert [check.name for check in report.checks] == re.findall(r"def (check_\w+)", CHECKS)
    assert len(report.reward) == 2 and min(report.reward) > 0.99
    assert [goal["met"] for goal in report.evidence["goals"]] == [True]
    assert report.evidence["moved_before_touch"] == {}
    assert record.qpos.shape[0] == record.actions.shape[0] == record.times.shape[0] > 10
    assert np.isfinite(record.qpos).all() and "<mujoco" in record.xml
    assert any(event["object"] == "red_cube" for event in record.events)
    printing = with_prefix("print('hello', 3)\nfor _ in range(9999): print('x' * 999)")
    report, _ = sandbox.run(replace(printing, checks=""), project)
    assert report.evidence["printed"].startswith("hello 3\nxxx")
    assert len(report.evidence["printed"]) == 2000
    report, record = sandbox.run(Program(BUILD.replace("red_cube", "green_cube"), CHECKS), project)
    assert report.crash.startswith("simulation.py:6 KitError: there is no object 'green_cube'; there are: red_cube")
    assert record is None and report.reward == ()


def test_each_check_reports_its_own_message_and_line(sandbox, project):
    checks = """
def check_fine(sim):
    assert sim.rollout().solved
    return 1.5

def check_wrong(sim):
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
    fine, wrong, bare, broken = report.checks
    assert fine.passed and fine.instant == 1.5
    assert (wrong.passed, wrong.message, wrong.instant, wrong.line) == (False, "the red cube is low", 2.25, 7)
    assert bare.message == "does not hold: assert top > 1"
    assert broken.message.startswith("checks.py:14 KitError: there is no object 'green_cube'")
    assert report.crash == broken.message


IMPORTED_BY_A_CHILD = """
import sys
from pipeline.simulation.sandbox import worker
worker.prepare()
before = set(sys.modules)
worker.robot_kind(worker.ORDER[0]).make(True), worker.RestrictedInterpreter([], print)
print(*set(sys.modules) - before, *{"trimesh", "networkx"} & before)
"""


def test_a_child_imports_nothing_that_its_server_could_have_imported_once_for_all():
    code = [sys.executable, "-c", IMPORTED_BY_A_CHILD]
    assert subprocess.run(code, capture_output=True, text=True, check=True).stdout == "\n"


def test_a_run_can_be_cancelled_from_another_thread_and_its_control_group_is_removed(sandbox, project):
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(RunCancelled):
        sandbox.run(with_prefix("while True: pass"), project, limits=Limits(seconds=60), cancel=stop)
    assert sandbox.run(with_prefix("1/0"), project)[0].crash.startswith("simulation.py:1 ZeroDivisionError")
    sandbox.run(with_prefix("while True: pass"), project, limits=Limits(seconds=0.3))
    wait_until(lambda: all(map(Path.exists, supervisors())), "the end of groups without a running supervisor")


STOPPED = ChildExit("timeout", processor=61.2)


@pytest.mark.parametrize(
    ("late", "is_fault", "rewards"),
    [
        ([("perform", "rolling out the oracle, seed 0")], True, ()),
        ([("perform", ""), ("perform", "rolling out the oracle, seed 1"), ("perform", "")], False, (1.0, 1.0)),
        ([("perform", ""), ("perform", "running check_a"), ("perform", "")], True, (1.0, 1.0, 1.0)),
    ],
)
def test_of_a_later_layout_whose_physics_does_not_end_nothing_is_known(late, is_fault, rewards):
    children = []
    for part, doing in late:
        reward = 1.0 if doing.startswith("running") or not doing else None
        child = ChildReport(part, doing or "running check_a", reward=reward, finished=True)
        children.append(ChildReader(child, Limits()).finish(STOPPED if doing else ChildExit("done")))
    report = merge_reports(ChildReport("arrange", finished=True), children, 1.0)
    assert (report.timed_out, report.reward) == (is_fault, rewards)
    assert report.evidence["stopped"].startswith("stopped after 61.2 s of processor time while r")
    assert ("unfinished" in report.evidence) == any("rolling" in doing for _, doing in late)


def test_a_program_that_sleeps_is_stopped_and_one_that_waits_for_a_core_is_not(project, monkeypatch):
    late = "from pipeline.simulation.sandbox import supervisor\nsupervisor.IDLE_SECONDS = 0.5\n"
    start = "importlib.import_module"
    monkeypatch.setattr(fork_server, "SCRIPT", fork_server.SCRIPT.replace(start, late + start, 1))
    busy = [with_prefix("for _ in range(10**7): pass")] * 4
    with Sandbox(unprotected=True) as sandbox, ThreadPoolExecutor(4) as pool:
        sandbox._slots = threading.BoundedSemaphore(4)
        asleep = sandbox.run(escaping("bring('time').sleep(60)"), project)[0]
        assert asleep.timed_out and "it slept for" in asleep.evidence["stopped"]
        reports = list(pool.map(lambda program: sandbox.run(replace(program, checks=""), project)[0], busy))
        assert [report.timed_out for report in reports] == [False] * 4 and reports[0].reward == (1.0,)


def supervisors() -> list[Path]:
    """Return where the processes are that control groups are named after; another test's may just have ended."""
    folders = [folder for parent, _ in cgroup._parents(1) for folder in parent.glob("grs-*")]
    return [Path("/proc", folder.name.removeprefix("grs-")) for folder in folders]


def test_concurrent_runs_do_not_mix_and_a_dead_server_is_restarted(sandbox, project):
    def run(number: int) -> str:
        return sandbox.run(with_prefix(f"raise ValueError({number})"), project)[0].crash

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(16))) == [f"simulation.py:1 ValueError: {n}" for n in range(16)]
    sandbox._server._process.kill()
    sandbox._server._process.wait()
    assert sandbox.run(with_prefix("1/0"), project)[0].crash.startswith("simulation.py:1 ZeroDivisionError")


def test_closing_ends_the_server_and_one_that_cannot_start_is_no_failed_check(project, monkeypatch):
    sandbox = Sandbox()
    sandbox.run(with_prefix("1/0"), project)
    process = sandbox._server._process
    sandbox.close()
    assert process.poll() is not None
    monkeypatch.setattr("pipeline.untrusted.fork_server.SCRIPT", "import nothing_like_this")
    with pytest.raises(SandboxError, match="cannot start"), Sandbox() as broken:
        broken.run(HONEST, project)


STUDIO = """
import sys, threading
from pathlib import Path
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.sandbox import Limits, Sandbox
sandbox = Sandbox()

def first_run():  # in a thread that ends long before the server
    sandbox.run(Program("1/0", ""), Path(sys.argv[1]))

thread = threading.Thread(target=first_run)
thread.start()
thread.join()
print("ready", flush=True)
sandbox.run(Program(sys.argv[2], ""), Path(sys.argv[1]), limits=Limits(seconds=60))
"""
PROGRAMS = {"asleep": f"def build(scene, seed):{ESCAPE}    bring('time').sleep(60)", "busy": "while True: pass"}
SECONDS = 60
"""After which a process counts as one that stays."""


def children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError):  # it ended meanwhile
        for task in Path("/proc", str(pid), "task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def chain(studio: int, state: str) -> list[int]:
    """Wait until the program sleeps or works in a child; return the studio, the server, a supervisor and the child."""
    while True:
        found = [studio]
        while later := children(found[-1]):
            found.append(later[0])
        with contextlib.suppress(FileNotFoundError):
            if len(found) == 4 and runs(found[-1], state):
                return found


def runs(child: int, state: str) -> bool:
    """Whether a child is confined and the program in it sleeps, or has been working for some time."""
    folder = Path("/proc", str(child))
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    waits, ticks = fields[0] == "S", int(fields[11])
    return "Seccomp:\t2" in (folder / "status").read_text() and (waits if state == "asleep" else ticks > 20)


@pytest.mark.parametrize(
    ("victim", "state"),
    [
        pytest.param(victim, state, marks=[pytest.mark.soak] if (victim == "server") == (state == "busy") else [])
        for victim in ("studio", "server", "supervisor")
        for state in PROGRAMS
    ],
)
def test_nothing_outlives_a_killed_parent(project, state, victim):
    command = [sys.executable, "-c", STUDIO, str(project), PROGRAMS[state]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as studio:
        try:
            assert studio.stdout is not None and studio.stdout.readline() == b"ready\n"
            processes = chain(studio.pid, state)
            first = ["studio", "server", "supervisor"].index(victim)
            watched = [os.pidfd_open(pid) for pid in processes[first:]]
            os.kill(processes[first], signal.SIGKILL)
            for process in watched:
                ended, _, _ = select.select([process], [], [], SECONDS)
                assert ended, f"a process is left after the {victim} was killed"
                os.close(process)
        finally:
            studio.kill()


WITHOUT = {
    "Landlock": "landlock.version = lambda: 0; namespaces.is_permitted = lambda: False",
    "seccomp": "system_calls.library = lambda: None",
}


@pytest.fixture
def lacking(request, monkeypatch) -> str:
    """A machine whose kernel lacks this mechanism: the server looks for it and does not find it."""
    imports = "from pipeline.confinement import landlock, namespaces, system_calls"
    start = "importlib.import_module"
    script = fork_server.SCRIPT.replace(start, f"{imports}\n{WITHOUT[request.param]}\n{start}", 1)
    monkeypatch.setattr(fork_server, "SCRIPT", script)
    return request.param


def reading(outside: Path) -> Program:
    """A program that reads a file past the audit hook: no line of it is on the stack of a thread of its own."""
    source = f"text = open('{outside}/secret').read()"
    return escaping(
        f"code, found = builtins.compile({source!r}, 'x', 'exec'), {{}}\n"
        "thread = bring('threading').Thread(target=builtins.exec, args=(code, found))\n"
        "thread.start()\nthread.join()\nraise ValueError(found.get('text'))"
    )


@pytest.mark.parametrize("lacking", WITHOUT, indirect=True)
def test_a_foreign_program_is_refused_where_it_cannot_be_confined(lacking, project, outside):
    with Sandbox() as sandbox:
        for program in (reading(outside), HONEST, replace(HONEST, source="model rules")):
            with pytest.raises(UnprotectedError, match=f"no {lacking}.*--unprotected"):
                sandbox.run(program, project)
        assert sum("NOT covered" in sentence for sentence in sandbox.protection.sentences) >= 1


@pytest.mark.parametrize("lacking", ["Landlock"], indirect=True)
def test_consent_runs_it_and_what_our_own_rules_wrote_runs_without(lacking, project, outside):
    with Sandbox(unprotected=True) as sandbox:
        report, _ = sandbox.run(HONEST, project)
        assert report.clean and report.protection["files"] is False and report.protection["calls"] is True
        assert CANARY in (sandbox.run(reading(outside), project)[0].crash or ""), "the audit hook protects nothing"
    with Sandbox() as sandbox:
        assert sandbox.run(replace(HONEST, source=RULES), project)[0].clean
        assert sandbox.run(replace(HONEST, checks=""), project)[0].reward, "the same text, read from a file"
        with pytest.raises(UnprotectedError):
            sandbox.run(replace(HONEST, checks=HONEST.checks + "# changed"), project)


def test_only_what_our_rules_wrote_about_plain_names_is_theirs(project):
    scene, words = kit.Scene.load(project), "put the red cube on the blue cube"
    task = replace(propose(scene, PlannerModel())[0], instruction=words)
    assert write_program(task, scene, PlannerModel()).source == RULES
    hostile, imposter = replace(task, instruction=f'{words}"); import os'), PlannerModel()
    imposter.name, imposter.has_language = RULES, True  # a language model that calls itself as our rules do
    assert write_program(hostile, scene, PlannerModel()).source == write_program(task, scene, imposter).source
    assert write_program(hostile, scene, PlannerModel()).source == "model rules"


@pytest.mark.parametrize("lacking", ["seccomp"], indirect=True)
def test_the_command_refuses_in_one_line_and_runs_when_told_to(lacking, project, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Project, "scene", lambda self: True)  # the sandbox's own scene has no meshes
    monkeypatch.setattr(Project, "program_in_current_names", lambda self, program: program)
    folder = Path(shutil.copytree(project, tmp_path / "project"))
    (folder / "frame").mkdir()
    (folder / "project.json").write_text(json.dumps({"schema": 1, "stages": {}, "versions": {}, "seconds": {}}))
    program = tmp_path / "program"
    program.mkdir()
    (program / "simulation.py").write_text(HONEST.simulation)
    (program / "checks.py").write_text(HONEST.checks)
    command = ["check", str(program), "--scene", str(folder)]
    assert main(command) == 2
    out, error = capsys.readouterr()
    assert not out and error.count("\n") == 1 and "no seccomp" in error and "--unprotected" in error
    assert main([*command, "--unprotected"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["protection"]["calls"] is False and report["clean"]


def test_the_status_bar_says_whether_programs_are_confined():
    sandbox = SimpleNamespace(unprotected=False, known_protection=None)

    def state() -> str:
        return status._protection_record(sandbox).get("state", "")  # type: ignore[arg-type]

    assert state() == ""
    for covered, shown in ((True, "confined"), (False, "refused")):
        sandbox.known_protection = Protection({"files": covered, "calls": True})
        assert state() == shown
    status.agree_to_run_unconfined(MagicMock(**{"services.sandbox": sandbox}))
    assert state() == "agreed" and sandbox.unprotected

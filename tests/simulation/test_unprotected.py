"""Where Landlock or seccomp is missing, no program runs that nobody agreed to; whether it is missing is shown."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import write_program
from pipeline.simulation import Program, kit
from pipeline.simulation.program import RULES
from pipeline.simulation.sandbox.protection import Protection
from pipeline.simulation.sandbox.sandbox import Sandbox, UnprotectedError
from pipeline.tasks import propose
from pipeline.untrusted import fork_server
from studio.__main__ import main
from studio.pages.status import agree_to_run_unconfined, status_bar_record
from tests.simulation.attack_programs import CANARY, HONEST, escaping

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="takes away what only Linux has")
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


class Imposter(PlannerModel):
    """A language model that calls itself as our rules do."""

    name, has_language = RULES, True


def test_only_what_our_rules_wrote_about_plain_names_is_theirs(project):
    scene, words = kit.Scene.load(project), "put the red cube on the blue cube"
    task = replace(propose(scene, PlannerModel())[0], instruction=words)
    assert write_program(task, scene, PlannerModel()).source == RULES
    hostile = replace(task, instruction=f'{words}"); import os')
    assert write_program(hostile, scene, PlannerModel()).source == write_program(task, scene, Imposter()).source
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


def test_the_status_bar_says_whether_programs_are_confined(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("studio.pages.status.step_guide", lambda session: {})
    monkeypatch.setattr("studio.pages.status.step_state", lambda step, session: "todo")
    sandbox = SimpleNamespace(unprotected=False, known_protection=None)
    session = MagicMock(**{"services.sandbox": sandbox, "runner.current": None, "log.lines": []})
    session.calls.read.return_value = []

    def state() -> str:
        return status_bar_record(session)["protection"].get("state", "")

    assert state() == ""
    sandbox.known_protection = Protection({"files": True, "calls": True})
    assert state() == "confined"
    sandbox.known_protection = Protection({"files": False, "calls": True})
    assert state() == "refused"
    agree_to_run_unconfined(session)
    assert state() == "agreed" and sandbox.unprotected

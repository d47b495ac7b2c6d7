"""The router repairs the side at fault, never runs a program twice, and gives a reason when it stops."""

# ruff: noqa: E501  (tables of sentences read best one a line)

import json
import re
from dataclasses import replace

import pytest
import tabletop

from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.router import RouteStart, judging, read_rounds, report_json, route, write_round
from pipeline.router.failure_summary import summarize_failures
from pipeline.router.route import ProgramAnswer, RouteAnswer, RouteOptions, SourceAnswer, write_program
from pipeline.simulation import CheckResult, Program, Report
from pipeline.simulation.kit import Scene
from pipeline.tasks import understand_instruction
from studio.__main__ import main

RULES = PlannerModel()
ON, SWAP = "put the green cube on the blue cube", "swap the red cube and the green cube"
MINE = "\n\ndef check_mine(sim):\n    run = sim.rollout()\n    "


@pytest.fixture
def quick_judging(monkeypatch):
    """Judge one layout and two mutations: enough here, and three times as fast."""
    monkeypatch.setattr(judging, "MUTATION_KINDS", ("nothing", "inverted"))
    monkeypatch.setattr(judging, "SEEDS", (0,))


def simulation(old: str, new: str):
    return lambda p: replace(p, simulation=p.simulation.replace(old, new))


def added(check: str):
    return lambda p: replace(p, checks=p.checks + MINE + check + "\n")


FAULTS = {
    "a tolerance nobody can meet": (SWAP, simulation("place_of_green_cube)", "place_of_green_cube, tolerance=1e-5)"), "fix_simulation"),
    "a tolerance anything meets": (ON, simulation('"blue_cube"))', '"blue_cube", tolerance=3))'), "fix_simulation"),
    "a ball to stand on": ("stack the cubes", simulation('"blue_cube", "red', '"blue_cube", "orange_ball", "red'), "fix_simulation"),
    "a crash": (ON, simulation("sim.goal", "sim.gaol"), "fix_simulation"),
    "an inverted check": (ON, added('assert not run.touching("green_cube", "blue_cube"), "they touch"'), "fix_checks"),
    "a check with a slip": (ON, added('assert run.end("green_cube").botom > 0, "low"'), "fix_checks"),
    "a check of the goal that asks nothing": (ON, lambda p: replace(p, checks=re.sub(r"(def check_green_cube.*\n)[\s\S]*", r"\1    assert sim\n", p.checks)), "fix_checks"),
    "a check of something else": (ON, added('assert run.moved("blue_cube") > 0.05, "blue_cube stayed where it was"'), "fix_checks"),
    "checks that ask for nothing": (SWAP, lambda p: Program(simulation("cube)", "cube, tolerance=1e-5)")(p).simulation, "def check_it(sim):\n    assert sim.rollout().reward >= 0, 'no'\n"), "fix_checks"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_side_at_fault_is_repaired_until_the_round_is_clean(project, scene, sandbox, fault, quick_judging):
    words, damage, side = FAULTS[fault]
    task = understand_instruction(words, scene, RULES)
    good = write_program(task, scene, RULES)
    bad = damage(good)
    assert bad != good
    rounds = list(route(task, project, RULES, sandbox, RouteOptions(max_rounds=5), RouteStart(bad)))
    assert rounds[0].route == side, rounds[0].reason
    assert rounds[-1].route == "done", [(r.route, r.reason) for r in rounds]
    assert rounds[0].program == bad and len({(r.program.simulation, r.program.checks) for r in rounds}) == len(rounds)


def test_a_misspelt_name_is_repaired_and_what_is_wrong_with_goals_is_named(project, scene, sandbox, quick_judging):
    task = understand_instruction(ON, scene, RULES)
    edited = simulation('kit.on("green_cube"', 'kit.on("gren_cube"')(write_program(task, scene, RULES))
    rounds = list(route(task, project, RULES, sandbox, start=RouteStart(edited)))
    assert rounds[-1].route == "done" and rounds[-1].program.checks == edited.checks
    assert rounds[-1].program.simulation == edited.simulation.replace("gren_cube", "green_cube")
    task = understand_instruction("stack the cubes", scene, RULES)
    less = simulation('"red_cube", "green_cube"]', '"red_cube"]')(write_program(task, scene, RULES))
    first, *_ = route(task, project, RULES, sandbox, RouteOptions("none"), RouteStart(less))
    assert "the task names green_cube, no goal of the simulation does" in first.reason + str(first.report.checks)
    task = understand_instruction("move the can to the left", scene, RULES)
    good = write_program(task, scene, RULES)
    bad = replace(good, simulation=re.sub(r"xy=\(.*?,", "xy=(3.0,", good.simulation))
    first, *_ = route(task, project, RULES, sandbox, RouteOptions("none"), RouteStart(bad))
    assert "left_zone extends beyond the edge of the table" in [check.message for check in first.report.checks]


def test_a_program_solved_at_the_start_or_as_photographed_only_is_not_done(project, scene, sandbox, monkeypatch):
    task = understand_instruction(ON, scene, RULES)
    lazy = Program(
        "import kit\n\n\ndef build(scene, seed):\n    sim = kit.Simulation(scene, seed)\n"
        '    sim.goal(kit.near("green_cube", "blue_cube", distance=0.2))\n    return sim\n',
        'def check_it(sim):\n    assert sim.rollout().reward > 0.5, "no"\n',
    )
    first, *_ = route(task, project, RULES, sandbox, RouteOptions("none"), RouteStart(lazy))
    failed = {c.name: c.message for c in first.report.checks if not c.passed}
    assert failed["meaning start"] == "the goals hold before anything moved"
    assert "every check passes although this happens instead" in failed["meaning inverted"]
    assert first.route == "give_up"
    monkeypatch.setattr(judging, "MUTATION_KINDS", ())
    task = understand_instruction(SWAP, scene, RULES)
    good = write_program(task, scene, RULES)
    bad = replace(good, simulation=good.simulation.replace("= sim[", "= scene["))
    rounds = list(route(task, project, RULES, sandbox, start=RouteStart(bad)))
    assert min(rounds[0].report.reward) > 0.99 and rounds[0].route == "fix_simulation"
    assert "the goals hold, but not what the task asks for" in rounds[0].reason
    assert rounds[-1].route == "done" and rounds[-1].program.checks == good.checks


class ScriptedSandbox:
    def __init__(self, *reports: Report):
        self.reports, self.programs = list(reports), []

    def run(self, program, project_dir, seeds=(0,), limits=None, **_options):
        self.programs.append(program)
        return self.reports[min(len(self.programs), len(self.reports)) - 1], None


class RepairingModel:
    """A model that routes to the simulation and appends a line each time; it may fail."""

    name = "scripted"

    def __init__(self, fails_at: int = 99, line: str = "SIZE = {}\n", **answer: float):
        self.asked, self.reasons, self.fails_at, self.line, self.answer = [], [], fails_at, line, answer

    def ask(self, question):
        self.asked.append(question.kind)
        self.reasons.append(question.data.get("reason", ""))
        if len(self.asked) > self.fails_at:
            raise ModelError("the model cannot be reached")
        if question.kind == "write_program":
            return ProgramAnswer(simulation=GOOD.simulation, checks=GOOD.checks)
        if question.kind == "route":
            return RouteAnswer(route="fix_simulation", reason="it looks wrong", **self.answer)
        source = question.data["simulation"] + self.line.format(len(self.asked))
        return SourceAnswer(source=source, reason="a line more")


GOOD = Program(
    "import kit\n\n\ndef build(scene, seed):\n    sim = kit.Simulation(scene, seed)\n"
    '    sim.goal(kit.on("green_cube", "blue_cube"))\n    return sim\n',
    'def check_it(sim):\n    assert sim.rollout().reward > 0.99, "no"\n',
)
GOALS = {"goals": [{"name": "green_cube on blue_cube", "met": False}], "reward_at_start": 0.0}


def result(*reward: float, passed: bool = False) -> Report:
    return Report((CheckResult("check_it", passed, "" if passed else "no"),), reward, evidence=GOALS)


@pytest.fixture
def task(scene):
    return understand_instruction(ON, scene, RULES)


def test_rounds_end_at_the_maximum_without_a_change_and_as_the_mode_says(project, task, scene):
    rounds = list(route(task, project, RepairingModel(), ScriptedSandbox(result(0.5)), RouteOptions(max_rounds=3)))
    assert [r.route for r in rounds] == ["fix_simulation", "fix_simulation", "give_up"]
    assert [(r.number, r.parent) for r in rounds] == [(0, None), (1, 0), (2, 1)]
    start, options = RouteStart(write_program(task, scene, RULES), parent=4, number=5), RouteOptions(max_rounds=3)
    rounds = list(route(task, project, RepairingModel(), ScriptedSandbox(result(0.5)), options, start))
    assert [(r.number, r.route) for r in rounds] == [(5, "fix_simulation"), (6, "fix_simulation"), (7, "give_up")]
    for line in ("", "# {}\n"):  # programs that differ only in comments are the same
        model = RepairingModel(line=line)
        (only,) = route(task, project, model, ScriptedSandbox(result(0.5)))
        assert only.route == "give_up" and "every repair was tried before" in only.reason
        assert model.asked.count("repair_simulation") == 2, "the model is asked again once"
    model = RepairingModel()
    (only,) = route(task, project, model, ScriptedSandbox(result(0.5)), RouteOptions("none"))
    assert only.route == "give_up" and model.asked == ["write_program"]
    model = RepairingModel()
    list(route(task, project, model, ScriptedSandbox(result(0.5)), RouteOptions("repair", max_rounds=3)))
    assert model.asked == ["write_program", "repair_simulation", "repair_simulation"]


def test_the_user_is_asked_if_the_model_is_not_sure_and_a_repair_that_made_it_worse_is_left_for_the_best(project, task):
    (only,) = route(task, project, RepairingModel(confidence=0.2), ScriptedSandbox(result(0.5)))
    assert only.route == "ask" and only.confidence == 0.2
    assert only.reason.startswith("not sure (20%) that the simulation should change: it looks wrong")
    stopped = "stopped after 90 s of processor time while rolling out the oracle, seed 0"
    late = Report(timed_out=True, evidence={"stopped": stopped, "unfinished": [stopped]})
    (only,) = route(task, project, RepairingModel(), ScriptedSandbox(late), start=RouteStart(GOOD))
    assert only.route == "ask" and stopped in only.reason and "no fault of the program" in only.reason
    sandbox = ScriptedSandbox(result(0.5), result(0.1), result(0.6))
    rounds = list(route(task, project, RepairingModel(), sandbox, RouteOptions(max_rounds=3)))
    assert rounds[1].reason.endswith("returning to round 0, which was better")
    assert rounds[2].parent == 0
    first = next(route(task, project, RepairingModel(), ScriptedSandbox(result(1.0, 0.0, 0.0, passed=True))))
    assert not first.report.clean and first.report.checks[-1].message == "solved in 1 of 3 layouts"
    two_of_three = ScriptedSandbox(result(1.0, 1.0, 0.0, passed=True))
    assert next(route(task, project, RepairingModel(), two_of_three)).route == "done"


def test_silent_checks_get_messages_before_the_partly_solved_simulation_is_made_simpler(project, task):
    silent = Report((CheckResult("check_it", False, "does not hold: assert run.solved"),), (0.5,), evidence=GOALS)
    model = RepairingModel()
    first, second = list(route(task, project, model, ScriptedSandbox(silent), RouteOptions(max_rounds=3)))[:2]
    assert first.route == "fix_checks" and "need diagnostics" in first.reason
    assert second.route == "fix_simulation" and second.program.simulation == first.program.simulation
    assert model.asked == ["write_program", "route", "repair_checks", "route", "repair_simulation"]
    next(route(task, project, model, ScriptedSandbox(result(0.5))))
    assert "partly solved (reward 0.50), so make it simpler" in model.reasons[-1]


def test_the_summary_has_one_sentence_per_finding():
    evidence = {
        "goals": [{"name": "a on b", "met": False, "miss": 0.05, "nearest_miss": 0.0, "over_time": [[1.0, 0.05], [2.0, 0.0], [3.0, 0.05]]}],
        "events": [{"time": 2.5, "verb": "pick", "object": "a", "ok": False, "message": "the cup came down on c"}],
        "overlaps": [["a", "b"]], "at_rest": False, "moved_before_touch": {"c": 0.02}, "contacts": [["a", "c"]],
        "objects": {"c": {"top": -0.1}, "d": {"top": 0.1, "turned": 1.5}, "e": {"top": 0.1, "turned": 0.0, "pushed": 0.04}},
    }  # fmt: skip
    failed = CheckResult("check_it", False, "a hangs")
    summary = list(summarize_failures(GOOD, Report((failed,), (0.5,), "checks.py:2 NameError: x", evidence=evidence)))
    assert summary == [
        'checks.py:2 NameError: x — the line is: assert sim.rollout().reward > 0.99, "no"',
        "rewards by layout: 0.50",
        "not met: a on b, 5.0 cm short at the end, 0.0 cm at best; it held at 2.0 s and was lost again",
        "at 2.5 s the oracle's pick of a: the cup came down on c",
        "a and b reach into each other at the start, so that a pick carries both: move one of them first",
        "something still moves at the end",
        "c moved 2.0 cm before anything touched it",
        "c fell off the table",
        "d tipped over by 86 degrees",
        "e was pushed 4 cm and never picked up",
        "objects in contact at the end: a and c",
    ]


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_model_failure_is_raised_after_its_round_is_yielded(project, task, fails_at):
    rounds = route(task, project, RepairingModel(fails_at), ScriptedSandbox(result(0.5)))
    first = next(rounds)
    assert first.route == "" and "the model failed" in first.reason
    with pytest.raises(ModelError):
        next(rounds)


def test_saved_rounds_are_read_back_unchanged(project, task, tmp_path):
    rounds = list(route(task, project, RepairingModel(), ScriptedSandbox(result(0.5), result(1.0, passed=True))))
    for finished in rounds:
        write_round(finished, tmp_path)
    restored = read_rounds(tmp_path)
    for r, kept in zip(rounds, restored, strict=True):
        for name in ("number", "parent", "program", "route", "reason", "change", "finished_at"):
            assert getattr(kept, name) == getattr(r, name), name
        assert report_json(kept.report, kept) == json.loads(json.dumps(report_json(r.report, r)))
    log = tmp_path / "rounds.jsonl"
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [r.number for r in rounds]
    log.write_text(log.read_text()[:-9])  # a crash cut it off
    write_round(rounds[-1], tmp_path)
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [r.number for r in rounds]
    (tmp_path / "rounds" / "001" / "report.json").write_text("{")
    assert len(read_rounds(tmp_path)) == len(rounds) - 1


def test_the_command_repairs_the_side_that_is_broken_and_needs_both_sides(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path / "workspace"))
    table, files = tabletop.project(tmp_path / "table").folder, tmp_path / "program"
    scene = Scene.load(table)
    program = write_program(understand_instruction(ON, scene, RULES), scene, RULES)
    files.mkdir()
    (files / "simulation.py").write_text(program.simulation)

    def repair(out: str, *more: str) -> tuple[int, str, str]:
        arguments = map(str, ("repair", files, "--scene", table, "--task", ON, "--out", tmp_path / out, *more))
        return main([*arguments]), *capsys.readouterr()

    code, _, error = repair("lacking")
    assert code == 2 and "has no checks.py" in error and error.count("\n") == 1
    (files / "checks.py").write_text(program.checks.replace("run.reward", "run.rewards"))
    assert json.loads(repair("none", "--mode", "none")[1]) == {
        "route": "give_up", "rounds": 1, "first_route": "give_up"
    }  # fmt: skip
    before = {file: file.read_bytes() for file in table.rglob("*") if file.is_file()}
    code, out, error = repair("out")
    assert code == 0, error
    rounds = read_rounds(tmp_path / "out")
    assert json.loads(out) == {"route": "done", "rounds": len(rounds), "first_route": "fix_checks"} and len(rounds) > 1
    assert rounds[-1].report.clean and "rewards" not in rounds[-1].program.checks
    assert (tmp_path / "out" / "trace.jsonl").exists()
    assert before == {file: file.read_bytes() for file in before}, "the project stays as it was"

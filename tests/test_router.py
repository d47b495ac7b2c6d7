"""The router repairs the side that is at fault, never runs a program twice, and says why it stops."""

# ruff: noqa: E501  (tables of sentences read best one a line)

import json
import re
import sys
from dataclasses import replace

import pytest
import tabletop

from pipeline.models import ModelError
from pipeline.models.rules import RulesModel
from pipeline.router import (
    ProgramAnswer,
    RouteAnswer,
    RouterError,
    SourceAnswer,
    check_program,
    judging,
    read_rounds,
    report_json,
    route,
    write,
    write_round,
)
from pipeline.router.evidence import told
from pipeline.router.meaning import contradiction
from pipeline.simulation import CheckResult, Program, Report, child, kit
from pipeline.simulation.kit import Scene
from pipeline.simulation.sandbox import Limits, SandboxError
from pipeline.tasks import understand

RULES = RulesModel()
ON, SWAP = "put the green cube on the blue cube", "swap the red cube and the green cube"
MINE = "\n\ndef check_mine(sim):\n    run = sim.rollout()\n    "


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return tabletop.write(tmp_path_factory.mktemp("table"))


@pytest.fixture(scope="module")
def scene(project):
    return Scene.load(project)


def simulation(old: str, new: str):
    return lambda p: replace(p, simulation=p.simulation.replace(old, new))


def added(check: str):
    return lambda p: replace(p, checks=p.checks + MINE + check + "\n")


FAULTS = {
    "another object": (ON, simulation('"green_cube"', '"red_cube"'), "fix_simulation"),
    "a misspelt object": (ON, simulation('"green_cube"', '"gren_cube"'), "fix_simulation"),
    "a tolerance nobody can meet": (SWAP, simulation("place_of_green_cube)", "place_of_green_cube, tolerance=1e-5)"), "fix_simulation"),
    "a tolerance anything meets": (ON, simulation('"blue_cube"))', '"blue_cube", tolerance=3))'), "fix_simulation"),
    "another goal": (ON, simulation("kit.on", "kit.near"), "fix_simulation"),
    "a ball to stand on": ("stack the cubes", simulation('"blue_cube", "red', '"blue_cube", "orange_ball", "red'), "fix_simulation"),
    "a zone too small": ("move the can to the left", lambda p: replace(p, simulation=re.sub(r"size=\(.*\)\)", "size=0.05)", p.simulation)), "fix_simulation"),
    "a crash": (ON, simulation("sim.goal", "sim.gaol"), "fix_simulation"),
    "no return": (ON, simulation("    return sim", ""), "fix_simulation"),
    "a mocked kit": (ON, simulation("    return sim", "    sim.rollout = 1\n    return sim"), "fix_simulation"),
    "a forbidden import": (ON, simulation("import kit", "import os, kit"), "fix_simulation"),
    "an inverted check": (ON, added('assert not run.touching("green_cube", "blue_cube"), "they touch"'), "fix_checks"),
    "an inverted reward": (ON, lambda p: replace(p, checks=p.checks.replace("reward > 0.99", "reward < 0.99")), "fix_checks"),
    "a check too tight": (ON, added('assert abs(run.end("green_cube").bottom - run.end("blue_cube").top) < 1e-7, "gap"'), "fix_checks"),
    "a check with a slip": (ON, added('assert run.end("green_cube").botom > 0, "low"'), "fix_checks"),
    "a check of nobody": (ON, added('assert run.end("gren_cube").bottom > 0, "low"'), "fix_checks"),
    "a check of nothing": (ON, added("assert True"), "fix_checks"),
    "no check": (ON, lambda p: replace(p, checks=""), "fix_checks"),
    "checks that cannot be read": (ON, lambda p: replace(p, checks="def check it:"), "fix_checks"),
    "checks that ask for nothing": (SWAP, lambda p: Program(simulation("cube)", "cube, tolerance=1e-5)")(p).simulation, "def check_it(sim):\n    assert sim.rollout().reward >= 0, 'no'\n"), "fix_checks"),
    "checks that say nothing": (SWAP, lambda p: Program(simulation("cube)", "cube, tolerance=1e-5)")(p).simulation, "def check_it(sim):\n    assert sim.rollout().solved\n"), "fix_checks"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_the_side_at_fault_is_repaired_until_it_is_clean(project, scene, sandbox, fault, monkeypatch):
    monkeypatch.setattr(judging, "ALTERATIONS", ("nothing", "inverted"))
    monkeypatch.setattr(judging, "SEEDS", (0,))  # one layout is enough here, and three times as fast
    words, spoil, side = FAULTS[fault]
    task = understand(words, scene, RULES)
    good = write(task, scene, RULES)
    bad = spoil(good)
    assert bad != good
    rounds = list(route(task, project, RULES, sandbox, start=bad, most=5))
    assert rounds[0].route == side, rounds[0].reason
    assert rounds[-1].route == "done", [(r.route, r.reason) for r in rounds]
    assert rounds[0].program == bad and len({(r.program.simulation, r.program.checks) for r in rounds}) == len(rounds)


def test_what_a_person_wrote_stays_but_for_the_repair(project, scene, sandbox):
    task = understand(ON, scene, RULES)
    mine = simulation('kit.on("green_cube", "blue_cube")', 'kit.on("gren_cube", "blue_cube")')(
        write(task, scene, RULES)
    )
    mine = replace(mine, simulation=mine.simulation.replace("    sim.goal", "    # My own words.\n    sim.goal"))
    rounds = list(route(task, project, RULES, sandbox, start=mine))
    assert rounds[-1].program.simulation == mine.simulation.replace("gren_cube", "green_cube")


def test_a_program_solved_at_the_start_is_not_done(project, scene, sandbox):
    task = understand(ON, scene, RULES)
    lazy = Program(
        "import kit\n\n\ndef build(scene, seed):\n    sim = kit.Simulation(scene, seed)\n"
        '    sim.goal(kit.near("green_cube", "blue_cube", distance=0.2))\n    return sim\n',
        'def check_it(sim):\n    assert sim.rollout().reward > 0.5, "no"\n',
    )
    first, *_ = route(task, project, RULES, sandbox, start=lazy, mode="none")
    failed = {c.name: c.message for c in first.report.checks if not c.passed}
    assert failed["meaning start"] == "the goals hold before anything moved"
    assert "every check passes although this happens instead" in failed["meaning inverted"]
    assert first.route == "give_up"


def test_a_persons_task_is_not_cut_down(project, scene, sandbox):
    task = understand("stack the cubes", scene, RULES)
    less = simulation('["blue_cube", "red_cube", "green_cube"]', '["blue_cube", "red_cube"]')(write(task, scene, RULES))
    first, *_ = route(task, project, RULES, sandbox, start=less, mode="none")
    assert "the task names green_cube, no goal of the simulation does" in first.reason + str(first.report.checks)


class Scripted:
    """A sandbox that hands out reports, and keeps what it was given."""

    def __init__(self, *reports: Report):
        self.reports, self.programs = list(reports), []

    def run(self, program, project_dir, seeds=(0,), checks=True, limits=None, alterations=()):
        self.programs.append(program)
        return self.reports[min(len(self.programs), len(self.reports)) - 1], None


class Model:
    """Routes to the simulation and appends a line to it each time; may fail."""

    name = "scripted"

    def __init__(self, fails_at: int = 99, changes: bool = True):
        self.asked, self.fails_at, self.changes = [], fails_at, changes

    def ask(self, question):
        self.asked.append(question.kind)
        if len(self.asked) > self.fails_at:
            raise ModelError("the model cannot be reached")
        if question.kind == "write_program":
            return ProgramAnswer(simulation=GOOD.simulation, checks=GOOD.checks)
        if question.kind == "route":
            return RouteAnswer(route="fix_simulation", reason="it looks wrong")
        return SourceAnswer(
            source=question.data["simulation"] + f"SIZE = {len(self.asked)}\n" * self.changes, reason="a line more"
        )


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
    return understand(ON, scene, RULES)


RIGHT, LEFT = "move the can to the right", "move the can to the left"
TOWER = "stack the red cube and the blue cube"
CONTRARY = {
    "put the can left of the blue cube": ("left_of", "right_of"),
    "put the can in front of the blue cube": ("in_front_of", "behind"),
    "move the can away from the blue cube": ("away", "near"),
    ON: ('"green_cube", "blue_cube"', '"blue_cube", "green_cube"'),
    "put the green cube on the red cube": ("kit.on", "kit.near"),
    f"{TOWER}, bottom first": ('"red_cube", "blue_cube"', '"blue_cube", "red_cube"'),
}


def asked(program, scene, monkeypatch):
    """What a program of the rules asks for, as the sandbox tells it."""
    monkeypatch.setitem(sys.modules, "kit", kit)
    names = {}
    exec(program.simulation, names)
    return child._plain(child.asked(names["build"](scene, 0)))


@pytest.mark.parametrize("words", CONTRARY)
@pytest.mark.parametrize("goals", ["the rules' goals", "goals in other words"])
def test_goals_that_contradict_the_tasks_words_are_found_and_its_own_are_not(scene, monkeypatch, words, goals):
    task = understand(words, scene, RULES)
    good = write(task, scene, RULES)
    bad = simulation(*CONTRARY[words])(good)
    task = task if goals == "the rules' goals" else replace(task, goals=("as the words say",))
    assert bad != good and not contradiction(task, scene, asked(good, scene, monkeypatch))
    assert "the simulation asks for" in contradiction(task, scene, asked(bad, scene, monkeypatch))


def test_another_order_is_no_contradiction_where_the_words_give_none(scene, monkeypatch):
    task = understand(f"{TOWER} on top of each other", scene, RULES)
    good = write(task, scene, RULES)
    turned = re.sub(r'stacked\(\["(\w+)", "(\w+)"\]', r'stacked(["\2", "\1"]', good.simulation)
    assert turned != good.simulation
    assert not contradiction(task, scene, asked(replace(good, simulation=turned), scene, monkeypatch))


def test_the_program_of_the_words_before_is_not_done_and_is_mended(project, scene, sandbox, monkeypatch):
    monkeypatch.setattr(judging, "ALTERATIONS", ())
    monkeypatch.setattr(judging, "SEEDS", (0,))
    right, left = (understand(words, scene, RULES) for words in (RIGHT, LEFT))
    rounds = list(route(right, project, RULES, sandbox, start=write(left, scene, RULES), most=4))
    failed = [check for check in rounds[0].report.checks if not check.passed]
    assert [check.name for check in failed] == ["meaning task"] and "which lies left" in failed[0].message
    assert rounds[0].route == "fix_simulation" and rounds[-1].route == "done"
    assert "right_zone" in rounds[-1].program.simulation


def test_rounds_end_after_the_most_allowed(project, task):
    rounds = list(route(task, project, Model(), Scripted(result(0.5)), most=3))
    assert [r.route for r in rounds] == ["fix_simulation", "fix_simulation", "give_up"]
    assert [(r.number, r.parent) for r in rounds] == [(0, None), (1, 0), (2, 1)]


def test_a_worse_round_is_left_and_the_best_taken_up_again(project, task):
    rounds = list(route(task, project, Model(), Scripted(result(0.5), result(0.1), result(0.6)), most=3))
    assert rounds[1].reason.endswith("back to round 0, which did better")
    assert rounds[2].parent == 0


def test_a_person_is_asked_where_the_model_is_not_sure(project, task):
    class Unsure(Model):
        def ask(self, question):
            answer = super().ask(question)
            return answer.model_copy(update={"confidence": 0.2}) if isinstance(answer, RouteAnswer) else answer

    (only,) = route(task, project, Unsure(), Scripted(result(0.5)))
    assert only.route == "ask" and only.confidence == 0.2
    assert only.reason.startswith("not sure (20%) that the simulation should change: it looks wrong")


def test_checks_that_say_nothing_are_made_to_speak_before_the_simulation_is_touched(project, task):
    silent = Report((CheckResult("check_it", False, "does not hold: assert run.solved"),), (0.5,), evidence=GOALS)
    model = Model()
    first, second = list(route(task, project, model, Scripted(silent), most=3))[:2]
    assert first.route == "fix_checks" and "need diagnostics" in first.reason
    assert second.route == "fix_simulation" and second.program.simulation == first.program.simulation
    assert model.asked == ["write_program", "route", "repair_checks", "route", "repair_simulation"]


def test_a_program_is_the_same_whatever_its_comments(project, task):
    class Chatty(Model):
        def ask(self, question):
            answer = super().ask(question)
            if isinstance(answer, SourceAnswer):
                return answer.model_copy(update={"source": question.data["simulation"] + f"# {len(self.asked)}\n"})
            return answer

    model = Chatty()
    (only,) = route(task, project, model, Scripted(result(0.5)))
    assert only.route == "give_up" and "changes nothing that was not tried" in only.reason
    assert model.asked.count("repair_simulation") == 2, "it is told once that it repeats itself"


def test_a_partly_solved_program_is_to_be_made_simpler(project, task):
    reasons = []

    class Listening(Model):
        def ask(self, question):
            reasons.append(question.data.get("reason", ""))
            return super().ask(question)

    next(route(task, project, Listening(), Scripted(result(0.5))))
    assert "partly solved (reward 0.50), so make it simpler" in reasons[-1]


def test_the_evidence_reads_as_an_engineer_would_tell_it():
    evidence = {
        "goals": [{"name": "a on b", "met": False, "miss": 0.05, "nearest_miss": 0.0, "over_time": [[1.0, 0.05], [2.0, 0.0], [3.0, 0.05]]}],
        "events": [{"time": 2.5, "verb": "pick", "object": "a", "ok": False, "message": "the cup came down on c"}],
        "at_rest": False, "moved_before_touch": {"c": 0.02}, "contacts": [["a", "c"]],
        "objects": {"c": {"top": -0.1}, "d": {"top": 0.1, "turned": 1.5}, "e": {"top": 0.1, "turned": 0.0, "pushed": 0.04}},
    }  # fmt: skip
    failed = CheckResult("check_it", False, "a hangs")
    said = list(told(GOOD, Report((failed,), (0.5,), "checks.py:2 NameError: x", evidence=evidence)))
    assert said == [
        'checks.py:2 NameError: x — the line is: assert sim.rollout().reward > 0.99, "no"',
        "rewards by layout: 0.50",
        "not met: a on b, 5.0 cm short at the end, 0.0 cm at best; it held at 2.0 s and was lost again",
        "at 2.5 s the oracle's pick of a: the cup came down on c",
        "something still moves at the end",
        "c moved 2.0 cm before anything touched it",
        "c fell off the table",
        "d tipped over by 86 degrees",
        "e was pushed 4 cm and never picked up",
        "at the end these touch: a and c",
        "check_it fails: a hangs",
    ]


def test_a_zone_beyond_the_tables_edge_is_not_what_the_task_means(project, scene, sandbox):
    task = understand("move the can to the left", scene, RULES)
    good = write(task, scene, RULES)
    bad = replace(good, simulation=re.sub(r"xy=\(.*?,", "xy=(3.0,", good.simulation))
    first, *_ = route(task, project, RULES, sandbox, start=bad, mode="none")
    assert "left_zone lies beyond the edge of the table" in [check.message for check in first.report.checks]


def test_a_repair_that_changes_nothing_ends_the_rounds(project, task):
    (only,) = route(task, project, Model(changes=False), Scripted(result(0.5)))
    assert only.route == "give_up" and "changes nothing that was not tried" in only.reason


def test_without_repairs_there_is_one_round_and_the_model_is_not_asked_twice(project, task):
    model = Model()
    (only,) = route(task, project, model, Scripted(result(0.5)), mode="none")
    assert only.route == "give_up" and model.asked == ["write_program"]


def test_repair_only_never_asks_for_a_side(project, task):
    model = Model()
    list(route(task, project, model, Scripted(result(0.5)), mode="repair", most=3))
    assert model.asked == ["write_program", "repair_simulation", "repair_simulation"]


def test_one_solved_layout_of_three_is_not_enough(project, task):
    first = next(route(task, project, Model(), Scripted(result(1.0, 0.0, 0.0, passed=True))))
    assert not first.report.clean and first.report.checks[-1].message == "solved in 1 of 3 layouts"
    assert next(route(task, project, Model(), Scripted(result(1.0, 1.0, 0.0, passed=True)))).route == "done"


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_failing_model_raises_after_the_round_it_was_asked_about(project, task, fails_at):
    rounds = route(task, project, Model(fails_at), Scripted(result(0.5)))
    first = next(rounds)
    assert first.route == "" and "the model failed" in first.reason
    with pytest.raises(ModelError):
        next(rounds)


def test_a_broken_sandbox_raises_and_no_round_is_made(project, task):
    class Broken:
        def run(self, *args, **kwargs):
            raise SandboxError("the sandbox died")

    with pytest.raises(SandboxError):
        next(route(task, project, Model(), Broken()))


def test_an_unknown_mode_lists_those_there_are(project, task):
    with pytest.raises(RouterError, match="there are: route, repair, none"):
        next(route(task, project, Model(), Scripted(result(1.0)), mode="hope"))  # type: ignore[arg-type]


def test_rounds_read_back_as_they_were_written(project, task, tmp_path):
    rounds = list(route(task, project, Model(), Scripted(result(0.5), result(1.0, passed=True))))
    for one in rounds:
        write_round(one, tmp_path)
    again = read_rounds(tmp_path)
    assert [(r.number, r.parent, r.program, r.route, r.reason, r.change, r.at) for r in again] == [
        (r.number, r.parent, r.program, r.route, r.reason, r.change, r.at) for r in rounds
    ]
    assert [report_json(r.report, r) for r in again] == [
        json.loads(json.dumps(report_json(r.report, r))) for r in rounds
    ]
    log = tmp_path / "rounds.jsonl"
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [one.number for one in rounds]
    log.write_text(log.read_text()[:-9])  # a crash cut it off
    write_round(rounds[-1], tmp_path)
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [one.number for one in rounds]
    (tmp_path / "rounds" / "001" / "report.json").write_text("{")
    assert len(read_rounds(tmp_path)) == len(rounds) - 1


def test_a_report_has_the_contracts_keys(project, sandbox):
    said = report_json(check_program(GOOD, project, sandbox))
    assert {"checks", "reward", "crash", "timed_out", "violation", "route", "reason", "parent"} <= set(said)
    assert all({"name", "passed", "message"} <= set(check) for check in said["checks"])
    assert said["reward"] == [1.0, 1.0, 1.0] and json.dumps(said)


def test_refused_code_is_a_violation_and_unreadable_code_a_crash(project, sandbox):
    refused = check_program(replace(GOOD, simulation="import os\n" + GOOD.simulation), project, sandbox, Limits())
    assert refused.violation and "imports os" in refused.violation and not refused.clean
    broken = check_program(replace(GOOD, simulation="def build(:"), project, sandbox)
    assert broken.crash and broken.crash.startswith("simulation.py:1")

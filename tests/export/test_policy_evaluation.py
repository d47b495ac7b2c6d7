"""Policies are compared on the same conditions, each failure has its class, and nothing is measured twice."""

import json
import pickle
import shutil
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import mujoco
import numpy as np
import pytest

from pipeline.closed_loop import PolicyError, evaluation
from pipeline.closed_loop.episodes import opened
from pipeline.closed_loop.evaluation import Evaluation, EvaluationOptions
from pipeline.closed_loop.evaluation_files import read_outcomes
from pipeline.closed_loop.failure import CLASSES, failure_class
from pipeline.closed_loop.paired import explained_failures, paired_difference
from pipeline.closed_loop.real_log import joint_addresses, read_logs
from pipeline.divergence import Episode, read_episode, write_episode
from pipeline.divergence.episode import ArmJoints
from pipeline.project import Project
from pipeline.run.twin_condition import twin_condition
from pipeline.variation import VariationStudy
from pipeline.variation.variation_files import read_rollout
from studio.__main__ import main
from studio.accounts.roles import Role, RoleError, current_role
from studio.evaluate import evaluate_requests
from studio.evaluate.evaluate_requests import HANDLERS, Evaluations
from studio.evaluate.evaluation_record import evaluation_record, present_folder
from studio.sessions.session_registry import SessionRegistry
from studio.viewer import ViewRegistry
from studio.web.errors import RequestError


@pytest.fixture(scope="module")
def evaluated(solved, sandbox, tmp_path_factory) -> tuple[Project, Path]:
    """A copy of the solved project with an evaluation of two policies on two conditions, which was stopped once."""
    project = Project.open(shutil.copytree(solved, tmp_path_factory.mktemp("evaluated") / "solved"))
    at, options = present_folder(project), EvaluationOptions(("demonstration", "hold"), count=2)
    steps = Evaluation(project.folder, at, options, None, sandbox).run()
    first = next(steps)
    steps.close()
    assert first[0] == "demonstration" and len((at / "outcomes.jsonl").read_text().splitlines()) == 1
    with (at / "outcomes.jsonl").open("a") as file:
        file.write('{"policy": "hold", "cond')  # as a kill leaves it
    record = evaluation_record(project, None)["shown"]
    assert [len(list(filter(None, one["cells"]))) for one in record["policies"]] == [1, 0] and not record["report"]
    rest = list(Evaluation(project.folder, at, options, None, sandbox).run())
    assert [(policy, one.condition) for policy, one in rest] == [
        ("demonstration", "0-0001"), ("hold", "0-0000"), ("hold", "0-0001")
    ]  # fmt: skip
    return project, at


@pytest.mark.parametrize("row", [{}, 7, {"policy": [], "condition": "0-0000"}, {"policy": "hold", "condition": "x"}])
def test_damaged_outcomes_and_logs_are_one_line(row, tmp_path):
    (tmp_path / "outcomes.jsonl").write_text(f"{json.dumps(row)}\n")
    with pytest.raises(PolicyError, match=r"outcomes\.jsonl cannot be read \(.*\); choose another --out folder$"):
        read_outcomes(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "0-0000.json").write_text(json.dumps(row))
    with pytest.raises(PolicyError, match=r"^real/0-0000\.json is damaged \(.*\); add the log again$"):
        read_logs(tmp_path)


def test_two_policies_get_the_same_conditions_and_their_difference_an_interval(evaluated, sandbox, tmp_path, refused):
    project, at = evaluated
    both = "demonstration", "hold"
    data = Evaluation(project.folder, at, EvaluationOptions(both, count=2), None, sandbox).finish()
    one, other = data["policies"]
    assert [row["condition"] for row in one["episodes"]] == [row["condition"] for row in other["episodes"]]
    assert one["success"] == 1 and other["success"] == 0 and data["paired"]["difference"] == -1
    assert one["low"] < 0.5 < other["high"] + 0.3 and data["paired"]["low"] <= -1 < data["paired"]["high"]
    assert {row["failure"] for row in one["episodes"]} == {None}
    assert {row["failure"] for row in other["episodes"]} == {"never_reached"}
    assert (
        data == json.loads((at / "evaluation.json").read_text())
        and "never touched what it had to move" in (at / "report.html").read_text()
    )
    kept = read_episode(at / "episodes" / "hold" / "0-0001.npz")
    assert kept.contacts["red_cube"].shape == (len(kept.times), 2)
    run = partial(refused, "evaluate-policy", project.folder, "--policy", "demonstration", "--policy", "hold", "--out")
    assert "holds conditions of another task" in run(at, "--count", 2, "--seconds", 11)
    assert "add --count to try arm" in run(tmp_path / "new", "--robot", "arm")
    assert "stands twice" in run(tmp_path / "same", "--policy", "hold")


def page_of(project: Project) -> tuple[Any, Any, ViewRegistry]:
    """Return a session of the project, the evaluations of its page, and their views."""
    library = SimpleNamespace(paths=(Path("/assets"),))
    services = SimpleNamespace(library=library, sandbox=SimpleNamespace(unprotected=True))
    registry = SessionRegistry(project.folder.parent, services)  # type: ignore[arg-type]
    return Mock(project=project, services=services), Evaluations(views := ViewRegistry(), registry), views


def test_an_evaluation_that_is_killed_at_any_write_has_each_episode_once_with_its_own_film(
    solved, sandbox, tmp_path, monkeypatch
):
    options = EvaluationOptions(("hold",), count=2, seconds=0.3, camera="photo")
    life = lambda out: list(Evaluation(solved, tmp_path / out, options, None, sandbox).run())  # noqa: E731
    life("whole")
    for write in ("write_episode", "write_rollout", "write_film", "append_lines"):
        with monkeypatch.context() as killing, pytest.raises(KeyboardInterrupt):
            killing.setattr(evaluation, write, Mock(side_effect=KeyboardInterrupt))
            life("out")
    (tmp_path / "out" / "films" / "hold" / ".0-0000.mp4.99999999-0123abcd.part.mp4").touch()
    life("out")
    whole, out = ({path.relative_to(at): path.read_bytes() for path in at.rglob("*") if path.is_file()}
                  for at in (tmp_path / "whole", tmp_path / "out"))  # fmt: skip
    assert whole == out and len({hash(out[path]) for path in out if path.suffix == ".mp4"}) == 2


def test_episodes_on_other_machines_are_those_of_this_one(solved, sandbox, tmp_path):
    def call(function: Any, *arguments: Any) -> Any:
        return pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(arguments)))))

    for out, machines in (("here", None), ("there", SimpleNamespace(cores=2, call=call))):
        options = EvaluationOptions(("hold",), count=2, seconds=1)
        list(Evaluation(solved, tmp_path / out, options, None, sandbox).run(machines))
    here, there = ((tmp_path / out / "outcomes.jsonl").read_bytes() for out in ("here", "there"))
    assert here == there


def test_a_condition_becomes_a_project_whose_twin_is_under_it_until_undo_moves_it_to_the_bin(evaluated, tmp_path):
    project, _ = evaluated
    session, evaluations, _ = page_of(project)
    session.services.library = None  # as they were evaluated
    made = HANDLERS["make_project"](session, evaluations, {"condition": "0-0001"})
    folder = project.folder.parent / made["name"]
    varied, task = Project.open(folder), project.task()
    assert made["title"] == f"{project.name}, condition 0-0001" and varied.task() == task
    study = VariationStudy(project.folder, task.objects, None, 0, 2)
    study.write("0-0001", tmp_path / "start")
    for name in ("scene.json", "scene/scene.xml"):  # layout, sizes, masses, friction, light
        assert (
            (folder / name).read_bytes()
            == (tmp_path / "start" / name).read_bytes()
            != ((project.folder / name).read_bytes())
        )
    assert varied.stages()["scene"] == "done" and not (folder / "evaluations").exists()
    assert twin_condition(varied, varied.scene(), {}).values.items() >= study.condition("0-0001").values.items()
    moved = varied.scene().placements[0]
    varied.decide("move", id=moved.segment_id, pos=[0, 0, 0], quat_wxyz=[1, 0, 0, 0])
    kept = twin_condition(varied, varied.scene(), {}).values
    assert f"{moved.name}.x" not in kept and kept["light"] != 1
    varied.close()
    HANDLERS["unmake_project"](session, evaluations, {"name": made["name"]})
    assert not folder.exists() and list(project.folder.parent.glob(f".bin/*/{made['name']}/project.json"))
    with pytest.raises(RequestError, match="no longer be undone"):
        HANDLERS["unmake_project"](session, evaluations, {"name": project.folder.name})


def test_a_real_log_plays_beside_the_policies_and_its_success_is_measured_or_not_known(evaluated, sandbox, monkeypatch):
    project, at = evaluated
    session, evaluations, views = page_of(project)
    session.services.library, session.services.sandbox = None, sandbox
    put = lambda log, folder: write_episode(log, folder / "log.npz")  # noqa: E731
    monkeypatch.setattr(evaluate_requests, "collect_uploads", put)
    done = read_episode(at / "episodes" / "demonstration" / "0-0000.npz")
    done = replace(done, times=done.times + 1.7e9)

    def ask(kind: str, **more: Any) -> Any:
        return HANDLERS[kind](session, evaluations, {"condition": "0-0000"} | more)

    def added(log: Episode) -> tuple[bool | None, str]:
        one, other = ask("add_log", files=log)["shown"]["real"]
        assert other is None and one["file"] == "log.npz"
        return one["success"], one["reason"]

    assert added(done) == (None, "the log has no joint cabinet/upper_slide")
    model = views.get(ask("play")["panes"][0]["token"]).model
    slide = read_rollout(at / "rollouts" / "demonstration" / "0-0000.npz").qpos[
        :, joint_addresses(model)["cabinet/upper_slide"]
    ]
    positions, names = np.column_stack([done.positions, slide]), (*done.names, "cabinet/upper_slide")
    whole = replace(done, positions=positions, names=names)
    assert added(whole) == (True, "")
    *_, pane = ask("play")["panes"]
    assert pane["is_real"] and not pane["note"] and "grasp" in [name for _, name in pane["events"]]
    assert views.get(pane["token"]).poses("red_cube")[-1] == pytest.approx(done.objects["red_cube"][-1])
    compared = ask("differences", first="", second="demonstration")["result"]
    assert max(compared["curves"]["rmse_overall"]["y"]) < 1e-5
    stays = {name: poses[:1].repeat(len(poses), 0) for name, poses in done.objects.items()}
    assert added(replace(whole, objects=stays))[0] is False
    assert added(replace(whole, objects={}, contacts={})) == (
        None,
        "the log has no poses of blue_cube, cabinet, red_cube",
    )
    assert "drawn where the condition has them" in ask("play")["panes"][-1]["note"]
    with pytest.raises(PolicyError, match="no joint of the twin's robot; it needs some of: "):
        added(Episode.from_arrays(done.times, done.positions[:, :1], ["elbow"]))
    assert ask("remove_log")["shown"]["real"] == [None, None]


def test_the_page_shows_what_is_done_and_plays_the_episodes_of_a_condition_on_one_clock(evaluated):
    project, at = evaluated
    session, evaluations, views = page_of(project)
    session.services.library = None  # as they were evaluated
    record = HANDLERS["status"](session, evaluations, {})
    assert record["shown"]["words"][0] == "demonstration: 2 of 2 solved (34% to 100%)"
    assert "hold minus demonstration: -100 percentage points" in record["shown"]["words"][-1]
    assert record["shown"]["is_present"] and not record["job"]
    assert [[cell["failure"] for cell in one["cells"]] for one in record["shown"]["policies"]] == [
        [None, None], ["never_reached", "never_reached"]
    ]  # fmt: skip
    played = HANDLERS["play"](session, evaluations, {"condition": "0-0001"})
    demonstration, hold = played["panes"]
    events = [name for _, name in demonstration["events"]]
    assert "grasp" in events and "release" in events and not any(name == "grasp" for _, name in hold["events"])
    leader, other = views.get(hold["token"]), views.get(demonstration["token"])  # the longer one leads
    assert other._leader is leader and [mark.kind for mark in leader.marks] == ["failed"]
    assert HANDLERS["play"](session, evaluations, {"condition": "0-0000"}) and len(views) == 2
    names = {"first": "demonstration", "second": "hold"}
    found = HANDLERS["differences"](session, evaluations, {"condition": "0-0001"} | names)["result"]
    assert found["comparison"]["overall"]["rmse"]["mean"] > 0.01 and set(found["curves"]) == {
        "rmse_arm",
        "rmse_overall",
    }
    views.close()
    with pytest.raises(RequestError, match="no longer there"):
        HANDLERS["play"](session, evaluations, {"condition": "9-0000"})
    rows = json.loads((at / "conditions.json").read_text())
    rows["conditions"][0]["values"]["red_cube.mass"] = 9.0
    (at / "conditions.json").write_text(json.dumps(rows))
    with pytest.raises(RequestError, match="earlier twin, task or library"):
        HANDLERS["play"](session, evaluations, {"condition": "0-0000"})
    (project.folder / "scene.json").write_bytes((project.folder / "scene.json").read_bytes() + b"\n")
    assert not HANDLERS["status"](session, evaluations, {})["shown"]["is_present"]


def test_a_page_starts_the_command_and_only_administrators_run_code_and_ask_servers(evaluated, monkeypatch):
    project, _ = evaluated
    session, evaluations, _ = page_of(project)
    started: list[list[str]] = []
    monkeypatch.setattr(
        evaluate_requests, "CommandJob", lambda _, words, turn: started.append(words) or Mock(is_active=False)
    )
    start = partial(HANDLERS["start"], session, evaluations)
    chosen = {"policies": ["demonstration", "my.py:act"], "count": 7, "seed": 3}
    start(chosen)
    assert started[0][:3] == ["evaluate-policy", str(project.folder), "--out"]
    assert Path(started[0][3]).parent == project.folder / "evaluations"
    assert started[0][4:] == [
        "--count", "7", "--seed", "3", "--policy=demonstration", "--policy=my.py:act", "--library=/assets",
        "--unprotected",
    ]  # fmt: skip
    for wrong, reason in (
        ({"policies": []}, "Choose one to 6"), ({"policies": ["hold", "hold"]}, "different"), ({"seed": -1}, "from 0"),
        ({"count": 10**6}, "from 1 to 1000"), ({"count": "7"}, "whole number"), ({"policies": ["fly"]}, "is no policy"),
    ):  # fmt: skip
        with pytest.raises(RequestError, match=reason):
            start(chosen | wrong)
    token = current_role.set(Role.WORK)
    try:
        for policy in ("my.py:act", "openpi://10.0.0.1:80"):
            with pytest.raises(RoleError):
                start(chosen | {"policies": [policy]})
        start(chosen | {"policies": ["learned"]})
    finally:
        current_role.reset(token)
    assert len(started) == 2


def test_objects_that_sleep_and_goals_measured_only_where_they_may_count_change_no_episode(environment, monkeypatch):
    ends, awake = [], []
    with opened(environment, False) as env:
        for flags in (0, int(mujoco.mjtEnableBit.mjENBL_SLEEP)):
            env.reset(options={"layout": 0})
            env.world.model.opt.enableflags = flags
            ends.append([env.step(action)[0]["objects"] for action in np.load(environment / "layouts" / "000.npy")])
            awake.append(env.world.data.ntree_awake)
        if find_spec("stable_baselines3"):  # a light set-up has none
            import_module("stable_baselines3.common.env_checker").check_env(env)
    assert np.abs(np.array(ends[1]) - ends[0]).max() < 1e-4 and awake[1] < awake[0]
    measured = []
    with opened(environment, False) as one, opened(environment, False) as other:
        for env in (one, other):
            env.reset(options={"layout": 0})
        measure = other.world.measure
        monkeypatch.setattr(other.world, "measure", lambda: measured.append(1) or measure())
        actions = np.load(environment / "layouts" / "000.npy")
        ends = [(one.step(action)[4]["success"], other.advance(action)) for action in actions]
    assert all(step == advance for step, advance in ends) and ends[-1][0]
    assert len(measured) < len(actions) / 2


LOW, HIGH = 0.0, 0.2


def episode(**objects: tuple[list[float], list[float], str]) -> Episode:
    """Return an episode of the objects' x and height, and who touches them: robot "r", others "o", both "b"."""
    count = max(len(xs) for xs, _, _ in objects.values())
    made = Episode.from_arrays(np.arange(count) * 0.1, np.linspace(0, 1, count)[:, None], ["joint"])
    for name, (xs, heights, touches) in objects.items():
        poses = np.zeros((count, 7))
        poses[:, 0], poses[:, 2], poses[:, 3] = xs, heights, 1
        made.objects[name] = poses  # type: ignore[index]
        made.contacts[name] = np.array([[t in "rb", t in "ob"] for t in touches])  # type: ignore[index]
    return made


STAYS = [0.0] * 6, [LOW] * 6, "oooooo"
CARRIED = [0, 0, 0, 0.2, 0.2, 0.2], [LOW, HIGH, HIGH, HIGH, LOW, LOW], "brrrbo"


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        ({"cup": STAYS, "box": STAYS}, "never_reached"),
        ({"cup": STAYS, "box": CARRIED}, "wrong_object"),
        ({"cup": STAYS, "box": ([0, 0, 0.1, 0.2, 0.2, 0.2], [LOW] * 6, "obbbbo")}, "collision"),
        ({"cup": ([0] * 6, [LOW] * 6, "obbooo"), "box": STAYS}, "missed_grasp"),
        ({"cup": ([0] * 6, [LOW, HIGH, HIGH, LOW, LOW, LOW], "brrooo"), "box": STAYS}, "dropped"),
        ({"cup": CARRIED, "box": STAYS}, "wrong_place"),
        ({"cup": ([0] * 6, [LOW, LOW, LOW, LOW, HIGH, HIGH], "oobbrr"), "box": STAYS}, "time"),
        ({"cup": STAYS, "box": STAYS, "can": CARRIED}, "time"),
        ({"cup": CARRIED, "box": ([0, 0.1, 0.1, 0.1, 0.1, 0.1], [LOW] * 6, "boooob")}, "collision"),
    ],
)  # fmt: skip
def test_a_failure_is_told_by_what_was_touched_and_where_it_went(objects, wanted):
    assert failure_class(episode(**objects), {"cup"}, {"can"}, lambda _: np.full(6, 0.3)) == wanted in CLASSES


@pytest.mark.parametrize(("gap", "command", "wanted"), [
    ([0.3, 0.2, 0.04, 0.04, 0.2, 0.3], [0, 0, 0, 1, 1, 1], "missed_grasp"),  # it closes beside it
    ([0.3, 0.2, 0.01, 0.01, 0.2, 0.3], [0] * 6, "missed_grasp"),  # it goes around it and never closes
    ([0.3, 0.3, 0.25, 0.2, 0.1, 0.05], [0] * 6, "time"),  # it is on its way
    ([0.3, 0.3, 0.25, 0.2, 0.2, 0.2], [0, 0, 0, 1, 1, 1], "never_reached"),
    ([0.3, 0.1, 0.06, 0.06, 0.1, 0.2], [0] * 6, "never_reached"),
])  # fmt: skip
def test_a_failure_without_a_touch_is_told_by_how_near_the_robot_came_and_closed(gap, command, wanted):
    stays = [np.zeros(60), np.zeros(60), "o" * 60]
    joints = np.stack([np.linspace(0, 1, 60), np.repeat(command, 10)], axis=1)
    arms = {"arm": ArmJoints(("joint",), "gripper")}
    found = replace(episode(cup=stays), positions=joints, names=("joint", "gripper"), arms=arms)  # type: ignore[arg-type]
    assert failure_class(found, {"cup"}, (), lambda _: np.interp(range(60), range(0, 60, 10), gap)) == wanted


def test_a_paired_difference_is_found_and_no_difference_is_called_one():
    random, found, alarms, covered = np.random.default_rng(5), 0, 0, 0
    for _ in range(200):
        first, better, same = random.random((3, 200)) < np.array([[0.6], [0.75], [0.6]])
        pair, equal = paired_difference(first, better), paired_difference(first, same)
        found, alarms = found + (pair.p < 0.05), alarms + (equal.p < 0.05)
        covered += pair.low <= 0.15 <= pair.high
    assert found >= 0.85 * 200 and alarms <= 0.08 * 200 and covered >= 0.92 * 200
    none = paired_difference([True] * 5, [True] * 5)
    assert (none.difference, none.p) == (0, 1) and none.low < 0 < none.high


@pytest.mark.parametrize(("base", "added"), [(0.05, 0.4), (0.2, 0.1), (0.3, 0.0)])
def test_what_the_twins_uncertainty_explains_lies_in_its_interval_and_is_not_told_where_nothing_tells(base, added):
    random, covered = np.random.default_rng(3), 0
    explained = added / (base + added)
    for _ in range(200):
        fails = random.random(200) < base
        found = explained_failures(~fails, ~(fails | (random.random(200) < added / (1 - base))))
        covered += found.low <= explained <= found.high
        assert found.explained is None or found.low <= found.explained <= found.high
    assert covered >= 0.93 * 200
    few = explained_failures([True] * 30, [True] * 28 + [False] * 2)
    assert few.explained is None and few.failed == 2
    both = explained_failures([False, True] * 5, [True, False] * 5)
    assert both.explained is None and (both.failed, both.failed_as_measured) == (5, 5)


def test_an_evaluation_of_pairs_says_what_the_twins_uncertainty_explains(solved, tmp_path, capsys, refused):
    command = ["evaluate-policy", str(solved), "--policy", "hold", "--uncertainty", "--seconds", "1", "--out"]
    assert "add --count" in refused(*command, tmp_path / "none")
    at = [str(tmp_path), "--count", "2"]
    assert "there is no camera ceiling; there are: " in refused(*command, *at, "--camera", "ceiling")
    assert main([*command, *at]) == 0
    (one,) = json.loads((tmp_path / "evaluation.json").read_text())["policies"]
    assert [row["condition"] for row in one["episodes"]] == ["0-0000m", "0-0000u", "0-0001m", "0-0001u"]
    assert (one["uncertainty"]["failed"], one["uncertainty"]["explained"]) == (2, None)
    said = (
        "2 of 2 fail within the twin's uncertainty, 2 with the twin as measured: how many of the failures it explains"
    )
    assert said in capsys.readouterr().err and said.replace("'", "&#39;") in (tmp_path / "report.html").read_text()

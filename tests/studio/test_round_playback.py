"""Rounds play as they are judged; their timeline shows goals and checks; a failed round says why and what to try."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest
import tabletop
from offline_studio import wait_until

from pipeline.object_words import ObjectWords
from pipeline.router import Round, RunningRound
from pipeline.simulation import CheckResult, Program, Report
from pipeline.simulation.goals.sentences import sentences
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.simulation.run_record import GoalProgress, RunRecord
from pipeline.store import write_text
from pipeline.tasks import Task
from studio.compare.project_sources import project_episode, project_episodes
from studio.sessions.round_replay import RoundReplay
from studio.task.failure_causes import failure_causes, widened
from studio.task.round_chart import rounds_figure
from studio.task.round_comparison import outcome_differences
from studio.viewer import Mark, Presentation, Trajectory, ViewSession
from studio.viewer.measures import round_measures
from studio.viewer.timeline_marks import objects_named, playback_speed, timeline_marks
from studio.web.errors import RequestError

XML = """<mujoco><worldbody><body name="red_cube" pos="0 0 0.02"><freejoint/>
<geom type="box" size=".02 .02 .02"/></body>
<body name="bowl" pos="0.2 0 0.02"><freejoint/><geom type="box" size=".02 .02 .02"/></body></worldbody></mujoco>"""
CHECKS = """def check_red_cube_is_in_the_bowl(sim):
    assert sim.rollout().end("red_cube").bottom < sim.rollout().end("bowl").top

def check_bowl_stays_upright(sim):
    assert sim.rollout().end("bowl").upright
"""


@pytest.fixture
def record() -> RunRecord:
    """A cube that moves towards a bowl, which tilts, for three seconds."""
    times = np.linspace(0, 3, 31)
    model = mujoco.MjModel.from_xml_string(XML)
    qpos = np.repeat(model.qpos0[None], len(times), 0)
    qpos[:, 0] = times / 30
    qpos[:, 10], qpos[:, 11] = np.cos(times / 10), np.sin(times / 10)
    misses = np.maximum(0.2 - times / 10, 0)[:, None]
    goal = {"name": "red_cube in bowl", "objects": ["red_cube", "bowl"], "stage": "1", "met": True, "miss": 0.0}
    event = {"time": 1.0, "verb": "place", "object": "red_cube", "target": "bowl", "ok": False, "message": "it slipped"}
    return RunRecord(times, qpos, np.zeros((31, 0)), 0.5, XML, (event,), (goal,), GoalProgress(times, misses), 0)


def judged(*checks: CheckResult, **report) -> Round:
    return Round(0, None, Program("", CHECKS), Report(checks, (0.5,), **report), "fix_simulation", "", 0.0)


FAILED = CheckResult("check_bowl_stays_upright", False, "the bowl tilts", instant=2.0, line=5)
TILTS = Mark(2.0, "the bowl tilts", "failed", "bowl", "check_bowl_stays_upright")


@pytest.fixture
def view(record, monkeypatch):
    """A view of the recording, whose pauses are short."""
    monkeypatch.setattr("studio.viewer.view_session.HOLD_SECONDS", 0.2)
    session = ViewSession(XML, Trajectory(record.times, record.qpos), focus=["red_cube"])
    yield session
    session.close()


def status(view: ViewSession) -> dict:
    return json.loads(view.status)


def test_a_presented_recording_is_held_at_its_failing_moment_and_then_plays_to_its_end(view):
    seen = []
    view.watch(lambda: seen.append((status(view)["held"], round(view.time, 2))))
    view.enqueue({"op": "speed", "value": 10})
    view.present(Presentation((TILTS,), TILTS))
    wait_until(lambda: view.time == 3.0 and not view.playing, "the end of the recording")
    held = [time for mark, time in seen if mark]
    assert held and set(held) == {2.0} and seen[-1][0] is None


def test_the_words_of_a_check_that_fails_at_the_end_stay(view):
    view.watch(lambda: None)
    at_the_end = replace(TILTS, time=3.0)
    view.present(Presentation((at_the_end,), at_the_end, start=2.9))
    wait_until(lambda: status(view)["presenting"], "the hold or what leads to it")
    wait_until(lambda: not view.playing and not status(view)["presenting"], "the end of the hold")
    assert status(view)["held"]["text"] == "the bowl tilts" and view.time == 3.0
    view.enqueue({"op": "seek", "time": 1.0})
    wait_until(lambda: status(view)["held"] is None, "a recording without words")


def test_a_recording_that_does_not_play_stands_at_its_failing_moment_with_the_words(view):
    view.watch(lambda: None)
    view.present(Presentation((TILTS,), TILTS, plays=False))
    wait_until(lambda: status(view)["marks"] != [], "the mark")
    assert view.time == 2.0 and not view.playing and status(view)["held"]["text"] == "the bowl tilts"
    assert not status(view)["presenting"], "the next round does not wait"
    view.enqueue({"op": "release"})
    view.enqueue({"op": "contacts", "on": True})
    wait_until(lambda: status(view)["contacts"], "the page that was opened again")
    assert status(view)["held"], "leaving a page steers nothing"


def test_whoever_steers_a_recording_is_not_disturbed_when_its_round_is_judged_but_a_replay_plays_from_its_start(view):
    view.watch(lambda: None)
    view.enqueue({"op": "seek", "time": 2.5})
    view.present(Presentation((TILTS,), TILTS))
    wait_until(lambda: status(view)["marks"] != [], "the mark")
    assert view.time == 2.5 and not view.playing
    view.present(Presentation((), start=0.5))
    wait_until(lambda: 0.5 < view.time < 2.5, "a recording that plays")
    assert view.playing


def test_a_check_has_a_mark_at_its_moment_and_the_quantity_that_its_code_is_about(record, view):
    assert [m.time for m in timeline_marks(record, None, ["red_cube", "bowl"])] == [1.0]
    event, check = timeline_marks(record, judged(FAILED).report, ["red_cube", "bowl"])
    assert (event.kind, event.text) == ("failed", "it slipped")
    assert (check.time, check.object, check.check) == (2.0, "bowl", "check_bowl_stays_upright")
    passed = CheckResult("check_red_cube_is_in_the_bowl", True)
    measures = round_measures(record, judged(passed, FAILED), ["red_cube", "bowl"], view.poses)
    (goal,), (distance, tilt) = measures["goals"], measures["checks"]
    assert goal["quantity"]["values"][0] == pytest.approx(20) and goal["quantity"]["values"][-1] == 0
    assert distance["quantity"]["tolerance"] == 0 and "red_cube in bowl" in distance["quantity"]["label"]
    assert tilt["quantity"]["unit"] == "°"
    assert tilt["quantity"]["values"][-1] == pytest.approx(np.degrees(2 * 0.3), abs=0.1)
    named = objects_named("check_red_cube_2 and red_cube", ["red_cube", "red_cube_2"])
    assert list(named) == ["red_cube_2", "red_cube"], "a longer name hides the shorter one within it"


def test_the_camera_frames_the_task_s_objects_and_all_that_moves_and_the_playback_keeps_up_as_a_speed_allows(view):
    low, high = view.focus.min(0), view.focus.max(0)
    assert low == pytest.approx([-0.02, -0.02, 0]) and high == pytest.approx([0.12, 0.02, 0.04])  # the cube's way only
    for duration in (0.5, 4.9, 12.0, 49.0, 300.0):
        assert duration / playback_speed(duration) <= 5 or playback_speed(duration) == 10


def test_rounds_are_followed_from_generate_until_a_person_chooses_one(record):
    log = SimpleNamespace(mark_changed=lambda: None)
    project = SimpleNamespace(rounds=lambda: (judged(),))
    replay = RoundReplay(project, lambda: None, None, log)  # type: ignore[arg-type]
    running = RunningRound(1, 0, Program("", ""), "", record)
    replay.rolled_out(running)
    assert replay.request is None
    replay.follow()
    replay.rolled_out(replace(running, record=replace(record, seed=2)))
    assert replay.request is None, "only the photographed layout is shown"
    replay.rolled_out(running)
    assert replay.request and replay.request.number == 1 and replay.rollout() is record
    replay.show(0)
    replay.rolled_out(replace(running, number=2))
    assert replay.request.number == 0


def test_a_failed_round_says_why_at_most_three_times_with_the_moment(tmp_path):
    evidence = {
        "events": [{"time": 1.2, "verb": "place", "object": "red_cube", "ok": False, "message": "it slipped"}],
        "goals": [{"name": "red_cube in bowl", "met": False, "miss": 0.041, "nearest_miss": 0.02, "over_time": []}],
        "objects": {"bowl": {"top": -0.2}},
        "simulated_seconds": 3.0,
    }
    session = SimpleNamespace(project=SimpleNamespace(task=lambda: None, tasks=lambda: (), folder=tmp_path))
    causes = failure_causes(session, judged(FAILED, evidence=evidence))  # type: ignore[arg-type]
    assert causes
    assert causes["facts"] == [
        {"text": "The robot could not place red cube: it slipped", "instant": 1.2},
        {"text": "“red cube in bowl” is missed by 4.1 cm at the end; it came within 2.0 cm", "instant": 3.0},
        {"text": "Bowl fell off the table", "instant": 3.0},
    ]
    assert failure_causes(session, judged(replace(FAILED, passed=True))) is None  # type: ignore[arg-type]


def test_goals_that_hold_at_the_start_lead_to_other_places_for_the_same_object(tmp_path: Path):
    project = tabletop.project(tmp_path / "p")
    goals = (PlannedGoal("right_of", ("orange_ball", "red_cube")),)
    project.save_task(Task("right", "Put the ball right of the cube.", ("orange_ball", "red_cube"), sentences(goals)))
    session = SimpleNamespace(project=project, cache=SimpleNamespace(get=lambda name, file, compute: compute()))
    causes = failure_causes(session, judged(replace(FAILED, name="meaning start")))  # type: ignore[arg-type]
    assert causes and 0 < len(causes["remedies"]) <= 2
    for remedy in causes["remedies"]:
        words = remedy["instruction"]
        assert remedy["kind"] == "other place" and "orange ball" in words and "cube" not in words, words


def test_widening_enlarges_tolerances_and_zones_and_nothing_else():
    code = 'sim.add_zone("z", xy=(0.1, 0.2), size=(0.05, 0.1))\nsim.goal(kit.near("a", "b", tolerance=0.01))\n'
    wide = widened(code)
    assert "size=(0.1, 0.2)" in wide and "tolerance=0.02" in wide and "xy=(0.1, 0.2)" in wide
    assert re.sub(r"[\d.]+", "", wide) == re.sub(r"[\d.]+", "", code)
    assert widened("kit.on('a', 'b')") == "kit.on('a', 'b')"
    assert "tolerance=0.12" in widened("tolerance=0.1"), "the router refuses more"


def test_two_rounds_share_one_clock_and_the_shorter_one_waits_at_its_end(view, record):
    short = ViewSession(XML, Trajectory(record.times[:11], record.qpos[:11]))
    short.follow(view)
    try:
        told: list[float] = []
        unwatch = view.watch(lambda: told.append(view.time))
        for time in (0.5, 0.6, 0.7):
            view.enqueue({"op": "seek", "time": time})
            wait_until(lambda time=time: told[-1:] == [time], "the leader's time")
        unwatch()
        short.watch(lambda: None)  # its thread starts here, behind by three changes
        wait_until(lambda: short.time == 0.7, "the leader's last time")
        short.enqueue({"op": "seek", "time": 0.5})
        wait_until(lambda: view.time == short.time == 0.5, "the same time in both")
        view.enqueue({"op": "seek", "time": 2.0})
        wait_until(lambda: view.time == 2.0 and short.time == 1.0, "the end of the shorter one")
        short.enqueue({"op": "play"})
        wait_until(lambda: view.time == 3.0, "the end of the longer one")
    finally:
        short.close()
    assert view.watchers == 0


def test_rounds_differ_in_what_they_meet_and_their_plot_tells_the_route_as_plain_text():
    first = judged(FAILED, evidence={"goals": [{"name": "cube in bowl", "met": False}]})
    second = judged(replace(FAILED, passed=True), evidence={"goals": [{"name": "cube in bowl", "met": True}]})
    assert outcome_differences(first, second, ObjectWords()) == [
        ["Check bowl stays upright", "not met", "met"],
        ["Goal cube in bowl", "not met", "met"],
    ]
    assert outcome_differences(first, first, ObjectWords()) == []
    rounds = [replace(judged(FAILED), number=n, route="fix_checks", reason="because <b>it</b> tilts") for n in (0, 1)]
    reward, passed = rounds_figure(rounds).data
    assert list(reward.x) == [0, 1] and list(reward.y) == [0.5, 0.5] and list(passed.y) == [0, 0]
    assert reward.customdata[0] == "fix checks: because &lt;b&gt;it&lt;/b&gt; tilts"


def test_the_solution_and_the_rounds_with_a_record_are_offered_newest_first_and_no_others(tmp_path):
    project = SimpleNamespace(folder=tmp_path, rounds=lambda: [SimpleNamespace(number=n) for n in range(3)])
    session: Any = SimpleNamespace(project=project)
    assert project_episodes(session) == []
    for source in ("round 1", "round 3", "solution", "round ../../x", "", None, 0, "../rounds/000", "track x"):
        with pytest.raises(RequestError):
            project_episode(session, source)
    for number in ("000", "002"):
        write_text(tmp_path / "rounds" / number / "record.npz", "")
    (tmp_path / "solution.json").touch()
    log = tmp_path / "tracks" / "table" / "episode.npz"
    write_text(log, "")
    write_text(tmp_path / "tracks" / "without_log" / "track.json", "{}")
    sources = ["solution", "round 2", "round 0", "track table"]
    assert [each["source"] for each in project_episodes(session)] == sources
    assert project_episode(session, "track table") == log
    assert project_episode(session, "solution") == tmp_path
    assert project_episode(session, "round 2") == tmp_path / "rounds" / "002"

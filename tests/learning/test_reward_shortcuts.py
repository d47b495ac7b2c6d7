"""Planted shortcuts, and what the task's checks refuse, are told with a change that ends them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import small_task

pytest.importorskip("gymnasium", reason='gymnasium is missing: pip install "grs-studio[learn]"')

from bench.planted_policies import SHORTCUTS, SOUND, Planted, Scripted, expert
from pipeline.learning.demonstrations import oracle_episodes
from pipeline.learning.edits import edited
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import play
from pipeline.learning.judging.evaluation import ChainEpisode
from pipeline.learning.judging.generated_checks import find_refused, observed, run_checks
from pipeline.learning.judging.shortcuts import find_shortcut
from pipeline.learning.layouts import Layouts, arranged_by
from pipeline.learning.start_states import StartState
from pipeline.simulation import CheckResult, Program, kit
from pipeline.simulation.sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def played(table, furniture):
    """Return what plays a planted policy: its subtask, the episodes, and the objects of its layouts."""
    bowl = small_task.layouts(table, kit.inside("red_cube", "white_bowl"))
    zone = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), 0.09))
    drawer = small_task.layouts(furniture, kit.opened("cabinet", "top_drawer"), scattered=("red_cube",))

    @cache
    def held() -> list[StartState]:
        _, episodes, _ = play_planted(Planted("pick", expert))
        return [one.end for one in episodes if one.success]

    def play_planted(planted: Planted):
        layouts = {"push": zone, "open": drawer}.get(planted.subtask, bowl)
        found = small_task.subtasks(layouts, "Push it." if planted.subtask == "push" else "Do it.")
        subtask = planted.change(next(one for one in found if one.name.startswith(planted.subtask)))
        starts = held() if planted.subtask == "place" else small_task.settled(layouts, subtask, range(1, 4))
        env = SubtaskEnv(layouts, subtask, starts)
        return subtask, list(play(env, Scripted(env, planted.script), starts)), layouts.base.objects

    return play_planted


@pytest.mark.parametrize("name", SHORTCUTS)
def test_a_planted_shortcut_is_found_with_its_moment_and_a_change_that_can_be_made(played, name):
    subtask, episodes, objects = played(planted := SHORTCUTS[name])
    found = find_shortcut(subtask, episodes, objects)
    assert found is not None, name
    longest = max(one.steps for one in episodes) * 0.1
    assert 0 <= found.time <= longest and f"{found.time:.1f} s" in found.text and found.text.count(". ") == 0
    assert not planted.term or f"'{planted.term}'" in found.text
    (changed,) = [subtask]
    for edit in found.edits:
        (changed,) = edited((changed,), subtask.name, edit)
    assert changed.reward != subtask.reward and changed.success == subtask.success


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_policy_is_not_accused(played, name):
    subtask, episodes, objects = played(SOUND[name])
    assert find_shortcut(subtask, episodes, objects) is None and find_shortcut(subtask, [], objects) is None
    assert name not in ("reaches", "picks", "places", "pushes", "opens") or all(one.success for one in episodes)


SIMULATION = """import kit

def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.scatter("red_cube")
    sim.goal(kit.inside("red_cube", "white_bowl"))
    return sim
"""
CHECKS = """def check_solved(sim):
    run = sim.rollout()
    assert run.solved, run.why

def check_robot_grasps_an_object(sim):
    assert sim.rollout().grasps, "the robot picked nothing up"

def check_red_cube_ends_low(sim):
    end = sim.rollout().end("red_cube")
    assert end.bottom < {height}, f"red_cube ends {end.bottom * 100:.1f} cm above the table"

def check_blue_cube_stays(sim):
    moved = sim.rollout().moved("blue_cube")
    assert moved < 0.02, f"blue_cube moved by {moved * 100:.1f} cm"
"""


@pytest.fixture(scope="module")
def chain(table):
    """A chain's layouts, subtasks and episodes: the oracle stands in for the policies."""
    with Sandbox() as sandbox:
        program = Program(SIMULATION, CHECKS.replace("{height}", "0.1"))
        layouts = Layouts(kit.Scene.load(table), arranged_by(program, table, sandbox))
        subtasks = small_task.subtasks(layouts)
        played = [
            ChainEpisode(one.layout, tuple(oracle_episodes(layouts, subtasks, one, EpisodeRules())), True, 1.0)
            for one in small_task.settled(layouts, subtasks[0], [1, 2])
        ]
        yield sandbox, table, program, layouts.base.objects, subtasks, played


def results(chain, program=None, played=None):
    sandbox, table, usual, objects, _, solved = chain
    return run_checks(played or solved, list(objects), program or usual, table, sandbox)


def test_sound_policies_pass_the_checks_with_what_they_held_as_grasps(chain):
    found = results(chain)
    assert [one.layout for one, _ in found] == [1, 2]
    for _, checks in found:
        assert {one.name for one in checks if one.passed} == {
            "check_solved", "check_robot_grasps_an_object", "check_red_cube_ends_low", "check_blue_cube_stays",
        }, checks  # fmt: skip
    assert find_refused(chain[4][-1], found, chain[3]) is None
    assert observed(chain[5][0], list(chain[3])).grasps[0][1] == "red_cube"
    last = chain[5][0].episodes[-1]
    shifts = np.zeros_like(last.shifts)
    shifts[3:, 0] = 0.1
    pushed = replace(last, holding=("",) * len(last.holding), shifts=shifts)
    ((time, name),) = observed(ChainEpisode(1, (pushed,), True, 1.0), list(chain[3])).grasps
    assert name == next(iter(chain[3])) and time == pytest.approx(0.3), "what is pushed counts as taken hold of"
    assert results(chain, Program(SIMULATION, "")) == ()
    assert results(chain, played=[replace(one, solved=False) for one in chain[5]]) == ()


def test_a_check_that_refuses_what_counts_as_solved_is_told_with_its_reason(chain):
    strict = Program(SIMULATION, CHECKS.replace("{height}", "0.001"))
    refused = find_refused(chain[4][-1], results(chain, strict), chain[3])
    assert refused and "the check check_red_cube_ends_low refuses it: red_cube ends " in refused.text
    assert refused.layout == 1 and refused.time > 0 and not refused.edits


def test_another_object_that_a_check_misses_is_kept_in_place_by_the_offered_change(chain):
    objects, subtasks = chain[3], chain[4]
    which = list(objects).index("blue_cube")

    def shifted(one: ChainEpisode) -> ChainEpisode:
        last = one.episodes[-1]
        shifts = last.shifts.copy()
        shifts[-1, which] = 0.3
        return replace(one, episodes=(*one.episodes[:-1], replace(last, shifts=shifts)))

    failed = CheckResult("check_blue_cube_stays", False, "blue_cube moved by 30.0 cm")
    checked = [(shifted(one), (failed,)) for one in chain[5]]
    refused = find_refused(subtasks[-1], checked, objects)
    assert refused and refused.kind == "refused"
    (changed,) = [subtasks[-1]]
    for edit in refused.edits:
        (changed,) = edited((changed,), changed.name, edit)
    assert any(one.term.term == "others_still" for one in changed.reward)
    rare = [(one, ()) for one in chain[5]] + checked[:1]
    assert find_refused(subtasks[-1], rare, objects) is None, "one of three is not systematic"

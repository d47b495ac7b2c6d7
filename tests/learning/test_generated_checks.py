"""The task's generated checks run on what policies did, and the oracle is shown where a policy was."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import small_task

pytest.importorskip("gymnasium", reason='gymnasium is missing: pip install "grs-studio[learn]"')

from planted_policies import Scripted, stand_still

from pipeline.learning.demonstrations import oracle_episodes
from pipeline.learning.edits import edited
from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.episodes import play
from pipeline.learning.judging.evaluation import ChainEpisode
from pipeline.learning.judging.generated_checks import find_refused, observed, run_checks
from pipeline.learning.layouts import Layouts, arranged_by
from pipeline.learning.subtask_world import SubtaskWorld
from pipeline.simulation import CheckResult, Program, kit
from pipeline.simulation.goals.at import At
from pipeline.simulation.sandbox.sandbox import Sandbox
from studio.learn.playback import OraclePlayback
from studio.server.errors import RequestError

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
    with Sandbox() as sandbox:
        program = Program(SIMULATION, CHECKS.replace("{height}", "0.1"))
        layouts = Layouts(kit.Scene.load(table), arranged_by(program, table, sandbox))
        subtasks = small_task.subtasks(layouts)
        world = SubtaskWorld(layouts, subtasks[0])
        starts = [world.settled(one) for one in layouts.get([1, 2])]
        played = [
            ChainEpisode(one.layout, tuple(oracle_episodes(layouts, subtasks, one, EpisodeRules())), True, 1.0)
            for one in starts
        ]
        yield sandbox, table, program, layouts.base.objects, subtasks, played


def results(chain, program=None, played=None):
    sandbox, table, usual, objects, _, solved = chain
    return run_checks(played or solved, list(objects), program or usual, table, sandbox)


def test_sound_policies_pass_the_checks_and_a_refusal_is_told_with_its_reason(chain):
    found = results(chain)
    assert [one.layout for one, _ in found] == [1, 2]
    for _, checks in found:
        assert {one.name for one in checks if one.passed} == {
            "check_solved", "check_robot_grasps_an_object", "check_red_cube_ends_low", "check_blue_cube_stays",
        }, checks  # fmt: skip
    assert find_refused(chain[4][-1], found, chain[3]) is None
    assert observed(chain[5][0], list(chain[3])).grasps[0][1] == "red_cube"
    assert results(chain, Program(SIMULATION, "")) == ()
    assert results(chain, played=[replace(one, solved=False) for one in chain[5]]) == ()
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


def test_what_is_pushed_counts_as_taken_hold_of(chain):
    last = chain[5][0].episodes[-1]
    shifts = np.zeros_like(last.shifts)
    shifts[3:, 0] = 0.1
    pushed = replace(last, holding=("",) * len(last.holding), shifts=shifts)
    ((time, name),) = observed(ChainEpisode(1, (pushed,), True, 1.0), list(chain[3])).grasps
    assert name == next(iter(chain[3])) and time == pytest.approx(0.3)


def test_the_oracle_solves_each_subtask_and_pushes_in_half_of_an_episode(bowl_task, bowl_subtasks, table):
    (layout,) = bowl_task.get([3])
    start = SubtaskWorld(bowl_task, bowl_subtasks[0]).settled(layout)
    episodes = list(oracle_episodes(bowl_task, bowl_subtasks, start, EpisodeRules()))
    assert [one.success for one in episodes] == [True] * len(bowl_subtasks)
    assert [one.layout for one in episodes] == [3] * len(bowl_subtasks)
    for former, later in pairwise(episodes):
        assert np.array_equal(former.qpos[-1], later.qpos[0])
    env = SubtaskEnv(bowl_task, bowl_subtasks[0], (start,))
    (policy,) = play(env, Scripted(env, stand_still), (start,))
    assert np.allclose(policy.qpos[0], episodes[0].qpos[0]), "a policy's episode begins in the same state"
    pushing = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), (0.16, 0.16)))
    subtasks, rules = small_task.subtasks(pushing, "Push it."), EpisodeRules()
    world = SubtaskWorld(pushing, subtasks[0])
    starts = [world.settled(layout) for layout in pushing.get(range(100, 106))]
    pushes = [list(oracle_episodes(pushing, subtasks, one, rules))[-1] for one in starts]
    assert sum(one.success for one in pushes) >= 5
    assert np.mean([len(one.qpos) for one in pushes]) < rules.steps / 2


def test_the_page_gets_the_oracles_episode_once_or_a_sentence(bowl_task, bowl_subtasks, table, monkeypatch):
    oracle = OraclePlayback()
    found = [oracle.rollout(bowl_task, bowl_subtasks, one.name, 2) for one in bowl_subtasks]
    assert all(one.success and one.layout == 2 for one in found)
    monkeypatch.setattr("studio.learn.playback._play", None)  # nothing is simulated again
    assert oracle.rollout(bowl_task, bowl_subtasks, bowl_subtasks[0].name, 2) is found[0]
    monkeypatch.undo()
    pushing = small_task.layouts(table, kit.in_zone("red_cube", "zone"), zone=((0.18, 0.1), (0.16, 0.16)))
    subtasks = small_task.subtasks(pushing, "Push it.")
    assert oracle.rollout(pushing, subtasks, "push_red_cube", 1).success, "the oracle pushes as a policy has to"
    apart = [replace(subtasks[0], success=(At("red_cube", (0.0, 0.3)),)), *subtasks[1:]]
    with pytest.raises(RequestError, match="its path does not solve reach_red_cube, which comes before"):
        oracle.rollout(pushing, apart, "push_red_cube", 1)
    monkeypatch.setattr("studio.learn.playback.is_installed", lambda: False)
    with pytest.raises(RequestError, match="needs extra packages"):
        oracle.rollout(bowl_task, bowl_subtasks, bowl_subtasks[0].name, 5)
